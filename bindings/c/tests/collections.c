/* Sets, maps, embedded objects and nested lists and maps, used as they are meant: handles, freezing, change sets. */
#include "check.h"

static const char schema_text[] =
    "Person { id: int key, marks: set<int>, friends: set<Person>, scores: map<int>, extra: mixed, home: link<Place>, "
    "places: list<Place>, by: map<Place>, mates: map<Person> } embedded Place { city: string }";

typedef struct world {
    motte_realm *realm;
    motte_class person, place;
    motte_object *ada;
} world;

static motte_coll *coll_of(world *w, const char *name) {
    motte_coll *coll = NULL;
    MUST(motte_object_get_coll(w->ada, motte_prop_named(w->realm, w->person, name), &coll));
    return coll;
}

static motte_coll_details info_of(const motte_coll *coll) {
    motte_coll_details details;
    memset(&details, 0, sizeof details);
    details.struct_size = sizeof details;
    MUST(motte_coll_info(coll, &details));
    return details;
}

static world open_world(const char *identifier) {
    world w;
    motte_value key = motte_int(1);
    w.realm = check_realm(identifier, schema_text);
    w.person = motte_class_named(w.realm, "Person");
    w.place = motte_class_named(w.realm, "Place");
    MUST(motte_realm_begin_write(w.realm, -1));
    MUST(motte_object_create(w.realm, w.person, &key, 0, &w.ada, NULL));
    return w;
}

static void close_world(world *w) {
    motte_release(w->ada);
    STATUS(MOTTE_OK, motte_realm_close(w->realm));
    motte_release(w->realm);
}

static void classes(void) {
    world w = open_world("classes");
    motte_class_details details;
    motte_schema *schema;
    size_t index;
    memset(&details, 0, sizeof details);
    details.struct_size = sizeof details;
    MUST(motte_class_info(w.realm, w.place, &details));
    CHECK(details.flags == MOTTE_CLASS_EMBEDDED);
    MUST(motte_class_info(w.realm, w.person, &details));
    CHECK(details.flags == 0);
    MUST(motte_schema_new(&schema));
    STATUS(MOTTE_OK, motte_schema_add_class(schema, MOTTE_LIT("Place"), MOTTE_CLASS_EMBEDDED, &index));
    STATUS(MOTTE_E_UNKNOWN_FLAG, motte_schema_add_class(schema, MOTTE_LIT("Other"), 2, &index));
    motte_release(schema);
    MUST(motte_realm_cancel(w.realm));
    close_world(&w);
}

static void sets(void) {
    world w = open_world("sets");
    motte_coll *marks = coll_of(&w, "marks"), *same = coll_of(&w, "marks"), *friends = coll_of(&w, "friends");
    motte_value values[4], link = motte_link_to(w.ada), value;
    uint64_t added = 0;
    uint32_t relation = 0;
    int64_t numbers[4];
    size_t index, count, i;
    for (i = 0; i < 4; i++) values[i] = motte_int(9 - (int64_t)i);
    values[3] = motte_int(9);
    CHECK(motte_equal(marks, same) == 1 && motte_equal(marks, friends) == 0);
    CHECK(info_of(marks).kind == MOTTE_COLLECTION_SET && info_of(marks).type == MOTTE_TYPE_INT);
    STATUS(MOTTE_OK, motte_set_insert_many(marks, values, 4, &added));
    CHECK(added == 3);
    STATUS(MOTTE_UNCHANGED, motte_set_insert(marks, &values[0]));
    STATUS(MOTTE_OK, motte_coll_find(marks, &values[0], &index));
    CHECK(index == 2);
    STATUS(MOTTE_OK, motte_read_ints(marks, MOTTE_PROP_SELF, 0, 4, numbers, NULL, &count));
    CHECK(count == 3 && numbers[0] == 7 && numbers[2] == 9);
    STATUS(MOTTE_OK, motte_coll_aggregate(marks, MOTTE_AGGREGATE_SUM, MOTTE_PROP_SELF, &value));
    CHECK(value.as.integer == 24);
    /* A link without a class means the set's. */
    link.aux = 0;
    STATUS(MOTTE_OK, motte_set_insert(friends, &link));
    STATUS(MOTTE_OK, motte_set_relate(marks, same, &relation));
    CHECK(relation == (MOTTE_SET_SUBSET | MOTTE_SET_SUPERSET | MOTTE_SET_INTERSECTS));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_set_combine(marks, same, 9));
    STATUS(MOTTE_E_WRONG_KIND, motte_list_append(marks, values, 1));
    STATUS(MOTTE_E_WRONG_KIND, motte_map_has(marks, "a", 1));
    values[1] = motte_string("no int");
    STATUS(MOTTE_E_WRONG_TYPE, motte_set_insert_many(marks, values, 2, &added));
    CHECK(added == 0);
    STATUS(MOTTE_OK, motte_coll_assign(marks, values, 1));
    STATUS(MOTTE_OK, motte_coll_count(same, &count));
    CHECK(count == 1);
    values[1] = motte_int(41);
    STATUS(MOTTE_OK, motte_set_insert_many(marks, values, 2, NULL));
    STATUS(MOTTE_OK, motte_coll_count(same, &count));
    CHECK(count == 2);
    motte_release(marks);
    motte_release(same);
    motte_release(friends);
    MUST(motte_realm_cancel(w.realm));
    close_world(&w);
}

static void maps(void) {
    world w = open_world("maps");
    motte_coll *scores = coll_of(&w, "scores"), *frozen = NULL, *results;
    motte_token *token;
    motte_changes *changes;
    motte_value value, values[2];
    motte_str keys[2], read[4];
    bool inserted = false;
    size_t count;
    keys[0].data = "b";
    keys[0].size = 1;
    keys[1].data = "a";
    keys[1].size = 1;
    values[0] = motte_int(2);
    values[1] = motte_int(1);
    STATUS(MOTTE_OK, motte_map_put_many(scores, keys, values, 2));
    STATUS(MOTTE_OK, motte_map_put(scores, "", 0, &values[0], &inserted));
    CHECK(inserted);
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_map_put(scores, NULL, 0, &values[0], &inserted));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_map_put(scores, MOTTE_LIT("a.b"), &values[0], &inserted));
    STATUS(MOTTE_NOT_FOUND, motte_map_get(scores, MOTTE_LIT("c"), &value));
    STATUS(MOTTE_OK, motte_map_get(scores, MOTTE_LIT("b"), &value));
    CHECK(value.as.integer == 2);
    STATUS(MOTTE_OK, motte_map_entry(scores, 1, &read[0], &value));
    CHECK(motte_str_equal(read[0], "a") && value.as.integer == 1);
    STATUS(MOTTE_OK, motte_map_keys(scores, 1, 9, read, &count));
    CHECK(count == 2 && motte_str_equal(read[0], "a") && motte_str_equal(read[1], "b"));
    STATUS(MOTTE_END, motte_map_keys(scores, 3, 1, read, &count));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_map_entry(scores, 3, NULL, NULL));
    STATUS(MOTTE_OK, motte_coll_to_results(scores, &results));
    STATUS(MOTTE_OK, motte_coll_aggregate(results, MOTTE_AGGREGATE_MAX, MOTTE_PROP_SELF, &value));
    CHECK(value.as.integer == 2);
    motte_release(results);
    MUST(motte_realm_commit(w.realm, 0, NULL));

    STATUS(MOTTE_OK, motte_coll_freeze(scores, &frozen));
    MUST(motte_observe_coll(scores, 0, NULL, NULL, NULL, &token));
    MUST(motte_token_next(token, &changes));
    motte_release(changes);
    MUST(motte_realm_begin_write(w.realm, -1));
    STATUS(MOTTE_OK, motte_map_remove(scores, MOTTE_LIT("a")));
    STATUS(MOTTE_NOT_FOUND, motte_map_remove(scores, MOTTE_LIT("a")));
    MUST(motte_map_put(scores, MOTTE_LIT("c"), &values[0], NULL));
    MUST(motte_realm_commit(w.realm, 0, NULL));
    STATUS(MOTTE_OK, motte_token_next(token, &changes));
    STATUS(MOTTE_OK, motte_changes_keys(changes, MOTTE_CHANGES_DELETIONS, read, 4, &count));
    CHECK(count == 1 && motte_str_equal(read[0], "a"));
    STATUS(MOTTE_OK, motte_changes_keys(changes, MOTTE_CHANGES_INSERTIONS, NULL, 0, &count));
    CHECK(count == 1);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_changes_keys(changes, 4, read, 4, &count));
    STATUS(MOTTE_OK, motte_map_has(frozen, MOTTE_LIT("a")));
    motte_release(changes);
    motte_release(token);
    motte_release(frozen);
    motte_release(scores);
    close_world(&w);
}

static void maps_of_objects(void) {
    world w = open_world("maps_of_objects");
    motte_prop id = motte_prop_named(w.realm, w.person, "id");
    motte_coll *mates = coll_of(&w, "mates"), *results, *colls[2];
    motte_object *bo;
    motte_value key = motte_int(4), value = motte_null();
    motte_key ada_key, bo_key, keys[4];
    int64_t ids[4];
    uint8_t validity = 0xFF;
    size_t count, i;
    MUST(motte_object_create(w.realm, w.person, &key, 0, &bo, NULL));
    MUST(motte_object_row(w.ada, NULL, &ada_key));
    MUST(motte_object_row(bo, NULL, &bo_key));
    /* Nulls first, last and between. */
    MUST(motte_map_put(mates, MOTTE_LIT("a"), &value, NULL));
    MUST(motte_map_put(mates, MOTTE_LIT("c"), &value, NULL));
    value = motte_link_to(w.ada);
    MUST(motte_map_put(mates, MOTTE_LIT("b"), &value, NULL));
    value = motte_link_to(bo);
    MUST(motte_map_put(mates, MOTTE_LIT("d"), &value, NULL));
    for (i = 0; i < 2; i++) {
        STATUS(MOTTE_OK, motte_read_ints(mates, id, 0, 4, ids, &validity, &count));
        CHECK(count == 4 && validity == 0x0A);
        CHECK(ids[0] == 0 && ids[1] == 1 && ids[2] == 0 && ids[3] == 4);
        STATUS(MOTTE_OK, motte_read_links(mates, MOTTE_PROP_SELF, 0, 4, keys, &validity, &count));
        CHECK(count == 4 && validity == 0x0A && keys[0] == -1 && keys[1] == ada_key && keys[3] == bo_key);
        STATUS(MOTTE_OK, motte_read_ints(mates, id, 2, 4, ids, &validity, &count));
        CHECK(count == 2 && (validity & 3) == 2 && ids[1] == 4);
        /* A commit later the same. */
        if (i == 0) MUST(motte_realm_commit(w.realm, 0, NULL));
    }
    /* Results leave nulls out, totals of both pass over them. */
    MUST(motte_coll_to_results(mates, &results));
    STATUS(MOTTE_OK, motte_read_ints(results, id, 0, 4, ids, &validity, &count));
    CHECK(count == 2 && (validity & 3) == 3 && ids[0] == 1 && ids[1] == 4);
    colls[0] = mates;
    colls[1] = results;
    for (i = 0; i < 2; i++) {
        STATUS(MOTTE_OK, motte_coll_aggregate(colls[i], MOTTE_AGGREGATE_SUM, id, &value));
        CHECK(value.type == MOTTE_TYPE_INT && value.as.integer == 5);
        STATUS(MOTTE_OK, motte_coll_aggregate(colls[i], MOTTE_AGGREGATE_MIN, id, &value));
        CHECK(value.as.integer == 1);
        STATUS(MOTTE_OK, motte_coll_aggregate(colls[i], MOTTE_AGGREGATE_COUNT, id, &value));
        CHECK(value.as.integer == 2);
        STATUS(MOTTE_OK, motte_coll_aggregate(colls[i], MOTTE_AGGREGATE_AVG, id, &value));
        CHECK(value.type == MOTTE_TYPE_DOUBLE && value.as.real == 2.5);
    }
    motte_release(results);
    motte_release(mates);
    motte_release(bo);
    close_world(&w);
}

/* Several entries of a map inside a mixed value: how large a value is, is known when it is put in. */
static void put_all_or_none(motte_coll *list) {
    enum {
        LARGE = 16777200
    };
    char *text = malloc(LARGE);
    motte_str keys[2] = {{"a", 1}, {"b", 1}};
    motte_value values[2], value;
    motte_coll *map;
    motte_buf buffer;
    size_t count;
    CHECK(text != NULL);
    if (text == NULL) return;
    memset(text, 'x', LARGE);
    values[0] = motte_int(1);
    values[1] = motte_string_of(text, LARGE);
    MUST(motte_nested_map(keys, values, 1, &buffer));
    value = motte_nested(MOTTE_TYPE_MAP, &buffer);
    STATUS(MOTTE_OK, motte_list_set(list, 1, &value));
    STATUS(MOTTE_OK, motte_coll_get_coll(list, 1, &map));
    values[0] = motte_int(2);
    keys[0].data = "c";
    STATUS(MOTTE_E_VALUE_TOO_LARGE, motte_map_put_many(map, keys, values, 2));
    STATUS(MOTTE_OK, motte_coll_count(map, &count));
    CHECK(count == 1);
    STATUS(MOTTE_OK, motte_map_put_many(map, keys, values, 1));
    STATUS(MOTTE_OK, motte_coll_count(map, &count));
    CHECK(count == 2);
    motte_buf_dispose(&buffer);
    motte_release(map);
    free(text);
}

static void nested(void) {
    world w = open_world("nested");
    motte_prop extra = motte_prop_named(w.realm, w.person, "extra");
    motte_coll *list, *inner, *other, *all;
    motte_value values[2], value;
    motte_buf buffer;
    size_t count;
    MUST(motte_class_all(w.realm, w.person, &all));
    STATUS(MOTTE_E_WRONG_TYPE, motte_object_get_coll(w.ada, extra, &list));
    values[0] = motte_int(1);
    values[1] = motte_string("two");
    MUST(motte_nested_list(values, 2, &buffer));
    value = motte_nested(MOTTE_TYPE_LIST, &buffer);
    STATUS(MOTTE_OK, motte_object_set(w.ada, extra, &value));
    STATUS(MOTTE_OK, motte_object_get_coll(w.ada, extra, &list));
    CHECK(info_of(list).kind == MOTTE_COLLECTION_LIST && (info_of(list).flags & MOTTE_COLL_NESTED));
    CHECK(info_of(list).type == MOTTE_TYPE_MIXED && info_of(list).prop == extra);
    STATUS(MOTTE_OK, motte_list_append(list, &value, 1));
    STATUS(MOTTE_OK, motte_coll_get_coll(list, 2, &inner));
    STATUS(MOTTE_OK, motte_coll_get_coll(list, 2, &other));
    CHECK(motte_equal(inner, other) == 1 && motte_equal(inner, list) == 0);
    motte_release(other);
    STATUS(MOTTE_E_WRONG_TYPE, motte_coll_get_coll(list, 0, &other));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_coll_get_coll(list, 5, &other));
    STATUS(MOTTE_E_WRONG_TYPE, motte_coll_get_coll(all, 0, &other));
    STATUS(MOTTE_OK, motte_list_swap(inner, 0, 1));
    STATUS(MOTTE_OK, motte_coll_get(inner, 0, &value));
    CHECK(motte_str_equal(value.as.string, "two"));
    STATUS(MOTTE_OK, motte_list_splice(inner, 0, 2, values, 1));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_list_splice(inner, 0, 2, values, 1));
    STATUS(MOTTE_OK, motte_coll_count(inner, &count));
    CHECK(count == 1);
    put_all_or_none(list);
    /* What the collection stood in is replaced. */
    STATUS(MOTTE_OK, motte_list_set(list, 2, &values[0]));
    STATUS(MOTTE_E_OBJECT_DELETED, motte_coll_count(inner, &count));
    STATUS(MOTTE_E_OBJECT_DELETED, motte_handle_check(inner));
    STATUS(MOTTE_OK, motte_object_set_null(w.ada, extra));
    STATUS(MOTTE_E_OBJECT_DELETED, motte_list_append(list, values, 1));
    motte_buf_dispose(&buffer);
    motte_release(inner);
    motte_release(list);
    motte_release(all);
    MUST(motte_realm_cancel(w.realm));
    close_world(&w);
}

static void embedded(void) {
    world w = open_world("embedded");
    motte_prop home = motte_prop_named(w.realm, w.person, "home"), where = 0;
    motte_prop city = motte_prop_named(w.realm, w.place, "city");
    motte_coll *places = coll_of(&w, "places"), *by = coll_of(&w, "by"), *marks = coll_of(&w, "marks");
    motte_object *first, *second, *listed, *keyed, *parent;
    motte_value link, key;
    uint64_t count;
    STATUS(MOTTE_OK, motte_embedded_create(w.ada, home, &first));
    STATUS(MOTTE_OK, motte_object_set_string(first, city, MOTTE_LIT("London")));
    STATUS(MOTTE_OK, motte_embedded_insert(places, 0, &listed));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_embedded_insert(places, 2, &second));
    STATUS(MOTTE_OK, motte_embedded_put(by, MOTTE_LIT("work"), &keyed));
    STATUS(MOTTE_E_WRONG_TYPE, motte_embedded_create(w.ada, motte_prop_named(w.realm, w.person, "id"), &second));
    STATUS(MOTTE_E_WRONG_KIND, motte_embedded_insert(marks, 0, &second));
    STATUS(MOTTE_OK, motte_object_parent(keyed, &parent, &where));
    CHECK(motte_equal(parent, w.ada) == 1 && where == motte_prop_named(w.realm, w.person, "by"));
    motte_release(parent);
    STATUS(MOTTE_NOT_FOUND, motte_object_parent(w.ada, &parent, NULL));
    CHECK(parent == NULL);
    link = motte_link_to(first);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_list_append(places, &link, 1));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_object_create(w.realm, w.place, NULL, 0, &second, NULL));
    STATUS(MOTTE_OK, motte_embedded_create(w.ada, home, &second));
    STATUS(MOTTE_E_OBJECT_DELETED, motte_handle_check(first));
    key = motte_null();
    STATUS(MOTTE_OK, motte_object_set(w.ada, home, &key));
    STATUS(MOTTE_E_OBJECT_DELETED, motte_handle_check(second));
    STATUS(MOTTE_OK, motte_class_count(w.realm, w.place, &count));
    CHECK(count == 2);
    STATUS(MOTTE_OK, motte_object_delete(w.ada));
    STATUS(MOTTE_OK, motte_class_count(w.realm, w.place, &count));
    CHECK(count == 0);
    motte_release(first);
    motte_release(second);
    motte_release(listed);
    motte_release(keyed);
    motte_release(places);
    motte_release(by);
    motte_release(marks);
    MUST(motte_realm_cancel(w.realm));
    close_world(&w);
}

int main(void) {
    classes();
    sets();
    maps();
    maps_of_objects();
    nested();
    embedded();
    return check_summary();
}
