/* Whole files: callbacks of opening and of long work, that a refusal stops the work, comes out with its code and leaves
 * nothing behind, that userdata is freed exactly once, and what handles answer when a migration is over. */
#define _GNU_SOURCE
#include "check.h"

#include <glob.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/motte-files-XXXXXX";
static const char people[] = "Person { id: int key, name: string }";

static const char *path_of(const char *name) {
    static char paths[8][128];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static int is_there(const char *name) { return access(path_of(name), F_OK) == 0; }

/* Whether there is a temporary file beside a file of that name. */
static int is_left(const char *name) {
    glob_t found;
    char pattern[600];
    snprintf(pattern, sizeof pattern, "%s.*-????????????????", path_of(name));
    int status = glob(pattern, 0, NULL, &found);
    if (status == 0) globfree(&found);
    return status == 0;
}

static motte_config *config_of(const char *name, const char *schema_text, int64_t version) {
    motte_config *config;
    motte_schema *schema;
    motte_value number = {MOTTE_TYPE_INT, 0, {.integer = version}};
    MUST(motte_config_new(&config));
    MUST(motte_config_set_path(config, path_of(name), MOTTE_NTS));
    if (schema_text) {
        MUST(motte_schema_parse(schema_text, MOTTE_NTS, &schema));
        MUST(motte_config_set_schema(config, schema, 0));
        motte_release(schema);
    }
    if (version > 0) MUST(motte_config_set_option(config, "schema_version", MOTTE_NTS, &number));
    return config;
}

static motte_realm *open_of(motte_config *config) {
    motte_realm *realm;
    MUST(motte_realm_open(config, &realm));
    return realm;
}

/* A file with `count` persons. */
static motte_realm *filled(const char *path, int count) {
    motte_config *config = config_of(path, people, 0);
    motte_realm *realm = open_of(config);
    motte_class cls;
    motte_prop prop;
    MUST(motte_class_find(realm, "Person", MOTTE_NTS, &cls));
    MUST(motte_prop_find(realm, cls, "name", MOTTE_NTS, &prop));
    MUST(motte_realm_begin_write(realm, -1));
    for (int i = 0; i < count; i++) {
        motte_value key = {MOTTE_TYPE_INT, 0, {.integer = i}};
        motte_object *object;
        char name[24];
        snprintf(name, sizeof name, "somebody %d", i);
        MUST(motte_object_create(realm, cls, &key, 0, &object, NULL));
        MUST(motte_object_set_string(object, prop, name, MOTTE_NTS));
        motte_release(object);
    }
    MUST(motte_realm_commit(realm, 0, NULL));
    motte_release(config);
    return realm;
}

static uint64_t count_of(const motte_realm *realm) {
    motte_class cls;
    uint64_t count;
    MUST(motte_class_find(realm, "Person", MOTTE_NTS, &cls));
    MUST(motte_class_count(realm, cls, &count));
    return count;
}

/* What callbacks get, and what they return. */
typedef struct received {
    int calls, freed, answer, stale;
    uint64_t done, total;
    motte_migration *kept;
    motte_realm *kept_old, *kept_new;
    motte_object *kept_object;
} received;

static void freed(void *userdata) { ((received *)userdata)->freed++; }

static motte_status progress(void *userdata, uint64_t done, uint64_t total) {
    received *h = userdata;
    h->calls++;
    h->done = done;
    h->total = total;
    if (h->answer) MUST(motte_callback_fail("that is enough", MOTTE_NTS, h, NULL));
    return h->answer;
}

static void expect_stopped(const received *h, motte_status status) {
    motte_error_details details = check_error();
    CHECK(status == MOTTE_E_CALLBACK && details.user_code == h->answer && details.user_pointer == h);
    CHECK(strcmp(details.message, "that is enough") == 0);
    CHECK(h->calls > 0 && h->freed == 1);
}

static void long_work_is_stopped(void) {
    motte_realm *realm = filled("work.motte", 2000);
    motte_config *config = config_of("work.motte", NULL, 0);
    received copies = {.answer = 7}, checks = {.answer = 8}, exports = {.answer = 9}, walks = {.answer = 10};
    received imports = {.answer = 11}, compacts = {.answer = 12}, salvages = {.answer = 13}, done = {0};
    motte_report *report;
    motte_export_options out = {.struct_size = sizeof out, .path = path_of("dump.jsonl"), .path_size = MOTTE_NTS};
    motte_import_options in = {.struct_size = sizeof in, .text = "[{\"id\": 5000}]", .text_size = MOTTE_NTS};
    motte_import_counts counts = {.struct_size = sizeof counts};
    motte_space_details space = {.struct_size = sizeof space};
    size_t count;
    uint64_t before, after;
    motte_class cls;
    FILE *file;
    struct stat facts;

    expect_stopped(&copies, motte_realm_copy(realm, path_of("copy.motte"), MOTTE_NTS, progress, &copies, freed));
    CHECK(!is_there("copy.motte") && !is_left("copy.motte"));
    expect_stopped(&checks, motte_realm_verify(realm, progress, &checks, freed, &report));
    CHECK(report == NULL);
    expect_stopped(&exports, motte_export_realm(realm, &out, progress, &exports, freed, NULL));
    CHECK(!is_there("dump.jsonl"));
    /* What was there before stays until all of the new text is. */
    file = fopen(path_of("dump.jsonl"), "w");
    fputs("before", file);
    fclose(file);
    exports.freed = 0;
    expect_stopped(&exports, motte_export_realm(realm, &out, progress, &exports, freed, NULL));
    stat(path_of("dump.jsonl"), &facts);
    CHECK(facts.st_size == 6);
    MUST(motte_export_realm(realm, &out, NULL, NULL, NULL, NULL));
    stat(path_of("dump.jsonl"), &facts);
    CHECK(facts.st_size > 2000 * 40);
    expect_stopped(&walks, motte_realm_space(realm, progress, &walks, freed, &space, NULL, 0, &count));
    CHECK(count == 0 && space.file_bytes == 0);
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_class_find(realm, "Person", MOTTE_NTS, &cls));
    expect_stopped(&imports, motte_import(realm, cls, &in, progress, &imports, freed, &counts));
    MUST(motte_realm_cancel(realm));
    expect_stopped(&compacts, motte_realm_compact(realm, progress, &compacts, freed, &before, &after));
    CHECK(before == 0 && after == 0 && count_of(realm) == 2000);
    CHECK(!is_left("work.motte"));
    MUST(motte_realm_close(realm));
    motte_release(realm);
    expect_stopped(&salvages,
                   motte_file_salvage(config, path_of("lines"), MOTTE_NTS, progress, &salvages, freed, NULL, &report));
    CHECK(report == NULL && !is_there("lines"));

    MUST(motte_file_compact(config, progress, &done, freed, &before, &after));
    CHECK(done.freed == 1 && done.calls > 0 && done.done == done.total && before > after && after > 0);
    motte_release(config);
}

/* Beside another realm of the file, in calls that move little each, and stopped. */
static void a_compaction_beside_others(void) {
    motte_realm *realm = filled("beside.motte", 40000);
    motte_config *config = config_of("beside.motte", NULL, 0);
    motte_realm *other = open_of(config);
    motte_compaction_details details = {.struct_size = sizeof details};
    motte_class cls;
    motte_query *query;
    motte_coll *found;
    uint64_t deleted, before;
    received stops = {.answer = 14};
    int calls = 0;
    MUST(motte_class_find(realm, "Person", MOTTE_NTS, &cls));
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_query_parse(realm, cls, "id < 30000", MOTTE_NTS, NULL, 0, &query));
    MUST(motte_query_run(query, &found));
    MUST(motte_coll_delete_objects(found, &deleted));
    MUST(motte_realm_commit(realm, 0, NULL));
    motte_release(found);
    motte_release(query);
    expect_stopped(&stops, motte_realm_compact_online(realm, 0, progress, &stops, freed, &details));
    CHECK(deleted == 30000 && details.after_bytes == 0);
    /* The other one shows what was before. */
    MUST(motte_realm_compact_online(realm, 0, NULL, NULL, NULL, &details));
    CHECK(details.held_bytes > 0 && count_of(other) == 40000);
    MUST(motte_realm_refresh(other, NULL));
    CHECK(count_of(other) == 10000);
    for (before = details.before_bytes; calls < 1000; calls++) {
        MUST(motte_realm_compact_online(realm, 65536, NULL, NULL, NULL, &details));
        MUST(motte_realm_refresh(other, NULL));
        if (details.moved_bytes == 0) break;
    }
    /* The other one shows the version before the last call. */
    CHECK(calls < 1000 && details.held_bytes < 65536 && details.after_bytes < before * 2 / 3);
    CHECK(count_of(realm) == 10000 && count_of(other) == 10000);
    details.struct_size = 1;
    STATUS(MOTTE_E_BAD_STRUCT_SIZE, motte_realm_compact_online(realm, 0, NULL, NULL, NULL, &details));
    motte_release(other);
    motte_release(config);
    MUST(motte_realm_close(realm));
    motte_release(realm);
}

/* A realm whose file is being compacted by it. */
typedef struct use {
    motte_realm *realm;
    int calls, closes;
} use;

static motte_status use_meanwhile(void *userdata, uint64_t done, uint64_t total) {
    use *u = userdata;
    motte_compaction_details details = {.struct_size = sizeof details};
    uint64_t version;
    (void)done;
    (void)total;
    if (u->calls++ > 0) return 0;
    STATUS(MOTTE_E_REENTRANT, motte_realm_begin_write(u->realm, 0));
    STATUS(MOTTE_E_REENTRANT, motte_realm_version(u->realm, &version, NULL));
    STATUS(MOTTE_E_REENTRANT, motte_realm_compact(u->realm, NULL, NULL, NULL, NULL, NULL));
    STATUS(MOTTE_E_REENTRANT, motte_realm_compact_online(u->realm, 0, NULL, NULL, NULL, &details));
    if (u->closes) STATUS(MOTTE_OK, motte_realm_close(u->realm));
    return 0;
}

static void a_realm_without_its_file(void) {
    motte_realm *realm = filled("meanwhile.motte", 100);
    use meanwhile = {realm, 0, 0}, closing = {realm, 0, 1};
    uint64_t before, after;
    motte_config *config = config_of("meanwhile.motte", NULL, 0);
    STATUS(MOTTE_OK, motte_realm_compact(realm, use_meanwhile, &meanwhile, NULL, &before, &after));
    CHECK(meanwhile.calls > 0 && count_of(realm) == 100);
    STATUS(MOTTE_OK, motte_realm_compact(realm, use_meanwhile, &closing, NULL, &before, &after));
    STATUS(MOTTE_E_CLOSED, motte_realm_version(realm, NULL, NULL));
    STATUS(MOTTE_OK, motte_file_compact(config, NULL, NULL, NULL, NULL, NULL)); /* nobody has it open */
    motte_release(realm);
    motte_release(config);
}

static motte_status decide(void *userdata, uint64_t total, uint64_t used, int32_t *out_compact) {
    received *h = userdata;
    h->calls++;
    h->total = total;
    h->done = used;
    *out_compact = 1;
    return h->answer;
}

static void compaction_on_launch(void) {
    motte_realm *realm = filled("launch.motte", 20000), *second;
    motte_config *config = config_of("launch.motte", people, 0);
    received decision = {0}, never = {0};
    struct stat before, after;
    MUST(motte_config_on_compact(config, decide, &never, freed));
    MUST(motte_config_on_compact(config, decide, &decision, freed));
    CHECK(never.freed == 1);
    second = open_of(config);
    CHECK(decision.calls == 0); /* somebody has it open */
    MUST(motte_realm_begin_write(second, -1));
    MUST(motte_realm_delete_all(second, &decision.done));
    CHECK(decision.done == 20000);
    MUST(motte_realm_commit(second, 0, NULL));
    motte_release(second);
    motte_release(realm);
    stat(path_of("launch.motte"), &before);
    second = open_of(config);
    stat(path_of("launch.motte"), &after);
    CHECK(decision.calls == 1 && decision.total > decision.done && decision.freed == 0);
    CHECK(after.st_size < before.st_size && count_of(second) == 0);
    motte_release(second);
    decision.answer = 5;
    STATUS(MOTTE_E_CALLBACK, motte_realm_open(config, &second));
    CHECK(second == NULL && check_error().user_code == 5);
    motte_release(config);
    CHECK(decision.freed == 1 && never.freed == 1);
}

static motte_status fill(void *userdata, motte_realm *realm) {
    received *h = userdata;
    motte_class cls;
    motte_value key = {MOTTE_TYPE_INT, 0, {.integer = 1}};
    motte_object *object;
    h->calls++;
    MUST(motte_class_find(realm, "Person", MOTTE_NTS, &cls));
    MUST(motte_object_create(realm, cls, &key, 0, &object, NULL));
    motte_release(object);
    STATUS(MOTTE_E_REENTRANT, motte_realm_commit(realm, 0, NULL));
    STATUS(MOTTE_E_REENTRANT, motte_realm_cancel(realm));
    STATUS(MOTTE_E_REENTRANT, motte_realm_close(realm));
    MUST(motte_clone(realm, (void **)&h->kept_new));
    return h->answer;
}

static void filling_a_new_file(void) {
    motte_config *config = config_of("new.motte", people, 0), *copy;
    motte_realm *realm;
    received filling = {.answer = 3};
    MUST(motte_config_on_first_open(config, fill, &filling, freed));
    STATUS(MOTTE_E_CALLBACK, motte_realm_open(config, &realm));
    CHECK(check_error().user_code == 3 && filling.calls == 1);
    STATUS(MOTTE_E_CLOSED, motte_realm_version(filling.kept_new, NULL, NULL));
    motte_release(filling.kept_new);
    filling.answer = 0;
    MUST(motte_clone(config, (void **)&copy));
    motte_release(config);
    CHECK(filling.freed == 0);
    realm = open_of(copy);
    CHECK(filling.calls == 2 && count_of(realm) == 1);
    motte_release(filling.kept_new);
    motte_release(copy);
    CHECK(filling.freed == 1); /* an open realm needs it no more */
    motte_release(realm);
}

static motte_status visit(void *userdata, const motte_object *old_object, motte_object *new_object) {
    received *h = userdata;
    motte_prop prop;
    motte_class cls;
    h->stale++;
    CHECK(motte_handle_is_frozen(old_object) && !motte_handle_is_frozen(new_object));
    if (!h->kept_object) MUST(motte_clone(new_object, (void **)&h->kept_object));
    MUST(motte_object_row(new_object, &cls, NULL));
    MUST(motte_prop_find(h->kept_new, cls, "age", MOTTE_NTS, &prop));
    return motte_object_set_int(new_object, prop, h->stale);
}

static void *use_elsewhere(void *migration) {
    motte_migration_details details = {.struct_size = sizeof details};
    STATUS(MOTTE_E_WRONG_THREAD, motte_migration_info(migration, &details));
    STATUS(MOTTE_E_WRONG_THREAD, motte_migration_enumerate(migration, "Person", MOTTE_NTS, visit, NULL, NULL));
    return NULL;
}

static motte_status migrate(void *userdata, const motte_migration *migration, const motte_realm *old_realm,
                            motte_realm *new_realm) {
    received *h = userdata;
    motte_migration_details details = {.struct_size = sizeof details};
    pthread_t thread;
    received visits = {.kept_new = new_realm};
    h->calls++;
    if (h->stale) {
        motte_status status = motte_migration_enumerate(migration, "Person", MOTTE_NTS, visit, &visits, freed);
        motte_release(visits.kept_object);
        return status;
    }
    MUST(motte_migration_info(migration, &details));
    CHECK(details.old_version == 0 && details.new_version == 1);
    CHECK(count_of(old_realm) == 3 && count_of(new_realm) == 3);
    STATUS(MOTTE_E_FROZEN, motte_realm_begin_write((motte_realm *)(uintptr_t)old_realm, 0));
    MUST(motte_clone(migration, (void **)&h->kept));
    MUST(motte_clone(old_realm, (void **)&h->kept_old));
    MUST(motte_clone(new_realm, (void **)&h->kept_new));
    MUST(motte_migration_enumerate(migration, "Person", MOTTE_NTS, visit, &visits, freed));
    CHECK(visits.stale == 3 && visits.freed == 1);
    h->kept_object = visits.kept_object;
    MUST(motte_migration_enumerate(migration, "Nobody", MOTTE_NTS, visit, &visits, freed));
    STATUS(MOTTE_NOT_FOUND, motte_migration_delete_class(migration, "Nobody", MOTTE_NTS));
    if (pthread_create(&thread, NULL, use_elsewhere, (void *)(uintptr_t)migration) != 0) exit(2);
    pthread_join(thread, NULL);
    return h->answer;
}

static void let_go(received *h) {
    motte_migration_details details = {.struct_size = sizeof details};
    STATUS(MOTTE_E_CLOSED, motte_migration_info(h->kept, &details));
    STATUS(MOTTE_E_CLOSED, motte_migration_delete_class(h->kept, "Person", MOTTE_NTS));
    STATUS(MOTTE_E_CLOSED, motte_realm_version(h->kept_old, NULL, NULL));
    STATUS(MOTTE_E_CLOSED, motte_realm_version(h->kept_new, NULL, NULL));
    STATUS(MOTTE_E_CLOSED, motte_object_delete(h->kept_object));
    motte_release(h->kept);
    motte_release(h->kept_old);
    motte_release(h->kept_new);
    motte_release(h->kept_object);
}

static void migrations(void) {
    motte_realm *realm = filled("old.motte", 3);
    motte_config *config = config_of("old.motte", "Person { id: int key, name: string, age: int }", 1);
    received migration = {.answer = 42}, steps = {0};
    uint64_t version;
    motte_class cls;
    motte_prop prop;
    motte_object *object;
    motte_value key = {MOTTE_TYPE_INT, 0, {.integer = 2}};
    int64_t age;
    motte_release(realm);
    MUST(motte_config_on_migrate(config, migrate, &migration, freed));
    MUST(motte_config_on_progress(config, progress, &steps, freed));
    STATUS(MOTTE_E_CALLBACK, motte_realm_open(config, &realm));
    CHECK(realm == NULL && check_error().user_code == 42 && migration.calls == 1);
    let_go(&migration);
    STATUS(MOTTE_OK, motte_file_schema_version(config, &version));
    CHECK(version == 0);
    /* Progress that is refused ends the visits, and the callback says so. */
    migration.answer = 0;
    migration.stale = 1;
    steps.answer = 6;
    STATUS(MOTTE_E_CALLBACK, motte_realm_open(config, &realm));
    CHECK(steps.calls > 0 && check_error().user_code == MOTTE_E_CALLBACK);
    steps.answer = migration.stale = 0;
    realm = open_of(config);
    let_go(&migration);
    MUST(motte_class_find(realm, "Person", MOTTE_NTS, &cls));
    MUST(motte_prop_find(realm, cls, "age", MOTTE_NTS, &prop));
    STATUS(MOTTE_OK, motte_object_find(realm, cls, &key, &object));
    MUST(motte_object_get_int(object, prop, &age));
    CHECK(age == 3);
    motte_release(object);
    STATUS(MOTTE_OK, motte_file_schema_version(config, &version));
    CHECK(version == 1);
    motte_release(config);
    CHECK(migration.freed == 1 && steps.freed == 1);
    motte_release(realm);
}

static void deleting_and_reports(void) {
    motte_compaction_details compaction = {.struct_size = sizeof compaction};
    motte_realm *realm = filled("gone.motte", 2000);
    motte_config *config = config_of("gone.motte", NULL, 0), *memory;
    motte_report *report;
    motte_report_details details = {.struct_size = sizeof details};
    motte_str texts[4];
    size_t count;
    MUST(motte_realm_verify(realm, NULL, NULL, NULL, &report));
    MUST(motte_report_info(report, &details));
    CHECK(details.object_count == 2000 && details.class_count == 1 && details.flags == MOTTE_REPORT_SOUND);
    MUST(motte_report_problems(report, texts, 4, &count));
    CHECK(count == 0);
    motte_release(report);
    STATUS(MOTTE_E_BUSY, motte_file_delete(config));
    motte_release(realm);
    STATUS(MOTTE_OK, motte_file_exists(config));

    /* A byte in the middle of a chunk: named by a verification, survived by a salvage. (Of few objects all lies in one
     * page with the header, without which nothing is opened.) */
    FILE *file = fopen(path_of("gone.motte"), "r+b");
    char *bytes;
    long size;
    fseek(file, 0, SEEK_END);
    size = ftell(file);
    bytes = malloc((size_t)size);
    rewind(file);
    if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size) exit(2);
    for (long i = 0; i + 13 < size; i++) {
        if (memcmp(bytes + i, "somebody 1000", 13) == 0) {
            fseek(file, i, SEEK_SET);
            fputc('S', file);
        }
    }
    free(bytes);
    fclose(file);
    realm = open_of(config);
    MUST(motte_realm_verify(realm, NULL, NULL, NULL, &report));
    MUST(motte_report_info(report, &details));
    MUST(motte_report_problems(report, texts, 4, &count));
    CHECK(details.flags == 0 && details.problem_count > 0 && count >= 1);
    /* The page comes first, where pages have checksums. */
    bool is_named = false;
    for (size_t i = 0; i < count && i < 4; i++) is_named |= strstr(texts[i].data, "Person") != NULL;
    CHECK(is_named);
    motte_release(report);
    motte_release(realm);
    MUST(motte_file_salvage(config, path_of("rest"), MOTTE_NTS, NULL, NULL, NULL, NULL, &report));
    MUST(motte_report_info(report, &details));
    CHECK(details.object_count == 2000 && details.problem_count > 0 && is_there("rest"));
    motte_release(report);

    realm = open_of(config);
    CHECK(rename(path_of("gone.motte"), path_of("away.motte")) == 0);
    STATUS(MOTTE_E_FILE_MOVED, motte_realm_compact(realm, NULL, NULL, NULL, NULL, NULL));
    STATUS(MOTTE_E_FILE_MOVED, motte_realm_compact_online(realm, 0, NULL, NULL, NULL, &compaction));
    CHECK(!is_there("gone.motte"));
    CHECK(rename(path_of("away.motte"), path_of("gone.motte")) == 0);
    motte_release(realm);
    STATUS(MOTTE_OK, motte_file_delete(config));
    STATUS(MOTTE_NOT_FOUND, motte_file_delete(config));
    STATUS(MOTTE_NOT_FOUND, motte_file_exists(config));
    CHECK(!is_there("gone.motte-shared"));
    motte_release(config);

    MUST(motte_config_new(&memory));
    MUST(motte_config_set_in_memory(memory, "files", MOTTE_NTS));
    STATUS(MOTTE_NOT_FOUND, motte_file_exists(memory));
    realm = open_of(memory);
    STATUS(MOTTE_OK, motte_file_exists(memory));
    STATUS(MOTTE_E_UNSUPPORTED, motte_file_delete(memory));
    STATUS(MOTTE_E_UNSUPPORTED, motte_realm_compact(realm, NULL, NULL, NULL, NULL, NULL));
    STATUS(MOTTE_E_UNSUPPORTED, motte_realm_compact_online(realm, 0, NULL, NULL, NULL, &compaction));
    motte_release(realm);
    motte_release(memory);
}

int main(void) {
    char command[128];
    if (!mkdtemp(folder)) return 2;
    long_work_is_stopped();
    a_realm_without_its_file();
    a_compaction_beside_others();
    compaction_on_launch();
    filling_a_new_file();
    migrations();
    deleting_and_reports();
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) return 2;
    return check_summary();
}
