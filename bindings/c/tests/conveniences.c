/* What saves calls: link setters, sums, copies of texts, compiled queries over collections, keys of maps as results,
 * nested lists in results, thawing, ranges and moves of change sets. */
#include "check.h"

static const char schema[] =
    "Person { id: int key, name: string?, age: int?, small: int8, blob: data?, friend: link<Person>, any: mixed, "
    "anys: list<mixed>, friends: list<Person>, scores: map<int> }  Dog { name: string }";

typedef struct world {
    motte_realm *realm;
    motte_class person;
    motte_prop id, name, age, small, blob, friend_, any;
} world;

static motte_prop prop(world *w, const char *name) {
    motte_prop found;
    MUST(motte_prop_require(w->realm, w->person, name, MOTTE_NTS, &found));
    return found;
}

static world open_world(const char *identifier) {
    world w;
    w.realm = check_realm(identifier, schema);
    MUST(motte_class_require(w.realm, "Person", MOTTE_NTS, &w.person));
    w.id = prop(&w, "id"), w.name = prop(&w, "name"), w.age = prop(&w, "age"), w.small = prop(&w, "small");
    w.blob = prop(&w, "blob"), w.friend_ = prop(&w, "friend"), w.any = prop(&w, "any");
    return w;
}

static motte_object *person(world *w, int64_t id) {
    motte_value key = motte_int(id);
    motte_object *object;
    MUST(motte_object_create(w->realm, w->person, &key, MOTTE_CREATE_NEW, &object, NULL));
    return object;
}

static motte_coll *coll_of(motte_object *object, motte_prop which) {
    motte_coll *coll;
    MUST(motte_object_get_coll(object, which, &coll));
    return coll;
}

static void names(void) {
    world w = open_world("names");
    motte_class cls = 7;
    motte_prop found = 7, again;
    STATUS(MOTTE_E_UNKNOWN_CLASS, motte_class_require(w.realm, "Persn", MOTTE_NTS, &cls));
    CHECK(cls == 0 && strstr(check_error().message, "did you mean 'Person'?") != NULL);
    STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_prop_require(w.realm, w.person, "nmae", MOTTE_NTS, &found));
    CHECK(found == 0 && strstr(check_error().message, "did you mean 'name'?") != NULL);
    STATUS(MOTTE_E_UNKNOWN_CLASS, motte_prop_require(w.realm, 4000, "name", MOTTE_NTS, &found));
    MUST(motte_realm_begin_write(w.realm, -1));
    motte_object *ada = person(&w, 1);
    STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_object_prop(ada, "agee", MOTTE_NTS, &found));
    CHECK(found == 0 && strstr(check_error().message, "did you mean 'age'?") != NULL);
    STATUS(MOTTE_OK, motte_object_prop(ada, "age", 3, &found));
    STATUS(MOTTE_OK, motte_object_prop(ada, "agent", 3, &again));
    CHECK(found == w.age && again == w.age);
    /* Names that fall on one place of the cache, over and over. */
    for (int round = 0; round < 3; round++) {
        CHECK(prop(&w, "id") == w.id && prop(&w, "any") == w.any && prop(&w, "friend") == w.friend_);
    }
    MUST(motte_realm_cancel(w.realm));
    motte_release(ada);
    MUST(motte_realm_close(w.realm));
    motte_release(w.realm);
}

static void fields(void) {
    world w = open_world("fields"), other = open_world("others");
    int64_t sum = 7;
    motte_buf text;
    MUST(motte_realm_begin_write(w.realm, -1));
    motte_object *ada = person(&w, 1), *bob = person(&w, 2), *target;
    /* Links. */
    STATUS(MOTTE_OK, motte_object_set_object(ada, w.friend_, bob));
    STATUS(MOTTE_OK, motte_object_get_object(ada, w.friend_, &target));
    CHECK(motte_equal(target, bob) == 1);
    motte_release(target);
    STATUS(MOTTE_OK, motte_object_set_object(ada, w.any, ada));
    STATUS(MOTTE_OK, motte_object_set_object(ada, w.friend_, NULL));
    STATUS(MOTTE_NULL, motte_object_get_object(ada, w.friend_, &target));
    STATUS(MOTTE_E_WRONG_TYPE, motte_object_set_object(ada, w.age, bob));
    MUST(motte_realm_begin_write(other.realm, -1));
    motte_object *stranger = person(&other, 3);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_object_set_object(ada, w.friend_, stranger));
    motte_release(stranger);
    MUST(motte_realm_cancel(other.realm));
    /* Sums. */
    STATUS(MOTTE_E_NULL_NOT_ALLOWED, motte_object_add_int(ada, w.age, 1, &sum));
    CHECK(sum == 0);
    MUST(motte_object_set_int(ada, w.age, 36));
    STATUS(MOTTE_OK, motte_object_add_int(ada, w.age, 6, &sum));
    CHECK(sum == 42);
    STATUS(MOTTE_OK, motte_object_add_int(ada, w.age, -2, NULL));
    MUST(motte_object_get_int(ada, w.age, &sum));
    CHECK(sum == 40);
    STATUS(MOTTE_E_OVERFLOW, motte_object_add_int(ada, w.age, INT64_MAX, &sum));
    STATUS(MOTTE_E_OVERFLOW, motte_object_add_int(ada, w.small, 128, &sum));
    MUST(motte_object_get_int(ada, w.age, &sum));
    CHECK(sum == 40);
    STATUS(MOTTE_E_WRONG_TYPE, motte_object_add_int(ada, w.name, 1, NULL));
    STATUS(MOTTE_E_PRIMARY_KEY_IS_FIXED, motte_object_add_int(ada, w.id, 1, NULL));
    MUST(motte_object_set_int(ada, w.any, 1));
    STATUS(MOTTE_OK, motte_object_add_int(ada, w.any, 1, &sum));
    CHECK(sum == 2);
    /* Texts that stay. */
    STATUS(MOTTE_NULL, motte_object_copy_string(ada, w.name, &text));
    CHECK(text.data == NULL && text.size == 0);
    MUST(motte_object_set_string(ada, w.name, "Ada", 3));
    MUST(motte_object_set_data(ada, w.blob, "\0\1", 2));
    STATUS(MOTTE_OK, motte_object_copy_string(ada, w.name, &text));
    MUST(motte_object_set_string(ada, w.name, "Eve", 3));
    CHECK(text.size == 3 && strcmp(text.data, "Ada") == 0);
    motte_buf_dispose(&text);
    STATUS(MOTTE_OK, motte_object_copy_string(ada, w.blob, &text));
    CHECK(text.size == 2 && memcmp(text.data, "\0\1", 3) == 0);
    motte_buf_dispose(&text);
    STATUS(MOTTE_E_WRONG_TYPE, motte_object_copy_string(ada, w.age, &text));
    MUST(motte_object_delete(bob));
    STATUS(MOTTE_E_OBJECT_DELETED, motte_object_set_object(ada, w.friend_, bob));
    MUST(motte_realm_cancel(w.realm));
    motte_release(ada), motte_release(bob);
    MUST(motte_realm_close(w.realm));
    MUST(motte_realm_close(other.realm));
    motte_release(w.realm), motte_release(other.realm);
}

static void results(void) {
    world w = open_world("results");
    size_t count;
    motte_value value, limit = motte_int(2);
    motte_query *query, *dogs;
    motte_class dog;
    MUST(motte_class_require(w.realm, "Dog", MOTTE_NTS, &dog));
    MUST(motte_realm_begin_write(w.realm, -1));
    motte_object *ada = person(&w, 1), *bob = person(&w, 2), *cleo = person(&w, 3);
    motte_coll *friends = coll_of(ada, prop(&w, "friends")), *scores = coll_of(ada, prop(&w, "scores"));
    motte_coll *anys = coll_of(ada, prop(&w, "anys")), *found, *nested;
    MUST(motte_list_append_object(friends, cleo));
    MUST(motte_list_append_object(friends, bob));
    /* A compiled query over a collection. */
    MUST(motte_query_parse(w.realm, w.person, MOTTE_LIT("id >= $0 SORT(id ASC)"), &limit, 1, &query));
    MUST(motte_query_parse(w.realm, dog, MOTTE_LIT("TRUEPREDICATE"), NULL, 0, &dogs));
    STATUS(MOTTE_OK, motte_coll_query(friends, query, &found));
    limit = motte_int(3);
    MUST(motte_query_bind(query, 0, &limit));
    MUST(motte_coll_count(found, &count));
    CHECK(count == 2);
    MUST(motte_coll_get(found, 0, &value));
    motte_key key;
    MUST(motte_object_row(bob, NULL, &key));
    CHECK(value.as.key == key);
    motte_release(found);
    STATUS(MOTTE_OK, motte_coll_query(friends, query, &found));
    MUST(motte_coll_count(found, &count));
    CHECK(count == 1);
    motte_release(found);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_coll_query(friends, dogs, &found));
    STATUS(MOTTE_E_WRONG_TYPE, motte_coll_query(scores, query, &found));
    /* Keys of a map. */
    for (int i = 0; i < 3; i++) {
        static const char *const keys[] = {"b", "a", "c"};
        value = motte_int(i);
        MUST(motte_map_put(scores, keys[i], 1, &value, NULL));
    }
    STATUS(MOTTE_OK, motte_map_key_results(scores, &found));
    MUST(motte_coll_get(found, 0, &value));
    CHECK(motte_str_equal(value.as.string, "a"));
    STATUS(MOTTE_OK, motte_coll_filter(found, MOTTE_LIT("SELF != 'b' SORT(SELF DESC)"), NULL, 0, &nested));
    MUST(motte_coll_get(nested, 0, &value));
    CHECK(motte_str_equal(value.as.string, "c"));
    motte_release(nested);
    MUST(motte_map_remove(scores, "c", 1));
    MUST(motte_coll_count(found, &count));
    CHECK(count == 2);
    motte_release(found);
    STATUS(MOTTE_E_WRONG_KIND, motte_map_key_results(friends, &found));
    /* A list inside results of mixed values. */
    motte_value one = motte_int(1), items[2];
    motte_buf document;
    MUST(motte_nested_list(&one, 1, &document));
    items[0] = motte_nested(MOTTE_TYPE_LIST, &document), items[1] = motte_string("plain");
    MUST(motte_coll_assign(anys, items, 2));
    motte_buf_dispose(&document);
    STATUS(MOTTE_E_UNSUPPORTED, motte_coll_filter(anys, MOTTE_LIT("SELF.@type == 'list'"), NULL, 0, &found));
    motte_sort_key descending = {"self", 4, MOTTE_SORT_DESCENDING, 0};
    MUST(motte_coll_sort(anys, &descending, 1, &found));
    STATUS(MOTTE_OK, motte_coll_get_coll(found, 0, &nested));
    MUST(motte_list_append(nested, &one, 1));
    MUST(motte_coll_count(nested, &count));
    CHECK(count == 2);
    motte_coll *none;
    STATUS(MOTTE_E_WRONG_TYPE, motte_coll_get_coll(found, 1, &none));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_coll_get_coll(found, 2, &none));
    motte_release(found);
    motte_release(nested);
    MUST(motte_coll_snapshot(anys, &found));
    STATUS(MOTTE_E_WRONG_TYPE, motte_coll_get_coll(found, 0, &none));
    motte_release(found);
    MUST(motte_realm_cancel(w.realm));
    motte_release(ada), motte_release(bob), motte_release(cleo), motte_release(friends), motte_release(scores);
    motte_release(anys), motte_release(query), motte_release(dogs);
    MUST(motte_realm_close(w.realm));
    motte_release(w.realm);
}

static void thawing(void) {
    world w = open_world("thawing"), other = open_world("elsewhere");
    motte_config *config;
    motte_realm *second;
    void *thawed = &w;
    size_t count;
    MUST(motte_config_new(&config));
    MUST(motte_config_set_in_memory(config, "thawing", MOTTE_NTS));
    MUST(motte_realm_open(config, &second));
    MUST(motte_realm_begin_write(w.realm, -1));
    motte_object *ada = person(&w, 1);
    MUST(motte_realm_commit(w.realm, 0, NULL));
    motte_object *frozen;
    motte_coll *all, *frozen_all;
    motte_query *query;
    MUST(motte_class_all(w.realm, w.person, &all));
    MUST(motte_object_freeze(ada, &frozen));
    MUST(motte_coll_freeze(all, &frozen_all));
    MUST(motte_query_parse(w.realm, w.person, MOTTE_LIT("id == 1"), NULL, 0, &query));
    /* The second realm shows an older version, and is brought up to this one. */
    STATUS(MOTTE_OK, motte_thaw(frozen, second, &thawed));
    CHECK(motte_handle_kind(thawed) == MOTTE_HANDLE_OBJECT && !motte_handle_is_frozen(thawed));
    motte_release(thawed);
    STATUS(MOTTE_OK, motte_thaw(frozen_all, w.realm, &thawed));
    MUST(motte_coll_count((motte_coll *)thawed, &count));
    CHECK(count == 1);
    motte_release(thawed);
    STATUS(MOTTE_OK, motte_thaw(query, second, &thawed));
    MUST(motte_query_count((motte_query *)thawed, &count));
    CHECK(count == 1);
    motte_release(thawed);
    STATUS(MOTTE_NOT_FOUND, motte_thaw(frozen, other.realm, &thawed));
    CHECK(thawed == NULL);
    STATUS(MOTTE_E_WRONG_KIND, motte_thaw(w.realm, second, &thawed));
    STATUS(MOTTE_E_WRONG_KIND, motte_thaw(config, second, &thawed));
    MUST(motte_realm_begin_write(w.realm, -1));
    MUST(motte_object_delete(ada));
    MUST(motte_realm_commit(w.realm, 0, NULL));
    STATUS(MOTTE_NOT_FOUND, motte_thaw(frozen, w.realm, &thawed));
    STATUS(MOTTE_E_OBJECT_DELETED, motte_thaw(ada, w.realm, &thawed));
    motte_release(ada), motte_release(all), motte_release(frozen), motte_release(frozen_all), motte_release(query);
    motte_release(config);
    MUST(motte_realm_close(w.realm));
    MUST(motte_realm_close(second));
    MUST(motte_realm_close(other.realm));
    motte_release(w.realm), motte_release(second), motte_release(other.realm);
}

static motte_changes *next_of(motte_token *token) {
    motte_changes *changes = NULL;
    MUST(motte_token_next(token, &changes));
    return changes;
}

static void ranges_and_moves(void) {
    world w = open_world("ranges");
    motte_coll *all, *sorted, *friends;
    motte_token *of_all, *of_sorted, *of_friends;
    motte_object *people[6];
    motte_sort_key by_age = {"age", 3, MOTTE_SORT_ASCENDING, 0};
    motte_range ranges[4];
    size_t from[4], to[4], count;
    MUST(motte_realm_begin_write(w.realm, -1));
    for (int i = 0; i < 6; i++) {
        people[i] = person(&w, i);
        MUST(motte_object_set_int(people[i], w.age, 10 * i));
    }
    friends = coll_of(people[0], prop(&w, "friends"));
    for (int i = 1; i < 6; i++) MUST(motte_list_append_object(friends, people[i]));
    MUST(motte_realm_commit(w.realm, 0, NULL));
    MUST(motte_class_all(w.realm, w.person, &all));
    MUST(motte_coll_sort(all, &by_age, 1, &sorted));
    MUST(motte_observe_coll(all, 0, NULL, NULL, NULL, &of_all));
    MUST(motte_observe_coll(sorted, 0, NULL, NULL, NULL, &of_sorted));
    MUST(motte_observe_coll(friends, 0, NULL, NULL, NULL, &of_friends));
    MUST(motte_realm_refresh(w.realm, NULL));
    motte_release(next_of(of_all)), motte_release(next_of(of_sorted)), motte_release(next_of(of_friends));
    MUST(motte_realm_begin_write(w.realm, -1));
    MUST(motte_object_set_int(people[0], w.age, 35));
    MUST(motte_object_set_string(people[1], w.name, "b", 1));
    MUST(motte_object_set_string(people[2], w.name, "c", 1));
    MUST(motte_object_set_string(people[5], w.name, "f", 1));
    MUST(motte_list_move(friends, 0, 3));
    MUST(motte_realm_commit(w.realm, 0, NULL));

    motte_changes *changes = next_of(of_all);
    STATUS(MOTTE_OK, motte_changes_ranges(changes, MOTTE_CHANGES_MODIFICATIONS, ranges, 4, &count));
    CHECK(count == 2 && ranges[0].first == 0 && ranges[0].count == 3 && ranges[1].first == 5 && ranges[1].count == 1);
    STATUS(MOTTE_TRUNCATED, motte_changes_ranges(changes, MOTTE_CHANGES_MODIFICATIONS, ranges, 1, &count));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_changes_ranges(changes, 9, ranges, 4, &count));
    STATUS(MOTTE_OK, motte_changes_moves(changes, from, to, 4, &count));
    CHECK(count == 0);
    motte_release(changes);

    changes = next_of(of_sorted);
    STATUS(MOTTE_OK, motte_changes_moves(changes, from, to, 4, &count));
    CHECK(count == 1 && from[0] == 0 && to[0] == 3);
    STATUS(MOTTE_OK, motte_changes_ranges(changes, MOTTE_CHANGES_DELETIONS, ranges, 4, &count));
    CHECK(count == 1 && ranges[0].first == 0);
    STATUS(MOTTE_OK, motte_changes_ranges(changes, MOTTE_CHANGES_INSERTIONS, ranges, 4, &count));
    CHECK(count == 1 && ranges[0].first == 3);
    STATUS(MOTTE_OK, motte_changes_moves(changes, NULL, to, 4, &count));
    STATUS(MOTTE_OK, motte_changes_moves(changes, NULL, NULL, 0, &count));
    CHECK(count == 1 && to[0] == 3);
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_changes_moves(changes, NULL, NULL, 1, &count));
    motte_release(changes);

    changes = next_of(of_friends);
    STATUS(MOTTE_OK, motte_changes_moves(changes, from, to, 4, &count));
    CHECK(count == 1 && from[0] == 0 && to[0] == 3);
    motte_release(changes);

    /* Two moves that nobody fetched in between are one. */
    for (int round = 0; round < 2; round++) {
        MUST(motte_realm_begin_write(w.realm, -1));
        MUST(motte_object_set_int(people[0], w.age, round ? 60 : 5));
        MUST(motte_realm_commit(w.realm, 0, NULL));
    }
    changes = next_of(of_sorted);
    STATUS(MOTTE_OK, motte_changes_moves(changes, from, to, 4, &count));
    CHECK(count == 1 && from[0] == 3 && to[0] == 5);
    motte_release(changes);

    for (int i = 0; i < 6; i++) motte_release(people[i]);
    motte_release(all), motte_release(sorted), motte_release(friends);
    motte_release(of_all), motte_release(of_sorted), motte_release(of_friends);
    MUST(motte_realm_close(w.realm));
    motte_release(w.realm);
}

int main(void) {
    names();
    fields();
    results();
    thawing();
    ranges_and_moves();
    return check_summary();
}
