/* Sections by a function: who calls it, whose its userdata is, what it may not do. Those by a path are in the cases. */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

typedef struct keys {
    int calls, freed;
    int64_t divisor;
    motte_status answer;
    motte_prop n;
    motte_sections *sections; /* looked at inside, if there are some */
    motte_realm *realm;       /* refreshed inside, if there is one */
} keys;

static motte_status key_of(void *userdata, const motte_coll *coll, size_t index, motte_value *out_key) {
    keys *k = (keys *)userdata;
    motte_object *object = NULL;
    int64_t n;
    size_t count;
    bool advanced;
    k->calls++;
    if (k->answer != 0) return k->answer;
    if (k->sections) STATUS(MOTTE_E_REENTRANT, motte_sections_count(k->sections, &count));
    if (k->realm) STATUS(MOTTE_E_REENTRANT, motte_realm_refresh(k->realm, &advanced));
    MUST(motte_coll_get_object(coll, index, &object));
    MUST(motte_object_get_int(object, k->n, &n));
    motte_release(object);
    *out_key = motte_int(n / k->divisor);
    return 0;
}

/* ------------------------------------------------------------------------------------------------ by a reference */

static motte_status link_of(void *userdata, const motte_coll *coll, size_t index, motte_value *out_key) {
    motte_object *object = NULL;
    (void)userdata;
    MUST(motte_coll_get_object(coll, index, &object));
    MUST(motte_object_link(object, out_key));
    motte_release(object);
    return 0;
}

/* A section whose keys are objects, in a realm of another thread after the realm that it was made in was closed. */
static void *resolved_elsewhere(void *reference) {
    motte_realm *realm = NULL;
    motte_coll *section = NULL;
    size_t count = 0;
    MUST(motte_open("links.motte", NULL, &realm));
    MUST(motte_reference_resolve(reference, realm, (void **)&section));
    STATUS(MOTTE_OK, motte_coll_count(section, &count));
    CHECK(count == 1);
    motte_release(section);
    MUST(motte_realm_close(realm));
    motte_release(realm);
    return NULL;
}

static void test_keys_are_objects_of_the_realm_that_asks(void) {
    motte_realm *realm = NULL;
    motte_coll *all = NULL, *section = NULL;
    motte_sections *sections = NULL;
    motte_reference *reference = NULL;
    pthread_t thread;
    unlink("links.motte");
    MUST(motte_open("links.motte", "Item { n: int }", &realm));
    MUST(motte_realm_begin_write(realm, -1));
    for (int n = 0; n < 3; n++) MUST(motte_realm_add(realm, "Item", MOTTE_FIELDS({"n", motte_int(n)}), NULL));
    MUST(motte_realm_commit(realm, 0, NULL));
    MUST(motte_class_all(realm, motte_class_named(realm, "Item"), &all));
    MUST(motte_sections_by_callback(all, link_of, NULL, NULL, &sections));
    MUST(motte_sections_get(sections, 1, &section));
    MUST(motte_reference_new(section, &reference));
    motte_release(section);
    motte_release(sections);
    motte_release(all);
    MUST(motte_realm_close(realm));
    motte_release(realm);
    CHECK(pthread_create(&thread, NULL, resolved_elsewhere, reference) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    motte_release(reference);
}

static void freed(void *userdata) { ((keys *)userdata)->freed++; }

static motte_status releasing(void *userdata, const motte_coll *coll, size_t index, motte_value *out_key) {
    motte_realm **realm = (motte_realm **)userdata;
    (void)coll;
    (void)index;
    if (*realm) MUST(motte_release(*realm));
    *realm = NULL;
    *out_key = motte_int(1);
    return 0;
}

/* The last handle to a realm ends its write wherever it is released, and its lock with that. */
static void released_inside(void) {
    motte_realm *realm = check_realm("released", "Item { id: int key, n: int }"), *victim = realm;
    motte_realm *other = check_realm("released", "Item { id: int key, n: int }");
    motte_class item = motte_class_named(realm, "Item");
    motte_prop id = motte_prop_named(realm, item, "id");
    motte_value value = motte_int(1);
    motte_coll *all;
    motte_sections *sections = NULL;
    motte_key row = 0;
    size_t count = 0;
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_row_create(realm, item, &id, &value, 1, 0, &row, NULL));
    MUST(motte_realm_commit(realm, 0, NULL));
    MUST(motte_class_all(realm, item, &all));
    MUST(motte_sections_by_callback(all, releasing, &victim, NULL, &sections));
    MUST(motte_realm_begin_write(realm, -1));
    STATUS(MOTTE_E_REENTRANT, motte_sections_count(sections, &count));
    CHECK(victim == NULL);
    STATUS(MOTTE_OK, motte_realm_begin_write(other, 500));
    MUST(motte_realm_cancel(other));
    motte_release(sections);
    motte_release(all);
    motte_release(other);
}

int main(void) {
    motte_realm *realm = check_realm("sections", "Item { id: int key, n: int }");
    motte_class item = motte_class_named(realm, "Item");
    motte_prop props[2] = {motte_prop_named(realm, item, "id"), motte_prop_named(realm, item, "n")};
    motte_coll *all, *section;
    motte_sections *sections = NULL, *frozen, *none = NULL;
    motte_token *token, *one;
    motte_changes *changes;
    motte_value key;
    motte_key row = 0;
    size_t count, index, section_index, places[4];
    keys k = {.divisor = 10, .n = props[1]};

    released_inside();
    MUST(motte_realm_begin_write(realm, -1));
    for (int i = 0; i < 6; i++) {
        motte_value values[2] = {motte_int(i), motte_int(i * 7)};
        MUST(motte_row_create(realm, item, props, values, 2, 0, &row, NULL));
    }
    MUST(motte_realm_commit(realm, 0, NULL));
    MUST(motte_class_all(realm, item, &all));

    /* 0 7 | 14 | 21 28 | 35 */
    MUST(motte_sections_by_callback(all, key_of, &k, freed, &sections));
    CHECK(k.calls == 0);
    k.sections = sections;
    MUST(motte_sections_count(sections, &count));
    CHECK(count == 4 && k.calls == 6);
    k.sections = NULL;
    MUST(motte_sections_key(sections, 2, &key));
    CHECK(key.type == MOTTE_TYPE_INT && key.as.integer == 2);
    MUST(motte_sections_find(sections, &key, &index));
    CHECK(index == 2);
    key = motte_int(9);
    STATUS(MOTTE_NOT_FOUND, motte_sections_find(sections, &key, &index));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_sections_key(sections, 4, &key));
    MUST(motte_sections_locate(sections, 4, &section_index, &index));
    CHECK(section_index == 2 && index == 1);
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_sections_locate(sections, 6, &section_index, &index));
    MUST(motte_sections_get(sections, 2, &section));
    MUST(motte_coll_count(section, &count));
    CHECK(count == 2 && k.calls == 6);
    MUST(motte_freeze(sections, (void **)&frozen));

    MUST(motte_observe_sections(sections, NULL, 0, 0, NULL, NULL, NULL, &token));
    key = motte_int(2);
    MUST(motte_observe_section(sections, &key, NULL, 0, MOTTE_OBSERVE_PATHS, NULL, NULL, NULL, &one));
    STATUS(MOTTE_OK, motte_token_next(token, &changes));
    motte_release(changes);
    STATUS(MOTTE_OK, motte_token_next(one, &changes));
    motte_release(changes);

    /* 35 becomes 22: a section goes, an element comes to another one. The function may not move the realm. */
    key = motte_int(22);
    k.realm = realm;
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_row_set_many(realm, item, row, &props[1], &key, 1));
    MUST(motte_realm_commit(realm, 0, NULL));
    k.realm = NULL;
    STATUS(MOTTE_OK, motte_token_next(token, &changes));
    MUST(motte_changes_sections(changes, MOTTE_CHANGES_DELETIONS, places, 4, &count));
    CHECK(count == 1 && places[0] == 3);
    MUST(motte_changes_sections(changes, MOTTE_CHANGES_INSERTIONS, places, 4, &count));
    CHECK(count == 0);
    MUST(motte_changes_insertions(changes, places, 4, &count));
    CHECK(count == 1 && places[0] == 2);
    MUST(motte_changes_section_indexes(changes, MOTTE_CHANGES_INSERTIONS, places, 4, &count));
    CHECK(count == 1 && places[0] == 2);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_changes_sections(changes, MOTTE_CHANGES_MODIFICATIONS, places, 4, &count));
    motte_release(changes);
    STATUS(MOTTE_OK, motte_token_next(one, &changes));
    motte_release(changes);
    MUST(motte_coll_count(section, &count));
    CHECK(count == 3);
    int calls = k.calls;
    MUST(motte_sections_count(frozen, &count));
    CHECK(count == 4 && k.calls == calls);

    /* What the function answers is what the call fails with. */
    k.answer = 77;
    key = motte_int(1);
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_row_set_many(realm, item, row, &props[1], &key, 1));
    STATUS(MOTTE_E_CALLBACK, motte_sections_count(sections, &count));
    CHECK(check_error().user_code == 77);
    k.answer = 0;
    MUST(motte_realm_commit(realm, 0, NULL));

    STATUS(MOTTE_E_NULL_ARGUMENT, motte_sections_by_callback(all, NULL, &k, freed, &none));
    CHECK(none == NULL && k.freed == 1);
    motte_release(section);
    motte_release(token);
    motte_release(one);
    motte_release(frozen);
    motte_release(sections);
    motte_release(all);
    motte_release(realm);
    CHECK(k.freed == 2);
    test_keys_are_objects_of_the_realm_that_asks();
    return check_summary();
}
