/* Errors that the comments of motte.h promise and no other test provokes, one function after another. */
#define _GNU_SOURCE
#include "check.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char schema_text[] =
    "Thing { id: int key, name: string, age: int, small: int8?, time: timestamp, ints: list<int>, names: set<string>, "
    "texts: list<string>, maybe: set<string?>, by: map<string>, things: list<Thing>, kids: map<Thing>, any: mixed, "
    "home: link<Home> } Plain { n: int } embedded Home { city: string }";

typedef struct world {
    motte_realm *realm;
    motte_class thing, plain;
    motte_prop id, name, age, time, ints, names, by, things, any, home;
    motte_object *object;
    motte_coll *all, *list, *set, *map, *links;
} world;

static motte_prop prop(world *w, const char *name) {
    motte_prop found = 0;
    MUST(motte_prop_find(w->realm, w->thing, name, MOTTE_NTS, &found));
    return found;
}

/* A realm in an open write, with one object. */
static world make_world(const char *identifier) {
    world w;
    motte_value key = motte_int(1);
    w.realm = check_realm(identifier, schema_text);
    MUST(motte_class_find(w.realm, "Thing", MOTTE_NTS, &w.thing));
    MUST(motte_class_find(w.realm, "Plain", MOTTE_NTS, &w.plain));
    w.id = prop(&w, "id"), w.name = prop(&w, "name"), w.age = prop(&w, "age"), w.time = prop(&w, "time");
    w.ints = prop(&w, "ints"), w.names = prop(&w, "names"), w.by = prop(&w, "by"), w.things = prop(&w, "things");
    w.any = prop(&w, "any"), w.home = prop(&w, "home");
    MUST(motte_realm_begin_write(w.realm, 0));
    MUST(motte_object_create(w.realm, w.thing, &key, MOTTE_CREATE_NEW, &w.object, NULL));
    MUST(motte_class_all(w.realm, w.thing, &w.all));
    MUST(motte_object_get_coll(w.object, w.ints, &w.list));
    MUST(motte_object_get_coll(w.object, w.names, &w.set));
    MUST(motte_object_get_coll(w.object, w.by, &w.map));
    MUST(motte_object_get_coll(w.object, w.things, &w.links));
    return w;
}

static void end_world(world *w) {
    const void *handles[] = {w->all, w->list, w->set, w->map, w->links, w->object, w->realm};
    motte_realm_close(w->realm);
    motte_release_many(handles, 7);
}

static void values_that_do_not_fit(void) {
    world w = make_world("values that do not fit");
    motte_value null = motte_null(), text = motte_string("x"), large, values[2], second = motte_int(2);
    motte_object *object = (motte_object *)&w;
    char *bytes = (char *)calloc(1, 17u << 20);
    if (!bytes) exit(2);
    memset(bytes, 'x', 17u << 20);
    large = motte_string_of(bytes, 17u << 20);

    STATUS(MOTTE_E_NULL_NOT_ALLOWED, motte_object_create(w.realm, w.thing, &null, 0, &object, NULL));
    CHECK(object == NULL);
    STATUS(MOTTE_E_WRONG_TYPE, motte_object_create(w.realm, w.thing, &text, 0, &object, NULL));
    STATUS(MOTTE_E_NULL_NOT_ALLOWED, motte_object_set(w.object, w.age, &null));
    STATUS(MOTTE_E_PRIMARY_KEY_IS_FIXED, motte_object_set(w.object, w.id, &second));
    STATUS(MOTTE_E_VALUE_TOO_LARGE, motte_object_set(w.object, w.name, &large));
    STATUS(MOTTE_E_VALUE_TOO_LARGE, motte_set_insert(w.set, &large));
    STATUS(MOTTE_E_VALUE_TOO_LARGE, motte_map_put(w.map, "k", 1, &large, NULL));
    values[0] = motte_int(1), values[1] = null;
    STATUS(MOTTE_E_NULL_NOT_ALLOWED, motte_coll_assign(w.list, values, 2));
    values[0] = text, values[1] = large;
    STATUS(MOTTE_E_VALUE_TOO_LARGE, motte_coll_assign(w.set, values, 2));
    values[0] = motte_int(5);
    STATUS(MOTTE_OK, motte_list_append(w.list, values, 1));
    STATUS(MOTTE_E_NULL_NOT_ALLOWED, motte_list_set(w.list, 0, &null));
    STATUS(MOTTE_E_WRONG_TYPE, motte_list_set(w.list, 0, &text));
    STATUS(MOTTE_E_WRONG_TYPE, motte_set_combine(w.set, w.list, MOTTE_SET_UNION));
    {
        motte_coll *texts, *maybe;
        motte_prop keyed[2] = {w.id, w.name};
        motte_value wide = motte_int(128), rows[4] = {motte_int(7), text, motte_int(8), large};
        motte_insert *insert;
        MUST(motte_object_get_coll(w.object, prop(&w, "texts"), &texts));
        MUST(motte_object_get_coll(w.object, prop(&w, "maybe"), &maybe));
        values[0] = text;
        MUST(motte_list_append(texts, values, 1));
        STATUS(MOTTE_E_VALUE_TOO_LARGE, motte_list_set(texts, 0, &large));
        MUST(motte_set_insert(maybe, &null));
        STATUS(MOTTE_E_NULL_NOT_ALLOWED, motte_set_combine(w.set, maybe, MOTTE_SET_UNION));
        STATUS(MOTTE_E_OVERFLOW, motte_object_set(w.object, prop(&w, "small"), &wide));
        MUST(motte_insert_new(w.realm, w.thing, keyed, 2, 0, &insert));
        STATUS(MOTTE_E_VALUE_TOO_LARGE, motte_insert_rows(insert, rows, 2, NULL));
        CHECK(check_error().row_index == 1);
        STATUS(MOTTE_E_VALUE_TOO_LARGE, motte_insert_rows(insert, rows + 2, 1, NULL));
        CHECK(check_error().row_index == -1);
        motte_release(insert);
        motte_release(texts);
        motte_release(maybe);
    }
    {
        uint32_t relation;
        size_t count;
        /* Compared with a collection of any type: what it cannot have, it does not have. */
        STATUS(MOTTE_OK, motte_set_relate(w.set, w.list, &relation));
        CHECK(relation == MOTTE_SET_SUBSET);
        /* Nothing of what failed is there. */
        STATUS(MOTTE_OK, motte_coll_count(w.set, &count));
        CHECK(count == 0);
        STATUS(MOTTE_OK, motte_coll_count(w.map, &count));
        CHECK(count == 0);
        STATUS(MOTTE_OK, motte_coll_count(w.list, &count));
        CHECK(count == 1);
    }
    free(bytes);
    end_world(&w);
}

static void wrong_properties_and_elements(void) {
    world w = make_world("wrong properties");
    motte_prop nowhere = (motte_prop)1 << 62, props[1];
    motte_value value;
    motte_value key = motte_int(1);
    motte_object *object;
    motte_coll *coll;
    motte_key row, keys[2];
    size_t count;
    int64_t numbers[2];
    motte_sort_key sort_key = {"nothing", MOTTE_NTS, 0, 0};
    motte_query *query;
    motte_insert *insert;

    MUST(motte_row_find(w.realm, w.thing, &key, &row));
    props[0] = nowhere;
    STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_object_get_many(w.object, props, 1, &value));
    STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_row_get_many(w.realm, w.thing, row, props, 1, &value));
    STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_read_values(w.all, props, 1, 0, 1, MOTTE_LAYOUT_ROWS, &value, &count));
    props[0] = w.ints;
    STATUS(MOTTE_E_WRONG_TYPE, motte_object_get_many(w.object, props, 1, &value));
    STATUS(MOTTE_E_WRONG_TYPE, motte_row_get_many(w.realm, w.thing, row, props, 1, &value));
    STATUS(MOTTE_E_WRONG_TYPE, motte_read_values(w.all, props, 1, 0, 1, MOTTE_LAYOUT_ROWS, &value, &count));
    props[0] = w.ints;
    STATUS(MOTTE_E_WRONG_TYPE, motte_insert_new(w.realm, w.thing, props, 1, 0, &insert));
    STATUS(MOTTE_E_NO_PRIMARY_KEY, motte_row_find(w.realm, w.plain, &key, &row));
    STATUS(MOTTE_E_WRONG_TYPE, motte_embedded_insert(w.list, 0, &object));
    STATUS(MOTTE_E_WRONG_TYPE, motte_embedded_put(w.map, "k", 1, &object));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_coll_get(w.list, 0, &value));
    value = motte_int(3);
    STATUS(MOTTE_OK, motte_list_append(w.list, &value, 1));
    STATUS(MOTTE_E_WRONG_TYPE, motte_coll_get_object(w.list, 0, &object));
    STATUS(MOTTE_E_WRONG_TYPE, motte_read_keys(w.list, 0, 2, keys, &count));
    value = motte_string("x");
    STATUS(MOTTE_OK, motte_map_put(w.map, "k", 1, &value, NULL));
    STATUS(MOTTE_E_WRONG_TYPE, motte_map_get_coll(w.map, "k", 1, &coll));
    STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_coll_distinct(w.all, &sort_key, 1, &coll));
    sort_key.path = "things";
    STATUS(MOTTE_E_QUERY_INVALID, motte_coll_sort(w.all, &sort_key, 1, &coll));
    STATUS(MOTTE_E_QUERY_INVALID, motte_query_parse(w.realm, w.thing, "age == 'x'", MOTTE_NTS, NULL, 0, &query));
    STATUS(MOTTE_E_UNSUPPORTED,
           motte_query_parse(w.realm, w.thing, "kids['k'].name == 'x'", MOTTE_NTS, NULL, 0, &query));
    value = motte_int(5);
    STATUS(MOTTE_E_WRONG_TYPE, motte_nested_read(&value, 0, 1, NULL, NULL, &count));
    {
        motte_timestamp far = {INT64_MAX / 2, 0, 0};
        STATUS(MOTTE_OK, motte_object_set_timestamp(w.object, w.time, &far));
        STATUS(MOTTE_E_OVERFLOW,
               motte_read_timestamps(w.all, w.time, MOTTE_UNIT_NANOSECONDS, 0, 1, numbers, NULL, &count));
    }
    end_world(&w);
}

static motte_status stop(void *userdata, uint64_t done, uint64_t total) {
    (void)userdata, (void)done, (void)total;
    return 7;
}

/* A SQLite file of the realm, and what is no SQLite file, or a damaged one. */
static void sqlite_files(world *w) {
    char folder[] = "/tmp/motte-promised-XXXXXX", path[64], command[128];
    motte_export_options out;
    motte_import_options in;
    motte_report *report;
    motte_schema *schema;
    memset(&out, 0, sizeof out);
    memset(&in, 0, sizeof in);
    out.struct_size = sizeof out, in.struct_size = sizeof in;
    out.format = in.format = MOTTE_FORMAT_SQLITE;
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_import_notes(&in, &report));
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/w.sqlite", folder);
    out.path = in.path = path, out.path_size = in.path_size = MOTTE_NTS;
    STATUS(MOTTE_E_FILE_NOT_FOUND, motte_import_notes(&in, &report));
    MUST(motte_export_realm(w->realm, &out, NULL, NULL, NULL, NULL));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_export_realm(w->realm, &out, NULL, NULL, NULL, NULL));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_export_coll(w->all, &out, NULL, NULL, NULL, NULL));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_export_object(w->object, &out, NULL));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_import(w->realm, w->thing, &in, NULL, NULL, NULL, NULL));
    out.format = MOTTE_FORMAT_JSON, out.flags = MOTTE_EXPORT_DOCUMENT;
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_export_coll(w->all, &out, NULL, NULL, NULL, NULL));
    MUST(motte_import_notes(&in, &report));
    motte_release(report);
    MUST(motte_import_schema(&in, NULL, 0, NULL, 0, &schema));
    motte_release(schema);
    for (int is_damaged = 1; is_damaged >= 0; is_damaged--) {
        motte_status wanted = is_damaged ? MOTTE_E_CORRUPTED : MOTTE_E_UNSUPPORTED_FORMAT;
        FILE *file = fopen(path, "r+b");
        CHECK(file != NULL);
        fseek(file, is_damaged ? 4096 : 0, SEEK_SET);
        for (int i = 0; i < 64; i++) fputc(0xff, file);
        fclose(file);
        STATUS(wanted, motte_import(w->realm, MOTTE_CLASS_ANY, &in, NULL, NULL, NULL, NULL));
        STATUS(wanted, motte_import_notes(&in, &report));
        STATUS(wanted, motte_import_schema(&in, NULL, 0, NULL, 0, &schema));
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

static void texts_and_files(void) {
    static const motte_str nothing = {"nothing", 7};
    world w = make_world("texts and files");
    motte_export_options out;
    motte_import_options in;
    motte_schema *schema;
    memset(&out, 0, sizeof out);
    memset(&in, 0, sizeof in);
    out.struct_size = sizeof out;
    in.struct_size = sizeof in;
    MUST(motte_realm_commit(w.realm, 0, NULL));

    /* A folder stands where the text should go. */
    out.path = "/nothing/here.json", out.path_size = MOTTE_NTS;
    STATUS(MOTTE_E_FILE_NOT_FOUND, motte_export_realm(w.realm, &out, NULL, NULL, NULL, NULL));
    STATUS(MOTTE_E_FILE_NOT_FOUND, motte_export_object(w.object, &out, NULL));
    out.path = "/", out.path_size = MOTTE_NTS;
    CHECK(motte_export_realm(w.realm, &out, NULL, NULL, NULL, NULL) < 0);
    CHECK(motte_export_coll(w.all, &out, NULL, NULL, NULL, NULL) < 0);
    CHECK(motte_export_object(w.object, &out, NULL) < 0);
    out.path = NULL, out.columns = &nothing, out.column_count = 1;
    {
        motte_buf text;
        STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_export_object(w.object, &out, &text));
        out.columns = NULL, out.column_count = 0;
        STATUS(MOTTE_E_CALLBACK, motte_export_coll(w.all, &out, stop, NULL, NULL, &text));
        CHECK(text.data == NULL && check_error().user_code == 7);
        out.format = MOTTE_FORMAT_CSV;
        STATUS(MOTTE_E_WRONG_TYPE, motte_export_coll(w.list, &out, NULL, NULL, NULL, &text));
    }
    MUST(motte_realm_begin_write(w.realm, 0));
    in.text = "{\"id\": 5, \"name\": \"\xff\"}", in.text_size = MOTTE_NTS;
    STATUS(MOTTE_E_INVALID_UTF8, motte_import(w.realm, w.thing, &in, NULL, NULL, NULL, NULL));
    in.text = "{\"id\": 6, \"age\": null}";
    STATUS(MOTTE_E_NULL_NOT_ALLOWED, motte_import(w.realm, w.thing, &in, NULL, NULL, NULL, NULL));
    in.format = MOTTE_FORMAT_CSV, in.text = "a,b\n1,2\n";
    STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_import_schema(&in, "Row", MOTTE_NTS, "c", MOTTE_NTS, &schema));
    in.text = NULL, in.path = "/nothing/here.csv", in.path_size = MOTTE_NTS;
    STATUS(MOTTE_E_FILE_NOT_FOUND, motte_import_schema(&in, "Row", MOTTE_NTS, NULL, 0, &schema));
    sqlite_files(&w);
    end_world(&w);
}

typedef struct inside {
    motte_sections *sections;
    int asked;
} inside;

/* A key function that asks for the sections it makes. */
static motte_status look_inside(void *userdata, const motte_coll *coll, size_t index, motte_value *out_key) {
    inside *i = (inside *)userdata;
    motte_value key = motte_int(1);
    motte_coll *section;
    size_t count;
    (void)coll, (void)index;
    STATUS(MOTTE_E_REENTRANT, motte_sections_count(i->sections, &count));
    STATUS(MOTTE_E_REENTRANT, motte_sections_key(i->sections, 0, &key));
    STATUS(MOTTE_E_REENTRANT, motte_sections_get(i->sections, 0, &section));
    STATUS(MOTTE_E_REENTRANT, motte_sections_find(i->sections, &key, &count));
    STATUS(MOTTE_E_REENTRANT, motte_sections_locate(i->sections, 0, &count, &count));
    i->asked++;
    *out_key = motte_int(1);
    return 0;
}

static motte_status refuse_key(void *userdata, const motte_coll *coll, size_t index, motte_value *out_key) {
    (void)coll, (void)index, (void)out_key;
    return *(int *)userdata ? 9 : (*out_key = motte_int(1), 0);
}

/* A key function that tries to change what it is called for. */
static motte_status delete_inside(void *userdata, const motte_coll *coll, size_t index, motte_value *out_key) {
    (void)coll, (void)index;
    STATUS(MOTTE_E_REENTRANT, motte_object_delete((motte_object *)userdata));
    *out_key = motte_int(1);
    return 0;
}

static void sections_of_what_is_gone(void) {
    world w = make_world("sections of what is gone");
    motte_sections *failing, *gone;
    motte_value key;
    motte_coll *coll;
    motte_token *token;
    size_t count, index;
    int refuses = 1;
    motte_str nowhere = {"nothing", 7};
    MUST(motte_sections_by_callback(w.all, refuse_key, &refuses, NULL, &failing));
    STATUS(MOTTE_E_CALLBACK, motte_sections_key(failing, 0, &key));
    STATUS(MOTTE_E_CALLBACK, motte_sections_get(failing, 0, &coll));
    key = motte_int(1);
    STATUS(MOTTE_E_CALLBACK, motte_sections_find(failing, &key, &index));
    STATUS(MOTTE_E_CALLBACK, motte_sections_locate(failing, 0, &count, &index));

    MUST(motte_sections_by_path(w.links, "id", MOTTE_NTS, 0, &gone));
    MUST(motte_object_delete(w.object));
    STATUS(MOTTE_OK, motte_sections_count(gone, &count));
    CHECK(count == 0);
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_sections_key(gone, 0, &key));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_sections_get(gone, 0, &coll));
    key = motte_int(1);
    STATUS(MOTTE_NOT_FOUND, motte_sections_find(gone, &key, &index));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_sections_locate(gone, 0, &count, &index));
    MUST(motte_realm_commit(w.realm, 0, NULL));
    STATUS(MOTTE_E_OBJECT_DELETED, motte_observe_sections(gone, NULL, 0, 0, NULL, NULL, NULL, &token));
    STATUS(MOTTE_E_OBJECT_DELETED, motte_observe_section(gone, &key, NULL, 0, 0, NULL, NULL, NULL, &token));
    {
        inside i = {NULL, 0};
        motte_value id = motte_int(9);
        motte_object *object;
        MUST(motte_realm_begin_write(w.realm, 0));
        MUST(motte_object_create(w.realm, w.thing, &id, 0, &object, NULL));
        MUST(motte_sections_by_callback(w.all, look_inside, &i, NULL, &i.sections));
        STATUS(MOTTE_OK, motte_sections_count(i.sections, &count));
        CHECK(count == 1 && i.asked == 1);
        motte_release(i.sections);
        MUST(motte_sections_by_callback(w.all, delete_inside, object, NULL, &i.sections));
        STATUS(MOTTE_OK, motte_sections_count(i.sections, &count));
        CHECK(count == 1);
        MUST(motte_object_delete(object));
        STATUS(MOTTE_OK, motte_sections_count(i.sections, &count));
        CHECK(count == 0);
        MUST(motte_realm_commit(w.realm, 0, NULL));
        motte_release(i.sections);
        motte_release(object);
    }
    refuses = 0;
    STATUS(MOTTE_E_UNKNOWN_PROPERTY,
           motte_observe_section(failing, &key, &nowhere, 1, MOTTE_OBSERVE_PATHS, NULL, NULL, NULL, &token));
    {
        void *frozen;
        STATUS(MOTTE_E_OBJECT_DELETED, motte_freeze(w.object, &frozen));
        CHECK(frozen == NULL);
    }
    motte_release(failing);
    motte_release(gone);
    end_world(&w);
}

static motte_status dispatch_inside(void *userdata, const motte_changes *changes) {
    (void)changes;
    STATUS(MOTTE_E_REENTRANT, motte_queue_dispatch((motte_queue *)userdata, 0, NULL));
    STATUS(MOTTE_E_REENTRANT, motte_queue_wait((motte_queue *)userdata, 0));
    return 0;
}

static motte_status fail_inside(void *userdata, const motte_changes *changes) {
    (void)changes;
    return ++*(int *)userdata == 2 ? 3 : 0;
}

/* One more object, in a write that is committed or stays open. */
static void add_thing(world *w, int64_t number, int commits) {
    motte_value id = motte_int(number);
    MUST(motte_realm_begin_write(w->realm, 0));
    MUST(motte_row_create(w->realm, w->thing, &w->id, &id, 1, 0, NULL, NULL));
    if (commits) (void)motte_realm_commit(w->realm, 0, NULL);
}

static void sessions(void) {
    world w = make_world("sessions");
    motte_config *config;
    motte_queue *queue;
    motte_realm *other, *frozen;
    motte_token *token;
    int called = 0;
    bool advanced;
    STATUS(MOTTE_E_ALREADY_IN_WRITE, motte_realm_refresh(w.realm, NULL));
    STATUS(MOTTE_E_ALREADY_IN_WRITE, motte_realm_wait_for_change(w.realm, 0));
    MUST(motte_realm_commit(w.realm, 0, NULL));
    MUST(motte_freeze(w.realm, (void **)&frozen));
    STATUS(MOTTE_E_FROZEN, motte_realm_wait_for_change(frozen, 0));
    STATUS(MOTTE_E_FROZEN, motte_realm_cancel_queued(frozen, 1));

    MUST(motte_config_new(&config));
    MUST(motte_config_set_in_memory(config, "sessions", MOTTE_NTS));
    MUST(motte_queue_new(0, &queue));
    MUST(motte_config_set_queue(config, queue));
    MUST(motte_realm_open(config, &other));
    MUST(motte_observe_realm(other, 0, dispatch_inside, queue, NULL, &token));
    MUST(motte_realm_begin_write(w.realm, 0));
    MUST(motte_object_set_int(w.object, w.age, 5));
    MUST(motte_realm_commit(w.realm, 0, NULL));
    {
        size_t count;
        MUST(motte_queue_wait(queue, 5000));
        MUST(motte_queue_dispatch(queue, 0, &count));
        CHECK(count > 0);
    }
    STATUS(MOTTE_OK, motte_realm_refresh(other, &advanced));
    CHECK(!advanced);
    motte_release(token);

    /* A callback that fails: the version has advanced, and the call says so. */
    MUST(motte_observe_coll(w.all, 0, fail_inside, &called, NULL, &token));
    MUST(motte_realm_refresh(w.realm, NULL));
    MUST(motte_realm_begin_write(other, 0));
    MUST(motte_realm_delete_all(other, NULL));
    MUST(motte_realm_commit(other, 0, NULL));
    STATUS(MOTTE_E_CALLBACK, motte_realm_refresh(w.realm, NULL));
    CHECK(called == 2 && check_error().user_code == 3);
    motte_release(token);

    /* A write that advances begins all the same, and a commit that skips others is made. */
    called = 0;
    MUST(motte_observe_coll(w.all, 0, fail_inside, &called, NULL, &token));
    MUST(motte_realm_refresh(w.realm, NULL));
    add_thing(&w, 21, 1);
    MUST(motte_realm_refresh(other, NULL));
    called = 1;
    {
        motte_value id = motte_int(22);
        MUST(motte_realm_begin_write(other, 0));
        MUST(motte_row_create(other, w.thing, &w.id, &id, 1, 0, NULL, NULL));
        MUST(motte_realm_commit(other, 0, NULL));
    }
    STATUS(MOTTE_OK, motte_realm_begin_write(w.realm, 0));
    MUST(motte_realm_cancel(w.realm));
    called = 1;
    add_thing(&w, 23, 0);
    STATUS(MOTTE_OK, motte_realm_commit_skipping(w.realm, NULL, 0, 0, NULL));
    CHECK(!motte_realm_in_write(w.realm));
    motte_release(token);
    motte_realm_close(other);
    {
        const void *handles[] = {other, queue, config, frozen};
        motte_release_many(handles, 4);
    }
    end_world(&w);
}

static motte_status migrate(void *userdata, const motte_migration *migration, const motte_realm *old_realm,
                            motte_realm *new_realm) {
    void *frozen;
    motte_realm *shared;
    const char *copy = (const char *)userdata;
    uint8_t key[64] = {1};
    STATUS(MOTTE_E_REENTRANT, motte_freeze(new_realm, &frozen));
    STATUS(MOTTE_E_REENTRANT, motte_realm_freeze_shared(new_realm, &shared));
    STATUS(MOTTE_E_REENTRANT, motte_freeze(old_realm, &frozen));
    STATUS(MOTTE_E_REENTRANT, motte_realm_copy(new_realm, copy, MOTTE_NTS, NULL, NULL, NULL));
    STATUS(MOTTE_E_REENTRANT, motte_realm_copy_with_key(new_realm, copy, MOTTE_NTS, key, 64, NULL, NULL, NULL));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_migration_rename_class(migration, "B", 1, "A", 1));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_migration_rename_prop(migration, "A", 1, "m", 1, "n", 1));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_migration_rename_prop(migration, "A", 1, "m", 1, "o", 1));
    {
        /* What a savepoint could not undo. */
        uint64_t savepoint;
        MUST(motte_realm_savepoint(new_realm, &savepoint));
        STATUS(MOTTE_E_INVALID_ARGUMENT, motte_migration_rename_prop(migration, "A", 1, "x", 1, "y", 1));
        CHECK(strstr(check_error().message, "savepoint") != NULL);
        STATUS(MOTTE_E_INVALID_ARGUMENT, motte_migration_rename_class(migration, "A", 1, "Z", 1));
        MUST(motte_realm_roll_back(new_realm, savepoint));
    }
    return 0;
}

/* Opens with another schema and version, which others notice. */
static motte_realm *open_version(const char *path, const char *text, int64_t version, const char *copy) {
    motte_config *config;
    motte_schema *schema;
    motte_realm *realm = NULL;
    motte_value number = motte_int(version);
    MUST(motte_config_new(&config));
    MUST(motte_schema_parse(text, MOTTE_NTS, &schema));
    MUST(motte_config_set_path(config, path, MOTTE_NTS));
    MUST(motte_config_set_schema(config, schema, 0));
    MUST(motte_config_set_option(config, "schema_version", MOTTE_NTS, &number));
    if (copy) MUST(motte_config_on_migrate(config, migrate, (void *)(uintptr_t)copy, NULL));
    STATUS(MOTTE_OK, motte_realm_open(config, &realm));
    motte_release(config);
    motte_release(schema);
    return realm;
}

static void schemas(const char *folder) {
    char path[64], copy[64];
    motte_realm *before, *after;
    motte_schema *schema;
    motte_config *config;
    motte_prop_spec spec;
    size_t index;
    snprintf(path, sizeof path, "%s/s.motte", folder);
    snprintf(copy, sizeof copy, "%s/t.motte", folder);
    before = open_version(path, "A { n: int, m: string } B { n: int }", 1, NULL);
    after = open_version(path, "A { n: int, o: bool } B { n: int }", 2, copy);
    STATUS(MOTTE_E_SCHEMA_CHANGED, motte_realm_begin_write(before, 0));
    STATUS(MOTTE_E_SCHEMA_CHANGED, motte_realm_refresh(before, NULL));
    motte_realm_close(before);
    motte_realm_close(after);

    MUST(motte_schema_new(&schema));
    MUST(motte_schema_add_class(schema, "A", 1, 0, &index));
    memset(&spec, 0, sizeof spec);
    spec.struct_size = sizeof spec, spec.type = MOTTE_TYPE_LINK, spec.name = "to", spec.name_size = 2;
    spec.target = "Nobody", spec.target_size = 6;
    MUST(motte_schema_add_prop(schema, 0, &spec, NULL));
    MUST(motte_config_new(&config));
    STATUS(MOTTE_E_SCHEMA_INVALID, motte_config_set_schema(config, schema, 0));
    STATUS(MOTTE_E_SCHEMA_INVALID, motte_schema_add_prop(schema, 0, &spec, NULL));
    {
        const void *handles[] = {before, after, schema, config};
        motte_release_many(handles, 4);
    }
}

/* A file that may not grow: the commit fails, the write can be cancelled, and what was there before is there. */
static void a_full_map(const char *folder) {
    char path[64], *bytes = (char *)calloc(1, 1 << 20);
    motte_config *config;
    motte_schema *schema;
    motte_realm *realm;
    motte_class cls;
    motte_prop data;
    motte_value most = motte_int(8 << 20);
    uint64_t count;
    int i;
    if (!bytes) exit(2);
    snprintf(path, sizeof path, "%s/m.motte", folder);
    MUST(motte_config_new(&config));
    MUST(motte_schema_parse("A { data: data }", MOTTE_NTS, &schema));
    MUST(motte_config_set_path(config, path, MOTTE_NTS));
    MUST(motte_config_set_schema(config, schema, 0));
    MUST(motte_config_set_option(config, "max_file_size", MOTTE_NTS, &most));
    MUST(motte_realm_open(config, &realm));
    MUST(motte_class_find(realm, "A", 1, &cls));
    MUST(motte_prop_find(realm, cls, "data", 4, &data));
    for (int skipping = 0; skipping < 2; skipping++) {
        motte_status status = MOTTE_OK;
        MUST(motte_realm_begin_write(realm, 0));
        for (i = 0; i < 20 && status == MOTTE_OK; i++) {
            motte_value value = motte_data(bytes, 1 << 20);
            memset(bytes, i, 1 << 20);
            status = motte_row_create(realm, cls, &data, &value, 1, 0, NULL, NULL);
        }
        if (status == MOTTE_OK && skipping)
            STATUS(MOTTE_E_MAP_FULL, motte_realm_commit_skipping(realm, NULL, 0, 0, NULL));
        else if (status == MOTTE_OK) STATUS(MOTTE_E_MAP_FULL, motte_realm_commit(realm, 0, NULL));
        else CHECK(status == MOTTE_E_MAP_FULL);
        STATUS(MOTTE_OK, motte_realm_cancel(realm));
        STATUS(MOTTE_OK, motte_class_count(realm, cls, &count));
        CHECK(count == 0);
    }
    motte_realm_close(realm);
    {
        const void *handles[] = {realm, config, schema};
        motte_release_many(handles, 3);
    }
    free(bytes);
}

static motte_realm *open_file(const char *path, uint32_t flags, motte_status expected) {
    motte_config *config;
    motte_schema *schema;
    motte_realm *realm = NULL;
    MUST(motte_config_new(&config));
    MUST(motte_schema_parse("A { n: int }", MOTTE_NTS, &schema));
    MUST(motte_config_set_path(config, path, MOTTE_NTS));
    if (!(flags & MOTTE_CONFIG_READ_ONLY)) MUST(motte_config_set_schema(config, schema, 0));
    MUST(motte_config_set_flags(config, flags, flags));
    STATUS(expected, motte_realm_open(config, &realm));
    motte_release(config);
    motte_release(schema);
    return realm;
}

static void files(void) {
    char folder[] = "/tmp/motte-promised-XXXXXX", path[64], copy[64], command[128];
    uint8_t key[64] = {1, 2, 3};
    motte_realm *realm;
    motte_config *config;
    motte_compaction_details details = {.struct_size = sizeof details};
    if (!mkdtemp(folder)) exit(2);
    snprintf(path, sizeof path, "%s/a.motte", folder);
    snprintf(copy, sizeof copy, "%s/nowhere/b.motte", folder);
    realm = open_file(path, 0, MOTTE_OK);
    STATUS(MOTTE_E_FILE_NOT_FOUND, motte_realm_copy_with_key(realm, copy, MOTTE_NTS, key, 64, NULL, NULL, NULL));
    snprintf(copy, sizeof copy, "%s/b.motte", folder);
    STATUS(MOTTE_E_CALLBACK, motte_realm_copy_with_key(realm, copy, MOTTE_NTS, key, 64, stop, NULL, NULL));
    CHECK(access(copy, F_OK) != 0);
    MUST(motte_config_new(&config));
    MUST(motte_config_set_path(config, path, MOTTE_NTS));
    STATUS(MOTTE_E_BUSY, motte_file_compact(config, NULL, NULL, NULL, NULL, NULL));
    motte_realm_close(realm);
    motte_release(realm);
    STATUS(MOTTE_E_CALLBACK, motte_file_compact(config, stop, NULL, NULL, NULL, NULL));
    realm = open_file(path, MOTTE_CONFIG_READ_ONLY, MOTTE_OK);
    STATUS(MOTTE_E_READ_ONLY, motte_realm_compact(realm, NULL, NULL, NULL, NULL, NULL));
    STATUS(MOTTE_E_READ_ONLY, motte_realm_compact_online(realm, 0, NULL, NULL, NULL, &details));
    motte_realm_close(realm);
    motte_release(realm);
    if (geteuid() != 0) {
        chmod(folder, 0500);
        STATUS(MOTTE_E_PERMISSION_DENIED, motte_file_delete(config));
        chmod(folder, 0700);
    }
    STATUS(MOTTE_OK, motte_file_delete(config));
    motte_release(config);
    schemas(folder);
    a_full_map(folder);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) exit(2);
}

/* Convention 9: min(capacity, total) elements and the total, TRUNCATED if they did not fit; NULL asks for the total. */
static void arrays_out(void) {
    world w = make_world("arrays out");
    motte_class classes[3], untouched;
    motte_prop props[32];
    motte_decimal number;
    char text[8];
    size_t count, total;
    memset(&untouched, 0xAB, sizeof untouched);
    classes[2] = untouched;
    STATUS(MOTTE_OK, motte_class_list(w.realm, NULL, 0, &total));
    CHECK(total == 3);
    STATUS(MOTTE_TRUNCATED, motte_class_list(w.realm, classes, 2, &count));
    CHECK(count == 3 && classes[0] < classes[1] && classes[2] == untouched);
    STATUS(MOTTE_OK, motte_class_list(w.realm, classes, 3, &count));
    CHECK(count == 3 && classes[2] != untouched);
    STATUS(MOTTE_OK, motte_prop_list(w.realm, w.thing, props, 32, &count));
    CHECK(count == 14);
    STATUS(MOTTE_OK, motte_prop_list(w.realm, w.thing, NULL, 0, &total));
    CHECK(total == count);
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_prop_list(w.realm, w.thing, NULL, 3, &total));
    MUST(motte_decimal_parse("1234567890", MOTTE_NTS, &number));
    memset(text, '.', sizeof text);
    STATUS(MOTTE_TRUNCATED, motte_decimal_format(&number, text, 4, &count));
    CHECK(count == 10 && memcmp(text, "1234....", 8) == 0);
    end_world(&w);
}

/* Convention 5: a borrowed view stays as it is until the view epoch moves, whatever is read meanwhile. */
static void what_is_lent_stays(void) {
    world w = make_world("what is lent stays");
    motte_str first, again;
    motte_value value, key;
    uint64_t epoch, moved;
    size_t i, count;
    MUST(motte_object_set_string(w.object, w.name, "the first of them", MOTTE_NTS));
    for (i = 2; i < 3000; i++) {
        motte_prop props[2] = {w.id, w.name};
        motte_value row[2] = {motte_int((int64_t)i), motte_string("another")};
        MUST(motte_row_create(w.realm, w.thing, props, row, 2, 0, NULL, NULL));
    }
    MUST(motte_realm_commit(w.realm, 0, NULL));
    MUST(motte_realm_view_epoch(w.realm, &epoch));
    MUST(motte_object_get_string(w.object, w.name, &first));
    for (i = 0; i < 2999; i++) {
        MUST(motte_coll_get(w.all, i, &value));
        key = motte_int((int64_t)i + 1);
        MUST(motte_row_find(w.realm, w.thing, &key, &value.as.key));
    }
    MUST(motte_coll_aggregate(w.all, MOTTE_AGGREGATE_COUNT, w.name, &value));
    MUST(motte_realm_view_epoch(w.realm, &moved));
    CHECK(moved == epoch);
    CHECK(motte_str_equal(first, "the first of them"));
    MUST(motte_object_get_string(w.object, w.name, &again));
    CHECK(motte_str_equal(again, "the first of them"));
    MUST(motte_realm_begin_write(w.realm, 0));
    MUST(motte_object_set_string(w.object, w.name, "another text", MOTTE_NTS));
    MUST(motte_realm_view_epoch(w.realm, &moved));
    CHECK(moved != epoch);
    epoch = moved;
    MUST(motte_realm_cancel(w.realm));
    MUST(motte_realm_view_epoch(w.realm, &moved));
    CHECK(moved != epoch);
    /* Static texts are the same for ever. */
    CHECK(motte_status_name(MOTTE_E_CLOSED) == motte_status_name(MOTTE_E_CLOSED));
    CHECK(motte_version_string() == motte_version_string());
    MUST(motte_coll_count(w.all, &count));
    CHECK(count == 2999);
    end_world(&w);
}

typedef struct calls {
    int count, allowed, freed;
} calls;

static motte_status count_call(void *userdata, const motte_changes *changes) {
    calls *c = (calls *)userdata;
    (void)changes;
    c->count++;
    CHECK(c->allowed);
    return 0;
}

static void count_free(void *userdata) { ((calls *)userdata)->freed++; }

/* Conventions 7 and 8: caller code runs in refresh, commit and a begin_write that advances, and nowhere else. */
static void callbacks_run_only_there(void) {
    world w = make_world("callbacks run only there");
    world other;
    motte_token *token;
    motte_buf text;
    motte_query *query;
    calls c = {0, 0, 0};
    size_t count;
    bool advanced;
    MUST(motte_realm_commit(w.realm, 0, NULL));
    other = w;
    other.realm = check_realm("callbacks run only there", schema_text);
    MUST(motte_observe_coll(w.all, 0, count_call, &c, count_free, &token));
    c.allowed = 1;
    MUST(motte_realm_refresh(w.realm, NULL));
    CHECK(c.count == 1);
    c.allowed = 0;
    add_thing(&other, 50, 1);
    MUST(motte_coll_count(w.all, &count));
    CHECK(count == 1);
    MUST(motte_query_parse(w.realm, w.thing, "id > 0", MOTTE_NTS, NULL, 0, &query));
    MUST(motte_query_count(query, &count));
    {
        motte_export_options out;
        memset(&out, 0, sizeof out);
        out.struct_size = sizeof out;
        MUST(motte_export_realm(w.realm, &out, NULL, NULL, NULL, &text));
        motte_buf_dispose(&text);
    }
    c.allowed = 1;
    MUST(motte_realm_begin_write(w.realm, 0));
    CHECK(c.count == 2);
    c.allowed = 0;
    MUST(motte_realm_cancel(w.realm));
    c.allowed = 1;
    add_thing(&w, 51, 1);
    CHECK(c.count == 3);
    MUST(motte_realm_refresh(w.realm, &advanced));
    CHECK(!advanced && c.count == 3 && c.freed == 0);
    motte_release(token);
    CHECK(c.freed == 1);
    motte_release(query);
    motte_realm_close(other.realm);
    motte_release(other.realm);
    end_world(&w);
    CHECK(c.freed == 1);
}

/* Convention 10: milliseconds; 0 does not wait. */
static void timeouts(void) {
    world w = make_world("timeouts");
    motte_realm *other = check_realm("timeouts", schema_text);
    struct timespec before, after;
    int64_t milliseconds;
    clock_gettime(CLOCK_MONOTONIC, &before);
    STATUS(MOTTE_E_TIMEOUT, motte_realm_begin_write(other, 0));
    STATUS(MOTTE_PENDING, motte_realm_wait_for_change(other, 0));
    /* The thread that would have to end the write is the one that would wait. */
    STATUS(MOTTE_E_TIMEOUT, motte_realm_begin_write(other, 120000));
    STATUS(MOTTE_E_REENTRANT, motte_realm_begin_write(other, -1));
    STATUS(MOTTE_PENDING, motte_realm_wait_for_change(other, 120));
    clock_gettime(CLOCK_MONOTONIC, &after);
    milliseconds = (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000;
    CHECK(milliseconds >= 115 && milliseconds < 20000);
    MUST(motte_realm_commit(w.realm, 0, NULL));
    STATUS(MOTTE_OK, motte_realm_wait_for_change(other, -1));
    STATUS(MOTTE_OK, motte_realm_begin_write(other, -1));
    motte_realm_close(other);
    motte_release(other);
    end_world(&w);
}

int main(void) {
    values_that_do_not_fit();
    wrong_properties_and_elements();
    texts_and_files();
    sections_of_what_is_gone();
    sessions();
    files();
    arrays_out();
    what_is_lent_stays();
    callbacks_run_only_there();
    timeouts();
    return check_summary();
}
