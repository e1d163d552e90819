/* SPDX-License-Identifier: Apache-2.0
 * Steps of the conformance runner about whole files: migrations, copies, compaction, salvage, statistics, import and
 * export. Part of conformance.c, which includes it once.
 */

static motte_status step(cursor *in);

/* ------------------------------------------------------------------------------------------------ options */

static char *file_name(cursor *in) {
    motte_value value = need_value(in, NULL);
    return case_format("%.*s", (int)value.as.string.size, value.as.string.data);
}

/* Class to New, or Class.old to new */
static motte_status rename_in_config(cursor *in, motte_config *config) {
    char *class_name = need_name(in), *from = accept(in, ".") ? need_name(in) : NULL;
    need(in, "to");
    if (!from) return motte_config_rename_class(config, class_name, MOTTE_NTS, need_name(in), MOTTE_NTS);
    return motte_config_rename_prop(config, class_name, MOTTE_NTS, from, MOTTE_NTS, need_name(in), MOTTE_NTS);
}

/* One word of how to open; 0 if it is none. */
static int option(cursor *in, motte_config *config, motte_status *status) {
    if (accept(in, "path")) *status = motte_config_set_path(config, path_of(file_name(in)), MOTTE_NTS);
    else if (accept(in, "readonly")) {
        *status = motte_config_set_flags(config, MOTTE_CONFIG_READ_ONLY, MOTTE_CONFIG_READ_ONLY);
    } else if (accept(in, "nocreate")) {
        *status = motte_config_set_flags(config, MOTTE_CONFIG_NO_CREATE, MOTTE_CONFIG_NO_CREATE);
    } else if (accept(in, "immutable")) *status = set_option(config, "immutable", bool_of(1));
    else if (accept(in, "version")) *status = set_option(config, "schema_version", int_of(need_integer(in)));
    else if (accept(in, "reset")) *status = set_option(config, "delete_if_migration_needed", bool_of(1));
    else if (accept(in, "live")) *status = set_option(config, "max_live_versions", int_of(need_integer(in)));
    else if (accept(in, "memory")) *status = set_option(config, "memory", int_of(need_integer(in)));
    else if (accept(in, "largest")) *status = set_option(config, "max_file_size", int_of(need_integer(in)));
    else if (accept(in, "patience")) *status = set_option(config, "open_timeout", int_of(need_integer(in)));
    else if (accept(in, "threads")) *status = set_option(config, "query_threads", int_of(need_integer(in)));
    else if (accept(in, "seed")) *status = set_option(config, "seed_path", text_of(path_of(file_name(in))));
    else if (accept(in, "locks")) *status = set_option(config, "lock_directory", text_of(path_of(file_name(in))));
    else if (accept(in, "durability")) *status = set_option(config, "durability", text_of(need_name(in)));
    else if (accept(in, "compacting")) *status = motte_config_on_compact(config, wants_compaction, config, NULL);
    else if (accept(in, "rename")) *status = rename_in_config(in, config);
    else if (accept(in, "drop")) *status = motte_config_delete_class(config, need_name(in), MOTTE_NTS);
    else return 0;
    return 1;
}

/* ------------------------------------------------------------------------------------------------ in callbacks */

/* A step by itself, so that nothing which changes lives across the jump. */
static motte_status run_kept_step(char *text) {
    volatile motte_status status = MOTTE_E_INTERNAL;
    if (setjmp(now.failed) == 0) {
        cursor in = {text};
        motte_status outcome = step(&in);
        if (outcome >= 0) need_end(&in);
        status = outcome;
    } else {
        now.failure = case_format("in a callback: %s: %s", text, now.reason);
        status = MOTTE_E_INTERNAL;
    }
    return status;
}

/* Inside a callback: what fails a case must not jump over the library's frames. */
static motte_status run_kept(char **steps, size_t count) {
    jmp_buf outer;
    memcpy(&outer, &now.failed, sizeof outer);
    for (size_t i = 0; i < count; i++) {
        motte_status status = run_kept_step(steps[i]);
        memcpy(&now.failed, &outer, sizeof outer);
        if (status < 0) return status;
    }
    return MOTTE_OK;
}

static motte_status keep_step(cursor *in, char **steps, size_t *count) {
    if (*count == MAXIMUM) case_fail("too many steps");
    skip_blanks(in);
    steps[(*count)++] = case_format("%s", in->at);
    in->at += strlen(in->at);
    return MOTTE_OK;
}

/* ------------------------------------------------------------------------------------------------ migrations */

static motte_status assign_pair(void *userdata, const motte_object *old_object, motte_object *new_object) {
    cursor in = {userdata};
    if (!old_object || !new_object) return MOTTE_E_INTERNAL;
    while (!at_end(&in)) {
        motte_prop prop = prop_id(class_of(new_object), need_name(&in)), old_prop = 0;
        motte_value value;
        need(&in, "=");
        if (accept(&in, "old")) {
            motte_class cls;
            need(&in, ".");
            char *name = need_name(&in);
            TRY(motte_object_row(old_object, &cls, NULL));
            TRY(motte_prop_find(now.old_realm, cls, name, MOTTE_NTS, &old_prop));
            TRY(motte_object_get(old_object, old_prop, &value));
        } else {
            value = need_value(&in, resolve);
        }
        TRY(motte_object_set(new_object, prop, &value));
    }
    return MOTTE_OK;
}

/* each Class a=old.b c=1 */
static motte_status each(cursor *in) {
    char *name = need_name(in), *rest = case_format("%s", in->at);
    in->at += strlen(in->at);
    motte_status status = motte_migration_enumerate(now.migration, name, MOTTE_NTS, assign_pair, rest, NULL);
    motte_error_details details = {.struct_size = sizeof details};
    if (status != MOTTE_E_CALLBACK) return status;
    MUST(motte_last_error(&details));
    return details.user_code;
}

static motte_status rename_in_migration(cursor *in) {
    char *class_name = need_name(in), *from = accept(in, ".") ? need_name(in) : NULL;
    need(in, "to");
    if (!from) return motte_migration_rename_class(now.migration, class_name, MOTTE_NTS, need_name(in), MOTTE_NTS);
    return motte_migration_rename_prop(now.migration, class_name, MOTTE_NTS, from, MOTTE_NTS, need_name(in), MOTTE_NTS);
}

static motte_status with_old(cursor *in) {
    motte_realm *new_realm = now.realm;
    void *old_realm;
    /* A handle that may be given to every function; the old side refuses changes by itself. */
    MUST(motte_clone(now.old_realm, &old_realm));
    now.realm = own(old_realm);
    motte_status status = step(in);
    now.realm = new_realm;
    return status;
}

static int step_of_migration(cursor *in, motte_status *status) {
    if (!now.migration) return 0;
    if (accept(in, "each")) *status = each(in);
    else if (accept(in, "rename")) *status = rename_in_migration(in);
    else if (accept(in, "drop")) *status = motte_migration_delete_class(now.migration, need_name(in), MOTTE_NTS);
    else if (accept(in, "old")) *status = with_old(in);
    else return 0;
    return 1;
}

/* ------------------------------------------------------------------------------------------------ files */

static char *contents(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) case_fail("there is no file %s", path);
    char *text = case_alloc(1 << 16);
    size_t size = fread(text, 1, (1 << 16) - 1, file);
    fclose(file);
    text[size] = 0;
    return text;
}

static void check_same_text(const char *path, motte_buf *text, const char *what) {
    agree(strcmp(contents(path), text->data ? text->data : "") == 0, what, "the same without a path");
    motte_buf_dispose(text);
}

static motte_status salvage(cursor *in) {
    motte_config *config = new_config(file_name(in), 0);
    motte_report *report;
    motte_report_details details = {.struct_size = sizeof details};
    motte_buf lines;
    need(in, "to");
    const char *path = path_of(file_name(in));
    TRY(motte_file_salvage(config, path, MOTTE_NTS, receive_progress, NULL, NULL, NULL, &report));
    MUST(motte_report_info(report, &details));
    motte_release(report);
    if (details.problem_count != 0) case_fail("%llu losses", (unsigned long long)details.problem_count);
    TRY(motte_file_salvage(config, NULL, 0, NULL, NULL, NULL, &lines, &report));
    motte_release(report);
    check_same_text(path, &lines, "motte_file_salvage");
    return MOTTE_OK;
}

static motte_status compact(cursor *in) {
    uint64_t before, after;
    motte_compaction_details details = {.struct_size = sizeof details};
    if (accept(in, "online")) {
        need_session();
        return motte_realm_compact_online(now.realm, 0, receive_progress, NULL, NULL, &details);
    }
    if (at_end(in)) need_session();
    if (at_end(in)) return motte_realm_compact(now.realm, receive_progress, NULL, NULL, &before, &after);
    return motte_file_compact(new_config(file_name(in), 0), receive_progress, NULL, NULL, &before, &after);
}

static motte_status erase(cursor *in) {
    motte_config *config = new_config(file_name(in), 0);
    motte_status status = motte_file_delete(config);
    TRY(status);
    return at_end(in) ? MOTTE_OK : expect_flag(in, status == MOTTE_OK);
}

static motte_status delete_everything(void) {
    uint64_t deleted;
    return motte_realm_delete_all(now.realm, &deleted);
}

/* ------------------------------------------------------------------------------------------------ import, export */

/* `a` `b.c` */
static size_t column_names(cursor *in, motte_str names[8]) {
    size_t count = 0;
    for (cursor ahead = *in; accept(&ahead, "`"); ahead = *in) {
        if (count == 8) case_fail("more than 8 columns");
        char *text = need_text(in);
        names[count++] = (motte_str){text, strlen(text)};
    }
    return count;
}

/* export "file" [json | lines | csv | sqlite | document] [nested] [columns `a` `b.c`] WHAT: everything, an OBJECT or a
 * COLLECTION */
static motte_status export_text(cursor *in) {
    motte_str columns[8];
    motte_export_options options = {.struct_size = sizeof options};
    motte_buf text;
    options.path = path_of(file_name(in));
    options.path_size = MOTTE_NTS;
    for (;;) {
        if (accept(in, "json")) options.format = MOTTE_FORMAT_JSON;
        else if (accept(in, "lines")) options.format = MOTTE_FORMAT_JSON_LINES;
        else if (accept(in, "csv")) options.format = MOTTE_FORMAT_CSV;
        else if (accept(in, "sqlite")) options.format = MOTTE_FORMAT_SQLITE;
        else if (accept(in, "document")) options.flags |= MOTTE_EXPORT_DOCUMENT;
        else if (accept(in, "nested")) options.flags |= MOTTE_EXPORT_NESTED_LINKS;
        else if (accept(in, "columns")) {
            options.columns = columns;
            options.column_count = column_names(in, columns);
        } else break;
    }
    motte_export_options in_memory = options;
    in_memory.path = NULL;
    in_memory.path_size = 0;
    if (accept(in, "everything")) {
        TRY(motte_export_realm(now.realm, &options, receive_progress, NULL, NULL, NULL));
        if (options.format == MOTTE_FORMAT_SQLITE) return MOTTE_OK;
        TRY(motte_export_realm(now.realm, &in_memory, NULL, NULL, NULL, &text));
    } else if (!starts_collection(in)) {
        motte_object *object;
        TRY(need_object(in, &object));
        TRY(motte_export_object(object, &options, NULL));
        TRY(motte_export_object(object, &in_memory, &text));
    } else {
        motte_coll *coll;
        TRY(need_collection(in, &coll));
        TRY(motte_export_coll(coll, &options, receive_progress, NULL, NULL, NULL));
        TRY(motte_export_coll(coll, &in_memory, NULL, NULL, NULL, &text));
    }
    check_same_text(options.path, &text, "an export");
    return MOTTE_OK;
}

/* import "file" [csv | sqlite] [modified | all] [unknown] [Class]; by turns from the file and from its text */
static motte_status import_text(cursor *in) {
    motte_import_options options = {.struct_size = sizeof options};
    motte_import_counts counts = {.struct_size = sizeof counts};
    const char *path = path_of(file_name(in));
    for (;;) {
        if (accept(in, "csv")) options.format = MOTTE_FORMAT_CSV;
        else if (accept(in, "sqlite")) options.format = MOTTE_FORMAT_SQLITE;
        else if (accept(in, "modified")) options.policy = MOTTE_CREATE_MODIFIED;
        else if (accept(in, "all")) options.policy = MOTTE_CREATE_EXISTING;
        else if (accept(in, "unknown")) options.flags |= MOTTE_IMPORT_IGNORE_UNKNOWN;
        else break;
    }
    if (now.steps % 2 || options.format == MOTTE_FORMAT_SQLITE) {
        options.path = path;
        options.path_size = MOTTE_NTS;
    } else {
        options.text = contents(path);
        options.text_size = MOTTE_NTS;
    }
    motte_class cls = at_end(in) ? MOTTE_CLASS_ANY : class_id(need_name(in));
    return motte_import(now.realm, cls, &options, receive_progress, NULL, NULL, &counts);
}

/* arrow [columns `a` `b.c`] [views] [modified | all-of-them] [unknown] COLLECTION to CLASS: as batches of two rows */
static motte_status arrow(cursor *in) {
    motte_str columns[8];
    motte_arrow_options options = {.struct_size = sizeof options, .batch_rows = 2};
    motte_import_options import_options = {.struct_size = sizeof import_options};
    motte_import_counts counts = {.struct_size = sizeof counts};
    struct ArrowArrayStream stream;
    struct ArrowSchema schema, same;
    motte_coll *coll;
    for (;;) {
        if (accept(in, "columns")) {
            options.columns = columns;
            options.column_count = column_names(in, columns);
        } else if (accept(in, "views")) options.flags |= MOTTE_ARROW_TEXT_VIEWS;
        else if (accept(in, "modified")) import_options.policy = MOTTE_CREATE_MODIFIED;
        else if (accept(in, "all-of-them")) import_options.policy = MOTTE_CREATE_EXISTING;
        else if (accept(in, "unknown")) import_options.flags |= MOTTE_IMPORT_IGNORE_UNKNOWN;
        else break;
    }
    TRY(need_collection(in, &coll));
    need(in, "to");
    motte_class cls = class_id(need_name(in));
    TRY(motte_arrow_read(coll, &options, &stream));
    MUST(motte_arrow_schema(coll, &options, &schema));
    agree(stream.get_schema(&stream, &same) == 0 && same.n_children == schema.n_children, "motte_arrow_schema",
          "motte_arrow_read");
    schema.release(&schema);
    same.release(&same);
    motte_status status = motte_arrow_insert(now.realm, cls, &stream, &import_options, &counts);
    agree(stream.release == NULL, "motte_arrow_insert", "its promise to release the stream");
    return status;
}

/* One of the kept files of Realm, by its name. */
static motte_realm_file_options realm_file_options(cursor *in) {
    motte_realm_file_options options = {.struct_size = sizeof options};
    options.path = case_format("%s/%s.realm", REALM_FILES, file_name(in));
    options.path_size = MOTTE_NTS;
    return options;
}

/* What a report says of classes and notes fits what it counts. */
static void check_import_report(motte_report *report, const motte_import_counts *counts) {
    motte_realm_file_class classes[MAXIMUM];
    motte_realm_file_note notes[MAXIMUM];
    motte_report_details details = {.struct_size = sizeof details};
    uint64_t created = 0, updated = 0, objects = 0;
    size_t count;
    MUST(motte_report_classes(report, classes, MAXIMUM, &count));
    for (size_t i = 0; i < count; i++) {
        created += classes[i].created;
        updated += classes[i].updated;
        objects += classes[i].object_count;
    }
    agree(created == counts->created && updated == counts->updated, "motte_report_classes", "motte_import_realm_file");
    MUST(motte_report_info(report, &details));
    agree(details.object_count == objects, "motte_report_info", "motte_report_classes");
    MUST(motte_report_notes(report, notes, MAXIMUM, &count));
    agree(details.problem_count == count, "motte_report_info", "motte_report_notes");
    motte_release(report);
}

static motte_status import_realm(cursor *in) {
    motte_realm_file_options options = realm_file_options(in);
    motte_import_counts counts = {.struct_size = sizeof counts};
    motte_report *report;
    if (accept(in, "modified")) options.policy = MOTTE_CREATE_MODIFIED;
    else if (accept(in, "all")) options.policy = MOTTE_CREATE_EXISTING;
    TRY(motte_import_realm_file(now.realm, &options, receive_progress, NULL, NULL, &counts, &report));
    check_import_report(report, &counts);
    return MOTTE_OK;
}

/* Also: the classes and the version of the file are those of what it is converted to. */
static void check_realm_schema(const motte_realm_file_options *options, const char *path) {
    motte_schema *schema;
    motte_config *config;
    uint64_t version, stored;
    MUST(motte_realm_file_schema(options, &schema, &version));
    motte_release(schema);
    MUST(motte_config_new(&config));
    MUST(motte_config_set_path(config, path, MOTTE_NTS));
    MUST(motte_file_schema_version(config, &stored));
    agree(version == stored, "motte_realm_file_schema", "motte_file_schema_version");
    motte_release(config);
}

static motte_status convert_realm(cursor *in) {
    motte_realm_file_options options = realm_file_options(in);
    motte_import_counts counts = {.struct_size = sizeof counts};
    motte_report *report;
    need(in, "to");
    const char *path = path_of(file_name(in));
    TRY(motte_convert_realm_file(&options, path, MOTTE_NTS, NULL, 0, receive_progress, NULL, NULL, &counts, &report));
    check_import_report(report, &counts);
    check_realm_schema(&options, path);
    return MOTTE_OK;
}

/* expect schema-of "file" [sqlite | csv Class [key name]] `...` */
static motte_status expect_schema_of(cursor *in) {
    motte_import_options options = {.struct_size = sizeof options};
    motte_schema *schema, *expected;
    motte_buf left, right;
    char *class_name = NULL, *key = NULL;
    options.path = path_of(file_name(in));
    options.path_size = MOTTE_NTS;
    if (accept(in, "sqlite")) options.format = MOTTE_FORMAT_SQLITE;
    else if (accept(in, "csv")) {
        options.format = MOTTE_FORMAT_CSV;
        class_name = need_name(in);
        if (accept(in, "key")) key = need_name(in);
    }
    TRY(motte_import_schema(&options, class_name, class_name ? MOTTE_NTS : 0, key, key ? MOTTE_NTS : 0, &schema));
    own(schema);
    TRY(schema_from(need_text(in), &expected));
    MUST(motte_schema_text(schema, &left));
    MUST(motte_schema_text(expected, &right));
    char *actual = case_format("%s", left.data);
    int same = strcmp(left.data, right.data) == 0;
    motte_buf_dispose(&left);
    motte_buf_dispose(&right);
    if (!same) case_fail("the schema is %s", actual);
    return MOTTE_OK;
}

/* expect notes-of "file" == number */
static motte_status expect_notes_of(cursor *in) {
    motte_import_options options = {.struct_size = sizeof options, .format = MOTTE_FORMAT_SQLITE};
    motte_report *report;
    motte_report_details details = {.struct_size = sizeof details};
    options.path = path_of(file_name(in));
    options.path_size = MOTTE_NTS;
    TRY(motte_import_notes(&options, &report));
    own(report);
    MUST(motte_report_info(report, &details));
    return expect_number(in, (int64_t)details.problem_count);
}

/* ------------------------------------------------------------------------------------------------ expectations */

/* Verification, and that the statistics agree with the classes. */
static motte_status expect_sound(cursor *in) {
    motte_report *report;
    motte_report_details details = {.struct_size = sizeof details};
    motte_space_details space = {.struct_size = sizeof space};
    motte_class_space classes[MAXIMUM];
    motte_reader readers[MAXIMUM];
    motte_str problems[MAXIMUM];
    size_t count;
    TRY(motte_realm_verify(now.realm, receive_progress, NULL, NULL, &report));
    own(report);
    MUST(motte_report_info(report, &details));
    MUST(motte_report_problems(report, problems, MAXIMUM, &count));
    agree(count == details.problem_count && (count == 0) == ((details.flags & MOTTE_REPORT_SOUND) != 0),
          "motte_report_info", "motte_report_problems");
    MUST(motte_realm_space(now.realm, receive_progress, NULL, NULL, &space, classes, MAXIMUM, &count));
    agree(count == details.class_count, "motte_realm_space", "motte_realm_verify");
    uint64_t objects = 0;
    for (size_t i = 0; i < count; i++) objects += classes[i].object_count;
    agree(objects == details.object_count, "motte_realm_space", "motte_realm_verify");
    MUST(motte_realm_readers(now.realm, readers, MAXIMUM, &count));
    return expect_flag(in, (details.flags & MOTTE_REPORT_SOUND) != 0);
}

static motte_status expect_version_of(cursor *in) {
    literal actual = {0, {.type = MOTTE_TYPE_NULL}, 0, NULL};
    uint64_t version;
    motte_status status = motte_file_schema_version(new_config(file_name(in), 0), &version);
    TRY(status);
    if (status == MOTTE_OK) actual.value = int_of((int64_t)version);
    return expect_equal(in, &actual);
}

static motte_status expect_schema_version(cursor *in) {
    motte_realm_details details = {.struct_size = sizeof details};
    TRY(motte_realm_info(now.realm, &details));
    return expect_number(in, (int64_t)details.schema_version);
}

/* expect plan [options] schema `...` == "action" then the lines of the text */
static motte_status expect_plan(cursor *in) {
    motte_config *config = new_config("main.motte", 0);
    motte_plan_details details = {.struct_size = sizeof details};
    motte_schema *schema;
    motte_buf text;
    motte_status status = MOTTE_OK;
    while (option(in, config, &status)) TRY(status);
    need(in, "schema");
    TRY(schema_from(need_text(in), &schema));
    TRY(motte_config_set_schema(config, schema, 0));
    TRY(motte_file_plan(config, &details, &text));
    char *actual = case_format("%s", text.data);
    motte_buf_dispose(&text);
    literal plan = {0, text_of(actual), 0, NULL};
    return expect_equal(in, &plan);
}

static motte_status expect_text(cursor *in) {
    const char *path = path_of(file_name(in));
    literal actual = {0, text_of(contents(path)), 0, NULL};
    return expect_equal(in, &actual);
}

static motte_status expect_file(cursor *in) {
    motte_status status = motte_file_exists(new_config(file_name(in), 0));
    TRY(status);
    return expect_flag(in, status == MOTTE_OK);
}

/* expect kept-for "name" commits | none; nobody: whoever has no name */
static motte_status expect_kept_for(cursor *in) {
    motte_changes_consumer consumers[MAXIMUM];
    size_t count;
    int64_t commits = -1;
    char *name = accept(in, "nobody") ? NULL : need_text(in);
    MUST(motte_changes_batch_consumers(now.realm, consumers, MAXIMUM, &count));
    for (size_t i = 0; i < count; i++) {
        const char *found = consumers[i].name;
        if (name && found ? strcmp(name, found) == 0 : name == found) commits = (int64_t)consumers[i].commits;
    }
    if (!accept(in, "none")) return expect_number(in, commits);
    if (commits >= 0) case_fail("changes are kept for %s", name ? name : "nobody");
    return MOTTE_OK;
}

static int expect_of_files(cursor *in, motte_status *status) {
    if (accept(in, "sound")) *status = expect_sound(in);
    else if (accept(in, "kept-for")) *status = expect_kept_for(in);
    else if (accept(in, "file")) *status = expect_file(in);
    else if (accept(in, "text")) *status = expect_text(in);
    else if (accept(in, "plan")) *status = expect_plan(in);
    else if (accept(in, "version-of")) *status = expect_version_of(in);
    else if (accept(in, "schema-version")) *status = expect_schema_version(in);
    else if (accept(in, "schema-of")) *status = expect_schema_of(in);
    else if (accept(in, "notes-of")) *status = expect_notes_of(in);
    else return 0;
    return 1;
}

static int step_of_files(cursor *in, motte_status *status) {
    if (step_of_migration(in, status)) return 1;
    if (accept(in, "migrating")) *status = keep_step(in, now.migrating, &now.migrating_count);
    else if (accept(in, "filling")) *status = keep_step(in, now.filling, &now.filling_count);
    else if (accept(in, "erase")) *status = erase(in);
    else if (accept(in, "salvage")) *status = salvage(in);
    else if (accept(in, "compact")) *status = compact(in);
    else if (accept(in, "copy")) {
        need_session();
        const char *path = path_of(file_name(in));
        uint8_t key[64];
        if (accept(in, "encrypt")) {
            int is_plain = accept(in, "none");
            if (!is_plain) memset(key, (int)need_integer(in), sizeof key);
            *status = motte_realm_copy_with_key(now.realm, path, MOTTE_NTS, key, is_plain ? 0 : sizeof key,
                                                receive_progress, NULL, NULL);
        } else {
            *status = motte_realm_copy(now.realm, path, MOTTE_NTS, receive_progress, NULL, NULL);
        }
    } else if (accept(in, "export")) {
        need_session();
        *status = export_text(in);
    } else if (accept(in, "arrow")) {
        need_session();
        *status = arrow(in);
    } else if (accept(in, "import-realm")) {
        need_session();
        *status = import_realm(in);
    } else if (accept(in, "import")) {
        need_session();
        *status = import_text(in);
    } else if (accept(in, "convert")) {
        *status = convert_realm(in);
    } else if (accept(in, "delete everything")) {
        need_session();
        *status = delete_everything();
    } else return 0;
    return 1;
}
