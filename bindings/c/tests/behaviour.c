/* What the functions do when they are used as they are meant, in one realm: schema, objects, rows, lists, queries, bulk
 * reads and batch inserts, freezing, views. The fine print of the engine is in Tests/Conformance. */
#define _GNU_SOURCE
#include "check.h"

#include <inttypes.h>
#include <unistd.h>

static const char schema_text[] =
    "Person { id: int key, name: string?, age: int indexed, height: double?, weight: float, alive: bool, "
    "photo: data?, born: timestamp?, friend: link<Person>, tags: list<string>, dogs: list<Dog> }\n"
    "Dog { name: string, owners: inverse<Person.dogs> }\n";

typedef struct world {
    motte_realm *realm;
    motte_class person, dog;
    motte_prop id, name, age, height, weight, alive, photo, born, friend_, tags, dogs, dog_name, owners;
} world;

static world open_world(const char *identifier) {
    world w;
    w.realm = check_realm(identifier, schema_text);
    w.person = motte_class_named(w.realm, "Person");
    w.dog = motte_class_named(w.realm, "Dog");
    w.id = motte_prop_named(w.realm, w.person, "id");
    w.name = motte_prop_named(w.realm, w.person, "name");
    w.age = motte_prop_named(w.realm, w.person, "age");
    w.height = motte_prop_named(w.realm, w.person, "height");
    w.weight = motte_prop_named(w.realm, w.person, "weight");
    w.alive = motte_prop_named(w.realm, w.person, "alive");
    w.photo = motte_prop_named(w.realm, w.person, "photo");
    w.born = motte_prop_named(w.realm, w.person, "born");
    w.friend_ = motte_prop_named(w.realm, w.person, "friend");
    w.tags = motte_prop_named(w.realm, w.person, "tags");
    w.dogs = motte_prop_named(w.realm, w.person, "dogs");
    w.dog_name = motte_prop_named(w.realm, w.dog, "name");
    w.owners = motte_prop_named(w.realm, w.dog, "owners");
    return w;
}

static void close_world(world *w) {
    STATUS(MOTTE_OK, motte_realm_close(w->realm));
    motte_release(w->realm);
}

/* `count` persons with id, name "p<id>" and age id % 10. */
static void populate(world *w, int count) {
    motte_prop props[3];
    motte_value *values = (motte_value *)calloc((size_t)count * 3, sizeof *values);
    char *names = (char *)calloc((size_t)count, 16);
    motte_insert *insert;
    int i;
    props[0] = w->id;
    props[1] = w->name;
    props[2] = w->age;
    for (i = 0; i < count; i++) {
        snprintf(names + i * 16, 16, "p%d", i);
        values[i * 3] = motte_int(i);
        values[i * 3 + 1] = i % 7 == 3 ? motte_null() : motte_string(names + i * 16);
        values[i * 3 + 2] = motte_int(i % 10);
    }
    MUST(motte_realm_begin_write(w->realm, -1));
    MUST(motte_insert_new(w->realm, w->person, props, 3, 0, &insert));
    MUST(motte_insert_rows(insert, values, (size_t)count, NULL));
    MUST(motte_realm_commit(w->realm, 0, NULL));
    motte_release(insert);
    free(values);
    free(names);
}

static void library(void) {
    CHECK(motte_version_number() == MOTTE_VERSION);
    CHECK(strcmp(motte_version_string(), "0.1.0") == 0);
    STATUS(MOTTE_OK, motte_check_abi(MOTTE_ABI_VERSION, MOTTE_ABI_LAYOUT));
    STATUS(MOTTE_E_UNSUPPORTED, motte_check_abi(MOTTE_ABI_VERSION + 1, MOTTE_ABI_LAYOUT));
    STATUS(MOTTE_E_UNSUPPORTED, motte_check_abi(MOTTE_ABI_VERSION, MOTTE_ABI_LAYOUT ^ 1));
    CHECK(motte_has_feature("time-travel", MOTTE_NTS) == 0);
    CHECK(strcmp(motte_status_name(MOTTE_E_WRONG_THREAD), "MOTTE_E_WRONG_THREAD") == 0);
    CHECK(strcmp(motte_status_name(12345), "MOTTE_UNKNOWN_STATUS") == 0);
    CHECK(strlen(motte_status_message(MOTTE_E_CORRUPTED)) > 0);
}

static void configs(void) {
    motte_config *config, *clone;
    motte_value value = motte_int(1 << 28), found;
    motte_realm *realm;
    MUST(motte_config_new(&config));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_realm_open(config, &realm));
    CHECK(realm == NULL);
    STATUS(MOTTE_NULL, motte_config_get_option(config, MOTTE_LIT("max_file_size"), &found));
    STATUS(MOTTE_OK, motte_config_set_option(config, MOTTE_LIT("max_file_size"), &value));
    STATUS(MOTTE_OK, motte_config_get_option(config, MOTTE_LIT("max_file_size"), &found));
    CHECK(found.type == MOTTE_TYPE_INT && found.as.integer == 1 << 28);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_config_set_option(config, MOTTE_LIT("colour"), &value));
    CHECK(strstr(check_error().message, "max_file_size") != NULL);
    STATUS(MOTTE_E_WRONG_TYPE, motte_config_set_option(config, MOTTE_LIT("durability"), &value));
    value = motte_string("none");
    STATUS(MOTTE_OK, motte_config_set_option(config, MOTTE_LIT("durability"), &value));
    STATUS(MOTTE_OK, motte_config_set_path(config, "/nowhere/at/all.motte", MOTTE_NTS));
    STATUS(MOTTE_OK, motte_config_clone(config, &clone));
    STATUS(MOTTE_OK, motte_config_get_option(clone, MOTTE_LIT("path"), &found));
    CHECK(motte_str_equal(found.as.string, "/nowhere/at/all.motte"));
    STATUS(MOTTE_OK, motte_config_set_flags(config, MOTTE_CONFIG_NO_CREATE, MOTTE_CONFIG_NO_CREATE));
    STATUS(MOTTE_E_FILE_NOT_FOUND, motte_realm_open(config, &realm));
    CHECK(check_error().path != NULL && strcmp(check_error().path, "/nowhere/at/all.motte") == 0);
    CHECK(check_error().category == MOTTE_CATEGORY_STORAGE);
    motte_release(config);
    motte_release(clone);
}

/* Lengths and capacities that a program gets wrong. */
static void lengths(void) {
    motte_realm *realm = check_realm("lengths", "A { x: int, back: inverse<B.a>, s: string? }  B { a: link<A> }");
    motte_class cls = motte_class_named(realm, "A"), classes[2];
    motte_prop props[3];
    motte_object *object = NULL;
    motte_str text;
    motte_schema *schema = NULL;
    const char *wrong[] = {"A { x: nonsense }", "A { x int }", "A { x: int", "A { `x: int }"};
    const int64_t offsets[] = {7, 6, 10, 4};
    size_t i, count = 0;
    /* Only NULL asks for the total. */
    STATUS(MOTTE_OK, motte_class_list(realm, NULL, 0, &count));
    CHECK(count == 2);
    STATUS(MOTTE_TRUNCATED, motte_class_list(realm, classes, 0, &count));
    STATUS(MOTTE_TRUNCATED, motte_class_list(realm, classes, 1, &count));
    STATUS(MOTTE_OK, motte_class_list(realm, classes, 2, &count));
    /* An inverse property stands where it was declared, also when the file says so. */
    MUST(motte_prop_list(realm, cls, props, 3, &count));
    CHECK(count == 3 && props[0] == motte_prop_named(realm, cls, "x") && props[2] == motte_prop_named(realm, cls, "s"));
    /* The text of an unset variable is no empty text. */
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_realm_add(realm, "A", MOTTE_FIELDS({"s", motte_string("before")}), &object));
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_object_set_string(object, motte_prop_named(realm, cls, "s"), NULL, MOTTE_NTS));
    MUST(motte_object_get_string(object, motte_prop_named(realm, cls, "s"), &text));
    CHECK(motte_str_equal(text, "before"));
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_class_find(realm, NULL, MOTTE_NTS, &cls));
    MUST(motte_realm_commit(realm, 0, NULL));
    motte_release(object);
    motte_release(realm);
    for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        STATUS(MOTTE_E_SCHEMA_INVALID, motte_schema_parse(wrong[i], MOTTE_NTS, &schema));
        CHECK(check_error().query_offset == offsets[i]);
    }
}

static void schemas(void) {
    motte_schema *built, *parsed, *stored;
    motte_prop_spec spec;
    motte_buf text, other;
    motte_class_details cls;
    motte_prop_details prop;
    motte_class classes[4];
    motte_prop props[20];
    size_t index, count;
    world w;

    memset(&spec, 0, sizeof spec);
    spec.struct_size = sizeof spec;
    MUST(motte_schema_new(&built));
    STATUS(MOTTE_OK, motte_schema_add_class(built, MOTTE_LIT("Cat"), 0, &index));
    CHECK(index == 0);
    STATUS(MOTTE_E_SCHEMA_INVALID, motte_schema_add_class(built, MOTTE_LIT("Cat"), 0, NULL));
    spec.type = MOTTE_TYPE_STRING;
    spec.flags = MOTTE_PROP_PRIMARY_KEY;
    spec.name = "name";
    spec.name_size = MOTTE_NTS;
    STATUS(MOTTE_OK, motte_schema_add_prop(built, 0, &spec, &index));
    spec.type = MOTTE_TYPE_LINK;
    spec.flags = 0;
    spec.name = "mother";
    spec.target = "Cat";
    spec.target_size = MOTTE_NTS;
    STATUS(MOTTE_OK, motte_schema_add_prop(built, 0, &spec, &index));
    CHECK(index == 1);
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_schema_add_prop(built, 1, &spec, NULL));
    spec.type = 77;
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_schema_add_prop(built, 0, &spec, NULL));
    STATUS(MOTTE_OK, motte_schema_validate(built));
    MUST(motte_schema_text(built, &text));
    MUST(motte_schema_parse(text.data, text.size, &parsed));
    MUST(motte_schema_text(parsed, &other));
    CHECK(strcmp(text.data, other.data) == 0);
    motte_buf_dispose(&text);
    CHECK(text.data == NULL && text.size == 0);
    motte_buf_dispose(&text);
    motte_buf_dispose(&other);
    spec.type = MOTTE_TYPE_INT;
    spec.name = "lives";
    spec.target = NULL;
    spec.flags = MOTTE_PROP_INT8 | MOTTE_PROP_INT32;
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_schema_add_prop(built, 0, &spec, NULL));
    spec.flags = MOTTE_PROP_INT8;
    STATUS(MOTTE_OK, motte_schema_add_prop(built, 0, &spec, NULL));
    MUST(motte_schema_text(built, &text));
    CHECK(strstr(text.data, "lives: int8") != NULL);
    motte_buf_dispose(&text);
    spec.name = "chip";
    spec.flags = MOTTE_PROP_UNIQUE;
    STATUS(MOTTE_OK, motte_schema_add_prop(built, 0, &spec, NULL));
    MUST(motte_schema_text(built, &text));
    CHECK(strstr(text.data, "chip: int unique") != NULL);
    motte_buf_dispose(&text);
    STATUS(MOTTE_OK, motte_schema_add_index(built, 0, MOTTE_LIT("chip, lives desc"), 0));
    STATUS(MOTTE_OK, motte_schema_add_index(built, 0, MOTTE_LIT("lives, chip"), MOTTE_INDEX_UNIQUE));
    STATUS(MOTTE_E_SCHEMA_INVALID, motte_schema_add_index(built, 0, MOTTE_LIT("chip, lives desc"), 0));
    STATUS(MOTTE_E_SCHEMA_INVALID, motte_schema_add_index(built, 0, MOTTE_LIT("chip lives"), 0));
    STATUS(MOTTE_E_SCHEMA_INVALID, motte_schema_add_index(built, 0, MOTTE_LIT("chip,"), 0));
    STATUS(MOTTE_E_UNKNOWN_FLAG, motte_schema_add_index(built, 0, MOTTE_LIT("chip"), 2));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_schema_add_index(built, 1, MOTTE_LIT("chip"), 0));
    STATUS(MOTTE_OK, motte_schema_validate(built));
    MUST(motte_schema_text(built, &text));
    CHECK(strstr(text.data, "    indexed(chip, lives desc),\n    unique(lives, chip),\n") != NULL);
    motte_buf_dispose(&text);
    spec.flags = 0;
    spec.type = MOTTE_TYPE_LINK;
    spec.name = "owner";
    spec.target = "Nobody";
    STATUS(MOTTE_OK, motte_schema_add_prop(built, 0, &spec, NULL));
    STATUS(MOTTE_E_SCHEMA_INVALID, motte_schema_validate(built));
    STATUS(MOTTE_E_SCHEMA_INVALID, motte_schema_parse(MOTTE_LIT("Cat { name: strin }"), &stored));
    motte_release(built);
    motte_release(parsed);

    w = open_world("schemas");
    cls.struct_size = sizeof cls;
    STATUS(MOTTE_OK, motte_class_info(w.realm, w.person, &cls));
    STATUS(MOTTE_NOT_FOUND, motte_class_index(w.realm, w.person, 0, &text, NULL));
    STATUS(MOTTE_E_UNKNOWN_CLASS, motte_class_index(w.realm, 99, 0, &text, NULL));
    CHECK(strcmp(cls.name, "Person") == 0 && cls.primary_key == w.id && cls.stored_count == 11);
    STATUS(MOTTE_OK, motte_class_info(w.realm, w.dog, &cls));
    CHECK(cls.inverse_count == 1 && cls.stored_count == 1 && cls.primary_key == 0);
    STATUS(MOTTE_OK, motte_class_list(w.realm, NULL, 0, &count));
    CHECK(count == 2);
    STATUS(MOTTE_TRUNCATED, motte_class_list(w.realm, classes, 1, &count));
    CHECK(count == 2);
    STATUS(MOTTE_OK, motte_class_list(w.realm, classes, 4, &count));
    CHECK(classes[0] == w.person && classes[1] == w.dog);
    STATUS(MOTTE_OK, motte_prop_list(w.realm, w.person, props, 20, &count));
    CHECK(count == 11 && props[0] == w.id && props[10] == w.dogs);
    prop.struct_size = sizeof prop;
    STATUS(MOTTE_OK, motte_prop_info(w.realm, w.owners, &prop));
    CHECK(prop.type == MOTTE_TYPE_INVERSE && prop.target == w.person && prop.origin == w.dogs && prop.owner == w.dog);
    CHECK(strcmp(prop.origin_name, "dogs") == 0 && strcmp(prop.target_name, "Person") == 0);
    STATUS(MOTTE_OK, motte_prop_info(w.realm, w.age, &prop));
    CHECK(prop.flags == MOTTE_PROP_INDEXED && prop.type == MOTTE_TYPE_INT && prop.target_name == NULL);
    STATUS(MOTTE_OK, motte_prop_info(w.realm, w.tags, &prop));
    CHECK(prop.collection == MOTTE_COLLECTION_LIST && prop.type == MOTTE_TYPE_STRING);
    STATUS(MOTTE_NOT_FOUND, motte_class_find(w.realm, MOTTE_LIT("Horse"), &w.dog));
    STATUS(MOTTE_NOT_FOUND, motte_prop_find(w.realm, w.person, MOTTE_LIT("nmae"), &w.owners));
    STATUS(MOTTE_E_UNKNOWN_CLASS, motte_prop_find(w.realm, 999, MOTTE_LIT("name"), &w.owners));
    STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_prop_info(w.realm, 12345, &prop));
    CHECK(prop.name == NULL);
    MUST(motte_realm_schema(w.realm, &stored));
    MUST(motte_schema_text(stored, &text));
    CHECK(strstr(text.data, "inverse<Person.dogs>") != NULL);
    motte_buf_dispose(&text);
    motte_release(stored);
    close_world(&w);
}

static void fields(void) {
    world w = open_world("fields");
    motte_object *object, *other, *found;
    motte_value key = motte_int(1), value, many[3], second = motte_int(2);
    motte_prop props[3];
    motte_str text;
    motte_bytes bytes;
    motte_timestamp time, instant;
    int64_t number;
    double real;
    bool truth, created;
    uint64_t count;
    motte_class cls;
    motte_key row;

    STATUS(MOTTE_E_NOT_IN_WRITE, motte_object_create(w.realm, w.person, &key, 0, &object, NULL));
    CHECK(object == NULL);
    MUST(motte_realm_begin_write(w.realm, 0));
    CHECK(motte_realm_in_write(w.realm) == 1);
    STATUS(MOTTE_E_NO_PRIMARY_KEY, motte_object_create(w.realm, w.person, NULL, 0, &object, NULL));
    STATUS(MOTTE_E_NO_PRIMARY_KEY, motte_object_create(w.realm, w.dog, &key, 0, &object, NULL));
    STATUS(MOTTE_OK, motte_object_create(w.realm, w.person, &key, 0, &object, &created));
    CHECK(created);
    STATUS(MOTTE_E_DUPLICATE_PRIMARY_KEY, motte_object_create(w.realm, w.person, &key, 0, &other, NULL));
    STATUS(MOTTE_OK, motte_object_create(w.realm, w.person, &key, MOTTE_CREATE_EXISTING, &other, &created));
    CHECK(!created);
    CHECK(motte_equal(object, other) == 1);
    motte_release(other);

    STATUS(MOTTE_NULL, motte_object_get_string(object, w.name, &text));
    CHECK(text.data == NULL && text.size == 0);
    STATUS(MOTTE_NULL, motte_object_get_double(object, w.height, &real));
    STATUS(MOTTE_NULL, motte_object_get(object, w.friend_, &value));
    STATUS(MOTTE_OK, motte_object_get_int(object, w.age, &number));
    CHECK(number == 0);

    STATUS(MOTTE_OK, motte_object_set_string(object, w.name, "Ad\0a", 4));
    STATUS(MOTTE_OK, motte_object_get_string(object, w.name, &text));
    CHECK(text.size == 4 && memcmp(text.data, "Ad\0a", 4) == 0);
    STATUS(MOTTE_OK, motte_object_set_string(object, w.name, "", 0));
    STATUS(MOTTE_OK, motte_object_get_string(object, w.name, &text));
    CHECK(text.data != NULL && text.size == 0);
    STATUS(MOTTE_E_INVALID_UTF8, motte_object_set_string(object, w.name, "\xED\xA0\x80", 3));
    STATUS(MOTTE_OK, motte_object_set_string(object, w.name, "\xF0\x9F\x90\x95", MOTTE_NTS));
    STATUS(MOTTE_OK, motte_object_set_int(object, w.age, INT64_MIN));
    STATUS(MOTTE_OK, motte_object_get_int(object, w.age, &number));
    CHECK(number == INT64_MIN);
    STATUS(MOTTE_E_WRONG_TYPE, motte_object_get_int(object, w.name, &number));
    STATUS(MOTTE_E_WRONG_TYPE, motte_object_get_string(object, w.height, &text));
    STATUS(MOTTE_E_WRONG_TYPE, motte_object_set_int(object, w.name, 1));
    STATUS(MOTTE_E_WRONG_TYPE, motte_object_get_int(object, w.tags, &number));
    STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_object_get_string(object, w.dog_name, &text));
    STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_object_get_string(object, 0, &text));
    STATUS(MOTTE_E_NULL_NOT_ALLOWED, motte_object_set_null(object, w.age));
    CHECK(strcmp(check_error().class_name, "Person") == 0 && strcmp(check_error().property_name, "age") == 0);
    STATUS(MOTTE_E_PRIMARY_KEY_IS_FIXED, motte_object_set_int(object, w.id, 5));
    STATUS(MOTTE_OK, motte_object_set_double(object, w.height, 1.75));
    STATUS(MOTTE_OK, motte_object_set_double(object, w.weight, 0.1));
    STATUS(MOTTE_OK, motte_object_get_double(object, w.weight, &real));
    CHECK(real == (double)0.1f);
    STATUS(MOTTE_OK, motte_object_set_bool(object, w.alive, 1));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_object_set_bool(object, w.alive, 2));
    STATUS(MOTTE_OK, motte_object_get_bool(object, w.alive, &truth));
    CHECK(truth);
    STATUS(MOTTE_OK, motte_object_set_data(object, w.photo, "\0\xFF", 2));
    STATUS(MOTTE_OK, motte_object_get_data(object, w.photo, &bytes));
    CHECK(bytes.size == 2 && memcmp(bytes.data, "\0\xFF", 2) == 0);
    instant.seconds = -1;
    instant.nanoseconds = 999999999;
    instant.reserved = 0;
    STATUS(MOTTE_OK, motte_object_set_timestamp(object, w.born, &instant));
    STATUS(MOTTE_OK, motte_object_get_timestamp(object, w.born, &time));
    CHECK(time.seconds == -1 && time.nanoseconds == 999999999);
    instant.nanoseconds = 1000000000;
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_object_set_timestamp(object, w.born, &instant));
    STATUS(MOTTE_OK, motte_object_set_null(object, w.born));
    STATUS(MOTTE_NULL, motte_object_get_timestamp(object, w.born, &time));

    /* Links: with and without the class in aux. */
    MUST(motte_object_row(object, &cls, &row));
    value = motte_link(0, row);
    STATUS(MOTTE_OK, motte_object_set(object, w.friend_, &value));
    value = motte_link_to(object);
    STATUS(MOTTE_OK, motte_object_set(object, w.friend_, &value));
    value.aux = w.dog;
    STATUS(MOTTE_E_WRONG_TYPE, motte_object_set(object, w.friend_, &value));
    STATUS(MOTTE_OK, motte_object_get(object, w.friend_, &value));
    CHECK(value.type == MOTTE_TYPE_LINK && value.aux == w.person && value.as.key == row);
    STATUS(MOTTE_OK, motte_object_get_object(object, w.friend_, &found));
    CHECK(motte_equal(found, object) == 1);
    motte_release(found);
    STATUS(MOTTE_OK, motte_object_backlink_count(object, w.friend_, &count));
    CHECK(count == 1);
    STATUS(MOTTE_E_WRONG_TYPE, motte_object_get_object(object, w.name, &found));

    /* Several at once, all or nothing. */
    props[0] = w.age;
    props[1] = w.name;
    props[2] = w.alive;
    many[0] = motte_int(36);
    many[1] = motte_string("Ada");
    many[2] = motte_string("no bool");
    STATUS(MOTTE_E_WRONG_TYPE, motte_object_set_many(object, props, many, 3));
    CHECK(check_error().row_index == 2);
    STATUS(MOTTE_OK, motte_object_get_int(object, w.age, &number));
    CHECK(number == INT64_MIN);
    STATUS(MOTTE_OK, motte_object_set_many(object, props, many, 2));
    STATUS(MOTTE_OK, motte_object_get_many(object, props, 2, many));
    CHECK(many[0].as.integer == 36 && motte_str_equal(many[1].as.string, "Ada"));
    many[0].type = 99;
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_object_set_many(object, props, many, 1));
    STATUS(MOTTE_OK, motte_row_set_many(w.realm, w.person, row, props, many, 0));

    MUST(motte_realm_commit(w.realm, 0, &count));
    CHECK(motte_realm_in_write(w.realm) == 0);
    STATUS(MOTTE_E_NOT_IN_WRITE, motte_object_set_int(object, w.age, 1));

    /* Finding. */
    STATUS(MOTTE_OK, motte_object_find(w.realm, w.person, &key, &found));
    CHECK(motte_equal(found, object) == 1);
    motte_release(found);
    STATUS(MOTTE_NOT_FOUND, motte_object_find(w.realm, w.person, &second, &found));
    value = motte_string("1");
    STATUS(MOTTE_NOT_FOUND, motte_object_find(w.realm, w.person, &value, &found));
    STATUS(MOTTE_E_NO_PRIMARY_KEY, motte_object_find(w.realm, w.dog, &key, &found));
    STATUS(MOTTE_E_UNKNOWN_CLASS, motte_object_find(w.realm, 77, &key, &found));
    STATUS(MOTTE_NOT_FOUND, motte_object_at(w.realm, w.person, 999, &found));
    STATUS(MOTTE_NOT_FOUND, motte_object_at(w.realm, w.person, -1, &found));
    STATUS(MOTTE_NOT_FOUND, motte_object_at(w.realm, w.person, INT64_MAX, &found));
    STATUS(MOTTE_OK, motte_row_exists(w.realm, w.person, row));
    STATUS(MOTTE_OK, motte_class_count(w.realm, w.person, &count));
    CHECK(count == 1);

    /* A cancelled write leaves nothing, a deleted object says so. */
    MUST(motte_realm_begin_write(w.realm, -1));
    STATUS(MOTTE_OK, motte_object_create(w.realm, w.person, &second, 0, &other, NULL));
    STATUS(MOTTE_OK, motte_object_delete(object));
    STATUS(MOTTE_E_OBJECT_DELETED, motte_object_get_int(object, w.age, &number));
    STATUS(MOTTE_OK, motte_realm_cancel(w.realm));
    STATUS(MOTTE_OK, motte_object_get_int(object, w.age, &number));
    CHECK(number == 36);
    STATUS(MOTTE_E_OBJECT_DELETED, motte_object_get_int(other, w.age, &number));
    STATUS(MOTTE_E_OBJECT_DELETED, motte_handle_check(other));
    STATUS(MOTTE_OK, motte_handle_check(object));
    STATUS(MOTTE_OK, motte_object_row(other, NULL, &row));
    motte_release(object);
    motte_release(other);
    close_world(&w);
}

static void rows(void) {
    world w = open_world("rows");
    motte_prop props[2];
    motte_value values[2];
    motte_key keys[3], found;
    uint64_t deleted;
    bool created;
    motte_coll *tags;
    props[0] = w.id;
    props[1] = w.name;
    values[0] = motte_int(5);
    values[1] = motte_string("five");
    MUST(motte_realm_begin_write(w.realm, -1));
    STATUS(MOTTE_OK, motte_row_create(w.realm, w.person, props, values, 2, 0, &keys[0], NULL));
    STATUS(MOTTE_E_DUPLICATE_PRIMARY_KEY, motte_row_create(w.realm, w.person, props, values, 2, 0, NULL, NULL));
    values[1] = motte_string("FIVE");
    STATUS(MOTTE_OK, motte_row_create(w.realm, w.person, props, values, 2, MOTTE_CREATE_EXISTING, &keys[1], &created));
    CHECK(!created);
    CHECK(keys[0] == keys[1]);
    STATUS(MOTTE_OK, motte_row_get_many(w.realm, w.person, keys[0], props, 2, values));
    CHECK(motte_str_equal(values[1].as.string, "FIVE"));
    STATUS(MOTTE_E_NO_PRIMARY_KEY, motte_row_create(w.realm, w.person, props + 1, values + 1, 1, 0, NULL, NULL));
    STATUS(MOTTE_OK, motte_row_create(w.realm, w.dog, NULL, NULL, 0, 0, &keys[2], NULL));
    STATUS(MOTTE_OK, motte_row_find(w.realm, w.person, &values[0], &found));
    CHECK(found == keys[0]);
    STATUS(MOTTE_OK, motte_row_get_coll(w.realm, w.person, found, w.tags, &tags));
    motte_release(tags);
    STATUS(MOTTE_E_WRONG_TYPE, motte_row_get_coll(w.realm, w.person, found, w.name, &tags));
    STATUS(MOTTE_E_OBJECT_DELETED, motte_row_get_coll(w.realm, w.person, 77, w.tags, &tags));
    STATUS(MOTTE_E_OBJECT_DELETED, motte_row_get_many(w.realm, w.person, 77, props, 2, values));
    CHECK(values[0].type == 0 && values[1].type == 0);
    keys[1] = 77;
    keys[2] = keys[0];
    STATUS(MOTTE_OK, motte_row_delete(w.realm, w.person, keys, 3, &deleted));
    CHECK(deleted == 1);
    STATUS(MOTTE_NOT_FOUND, motte_row_exists(w.realm, w.person, keys[0]));
    MUST(motte_realm_commit(w.realm, 0, NULL));
    close_world(&w);
}

/* The key of an object that did not come to be is not given to another one. */
static void keys_given_once(void) {
    world w = open_world("keys given once");
    motte_prop props[2];
    motte_value values[2];
    motte_key keys[5];
    motte_object *lost;
    uint64_t savepoint;
    int i, j;
    props[0] = w.id;
    props[1] = w.friend_;
    values[0] = motte_int(1);
    MUST(motte_realm_begin_write(w.realm, -1));
    MUST(motte_row_create(w.realm, w.person, props, values, 1, 0, &keys[0], NULL));
    MUST(motte_object_at(w.realm, w.person, keys[0], &lost));
    values[1] = motte_link_to(lost);
    MUST(motte_realm_cancel(w.realm));
    MUST(motte_realm_begin_write(w.realm, -1));
    MUST(motte_row_create(w.realm, w.person, props, values, 1, 0, &keys[1], NULL));
    values[0] = motte_int(2);
    STATUS(MOTTE_E_OBJECT_DELETED, motte_row_create(w.realm, w.person, props, values, 2, 0, NULL, NULL));
    MUST(motte_realm_savepoint(w.realm, &savepoint));
    MUST(motte_row_create(w.realm, w.person, props, values, 1, 0, &keys[2], NULL));
    MUST(motte_realm_roll_back(w.realm, savepoint));
    MUST(motte_row_create(w.realm, w.person, props, values, 1, 0, &keys[3], NULL));
    MUST(motte_realm_commit(w.realm, 0, NULL));
    values[0] = motte_int(3);
    MUST(motte_realm_begin_write(w.realm, -1));
    MUST(motte_row_create(w.realm, w.person, props, values, 1, 0, &keys[4], NULL));
    MUST(motte_realm_commit(w.realm, 0, NULL));
    for (i = 0; i < 5; i++) {
        for (j = 0; j < i; j++) CHECK(keys[i] != keys[j]);
    }
    STATUS(MOTTE_NOT_FOUND, motte_row_exists(w.realm, w.person, keys[0]));
    STATUS(MOTTE_NOT_FOUND, motte_row_exists(w.realm, w.person, keys[2]));
    motte_release(lost);
    close_world(&w);
}

/* What calls before were about is not what this one is about: other properties, another order, another write. */
static void rows_again(void) {
    world w = open_world("rows again");
    motte_prop props[4], all[4];
    motte_value values[4], one = motte_int(0), link;
    motte_key key, other;
    int round, first, count, i;
    all[0] = w.age;
    all[1] = w.height;
    all[2] = w.alive;
    all[3] = w.name;
    for (round = 0; round < 3; round++) {
        MUST(motte_realm_begin_write(w.realm, -1));
        one = motte_int(round);
        MUST(motte_row_create(w.realm, w.person, &w.id, &one, 1, 0, &key, NULL));
        for (first = 0; first < 4; first++) {
            for (count = 1; count <= 4; count++) {
                for (i = 0; i < count; i++) props[i] = all[(first + i) % 4];
                for (i = 0; i < count; i++) {
                    values[i] = props[i] == w.age      ? motte_int(round * 100 + first * 10 + count)
                                : props[i] == w.height ? motte_double(first + 0.5)
                                : props[i] == w.alive  ? motte_bool(count % 2 == 1)
                                                       : motte_string("again");
                }
                STATUS(MOTTE_OK, motte_row_set_many(w.realm, w.person, key, props, values, (size_t)count));
                memset(values, 0xFF, sizeof values);
                STATUS(MOTTE_OK, motte_row_get_many(w.realm, w.person, key, props, (size_t)count, values));
                for (i = 0; i < count; i++) {
                    if (props[i] == w.age) CHECK(values[i].as.integer == round * 100 + first * 10 + count);
                    if (props[i] == w.height) CHECK(values[i].as.real == first + 0.5);
                    if (props[i] == w.alive) CHECK(values[i].as.boolean == (uint64_t)(count % 2));
                    if (props[i] == w.name) CHECK(motte_str_equal(values[i].as.string, "again"));
                }
            }
        }
        /* Refused at the second: the first is as it was. */
        values[0] = motte_int(7);
        values[1] = motte_string("not a number");
        STATUS(MOTTE_E_WRONG_TYPE, motte_row_set_many(w.realm, w.person, key, all, values, 2));
        CHECK(check_error().row_index == 1);
        values[1] = motte_null();
        STATUS(MOTTE_E_NULL_NOT_ALLOWED, motte_row_set_many(w.realm, w.person, key, &w.age, &values[1], 1));
        CHECK(check_error().row_index == 0 && strcmp(check_error().property_name, "age") == 0);
        props[0] = w.age;
        props[1] = w.dog_name;
        STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_row_set_many(w.realm, w.person, key, props, values, 2));
        STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_row_get_many(w.realm, w.person, key, props, 2, values));
        STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_row_set_many(w.realm, w.dog, 0, all, values, 1));
        STATUS(MOTTE_E_UNKNOWN_CLASS, motte_row_get_many(w.realm, 4711, key, all, 1, values));
        STATUS(MOTTE_OK, motte_row_get_many(w.realm, w.person, key, all, 1, values));
        CHECK(values[0].as.integer == round * 100 + 34);
        /* A link without its class gets that of the property. */
        link = motte_link(0, key);
        STATUS(MOTTE_OK, motte_row_set_many(w.realm, w.person, key, &w.friend_, &link, 1));
        STATUS(MOTTE_OK, motte_row_get_many(w.realm, w.person, key, &w.friend_, 1, values));
        CHECK(values[0].type == MOTTE_TYPE_LINK && values[0].aux == w.person && values[0].as.key == key);
        one = motte_int(100 + round);
        MUST(motte_row_create(w.realm, w.person, &w.id, &one, 1, 0, &other, NULL));
        MUST(motte_row_delete(w.realm, w.person, &other, 1, NULL));
        values[0] = motte_int(1);
        STATUS(MOTTE_E_OBJECT_DELETED, motte_row_set_many(w.realm, w.person, other, &w.age, values, 1));
        STATUS(MOTTE_E_OBJECT_DELETED, motte_row_get_many(w.realm, w.person, other, &w.age, 1, values));
        MUST(motte_realm_commit(w.realm, 0, NULL));
        STATUS(MOTTE_E_NOT_IN_WRITE, motte_row_set_many(w.realm, w.person, key, &w.age, &one, 1));
    }
    close_world(&w);
}

static void lists(void) {
    world w = open_world("lists");
    motte_object *object;
    motte_coll *tags, *same, *dogs, *owners, *fixed;
    motte_coll_details details;
    motte_value key = motte_int(1), values[3], value, dog_link;
    motte_key dog;
    motte_str strings[4];
    size_t index, count;
    uint64_t deleted;
    MUST(motte_realm_begin_write(w.realm, -1));
    MUST(motte_object_create(w.realm, w.person, &key, 0, &object, NULL));
    MUST(motte_object_get_coll(object, w.tags, &tags));
    MUST(motte_object_get_coll(object, w.tags, &same));
    CHECK(motte_equal(tags, same) == 1);
    motte_release(same);
    values[0] = motte_string("a");
    values[1] = motte_string("b");
    values[2] = motte_string("c");
    STATUS(MOTTE_OK, motte_list_append(tags, values, 3));
    STATUS(MOTTE_OK, motte_list_insert(tags, 0, &values[2]));
    STATUS(MOTTE_OK, motte_list_set(tags, 1, &values[1]));
    STATUS(MOTTE_OK, motte_list_move(tags, 0, 3));
    STATUS(MOTTE_OK, motte_list_swap(tags, 0, 1)); /* b b c c */
    STATUS(MOTTE_OK, motte_coll_count(tags, &count));
    CHECK(count == 4);
    STATUS(MOTTE_OK, motte_coll_find(tags, &values[2], &index));
    CHECK(index == 2);
    STATUS(MOTTE_NOT_FOUND, motte_coll_find(tags, &values[0], &index));
    STATUS(MOTTE_NOT_FOUND, motte_coll_find(tags, &key, &index));
    STATUS(MOTTE_OK, motte_list_splice(tags, 1, 2, values, 1)); /* b a c */
    STATUS(MOTTE_OK, motte_read_strings(tags, MOTTE_PROP_SELF, 0, 4, strings, &count));
    CHECK(count == 3 && motte_str_equal(strings[0], "b") && motte_str_equal(strings[1], "a"));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_list_insert(tags, 4, &values[0]));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_list_remove(tags, 3));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_list_remove(tags, SIZE_MAX));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_list_move(tags, 0, 3));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_list_splice(tags, 2, 2, NULL, 0));
    STATUS(MOTTE_E_WRONG_TYPE, motte_list_append(tags, &key, 1));
    value = motte_null();
    STATUS(MOTTE_E_NULL_NOT_ALLOWED, motte_list_append(tags, &value, 1));
    values[1] = motte_int(3);
    STATUS(MOTTE_E_WRONG_TYPE, motte_list_append(tags, values, 2));
    STATUS(MOTTE_OK, motte_coll_count(tags, &count));
    CHECK(count == 3);
    STATUS(MOTTE_E_WRONG_TYPE, motte_coll_delete_objects(tags, &deleted));

    MUST(motte_row_create(w.realm, w.dog, NULL, NULL, 0, 0, &dog, NULL));
    MUST(motte_object_get_coll(object, w.dogs, &dogs));
    dog_link = motte_link(0, dog);
    STATUS(MOTTE_OK, motte_list_append(dogs, &dog_link, 1));
    STATUS(MOTTE_OK, motte_list_append(dogs, &dog_link, 1));
    STATUS(MOTTE_OK, motte_coll_get(dogs, 0, &value));
    CHECK(value.type == MOTTE_TYPE_LINK && value.aux == w.dog && value.as.key == dog);
    STATUS(MOTTE_OK, motte_row_get_coll(w.realm, w.dog, dog, w.owners, &owners));
    STATUS(MOTTE_OK, motte_coll_count(owners, &count));
    CHECK(count == 2);
    STATUS(MOTTE_E_WRONG_KIND, motte_list_append(owners, &dog_link, 1));
    STATUS(MOTTE_E_WRONG_KIND, motte_coll_clear(owners));
    details.struct_size = sizeof details;
    STATUS(MOTTE_OK, motte_coll_info(owners, &details));
    CHECK(details.kind == MOTTE_COLLECTION_BACKLINKS && details.target == w.person && details.prop == w.dogs);
    STATUS(MOTTE_OK, motte_coll_info(dogs, &details));
    CHECK(details.kind == MOTTE_COLLECTION_LIST && details.type == MOTTE_TYPE_LINK && details.target == w.dog);
    CHECK(details.prop == w.dogs);
    STATUS(MOTTE_OK, motte_coll_snapshot(dogs, &fixed));
    STATUS(MOTTE_OK, motte_coll_info(fixed, &details));
    CHECK((details.flags & MOTTE_COLL_SNAPSHOT) != 0);
    STATUS(MOTTE_OK, motte_coll_delete_objects(dogs, &deleted));
    CHECK(deleted == 1);
    STATUS(MOTTE_OK, motte_coll_count(dogs, &count));
    CHECK(count == 0);
    STATUS(MOTTE_OK, motte_coll_count(fixed, &count));
    CHECK(count == 2);
    STATUS(MOTTE_NULL, motte_coll_get(fixed, 0, &value));
    STATUS(MOTTE_OK, motte_coll_clear(tags));
    STATUS(MOTTE_OK, motte_object_delete(object));
    STATUS(MOTTE_E_OBJECT_DELETED, motte_coll_count(tags, &count));
    STATUS(MOTTE_E_OBJECT_DELETED, motte_handle_check(tags));
    MUST(motte_realm_commit(w.realm, 0, NULL));
    motte_release(object);
    motte_release(tags);
    motte_release(dogs);
    motte_release(owners);
    motte_release(fixed);
    close_world(&w);
}

static void queries(void) {
    world w = open_world("queries");
    motte_query *query;
    motte_coll *all, *some, *fewer, *sorted, *first;
    motte_object *object;
    motte_value args[2], value;
    motte_sort_key keys[2];
    motte_buf text;
    motte_error_details error;
    size_t count;
    int64_t number;
    populate(&w, 1000);

    args[0] = motte_int(5);
    args[1] = motte_string("P1");
    STATUS(MOTTE_OK, motte_query_parse(w.realm, w.person, MOTTE_LIT("age < $0 AND name BEGINSWITH[c] $1 SORT(id DESC)"),
                                       args, 2, &query));
    STATUS(MOTTE_OK, motte_query_arg_count(query, &count));
    CHECK(count == 2);
    STATUS(MOTTE_OK, motte_query_run(query, &some));
    STATUS(MOTTE_OK, motte_query_count(query, &count));
    {
        int expected = 0, i;
        char name[16];
        for (i = 0; i < 1000; i++) {
            snprintf(name, sizeof name, "p%d", i);
            expected += i % 7 != 3 && i % 10 < 5 && name[1] == '1';
        }
        CHECK((int)count == expected);
    }
    STATUS(MOTTE_OK, motte_query_first(query, &object));
    STATUS(MOTTE_OK, motte_object_get_int(object, w.id, &number));
    CHECK(number == 194);
    motte_release(object);
    MUST(motte_query_describe(query, &text));
    CHECK(strstr(text.data, "BEGINSWITH") != NULL && strstr(text.data, "P1") != NULL);
    motte_buf_dispose(&text);
    MUST(motte_query_explain(query, &text));
    CHECK(text.size > 0);
    motte_buf_dispose(&text);
    {
        static const char places[] = "ended - begun BETWEEN $0 AND $high AND size > $0 LIMIT($0)";
        STATUS(MOTTE_OK, motte_query_outline(places, strlen(places), &text));
        CHECK(text.size > 0 &&
              strstr(text.data, "\"argument\": \"high\", \"role\": \"value\", \"plain\": false") != NULL &&
              strstr(text.data, "\"paths\": [[\"ended\"], [\"begun\"]]") != NULL &&
              strstr(text.data, "\"argument\": 0, \"role\": \"count\"") != NULL);
        motte_buf_dispose(&text);
        STATUS(MOTTE_E_QUERY_SYNTAX, motte_query_outline("size >", 6, &text));
        STATUS(MOTTE_E_QUERY_SYNTAX, motte_query_outline("size > $100000", 14, &text));
        STATUS(MOTTE_E_QUERY_INVALID, motte_query_outline("GROUP(a) HAVING b > 1", 21, &text));
        CHECK(text.data == NULL && text.size == 0);
    }
    args[0] = motte_int(0);
    STATUS(MOTTE_OK, motte_query_bind(query, 0, &args[0]));
    STATUS(MOTTE_NOT_FOUND, motte_query_first(query, &object));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_query_bind(query, 2, &args[0]));
    STATUS(MOTTE_E_QUERY_ARGUMENT, motte_query_bind_named(query, MOTTE_LIT("low"), &args[0]));
    STATUS(MOTTE_OK, motte_coll_count(some, &count));
    CHECK(count > 0); /* results made before keep their arguments */
    motte_release(query);
    motte_release(some);

    STATUS(MOTTE_E_QUERY_SYNTAX, motte_query_parse(w.realm, w.person, MOTTE_LIT("age <"), NULL, 0, &query));
    error = check_error();
    CHECK(error.query_offset == 5 && error.category == MOTTE_CATEGORY_QUERY);
    STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_query_parse(w.realm, w.person, MOTTE_LIT("nmae == 'x'"), NULL, 0, &query));
    CHECK(check_error().query_offset == 0);
    STATUS(MOTTE_E_QUERY_ARGUMENT, motte_query_parse(w.realm, w.person, MOTTE_LIT("age < $1"), args, 1, &query));

    MUST(motte_class_all(w.realm, w.person, &all));
    args[0] = motte_int(3);
    STATUS(MOTTE_OK, motte_coll_filter(all, MOTTE_LIT("age == $0"), args, 1, &some));
    STATUS(MOTTE_OK, motte_coll_filter(some, MOTTE_LIT("name != null"), NULL, 0, &fewer));
    memset(keys, 0, sizeof keys);
    keys[0].path = "age";
    keys[0].path_size = 3;
    keys[1].path = "id";
    keys[1].path_size = MOTTE_NTS;
    keys[1].flags = MOTTE_SORT_DESCENDING;
    STATUS(MOTTE_OK, motte_coll_sort(fewer, keys, 2, &sorted));
    STATUS(MOTTE_OK, motte_coll_limit(sorted, 2, &first));
    STATUS(MOTTE_OK, motte_coll_count(first, &count));
    CHECK(count == 2);
    STATUS(MOTTE_OK, motte_coll_get_object(first, 0, &object));
    STATUS(MOTTE_OK, motte_object_get_int(object, w.id, &number));
    CHECK(number == 993);
    motte_release(object);
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_coll_get_object(first, 2, &object));
    STATUS(MOTTE_OK, motte_coll_aggregate(some, MOTTE_AGGREGATE_SUM, w.age, &value));
    CHECK(value.type == MOTTE_TYPE_INT && value.as.integer == 300);
    STATUS(MOTTE_OK, motte_coll_aggregate(all, MOTTE_AGGREGATE_AVG, w.age, &value));
    CHECK(value.type == MOTTE_TYPE_DOUBLE && value.as.real == 4.5);
    STATUS(MOTTE_OK, motte_coll_aggregate(all, MOTTE_AGGREGATE_COUNT, w.name, &value));
    CHECK(value.as.integer == 857);
    STATUS(MOTTE_NULL, motte_coll_aggregate(all, MOTTE_AGGREGATE_MAX, w.height, &value));
    STATUS(MOTTE_E_WRONG_TYPE, motte_coll_aggregate(all, MOTTE_AGGREGATE_SUM, w.name, &value));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_coll_aggregate(all, 9, w.age, &value));
    STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_coll_aggregate(all, MOTTE_AGGREGATE_SUM, w.dog_name, &value));
    keys[0].flags = 8;
    motte_release(sorted);
    STATUS(MOTTE_E_UNKNOWN_FLAG, motte_coll_sort(all, keys, 1, &sorted));
    CHECK(sorted == NULL);
    motte_release(all);
    motte_release(some);
    motte_release(fewer);
    motte_release(first);
    close_world(&w);
}

static void bulk(void) {
    enum {
        N = 1500
    };
    world w = open_world("bulk");
    motte_coll *all;
    motte_column columns[6];
    motte_prop props[6], read[2];
    motte_insert *insert;
    static int64_t ids[N], born[N], found[N], offsets[N + 1];
    static motte_key friends[N], keys[N];
    static double heights[N];
    static uint8_t truths[N], validity[(N + 7) / 8], heights_validity[(N + 7) / 8];
    static motte_str names[N], views[N];
    static char texts[N][16];
    static motte_value values[2 * N];
    motte_buf packed;
    size_t count, i, wrong;

    memset(columns, 0, sizeof columns);
    for (i = 0; i < N; i++) {
        ids[i] = (int64_t)i * 3;
        born[i] = (int64_t)i * 1000000007 - 5;
        friends[i] = i == 0 ? -1 : (motte_key)(i - 1);
        heights[i] = (double)i / 4;
        truths[i] = (uint8_t)(i & 1);
        names[i].data = i % 5 == 0 ? NULL : texts[i];
        names[i].size = i % 5 == 0 ? 0 : (size_t)snprintf(texts[i], 16, "n%zu", i);
        if (i % 3 != 0) heights_validity[i / 8] |= (uint8_t)(1u << (i % 8));
    }
    props[0] = w.id;
    props[1] = w.name;
    props[2] = w.height;
    props[3] = w.alive;
    props[4] = w.born;
    props[5] = w.friend_;
    columns[0].type = MOTTE_TYPE_INT;
    columns[0].values = ids;
    columns[1].type = MOTTE_TYPE_STRING;
    columns[1].values = names;
    columns[2].type = MOTTE_TYPE_DOUBLE;
    columns[2].values = heights;
    columns[2].validity = heights_validity;
    columns[3].type = MOTTE_TYPE_BOOL;
    columns[3].values = truths;
    columns[4].type = MOTTE_TYPE_TIMESTAMP;
    columns[4].unit = MOTTE_UNIT_MILLISECONDS;
    columns[4].values = born;
    columns[5].type = MOTTE_TYPE_LINK;
    columns[5].values = friends;
    MUST(motte_insert_new(w.realm, w.person, props, 5, 0, &insert));
    STATUS(MOTTE_E_NOT_IN_WRITE, motte_insert_columns(insert, columns, N, keys));
    MUST(motte_realm_begin_write(w.realm, -1));
    /* What there are no addresses for is not believed, with keys and without, and with rows that may be there. */
    for (i = 44; i < 64; i++) {
        motte_insert *over = NULL;
        STATUS(MOTTE_E_INVALID_ARGUMENT, motte_insert_columns(insert, columns, (size_t)1 << i, keys));
        STATUS(MOTTE_E_INVALID_ARGUMENT, motte_insert_columns(insert, columns, (size_t)1 << i, NULL));
        MUST(motte_insert_new(w.realm, w.person, props, 5, MOTTE_CREATE_EXISTING, &over));
        STATUS(MOTTE_E_INVALID_ARGUMENT, motte_insert_columns(over, columns, (size_t)1 << i, NULL));
        STATUS(MOTTE_E_INVALID_ARGUMENT, motte_insert_columns(over, columns, (size_t)1 << i, keys));
        motte_release(over);
    }
    ids[N - 1] = ids[3];
    STATUS(MOTTE_E_DUPLICATE_PRIMARY_KEY, motte_insert_columns(insert, columns, N, keys));
    CHECK(check_error().row_index == N - 1);
    ids[N - 1] = (N - 1) * 3;
    truths[9] = 7;
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_insert_columns(insert, columns, N, keys));
    CHECK(check_error().row_index == 9);
    truths[9] = 1;
    STATUS(MOTTE_OK, motte_insert_columns(insert, columns, N, keys));
    CHECK(keys[0] == 0 && keys[N - 1] == N - 1);
    motte_release(insert);
    for (i = 1; i < N; i++) {
        motte_value link = motte_link(0, friends[i]);
        MUST(motte_row_set_many(w.realm, w.person, keys[i], &w.friend_, &link, 1));
    }
    MUST(motte_realm_commit(w.realm, 0, NULL));

    MUST(motte_class_all(w.realm, w.person, &all));
    STATUS(MOTTE_OK, motte_read_ints(all, w.id, 0, N, found, NULL, &count));
    CHECK(count == N && memcmp(found, ids, sizeof ids) == 0);
    STATUS(MOTTE_OK, motte_read_ints(all, w.id, N - 10, 100, found, validity, &count));
    CHECK(count == 10 && found[9] == ids[N - 1] && validity[0] == 0xFF && (validity[1] & 3) == 3);
    STATUS(MOTTE_END, motte_read_ints(all, w.id, N, 100, found, NULL, &count));
    CHECK(count == 0);
    STATUS(MOTTE_END, motte_read_ints(all, w.id, SIZE_MAX, 1, found, NULL, &count));
    STATUS(MOTTE_E_WRONG_TYPE, motte_read_ints(all, w.name, 0, N, found, NULL, &count));
    STATUS(MOTTE_E_WRONG_TYPE, motte_read_ints(all, w.name, N, N, found, NULL, &count));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_read_ints(all, w.id, 0, SIZE_MAX, found, NULL, &count));
    STATUS(MOTTE_OK, motte_read_timestamps(all, w.born, MOTTE_UNIT_MILLISECONDS, 0, N, found, NULL, &count));
    CHECK(memcmp(found, born, sizeof born) == 0);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_read_timestamps(all, w.born, 4, 0, N, found, NULL, &count));
    STATUS(MOTTE_OK, motte_read_timestamps(all, w.born, MOTTE_UNIT_SECONDS, 0, 1, found, NULL, &count));
    CHECK(found[0] == -1);
    STATUS(MOTTE_OK, motte_read_bools(all, w.alive, 0, N, truths, NULL, &count));
    CHECK(truths[0] == 0 && truths[1] == 1 && truths[N - 1] == 1);
    STATUS(MOTTE_OK, motte_read_doubles(all, w.height, 0, N, heights, validity, &count));
    for (i = wrong = 0; i < N; i++) {
        int present = validity[i / 8] >> (i % 8) & 1;
        wrong += present != (i % 3 != 0) || heights[i] != (present ? (double)i / 4 : 0);
    }
    CHECK(wrong == 0);
    STATUS(MOTTE_OK, motte_read_links(all, w.friend_, 0, N, keys, validity, &count));
    CHECK(keys[0] == -1 && keys[1] == 0 && keys[N - 1] == N - 2 && (validity[0] & 3) == 2);
    STATUS(MOTTE_OK, motte_read_keys(all, 10, 5, keys, &count));
    CHECK(count == 5 && keys[0] == 10);
    STATUS(MOTTE_OK, motte_read_strings(all, w.name, 0, N, views, &count));
    for (i = wrong = 0; i < N; i++) {
        wrong += i % 5 == 0 ? views[i].data != NULL : !motte_str_equal(views[i], texts[i]);
    }
    CHECK(wrong == 0);
    STATUS(MOTTE_OK, motte_read_strings_packed(all, w.name, 0, N, offsets, validity, &packed, &count));
    for (i = wrong = 0; i < N; i++) {
        size_t size = (size_t)(offsets[i + 1] - offsets[i]);
        wrong += size != views[i].size || (size && memcmp(packed.data + offsets[i], views[i].data, size) != 0);
        wrong += (validity[i / 8] >> (i % 8) & 1) != (i % 5 != 0);
    }
    CHECK(wrong == 0 && packed.size == (size_t)offsets[N]);
    motte_buf_dispose(&packed);
    read[0] = w.id;
    read[1] = w.friend_;
    STATUS(MOTTE_OK, motte_read_values(all, read, 2, 0, N, MOTTE_LAYOUT_ROWS, values, &count));
    CHECK(values[2].as.integer == 3 && values[3].type == MOTTE_TYPE_LINK && values[3].aux == w.person);
    CHECK(values[1].type == MOTTE_TYPE_NULL);
    STATUS(MOTTE_OK, motte_read_values(all, read, 2, 0, N, MOTTE_LAYOUT_COLUMNS, values, &count));
    CHECK(values[1].as.integer == 3 && values[N + 1].as.key == 0);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_read_values(all, read, 2, 0, N, 5, values, &count));
    motte_release(all);

    /* Packed columns come in as they go out. */
    offsets[0] = 0;
    offsets[1] = 2;
    offsets[2] = 2;
    props[0] = w.dog_name;
    columns[0].type = MOTTE_TYPE_STRING;
    columns[0].values = "xy";
    columns[0].offsets = offsets;
    MUST(motte_insert_new(w.realm, w.dog, props, 1, 0, &insert));
    MUST(motte_realm_begin_write(w.realm, -1));
    STATUS(MOTTE_OK, motte_insert_columns(insert, columns, 2, NULL));
    offsets[2] = 1;
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_insert_columns(insert, columns, 2, NULL));
    offsets[2] = 2;
    columns[0].values = "\xFFy";
    STATUS(MOTTE_E_INVALID_UTF8, motte_insert_columns(insert, columns, 2, NULL));
    MUST(motte_realm_commit(w.realm, 0, NULL));
    MUST(motte_class_all(w.realm, w.dog, &all));
    STATUS(MOTTE_OK, motte_read_strings(all, w.dog_name, 0, 9, views, &count));
    CHECK(count == 2 && motte_str_equal(views[0], "xy") && motte_str_equal(views[1], ""));
    motte_release(insert);
    motte_release(all);
    close_world(&w);
}

static void freezing(void) {
    world w = open_world("freezing");
    motte_realm *frozen;
    motte_object *object, *still;
    motte_coll *all, *fixed;
    motte_realm_details details;
    motte_value key = motte_int(3);
    uint64_t epoch, later, current, latest;
    int64_t number;
    size_t count;
    populate(&w, 10);
    MUST(motte_object_find(w.realm, w.person, &key, &object));
    MUST(motte_class_all(w.realm, w.person, &all));
    MUST(motte_realm_freeze(w.realm, &frozen));
    MUST(motte_object_freeze(object, &still));
    MUST(motte_coll_freeze(all, &fixed));
    CHECK(motte_handle_is_frozen(still) == 1 && motte_handle_is_frozen(object) == 0);

    MUST(motte_realm_view_epoch(w.realm, &epoch));
    MUST(motte_realm_begin_write(w.realm, -1));
    MUST(motte_object_set_int(object, w.age, 77));
    MUST(motte_object_delete(object));
    MUST(motte_realm_commit(w.realm, 0, NULL));
    MUST(motte_realm_view_epoch(w.realm, &later));
    CHECK(later != epoch);
    STATUS(MOTTE_OK, motte_object_get_int(still, w.age, &number));
    CHECK(number == 3);
    STATUS(MOTTE_OK, motte_coll_count(fixed, &count));
    CHECK(count == 10);
    STATUS(MOTTE_OK, motte_coll_count(all, &count));
    CHECK(count == 9);
    STATUS(MOTTE_E_FROZEN, motte_realm_begin_write(frozen, 0));
    STATUS(MOTTE_E_FROZEN, motte_object_set_int(still, w.age, 1));
    MUST(motte_realm_version(frozen, &current, &latest));
    CHECK(current + 1 == latest);
    memset(&details, 0, sizeof details);
    details.struct_size = sizeof details;
    MUST(motte_realm_info(frozen, &details));
    CHECK((details.flags & MOTTE_REALM_FROZEN) != 0 && (details.flags & MOTTE_REALM_IN_MEMORY) != 0);
    CHECK(strcmp(details.path, "freezing") == 0 && details.class_count == 2);

    /* What is frozen outlives the realm it came from. */
    motte_release(object);
    motte_release(all);
    close_world(&w);
    STATUS(MOTTE_OK, motte_object_get_int(still, w.age, &number));
    motte_release(frozen);
    motte_release(fixed);
    STATUS(MOTTE_OK, motte_object_get_int(still, w.age, &number));
    motte_release(still);
}

static void files(void) {
    char path[] = "/tmp/motte-behaviour-XXXXXX", file[64], other[80];
    motte_realm *realm, *second;
    motte_config *config;
    motte_realm_details details;
    motte_value key = motte_int(1);
    motte_object *object;
    motte_counters counters;
    uint64_t version;
    bool advanced;
    FILE *stream;
    if (!mkdtemp(path)) exit(2);
    snprintf(file, sizeof file, "%s/x.motte", path);
    MUST(motte_open(file, schema_text, &realm));
    MUST(motte_open(file, NULL, &second));
    MUST(motte_realm_begin_write(realm, -1));
    STATUS(MOTTE_E_ALREADY_IN_WRITE, motte_realm_begin_write(realm, -1));
    STATUS(MOTTE_E_TIMEOUT, motte_realm_begin_write(second, 20));
    MUST(motte_object_create(realm, motte_class_named(realm, "Person"), &key, 0, &object, NULL));
    MUST(motte_realm_commit(realm, 0, &version));
    CHECK(version > 0);
    STATUS(MOTTE_OK, motte_realm_wait_for_change(second, 1000));
    STATUS(MOTTE_OK, motte_realm_refresh(second, &advanced));
    CHECK(advanced);
    STATUS(MOTTE_OK, motte_realm_refresh(second, &advanced));
    CHECK(!advanced);
    STATUS(MOTTE_PENDING, motte_realm_wait_for_change(second, 10));
    details.struct_size = sizeof details;
    MUST(motte_realm_info(second, &details));
    CHECK(details.version == version && details.file_size > 0 && strcmp(details.path, file) == 0);
    counters.struct_size = sizeof counters;
    STATUS(MOTTE_OK, motte_realm_counters(realm, &counters));
    motte_release(object);
    STATUS(MOTTE_OK, motte_realm_close(realm));
    STATUS(MOTTE_UNCHANGED, motte_realm_close(realm));
    STATUS(MOTTE_E_CLOSED, motte_realm_refresh(realm, NULL));
    motte_release(realm);
    motte_release(second);

    /* Reading only. */
    MUST(motte_config_new(&config));
    MUST(motte_config_set_path(config, file, MOTTE_NTS));
    MUST(motte_config_set_flags(config, MOTTE_CONFIG_READ_ONLY, MOTTE_CONFIG_READ_ONLY));
    STATUS(MOTTE_OK, motte_realm_open(config, &realm));
    STATUS(MOTTE_E_READ_ONLY, motte_realm_begin_write(realm, -1));
    motte_release(realm);

    /* What is no file of ours, or nothing that can be opened. */
    snprintf(other, sizeof other, "%s/other.txt", path);
    stream = fopen(other, "w");
    if (!stream) exit(2);
    fputs("not a database at all, but long enough to look like one if nobody checks what it says\n", stream);
    fclose(stream);
    MUST(motte_config_set_path(config, other, MOTTE_NTS));
    STATUS(MOTTE_E_NOT_A_MOTTE_FILE, motte_realm_open(config, &realm));
    MUST(motte_config_set_path(config, path, MOTTE_NTS));
    CHECK(motte_realm_open(config, &realm) < 0);
    MUST(motte_config_set_flags(config, 0, MOTTE_CONFIG_READ_ONLY));
    snprintf(other, sizeof other, "%s/missing/x.motte", path);
    MUST(motte_config_set_path(config, other, MOTTE_NTS));
    CHECK(motte_realm_open(config, &realm) < 0 && check_error().category == MOTTE_CATEGORY_STORAGE);
    motte_release(config);
    snprintf(other, sizeof other, "rm -rf '%s'", path);
    if (system(other) != 0) exit(2);
}

/* Later the larger it is: version and sequence number of a root slot. */
static uint64_t slot_age(const unsigned char *slot) {
    uint64_t version, sequence;
    memcpy(&version, slot + 16, sizeof version);
    memcpy(&sequence, slot + 144, sizeof sequence);
    return version * 1000 + sequence;
}

/* In a commit each. */
static void add_people(motte_realm *realm, int64_t first, int64_t end) {
    for (int64_t key = first; key < end; key++) {
        motte_value id = motte_int(key);
        motte_object *object;
        MUST(motte_realm_begin_write(realm, -1));
        MUST(motte_object_create(realm, motte_class_named(realm, "Person"), &id, 0, &object, NULL));
        MUST(motte_realm_commit(realm, 0, NULL));
        motte_release(object);
    }
}

/* A version that was passed over when a file was opened is said; two broken roots are more than a power cut leaves. */
static void warnings(void) {
    enum {
        page = 4096
    };
    char path[] = "/tmp/motte-behaviour-XXXXXX", file[64], other[80];
    unsigned char slots[3][page];
    motte_realm *realm;
    motte_realm_details details = {.struct_size = sizeof details};
    FILE *stream;
    int slot, round, broken;
    if (!mkdtemp(path)) exit(2);
    snprintf(file, sizeof file, "%s/x.motte", path);
    for (round = 0; round < 2; round++) {
        MUST(motte_open(file, schema_text, &realm));
        MUST(motte_realm_info(realm, &details));
        CHECK(details.warning == NULL && (details.flags & MOTTE_REALM_DAMAGED) == 0);
        add_people(realm, round * 10, round * 10 + 5);
        MUST(motte_realm_close(realm));
        motte_release(realm);

        /* The newest slot, which closing wrote; in the second round also the one of the last commit. */
        stream = fopen(file, "r+b");
        CHECK(stream && fseek(stream, page, SEEK_SET) == 0 && fread(slots, page, 3, stream) == 3);
        for (broken = 0; broken <= round; broken++) {
            int newest = 0;
            for (slot = 1; slot < 3; slot++)
                if (slot_age(slots[slot]) > slot_age(slots[newest])) newest = slot;
            slots[newest][200] ^= 1;
            CHECK(fseek(stream, page * (1 + newest), SEEK_SET) == 0 && fwrite(slots[newest], page, 1, stream) == 1);
            memset(slots[newest], 0, page);
        }
        fclose(stream);

        MUST(motte_open(file, NULL, &realm));
        MUST(motte_realm_info(realm, &details));
        CHECK(details.warning && strstr(details.warning, "cannot be read") != NULL);
        CHECK(((details.flags & MOTTE_REALM_DAMAGED) != 0) == (round == 1));
        /* Callers that were built before the warning was there are still served. */
        details.struct_size = 56;
        MUST(motte_realm_info(realm, &details));
        details.struct_size = sizeof details;
        /* Commits write over broken slots. */
        add_people(realm, round * 10 + 5, round * 10 + 8);
        MUST(motte_realm_close(realm));
        motte_release(realm);
    }
    snprintf(other, sizeof other, "%s-shared", file);
    unlink(other);
    CHECK(unlink(file) == 0 && rmdir(path) == 0);
}

/* A file of many times the memory that is given for it, within a write too. Views stay until the epoch moves, or, where
 * the realm says so, until the end of the next call, which may have them as arguments. */
static void memory(void) {
    enum {
        COUNT = 3000,
        SIZE = 2000
    };
    char folder[] = "/tmp/motte-memory-XXXXXX", path[64];
    char *text = (char *)malloc(SIZE);
    motte_value *held = (motte_value *)calloc(COUNT, sizeof *held);
    if (!text || !held || !mkdtemp(folder)) exit(2);
    snprintf(path, sizeof path, "%s/a.motte", folder);
    for (int is_short = 0; is_short < 2; is_short++) {
        motte_config *config;
        motte_schema *schema;
        motte_realm *realm;
        motte_class cls;
        motte_prop prop;
        motte_value budget = motte_int(65536), flag = motte_bool(is_short != 0), low = motte_int(65535);
        MUST(motte_config_new(&config));
        MUST(motte_schema_parse("A { text: string }", MOTTE_NTS, &schema));
        MUST(motte_config_set_path(config, path, MOTTE_NTS));
        MUST(motte_config_set_schema(config, schema, 0));
        STATUS(MOTTE_E_INVALID_ARGUMENT, motte_config_set_option(config, MOTTE_LIT("memory"), &low));
        STATUS(MOTTE_OK, motte_config_set_option(config, MOTTE_LIT("memory"), &budget));
        STATUS(MOTTE_OK, motte_config_set_option(config, MOTTE_LIT("short_views"), &flag));
        MUST(motte_realm_open(config, &realm));
        MUST(motte_class_find(realm, MOTTE_LIT("A"), &cls));
        MUST(motte_prop_find(realm, cls, MOTTE_LIT("text"), &prop));
        for (int first = 0; first < COUNT && !is_short; first += 500) {
            MUST(motte_realm_begin_write(realm, -1));
            for (int i = first; i < first + 500; i++) {
                motte_value value;
                memset(text, 'a' + i % 26, SIZE);
                value = motte_string_of(text, SIZE);
                MUST(motte_row_create(realm, cls, &prop, &value, 1, 0, NULL, NULL));
            }
            MUST(motte_realm_commit(realm, 0, NULL));
        }
        for (int round = 0; round < 4; round++) {
            int wrong = 0;
            if (round == 2) MUST(motte_realm_begin_write(realm, -1));
            for (int i = 0; i < COUNT; i++) {
                motte_key key = round % 2 == 0 ? i : (i * 1009) % COUNT;
                MUST(motte_row_get_many(realm, cls, key, &prop, 1, &held[i]));
                if (held[i].as.string.size != SIZE || held[i].as.string.data[SIZE - 1] != 'a' + (int)key % 26) wrong++;
            }
            for (int i = 0; i < COUNT && !is_short; i++) {
                motte_key key = round % 2 == 0 ? i : (i * 1009) % COUNT;
                if (held[i].as.string.data[0] != 'a' + (int)key % 26) wrong++;
            }
            CHECK(wrong == 0);
        }
        for (int i = 0; i < COUNT; i += 37) {
            motte_key key = (i * 1009) % COUNT;
            motte_value *other = &held[1], *view = &held[0];
            char first;
            MUST(motte_row_get_many(realm, cls, i, &prop, 1, view));
            first = view->as.string.data[0];
            MUST(motte_row_set_many(realm, cls, key, &prop, view, 1));
            MUST(motte_row_get_many(realm, cls, key, &prop, 1, other));
            CHECK(other->as.string.size == SIZE && other->as.string.data[0] == first);
            CHECK(other->as.string.data[SIZE - 1] == first);
        }
        MUST(motte_realm_cancel(realm));
        motte_realm_close(realm);
        motte_release(realm);
        if (is_short) STATUS(MOTTE_OK, motte_file_delete(config));
        motte_release(config);
        motte_release(schema);
    }
    rmdir(folder);
    free(held);
    free(text);
}

int main(void) {
    library();
    configs();
    lengths();
    schemas();
    fields();
    rows();
    keys_given_once();
    rows_again();
    lists();
    queries();
    bulk();
    freezing();
    files();
    memory();
    warnings();
    return check_summary();
}
