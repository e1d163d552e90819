/* Objects of another file, whose keys are those of other objects here: refused wherever a value or an object is taken,
 * by each function that takes one, and nothing is changed. */
#include "check.h"

static const char schema[] =
    "D { n: int, to: link<D>, any: mixed, list: list<D>, set: set<D>, map: map<D>, anys: list<mixed> }";

typedef struct world {
    motte_realm *realm, *other;
    motte_object *first, *object, *foreign;
    motte_class cls;
    motte_value link, own;
} world;

static motte_object *made(motte_realm *realm, int64_t n) {
    motte_object *object = NULL;
    MUST(motte_realm_add(realm, "D", MOTTE_FIELDS({"n", motte_int(n)}), &object));
    return object;
}

static world make_world(void) {
    world w;
    memset(&w, 0, sizeof w);
    w.realm = check_realm("here", schema);
    w.other = check_realm("there", schema);
    MUST(motte_realm_begin_write(w.other, -1));
    w.foreign = made(w.other, 100);
    MUST(motte_realm_commit(w.other, 0, NULL));
    MUST(motte_realm_begin_write(w.realm, -1));
    w.first = made(w.realm, 1);
    w.object = made(w.realm, 2);
    MUST(motte_realm_commit(w.realm, 0, NULL));
    w.cls = motte_class_named(w.realm, "D");
    MUST(motte_object_link(w.foreign, &w.link));
    MUST(motte_object_link(w.first, &w.own));
    return w;
}

static void close_world(world *w) {
    motte_release(w->first);
    motte_release(w->object);
    motte_release(w->foreign);
    motte_release(w->realm);
    motte_release(w->other);
}

static motte_prop prop(motte_realm *realm, const char *name) {
    return motte_prop_named(realm, motte_class_named(realm, "D"), name);
}

static motte_coll *coll(const world *w, const char *name) {
    motte_coll *found = NULL;
    MUST(motte_object_get_coll(w->object, prop(w->realm, name), &found));
    return found;
}

/* Written: by itself, within several values, in each kind of collection. */
static void writing(void) {
    world w = make_world();
    const char *names[] = {"to", "any"};
    const motte_str keys[] = {{"a", 1}, {"b", 1}};
    motte_value two[2], row[2];
    motte_prop props[2];
    motte_object *linked = NULL;
    motte_coll *list = coll(&w, "list"), *set = coll(&w, "set"), *map = coll(&w, "map");
    motte_coll *anys = coll(&w, "anys");
    motte_insert *insert = NULL;
    motte_buf document = {NULL, 0};
    size_t i, count = 9;
    two[0] = w.own, two[1] = w.link;
    MUST(motte_realm_begin_write(w.realm, -1));
    for (i = 0; i < 2; i++) {
        STATUS(MOTTE_E_INVALID_ARGUMENT, motte_object_set(w.object, prop(w.realm, names[i]), &w.link));
        STATUS(MOTTE_E_INVALID_ARGUMENT, motte_object_set_object(w.object, prop(w.realm, names[i]), w.foreign));
        props[i] = motte_prop_named(w.realm, w.cls, names[i]);
        row[0] = motte_int(5), row[1] = w.link;
        {
            const motte_prop both[] = {motte_prop_named(w.realm, w.cls, "n"), props[i]};
            motte_key key = 0;
            bool created = false;
            STATUS(MOTTE_E_INVALID_ARGUMENT, motte_object_set_many(w.object, both, row, 2));
            MUST(motte_object_row(w.object, NULL, &key));
            STATUS(MOTTE_E_INVALID_ARGUMENT, motte_row_set_many(w.realm, w.cls, key, both, row, 2));
            STATUS(MOTTE_E_INVALID_ARGUMENT,
                   motte_row_create(w.realm, w.cls, both, row, 2, MOTTE_CREATE_NEW, &key, &created));
            STATUS(MOTTE_E_INVALID_ARGUMENT,
                   motte_object_create_with(w.realm, w.cls, both, row, 2, MOTTE_CREATE_NEW, &linked, NULL));
            MUST(motte_insert_new(w.realm, w.cls, both, 2, MOTTE_CREATE_NEW, &insert));
            STATUS(MOTTE_E_INVALID_ARGUMENT, motte_insert_rows(insert, row, 1, NULL));
            CHECK(check_error().row_index == 0);
            motte_release(insert);
        }
    }
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_list_append(list, two, 2));
    CHECK(check_error().row_index == 1);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_list_append_object(list, w.foreign));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_list_insert(list, 0, &w.link));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_list_splice(list, 0, 0, two, 2));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_coll_assign(list, two, 2));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_list_append(anys, two, 2));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_set_insert(set, &w.link));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_set_remove(set, &w.link));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_map_put(map, "k", MOTTE_NTS, &w.link, NULL));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_map_put_many(map, keys, two, 2));
    /* Nothing of it is there. */
    MUST(motte_coll_count(list, &count));
    CHECK(count == 0);
    MUST(motte_coll_count(set, &count));
    CHECK(count == 0);
    MUST(motte_coll_count(map, &count));
    CHECK(count == 0);
    STATUS(MOTTE_NULL, motte_object_get_object(w.object, prop(w.realm, "to"), &linked));
    {
        motte_coll *all = NULL;
        MUST(motte_realm_query(w.realm, "D", "TRUEPREDICATE", NULL, 0, &all));
        MUST(motte_coll_count(all, &count));
        CHECK(count == 2);
        motte_release(all);
    }
    /* Objects of this file, by the same ways. */
    STATUS(MOTTE_OK, motte_object_set(w.object, prop(w.realm, "to"), &w.own));
    STATUS(MOTTE_OK, motte_object_set(w.object, prop(w.realm, "any"), &w.own));
    STATUS(MOTTE_OK, motte_list_append_object(list, w.first));
    STATUS(MOTTE_OK, motte_set_insert(set, &w.own));
    STATUS(MOTTE_OK, motte_map_put(map, "k", MOTTE_NTS, &w.own, NULL));
    row[1] = w.own;
    props[1] = props[0], props[0] = motte_prop_named(w.realm, w.cls, "n");
    MUST(motte_insert_new(w.realm, w.cls, props, 2, MOTTE_CREATE_NEW, &insert));
    STATUS(MOTTE_OK, motte_insert_rows(insert, row, 1, NULL));
    motte_release(insert);
    /* What is read has no database, and is equal to what was stored. */
    {
        motte_value read;
        MUST(motte_object_get(w.object, prop(w.realm, "to"), &read));
        CHECK(read.type == MOTTE_TYPE_LINK && read.as.words[1] == 0 && read.as.key == w.own.as.key);
    }
    MUST(motte_nested_list(&w.own, 1, &document));
    two[0] = motte_nested(MOTTE_TYPE_LIST, &document);
    STATUS(MOTTE_OK, motte_object_set(w.object, prop(w.realm, "any"), &two[0]));
    motte_buf_dispose(&document);
    MUST(motte_realm_commit(w.realm, 0, NULL));
    motte_release(list);
    motte_release(set);
    motte_release(map);
    motte_release(anys);
    close_world(&w);
}

/* Asked about: by position, in queries, as an argument that is bound later. */
static void asking(void) {
    world w = make_world();
    motte_coll *all = NULL, *found = NULL;
    motte_query *query = NULL;
    size_t at = 9;
    MUST(motte_realm_query(w.realm, "D", "TRUEPREDICATE", NULL, 0, &all));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_coll_find(all, &w.link, &at));
    STATUS(MOTTE_OK, motte_coll_find(all, &w.own, &at));
    CHECK(at == 0);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_realm_query(w.realm, "D", "SELF == $0", &w.link, 1, &found));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_coll_filter(all, "to == $0", MOTTE_NTS, &w.link, 1, &found));
    MUST(motte_query_parse(w.realm, w.cls, "SELF == $0", MOTTE_NTS, &w.own, 1, &query));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_query_bind(query, 0, &w.link));
    MUST(motte_query_run(query, &found));
    MUST(motte_coll_count(found, &at));
    CHECK(at == 1);
    motte_release(query);
    motte_release(found);
    motte_release(all);
    close_world(&w);
}

/* Two handles of one file are one database; one that was closed and opened again is another. */
static void reopening(void) {
    motte_realm *keeper = check_realm("again", schema), *realm = check_realm("again", schema);
    motte_object *object, *target;
    motte_value link;
    MUST(motte_realm_begin_write(keeper, -1));
    target = made(keeper, 1);
    MUST(motte_object_link(target, &link));
    MUST(motte_realm_commit(keeper, 0, NULL));
    MUST(motte_realm_begin_write(realm, -1));
    object = made(realm, 2);
    STATUS(MOTTE_OK, motte_object_set(object, prop(realm, "to"), &link));
    MUST(motte_realm_cancel(realm));
    motte_release(object);
    motte_release(target);
    motte_release(realm);
    motte_release(keeper);
    realm = check_realm("again", schema);
    MUST(motte_realm_begin_write(realm, -1));
    object = made(realm, 2);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_object_set(object, prop(realm, "to"), &link));
    MUST(motte_realm_cancel(realm));
    motte_release(object);
    motte_release(realm);
}

int main(void) {
    writing();
    asking();
    reopening();
    return check_summary();
}
