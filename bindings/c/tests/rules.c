/* Rules of declared properties: defaults, functions that make them or fill collections, what has to be given, what is
 * allowed; in rows, batches and imports, and for objects that are older than a property. */
#define _GNU_SOURCE
#include "check.h"

#include <unistd.h>

typedef struct counts {
    int made, filled, freed, fails;
} counts;

static motte_status make(void *userdata, size_t count, motte_value *out_values) {
    counts *state = (counts *)userdata;
    size_t index;
    if (state->fails) return 7;
    for (index = 0; index < count; index++) out_values[index] = motte_int(100 + state->made++);
    return MOTTE_OK;
}

static motte_status fill(void *userdata, motte_realm *realm, motte_class cls, motte_prop prop, const motte_key *keys,
                         size_t count) {
    counts *state = (counts *)userdata;
    size_t index;
    CHECK(motte_class_named(realm, "Human") == cls);
    for (index = 0; index < count; index++) {
        motte_coll *list = NULL;
        motte_value value = motte_string("a");
        MUST(motte_row_get_coll(realm, cls, keys[index], prop, &list));
        MUST(motte_list_append(list, &value, 1));
        motte_release(list);
        state->filled++;
    }
    return MOTTE_OK;
}

static void count_free(void *userdata) { ((counts *)userdata)->freed++; }

static const char whole[] = "Person { id: int key, name: string, level: int, number: int, color: string, "
                            "tags: list<string> }";

/* The properties of `whole` by position. */
enum {
    ID,
    NAME,
    LEVEL,
    NUMBER,
    COLOR,
    TAGS
};

static motte_schema *ruled(counts *state) {
    motte_schema *schema;
    motte_prop_rule rule;
    motte_value colors[2];
    MUST(motte_schema_parse(whole, MOTTE_NTS, &schema));
    memset(&rule, 0, sizeof rule);
    rule.struct_size = sizeof rule;
    rule.flags = MOTTE_RULE_REQUIRED;
    STATUS(MOTTE_OK, motte_schema_set_rule(schema, 0, NAME, &rule));
    rule.flags = MOTTE_RULE_DEFAULT;
    rule.value = motte_int(7);
    STATUS(MOTTE_OK, motte_schema_set_rule(schema, 0, LEVEL, &rule));
    colors[0] = motte_string("red");
    colors[1] = motte_string("blue");
    rule.value = motte_string("blue");
    rule.allowed = colors;
    rule.allowed_count = 2;
    STATUS(MOTTE_OK, motte_schema_set_rule(schema, 0, COLOR, &rule));
    memset(&rule, 0, sizeof rule);
    rule.struct_size = sizeof rule;
    rule.userdata = state;
    rule.free_userdata = count_free;
    rule.make = make;
    STATUS(MOTTE_OK, motte_schema_set_rule(schema, 0, NUMBER, &rule));
    rule.make = NULL;
    rule.fill = fill;
    STATUS(MOTTE_OK, motte_schema_set_rule(schema, 0, TAGS, &rule));
    return schema;
}

static motte_realm *opened(const char *name, motte_schema *schema, motte_status expected) {
    motte_config *config;
    motte_realm *realm = NULL;
    MUST(motte_config_new(&config));
    MUST(motte_config_set_in_memory(config, name, MOTTE_NTS));
    MUST(motte_config_set_schema(config, schema, 0));
    MUST(motte_config_set_public_name(config, "Person", MOTTE_NTS, NULL, 0, "Human", MOTTE_NTS));
    STATUS(expected, motte_realm_open(config, &realm));
    motte_release(config);
    return realm;
}

static motte_value value_of(motte_realm *realm, const char *name, motte_key key) {
    motte_class person = motte_class_named(realm, "Person");
    motte_prop prop = motte_prop_named(realm, person, name);
    motte_value value;
    MUST(motte_row_get_many(realm, person, key, &prop, 1, &value));
    return value;
}

static size_t tags_of(motte_realm *realm, motte_key key) {
    motte_class person = motte_class_named(realm, "Person");
    motte_coll *list = NULL;
    size_t count;
    MUST(motte_row_get_coll(realm, person, key, motte_prop_named(realm, person, "tags"), &list));
    MUST(motte_coll_count(list, &count));
    motte_release(list);
    return count;
}

static motte_status import_text(motte_realm *realm, motte_class cls, const char *json) {
    motte_import_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.text = json;
    options.text_size = strlen(json);
    return motte_import(realm, cls, &options, NULL, NULL, NULL, NULL);
}

static void rules_of_new_objects(void) {
    counts state = {0, 0, 0, 0};
    motte_schema *schema = ruled(&state);
    motte_realm *realm = opened("rules", schema, MOTTE_OK);
    motte_class person = motte_class_named(realm, "Person");
    motte_prop props[3];
    motte_value values[3];
    motte_key key;
    motte_insert *insert = NULL;
    motte_release(schema);
    props[0] = motte_prop_named(realm, person, "id");
    props[1] = motte_prop_named(realm, person, "name");
    props[2] = motte_prop_named(realm, person, "color");
    values[0] = motte_int(1);
    values[1] = motte_string("Ada");
    values[2] = motte_string("green");
    MUST(motte_realm_begin_write(realm, -1));
    STATUS(MOTTE_E_NULL_NOT_ALLOWED, motte_row_create(realm, person, props, values, 1, MOTTE_CREATE_NEW, &key, NULL));
    CHECK(strcmp(check_error().property_name, "name") == 0);
    STATUS(MOTTE_E_WRONG_TYPE, motte_row_create(realm, person, props, values, 3, MOTTE_CREATE_NEW, &key, NULL));
    STATUS(MOTTE_OK, motte_row_create(realm, person, props, values, 2, MOTTE_CREATE_NEW, &key, NULL));
    CHECK(value_of(realm, "level", key).as.integer == 7 && value_of(realm, "number", key).as.integer >= 100);
    CHECK(memcmp(value_of(realm, "color", key).as.string.data, "blue", 4) == 0);
    STATUS(MOTTE_E_WRONG_TYPE, motte_row_set_many(realm, person, key, props + 2, values + 2, 1));
    values[2] = motte_string("red");
    STATUS(MOTTE_OK, motte_row_set_many(realm, person, key, props + 2, values + 2, 1));

    state.fails = 1;
    values[0] = motte_int(2);
    STATUS(MOTTE_E_CALLBACK, motte_row_create(realm, person, props, values, 2, MOTTE_CREATE_NEW, &key, NULL));
    CHECK(check_error().user_code == 7);
    state.fails = 0;
    MUST(motte_insert_new(realm, person, props, 2, MOTTE_CREATE_NEW, &insert));
    STATUS(MOTTE_OK, motte_insert_rows(insert, values, 1, &key));
    motte_release(insert);
    CHECK(value_of(realm, "level", key).as.integer == 7 && state.filled == 0);

    STATUS(MOTTE_OK,
           import_text(realm, person, "[{\"id\": 3, \"name\": \"c\"}, {\"id\": 4, \"name\": \"d\", \"tags\": []}]"));
    MUST(motte_row_find(realm, person, &(motte_value){.type = MOTTE_TYPE_INT, .as.integer = 3}, &key));
    CHECK(tags_of(realm, key) == 1 && state.filled == 1 && value_of(realm, "level", key).as.integer == 7);
    MUST(motte_row_find(realm, person, &(motte_value){.type = MOTTE_TYPE_INT, .as.integer = 4}, &key));
    CHECK(tags_of(realm, key) == 0);
    STATUS(MOTTE_E_NULL_NOT_ALLOWED, import_text(realm, person, "[{\"id\": 5}]"));
    MUST(motte_realm_commit(realm, 0, NULL));
    CHECK(state.freed == 0);
    MUST(motte_realm_close(realm));
    motte_release(realm);
    CHECK(state.freed == 2);
}

static void rules_of_older_objects(void) {
    counts state = {0, 0, 0, 0};
    motte_realm *before = check_realm("older", "Person { id: int key }"), *realm;
    motte_class person = motte_class_named(before, "Person");
    motte_prop id = motte_prop_named(before, person, "id");
    motte_schema *schema = ruled(&state);
    motte_prop_rule none;
    motte_value value = motte_int(1);
    motte_key key;
    MUST(motte_realm_begin_write(before, -1));
    MUST(motte_row_create(before, person, &id, &value, 1, MOTTE_CREATE_NEW, &key, NULL));
    MUST(motte_realm_commit(before, 0, NULL));
    /* What has to be given cannot come by itself. */
    opened("older", schema, MOTTE_E_SCHEMA_MISMATCH);
    memset(&none, 0, sizeof none);
    none.struct_size = sizeof none;
    STATUS(MOTTE_OK, motte_schema_set_rule(schema, 0, NAME, &none));
    realm = opened("older", schema, MOTTE_OK);
    CHECK(value_of(realm, "level", key).as.integer == 7 && value_of(realm, "number", key).as.integer >= 100);
    CHECK(memcmp(value_of(realm, "color", key).as.string.data, "blue", 4) == 0 && tags_of(realm, key) == 1);
    motte_release(schema);
    MUST(motte_realm_close(realm));
    motte_release(realm);
    MUST(motte_realm_close(before));
    motte_release(before);
    CHECK(state.freed == 2);
}

/* A default that the rule itself does not allow, for objects that are older than the property. */
static void defaults_that_are_not_allowed(void) {
    motte_realm *before = check_realm("wrong", "Person { id: int key }"), *realm;
    motte_class person = motte_class_named(before, "Person");
    motte_prop id = motte_prop_named(before, person, "id");
    motte_value value = motte_int(1);
    motte_schema *schema;
    motte_prop_rule rule;
    motte_key key;
    MUST(motte_realm_begin_write(before, -1));
    MUST(motte_row_create(before, person, &id, &value, 1, MOTTE_CREATE_NEW, &key, NULL));
    MUST(motte_realm_commit(before, 0, NULL));
    memset(&rule, 0, sizeof rule);
    rule.struct_size = sizeof rule;
    rule.flags = MOTTE_RULE_DEFAULT | MOTTE_RULE_RANGE;
    rule.value = motte_int(0);
    rule.least = motte_int(3);
    rule.most = motte_int(9);
    MUST(motte_schema_parse("Person { id: int key, level: int }", MOTTE_NTS, &schema));
    MUST(motte_schema_set_rule(schema, 0, 1, &rule));
    opened("wrong", schema, MOTTE_E_WRONG_TYPE);
    rule.value = motte_int(4);
    MUST(motte_schema_set_rule(schema, 0, 1, &rule));
    realm = opened("wrong", schema, MOTTE_OK);
    CHECK(value_of(realm, "level", key).as.integer == 4);
    motte_release(schema);
    MUST(motte_realm_close(realm));
    motte_release(realm);
    MUST(motte_realm_close(before));
    motte_release(before);
}

/* Of single values and of elements, in calls and imports; null is allowed. */
static void values_of_a_range(void) {
    motte_schema *schema;
    motte_realm *realm;
    motte_class person;
    motte_prop props[2];
    motte_value values[2];
    motte_coll *list = NULL;
    motte_prop_rule rule;
    motte_key key;
    memset(&rule, 0, sizeof rule);
    rule.struct_size = sizeof rule;
    rule.flags = MOTTE_RULE_RANGE | MOTTE_RULE_DEFAULT;
    rule.value = motte_int(5);
    rule.least = motte_int(3);
    rule.most = motte_int(9);
    MUST(motte_schema_parse("Person { id: int key, level: int?, levels: list<int?> }", MOTTE_NTS, &schema));
    STATUS(MOTTE_OK, motte_schema_set_rule(schema, 0, 1, &rule));
    rule.flags = MOTTE_RULE_RANGE;
    STATUS(MOTTE_OK, motte_schema_set_rule(schema, 0, 2, &rule));
    rule.most = motte_int(2);
    STATUS(MOTTE_E_SCHEMA_INVALID, motte_schema_set_rule(schema, 0, 2, &rule));
    rule.most = motte_string("9");
    STATUS(MOTTE_E_SCHEMA_INVALID, motte_schema_set_rule(schema, 0, 2, &rule));
    rule.most = motte_int(9);
    rule.flags = MOTTE_RULE_RANGE | MOTTE_RULE_MIDNIGHT;
    STATUS(MOTTE_E_SCHEMA_INVALID, motte_schema_set_rule(schema, 0, 2, &rule));
    rule.flags = MOTTE_RULE_RANGE;
    rule.allowed = &rule.least;
    rule.allowed_count = 1;
    STATUS(MOTTE_E_SCHEMA_INVALID, motte_schema_set_rule(schema, 0, 2, &rule));

    realm = opened("ranges", schema, MOTTE_OK);
    motte_release(schema);
    person = motte_class_named(realm, "Person");
    props[0] = motte_prop_named(realm, person, "id");
    props[1] = motte_prop_named(realm, person, "level");
    MUST(motte_realm_begin_write(realm, -1));
    values[0] = motte_int(1);
    STATUS(MOTTE_OK, motte_row_create(realm, person, props, values, 1, MOTTE_CREATE_NEW, &key, NULL));
    CHECK(value_of(realm, "level", key).as.integer == 5);
    values[1] = motte_int(2);
    STATUS(MOTTE_E_WRONG_TYPE, motte_row_set_many(realm, person, key, props + 1, values + 1, 1));
    CHECK(strstr(check_error().message, "takes 3 to 9, not 2") != NULL);
    values[1] = motte_int(10);
    STATUS(MOTTE_E_WRONG_TYPE, motte_row_set_many(realm, person, key, props + 1, values + 1, 1));
    values[1] = motte_int(9);
    STATUS(MOTTE_OK, motte_row_set_many(realm, person, key, props + 1, values + 1, 1));
    values[1].type = MOTTE_TYPE_NULL;
    STATUS(MOTTE_OK, motte_row_set_many(realm, person, key, props + 1, values + 1, 1));
    MUST(motte_row_get_coll(realm, person, key, motte_prop_named(realm, person, "levels"), &list));
    values[0] = motte_int(3);
    values[1] = motte_int(10);
    STATUS(MOTTE_E_WRONG_TYPE, motte_list_append(list, values, 2));
    values[1].type = MOTTE_TYPE_NULL;
    STATUS(MOTTE_OK, motte_list_append(list, values, 2));
    motte_release(list);
    STATUS(MOTTE_E_WRONG_TYPE, import_text(realm, person, "[{\"id\": 3, \"level\": 4}, {\"id\": 4, \"level\": 10}]"));
    STATUS(MOTTE_E_WRONG_TYPE, import_text(realm, person, "[{\"id\": 3, \"level\": 4, \"levels\": [3, 2]}]"));
    STATUS(MOTTE_OK, import_text(realm, person, "[{\"id\": 3, \"level\": 4, \"levels\": [3, null, 9]}]"));
    MUST(motte_realm_commit(realm, 0, NULL));
    MUST(motte_realm_close(realm));
    motte_release(realm);
}

static void values_that_are_dates(void) {
    motte_schema *schema;
    motte_realm *realm;
    motte_class day;
    motte_prop props[2];
    motte_value values[2];
    motte_prop_rule rule;
    motte_key key;
    memset(&rule, 0, sizeof rule);
    rule.struct_size = sizeof rule;
    rule.flags = MOTTE_RULE_MIDNIGHT;
    MUST(motte_schema_parse("Day { id: int key, at: timestamp?, number: int, all: list<timestamp> }", MOTTE_NTS,
                            &schema));
    STATUS(MOTTE_OK, motte_schema_set_rule(schema, 0, 1, &rule));
    STATUS(MOTTE_E_SCHEMA_INVALID, motte_schema_set_rule(schema, 0, 2, &rule));
    STATUS(MOTTE_OK, motte_schema_set_rule(schema, 0, 3, &rule));
    realm = opened("dates", schema, MOTTE_OK);
    motte_release(schema);
    day = motte_class_named(realm, "Day");
    props[0] = motte_prop_named(realm, day, "id");
    props[1] = motte_prop_named(realm, day, "at");
    MUST(motte_realm_begin_write(realm, -1));
    values[0] = motte_int(1);
    values[1] = motte_timestamp_value(-86400, 0);
    STATUS(MOTTE_OK, motte_row_create(realm, day, props, values, 2, MOTTE_CREATE_NEW, &key, NULL));
    values[1] = motte_timestamp_value(86399, 0);
    STATUS(MOTTE_E_WRONG_TYPE, motte_row_set_many(realm, day, key, props + 1, values + 1, 1));
    CHECK(strstr(check_error().message, "takes dates: midnights in UTC, not ") != NULL);
    values[1] = motte_timestamp_value(86400, 1);
    STATUS(MOTTE_E_WRONG_TYPE, motte_row_set_many(realm, day, key, props + 1, values + 1, 1));
    values[1].type = MOTTE_TYPE_NULL;
    STATUS(MOTTE_OK, motte_row_set_many(realm, day, key, props + 1, values + 1, 1));
    STATUS(MOTTE_E_WRONG_TYPE, import_text(realm, day, "[{\"id\": 3, \"at\": \"2020-01-01T12:00:00Z\"}]"));
    STATUS(MOTTE_E_WRONG_TYPE,
           import_text(realm, day, "[{\"id\": 3, \"all\": [\"2020-01-01\", \"2020-01-01T00:00:00.5Z\"]}]"));
    STATUS(MOTTE_OK,
           import_text(realm, day, "[{\"id\": 3, \"at\": \"2020-01-01\", \"all\": [\"2020-01-02T01:00:00+01:00\"]}]"));
    MUST(motte_realm_commit(realm, 0, NULL));
    motte_release(realm);
}

static void rules_that_are_none(void) {
    counts state = {0, 0, 0, 0};
    motte_schema *schema = ruled(&state);
    motte_prop_rule rule;
    memset(&rule, 0, sizeof rule);
    STATUS(MOTTE_E_BAD_STRUCT_SIZE, motte_schema_set_rule(schema, 0, NAME, &rule));
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_schema_set_rule(schema, 0, NAME, NULL));
    rule.struct_size = sizeof rule;
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_schema_set_rule(schema, 1, NAME, &rule));
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_schema_set_rule(schema, 0, 99, &rule));
    rule.flags = 16;
    STATUS(MOTTE_E_UNKNOWN_FLAG, motte_schema_set_rule(schema, 0, NAME, &rule));
    rule.flags = MOTTE_RULE_DEFAULT | MOTTE_RULE_REQUIRED;
    STATUS(MOTTE_E_SCHEMA_INVALID, motte_schema_set_rule(schema, 0, NAME, &rule));
    rule.flags = MOTTE_RULE_REQUIRED;
    STATUS(MOTTE_E_SCHEMA_INVALID, motte_schema_set_rule(schema, 0, TAGS, &rule));
    rule.flags = 0;
    rule.fill = fill;
    rule.userdata = &state;
    rule.free_userdata = count_free;
    STATUS(MOTTE_E_SCHEMA_INVALID, motte_schema_set_rule(schema, 0, NAME, &rule));
    CHECK(state.freed == 1);
    motte_release(schema);
    CHECK(state.freed == 3);
}

int main(void) {
    rules_of_new_objects();
    rules_of_older_objects();
    defaults_that_are_not_allowed();
    values_of_a_range();
    values_that_are_dates();
    rules_that_are_none();
    return check_summary();
}
