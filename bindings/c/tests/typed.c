/* What typed programs in Swift and Python store (Tests/Conformance/typed), seen as plain values: types of the program
 * as what they are stored as, queries by public names, and projections as exported columns. */
#include "check.h"

static char *file_text(const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", MOTTE_TYPED_CASES, name);
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "cannot open %s\n", path);
        exit(2);
    }
    char *text = (char *)calloc(1, 1 << 16);
    if (!text || fread(text, 1, (1 << 16) - 1, file) == 0) exit(2);
    fclose(file);
    return text;
}

static void name(motte_config *config, const char *cls, const char *prop, const char *public_name) {
    MUST(motte_config_set_public_name(config, cls, MOTTE_NTS, prop, prop ? MOTTE_NTS : 0, public_name, MOTTE_NTS));
}

static motte_realm *open_store(char *text) {
    motte_config *config;
    motte_schema *schema;
    motte_realm *realm;
    motte_import_options options = {
        .struct_size = sizeof options, .format = MOTTE_FORMAT_JSON, .text = text, .text_size = MOTTE_NTS};
    MUST(motte_import_schema(&options, NULL, 0, NULL, 0, &schema));
    MUST(motte_config_new(&config));
    MUST(motte_config_set_in_memory(config, MOTTE_LIT("typed")));
    MUST(motte_config_set_schema(config, schema, 0));
    name(config, "typed_person", NULL, "TypedPerson");
    name(config, "typed_person", "first_name", "firstName");
    name(config, "typed_person", "body_heat", "warmth");
    name(config, "typed_person", "address", "home");
    name(config, "typed_person", "people", "friends");
    name(config, "typed_place", "street_name", "streetName");
    MUST(motte_realm_open(config, &realm));
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_import(realm, MOTTE_CLASS_ANY, &options, NULL, NULL, NULL, NULL));
    MUST(motte_realm_commit(realm, 0, NULL));
    motte_release(config), motte_release(schema);
    return realm;
}

static void stored(motte_realm *realm, const char *text) {
    motte_export_options options = {
        .struct_size = sizeof options, .format = MOTTE_FORMAT_JSON, .flags = MOTTE_EXPORT_DOCUMENT};
    motte_buf found;
    MUST(motte_export_realm(realm, &options, NULL, NULL, NULL, &found));
    CHECK(strcmp(found.data, text) == 0);
    motte_buf_dispose(&found);
}

static void plain_values(motte_realm *realm) {
    motte_class person = motte_class_named(realm, "TypedPerson");
    motte_value key = motte_int(1), value;
    motte_object *ada;
    motte_coll *warmths;
    int64_t heat = 0;
    motte_str site;
    MUST(motte_object_find(realm, person, &key, &ada));
    MUST(motte_object_get_int(ada, motte_prop_named(realm, person, "warmth"), &heat));
    MUST(motte_object_get_string(ada, motte_prop_named(realm, person, "site"), &site));
    CHECK(heat == 366 && motte_str_equal(site, "https://ada.example"));
    MUST(motte_object_get_coll(ada, motte_prop_named(realm, person, "warmths"), &warmths));
    MUST(motte_coll_get(warmths, 1, &value));
    CHECK(value.type == MOTTE_TYPE_INT && value.as.integer == -5);
    motte_release(warmths), motte_release(ada);
}

static void queries(motte_realm *realm, char *text) {
    motte_class person = motte_class_named(realm, "TypedPerson");
    motte_prop id = motte_prop_named(realm, person, "id");
    int count = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char *bar = strstr(line, " | "), ids[64] = "";
        motte_query *query;
        motte_coll *found;
        motte_object *object = NULL;
        size_t index = 0;
        if (*line == '#' || !bar) continue;
        *bar = 0;
        MUST(motte_query_parse(realm, person, bar + 3, MOTTE_NTS, NULL, 0, &query));
        MUST(motte_query_run(query, &found));
        while (motte_coll_next(found, &index, &object) == MOTTE_OK) {
            int64_t number = 0;
            MUST(motte_object_get_int(object, id, &number));
            snprintf(ids + strlen(ids), sizeof ids - strlen(ids), "%s%d", *ids ? " " : "", (int)number);
        }
        if (strcmp(ids, line) != 0) fprintf(stderr, "%s: %s instead of %s\n", bar + 3, ids, line);
        CHECK(strcmp(ids, line) == 0);
        motte_release(query), motte_release(found);
        count++;
    }
    CHECK(count >= 10);
}

/* Names of the program are no matter of columns, and values are as they are stored. */
static void projections(motte_realm *realm) {
    static const motte_str columns[] = {
        {"first_name", 10}, {"address.city", 12}, {"boss.first_name", 15}, {"body_heat", 9}};
    static const char *const expected[] = {"Ada,Paris,,366", "Bob,\"\",Ada,375", "Eve,,Bob,401"};
    motte_export_options options = {.struct_size = sizeof options,
                                    .format = MOTTE_FORMAT_CSV,
                                    .columns = columns,
                                    .column_count = sizeof columns / sizeof *columns};
    motte_coll *all;
    motte_buf found;
    MUST(motte_class_all(realm, motte_class_named(realm, "TypedPerson"), &all));
    MUST(motte_export_coll(all, &options, NULL, NULL, NULL, &found));
    for (size_t i = 0; i < 3; i++) CHECK(strstr(found.data, expected[i]) != NULL);
    motte_buf_dispose(&found);
    motte_release(all);
}

int main(void) {
    char *text = file_text("store.json"), *lines = file_text("queries.txt");
    motte_realm *realm = open_store(text);
    stored(realm, text);
    plain_values(realm);
    queries(realm, lines);
    projections(realm);
    MUST(motte_realm_close(realm));
    motte_release(realm);
    free(text), free(lines);
    return check_summary();
}
