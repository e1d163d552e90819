/* Groups: what is refused, and what outlives what. What they give is in the conformance cases. */
#include "check.h"

static motte_status group(const motte_coll *coll, const char *text, motte_groups **out_groups) {
    return motte_coll_group(coll, text, MOTTE_NTS, NULL, 0, out_groups);
}

/* Keeps the failure that a change set has in place of changes. */
static motte_status take_failure(void *userdata, const motte_changes *changes) {
    motte_changes_details details;
    details.struct_size = sizeof details;
    MUST(motte_changes_info(changes, &details));
    CHECK((details.flags & MOTTE_CHANGES_FAILED) != 0);
    *(motte_status *)userdata = motte_changes_failure(changes);
    return 0;
}

int main(void) {
    motte_realm *realm =
        check_realm("groups", "Item { id: int key, n: int, name: string, any: mixed, tags: list<string>, "
                              "friends: list<Item> }");
    motte_class item = motte_class_named(realm, "Item");
    motte_prop props[2] = {motte_prop_named(realm, item, "id"), motte_prop_named(realm, item, "n")};
    motte_prop name_prop = motte_prop_named(realm, item, "name"), tags_prop = motte_prop_named(realm, item, "tags");
    motte_coll *all, *tags, *friends;
    motte_object *object;
    motte_token *token = NULL;
    motte_groups *of_friends = NULL, *groups = NULL, *same = NULL, *frozen = NULL, *large = NULL;
    struct ArrowArrayStream stream;
    motte_value value, values[4];
    motte_key row = 0;
    motte_buf shown;
    motte_str name;
    motte_type type;
    uint32_t flags;
    motte_class target;
    size_t count, index;
    int64_t ints[4];
    double doubles[4];
    uint8_t validity;

    MUST(motte_realm_begin_write(realm, -1));
    for (int i = 0; i < 4; i++) {
        motte_value cells[2] = {motte_int(i), motte_int(INT64_MAX - i)};
        MUST(motte_row_create(realm, item, props, cells, 2, 0, &row, NULL));
        motte_value text = motte_string(i % 2 ? "odd" : "even");
        MUST(motte_row_set_many(realm, item, row, &name_prop, &text, 1));
    }
    MUST(motte_realm_commit(realm, 0, NULL));
    MUST(motte_class_all(realm, item, &all));

    STATUS(MOTTE_E_UNKNOWN_PROPERTY, group(all, "GROUP(height) COUNT", &groups));
    STATUS(MOTTE_E_QUERY_SYNTAX, group(all, "GROUP(name", &groups));
    STATUS(MOTTE_E_QUERY_INVALID, group(all, "GROUP(tags) COUNT", &groups));
    STATUS(MOTTE_E_QUERY_ARGUMENT, group(all, "GROUP(name) LIMIT($0)", &groups));
    STATUS(MOTTE_E_UNSUPPORTED, group(all, "GROUP(any['a'].b)", &groups));
    CHECK(groups == NULL);
    MUST(motte_coll_get_object(all, 0, &object));
    MUST(motte_object_get_coll(object, tags_prop, &tags));
    STATUS(MOTTE_E_WRONG_TYPE, group(tags, "GROUP() COUNT", &groups));

    MUST(group(all, "GROUP(name) COUNT, MIN(n) AS least", &groups));
    MUST(motte_groups_explain(groups, MOTTE_EXPLAIN_ANALYZE, &shown));
    CHECK(strstr(shown.data, "group GROUP(name) COUNT, MIN(n) AS least") != NULL &&
          strstr(shown.data, "in all") != NULL);
    motte_buf_dispose(&shown);
    MUST(motte_coll_explain(all, MOTTE_EXPLAIN_JSON, &shown));
    CHECK(strstr(shown.data, "\"analyzed\": false") != NULL && strstr(shown.data, "\"nanoseconds\"") == NULL);
    motte_buf_dispose(&shown);
    STATUS(MOTTE_E_UNKNOWN_FLAG, motte_coll_explain(all, 0x4, &shown));
    STATUS(MOTTE_E_UNKNOWN_FLAG, motte_groups_explain(groups, 0x8, &shown));
    CHECK(shown.data == NULL && shown.size == 0);
    CHECK(motte_handle_kind(groups) == MOTTE_HANDLE_GROUPS);
    MUST(motte_groups_column(groups, 2, &name, &type, &flags, &target));
    CHECK(name.size == 5 && memcmp(name.data, "least", 5) == 0 && type == MOTTE_TYPE_INT && target == 0);
    CHECK(flags == MOTTE_GROUP_NULLABLE);
    MUST(motte_groups_column(groups, 0, NULL, &type, &flags, NULL));
    CHECK(type == MOTTE_TYPE_STRING && flags == MOTTE_GROUP_KEY);
    STATUS(MOTTE_NOT_FOUND, motte_groups_find_column(groups, "most", MOTTE_NTS, &index));
    value = motte_string("other");
    STATUS(MOTTE_NOT_FOUND, motte_groups_find(groups, &value, 1, &index));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_groups_find(groups, NULL, 0, &index));
    MUST(motte_groups_read_ints(groups, 2, 1, 4, ints, &validity, &count));
    CHECK(count == 1 && ints[0] == INT64_MAX - 3 && validity == 1);
    STATUS(MOTTE_END, motte_groups_read_ints(groups, 2, 2, 4, ints, NULL, &count));

    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_groups_column(groups, 3, &name, NULL, NULL, NULL));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_groups_get(groups, 2, 0, &value));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_groups_get(groups, 0, 3, &value));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_groups_get(groups, SIZE_MAX, 0, &value));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_groups_read_ints(groups, 3, 0, 4, ints, NULL, &count));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_groups_read_doubles(groups, 3, 0, 4, doubles, NULL, &count));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_groups_read_values(groups, 3, 0, 4, values, &count));
    STATUS(MOTTE_E_WRONG_TYPE, motte_groups_read_ints(groups, 0, 0, 4, ints, NULL, &count));
    STATUS(MOTTE_E_WRONG_TYPE, motte_groups_read_doubles(groups, 0, 0, 4, doubles, NULL, &count));

    /* A sum that does not fit is an error of every look. */
    MUST(group(all, "GROUP(name) SUM(n)", &large));
    STATUS(MOTTE_E_OVERFLOW, motte_groups_count(large, &count));
    STATUS(MOTTE_E_OVERFLOW, motte_groups_explain(large, MOTTE_EXPLAIN_ANALYZE, &shown));
    MUST(motte_observe_groups(large, 0, NULL, NULL, NULL, &token));
    {
        motte_changes *changes = NULL;
        motte_status failure = MOTTE_OK;
        motte_token *called = NULL;
        MUST(motte_observe_groups(large, 0, take_failure, &failure, NULL, &called));
        /* Whoever observes hears of it, once. */
        STATUS(MOTTE_OK, motte_realm_refresh(realm, NULL));
        CHECK(failure == MOTTE_E_OVERFLOW);
        STATUS(MOTTE_E_OVERFLOW, motte_token_next(token, &changes));
        STATUS(MOTTE_PENDING, motte_token_next(token, &changes));
        CHECK(changes == NULL);
        motte_release(called);
    }
    motte_release(token);
    STATUS(MOTTE_E_OVERFLOW, motte_groups_get(large, 0, 0, &value));
    value = motte_string("odd");
    STATUS(MOTTE_E_OVERFLOW, motte_groups_find(large, &value, 1, &index));
    STATUS(MOTTE_E_OVERFLOW, motte_groups_read_ints(large, 1, 0, 4, ints, NULL, &count));
    STATUS(MOTTE_E_OVERFLOW, motte_groups_read_doubles(large, 1, 0, 4, doubles, NULL, &count));
    STATUS(MOTTE_E_OVERFLOW, motte_groups_read_values(large, 1, 0, 4, values, &count));
    STATUS(MOTTE_E_OVERFLOW, motte_groups_arrow(large, NULL, &stream));

    /* A stream outlives groups and realm; frozen ones keep what they show. */
    MUST(motte_groups_arrow(groups, NULL, &stream));
    MUST(motte_clone(groups, (void **)&same));
    CHECK(motte_equal(groups, same) == 0);
    MUST(motte_freeze(groups, (void **)&frozen));
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_object_delete(object));
    MUST(motte_groups_get(same, 0, 1, &value));
    CHECK(value.as.integer == 1);
    MUST(motte_groups_get(frozen, 0, 1, &value));
    CHECK(value.as.integer == 2);
    MUST(motte_realm_cancel(realm));
    STATUS(MOTTE_E_FROZEN, motte_observe_groups(frozen, 0, NULL, NULL, NULL, &token));
    CHECK(token == NULL);
    MUST(motte_object_get_coll(object, motte_prop_named(realm, item, "friends"), &friends));
    MUST(group(friends, "GROUP() COUNT", &of_friends));
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_object_delete(object));
    STATUS(MOTTE_E_ALREADY_IN_WRITE, motte_observe_groups(of_friends, 0, NULL, NULL, NULL, &token));
    MUST(motte_realm_commit(realm, 0, NULL));
    STATUS(MOTTE_E_OBJECT_DELETED, motte_observe_groups(of_friends, 0, NULL, NULL, NULL, &token));
    MUST(motte_realm_close(realm));
    STATUS(MOTTE_E_CLOSED, motte_groups_count(groups, &count));
    struct ArrowArray batch;
    CHECK(stream.get_next(&stream, &batch) == 0 && batch.length == 2 && batch.n_children == 3);
    batch.release(&batch);
    stream.release(&stream);
    motte_release(all), motte_release(tags), motte_release(object), motte_release(groups), motte_release(same);
    motte_release(friends), motte_release(of_friends), motte_release(frozen), motte_release(large),
        motte_release(realm);
    return check_summary();
}
