/* Realm files: imported, converted, converted when they are opened, and every error that is promised. */
#define _GNU_SOURCE
#include "check.h"

#include <glob.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/motte-realm-files-XXXXXX";
static const char tiny[] = MOTTE_REALM_FILES "/tiny.realm";
static const char encrypted[] = MOTTE_REALM_FILES "/encrypted.realm";

static const char *path_of(const char *name) {
    static char paths[8][128];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static int is_there(const char *name) { return access(path_of(name), F_OK) == 0; }

/* Whether something is there whose name begins so. */
static int is_any(const char *name) {
    glob_t found;
    char pattern[200];
    snprintf(pattern, sizeof pattern, "%s*", path_of(name));
    int status = glob(pattern, 0, NULL, &found);
    if (status == 0) globfree(&found);
    return status == 0;
}

static unsigned char *read_all(const char *path, size_t *size) {
    FILE *file = fopen(path, "r");
    if (!file) exit(2);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = (unsigned char *)malloc(*size + 1);
    if (!bytes || fread(bytes, 1, *size, file) != *size) exit(2);
    fclose(file);
    return bytes;
}

static void write_all(const char *path, const unsigned char *bytes, size_t size) {
    FILE *file = fopen(path, "w");
    if (!file || fwrite(bytes, 1, size, file) != size) exit(2);
    fclose(file);
}

/* tiny.realm, of which `size` bytes at each place that has `from` become those of `to`. */
static const char *changed(const char *name, const char *from, const char *to, size_t size) {
    size_t count, place;
    unsigned char *bytes = read_all(tiny, &count);
    for (place = 0; place + size <= count; place++) {
        if (memcmp(bytes + place, from, size) == 0) memcpy(bytes + place, to, size);
    }
    const char *path = path_of(name);
    write_all(path, bytes, count);
    free(bytes);
    return path;
}

static motte_realm_file_options options_of(const char *path) {
    motte_realm_file_options options = {.struct_size = sizeof options, .path = path, .path_size = MOTTE_NTS};
    return options;
}

static motte_schema *schema_of(const char *text) {
    motte_schema *schema;
    MUST(motte_schema_parse(text, MOTTE_NTS, &schema));
    return schema;
}

static motte_status convert(const motte_realm_file_options *options, const char *name) {
    return motte_convert_realm_file(options, path_of(name), MOTTE_NTS, NULL, 0, NULL, NULL, NULL, NULL, NULL);
}

static size_t count_of(motte_realm *realm, const char *name) {
    motte_class cls;
    motte_coll *all;
    size_t count;
    MUST(motte_class_find(realm, name, MOTTE_NTS, &cls));
    MUST(motte_class_all(realm, cls, &all));
    MUST(motte_coll_count(all, &count));
    motte_release(all);
    return count;
}

static motte_realm *open_path(const char *path, motte_schema *schema, int converts) {
    motte_config *config;
    motte_realm *realm;
    motte_value yes = motte_bool(1), found;
    MUST(motte_config_new(&config));
    MUST(motte_config_set_path(config, path, MOTTE_NTS));
    if (schema) MUST(motte_config_set_schema(config, schema, 0));
    if (converts) {
        MUST(motte_config_set_option(config, "convert_realm_files", MOTTE_NTS, &yes));
        MUST(motte_config_get_option(config, "convert_realm_files", MOTTE_NTS, &found));
        CHECK(found.type == MOTTE_TYPE_BOOL && found.as.boolean == 1);
    }
    MUST(motte_realm_open(config, &realm));
    motte_release(config);
    return realm;
}

static void shut(motte_realm *realm) {
    MUST(motte_realm_close(realm));
    motte_release(realm);
}

static void key_of_encrypted(uint8_t key[64]) {
    size_t size, index;
    unsigned char *json = read_all(MOTTE_REALM_FILES "/encrypted.json", &size);
    json[size] = 0;
    const char *hex = strstr((const char *)json, "\"key\"");
    if (!hex) exit(2);
    hex = strchr(hex + 5, '"') + 1;
    for (index = 0; index < 64; index++) {
        unsigned value;
        if (sscanf(hex + 2 * index, "%2x", &value) != 1) exit(2);
        key[index] = (uint8_t)value;
    }
    free(json);
}

typedef struct received {
    int calls, freed;
    uint64_t done, total;
    motte_status answer;
    motte_realm *cancelled;
    const char *touched;
} received;

static void freed(void *userdata) { ((received *)userdata)->freed++; }

/* The header's last bit says which of two states of the file counts: flipped, as by a commit. */
static void touch(const char *path) {
    size_t size;
    unsigned char *bytes = read_all(path, &size);
    FILE *file = fopen(path, "r+");
    fseek(file, 23, SEEK_SET);
    fputc(bytes[23] ^ 1, file);
    fclose(file);
    free(bytes);
}

static motte_status progress(void *userdata, uint64_t done, uint64_t total) {
    received *h = (received *)userdata;
    h->calls++;
    h->done = done;
    h->total = total;
    if (h->cancelled) MUST(motte_realm_cancel(h->cancelled));
    h->cancelled = NULL;
    if (h->touched) touch(h->touched);
    h->touched = NULL;
    if (h->answer) MUST(motte_callback_fail("that is enough", MOTTE_NTS, h, NULL));
    return h->answer;
}

static void conversion(void) {
    motte_realm_file_options options = options_of(tiny);
    motte_import_counts counts = {.struct_size = sizeof counts};
    motte_report_details details = {.struct_size = sizeof details};
    motte_realm_file_class classes[4];
    motte_realm_file_note notes[4];
    motte_str texts[4];
    motte_report *report;
    received h = {0};
    size_t count;
    motte_realm *realm;

    MUST(motte_convert_realm_file(&options, path_of("a.motte"), MOTTE_NTS, NULL, 0, progress, &h, freed, &counts,
                                  &report));
    CHECK(counts.created == 4 && counts.updated == 0);
    CHECK(h.done == 8 && h.total == 8 && h.freed == 1);
    MUST(motte_report_info(report, &details));
    CHECK(details.flags == MOTTE_REPORT_SOUND && details.class_count == 2 && details.object_count == 4);
    MUST(motte_report_classes(report, classes, 4, &count));
    CHECK(count == 2 && classes[0].name.size == 3 && memcmp(classes[0].name.data, "Dog", 4) == 0);
    CHECK(classes[0].object_count == 3 && classes[0].created == 3 && classes[0].property_count == 6);
    CHECK(classes[1].object_count == 1 && classes[1].updated == 0);
    MUST(motte_report_notes(report, notes, 4, &count));
    CHECK(count == 0);
    motte_release(report);
    realm = open_path(path_of("a.motte"), NULL, 0);
    CHECK(count_of(realm, "Dog") == 3 && count_of(realm, "Person") == 1);
    shut(realm);
    /* Nothing is replaced. */
    STATUS(MOTTE_E_INVALID_ARGUMENT, convert(&options, "a.motte"));

    options.path = changed("text.realm", "Lassie", "La\xFFsie", 6);
    MUST(motte_convert_realm_file(&options, path_of("b.motte"), MOTTE_NTS, NULL, 0, NULL, NULL, NULL, NULL, &report));
    MUST(motte_report_notes(report, notes, 4, &count));
    CHECK(count == 1 && strcmp(notes[0].class_name.data, "Dog") == 0);
    CHECK(strcmp(notes[0].property_name.data, "name") == 0 && notes[0].count == 1 && notes[0].first_key == 1);
    CHECK(strstr(notes[0].reason.data, "UTF-8") != NULL);
    MUST(motte_report_problems(report, texts, 4, &count));
    CHECK(count == 1 && strncmp(texts[0].data, "Dog.name: ", 10) == 0);
    MUST(motte_report_info(report, &details));
    CHECK(details.flags == 0 && details.problem_count == 1);
    motte_release(report);

    /* Into an encrypted file, out of one. */
    uint8_t key[64];
    motte_config *config;
    key_of_encrypted(key);
    options = options_of(encrypted);
    options.key = key;
    options.key_size = 64;
    MUST(motte_convert_realm_file(&options, path_of("c.motte"), MOTTE_NTS, key, 64, NULL, NULL, NULL, &counts, NULL));
    CHECK(counts.created == 80);
    MUST(motte_config_new(&config));
    MUST(motte_config_set_path(config, path_of("c.motte"), MOTTE_NTS));
    STATUS(MOTTE_E_WRONG_KEY, motte_realm_open(config, &realm));
    MUST(motte_config_set_encryption_key(config, key, 64));
    MUST(motte_realm_open(config, &realm));
    CHECK(count_of(realm, "Secret") == 80);
    shut(realm);
    motte_release(config);
}

static void errors_of_files(void) {
    motte_realm_file_options options = options_of(path_of("nowhere.realm"));
    motte_schema *schema = NULL;
    size_t size;
    unsigned char *bytes;
    uint64_t version = 7;
    uint8_t key[64] = {1};

    STATUS(MOTTE_E_FILE_NOT_FOUND, motte_realm_file_schema(&options, &schema, &version));
    CHECK(schema == NULL && version == 0);
    STATUS(MOTTE_E_FILE_NOT_FOUND, convert(&options, "d.motte"));
    options.path = MOTTE_REALM_FILES "/tiny.json";
    STATUS(MOTTE_E_UNSUPPORTED_FORMAT, motte_realm_file_schema(&options, &schema, NULL));
    STATUS(MOTTE_E_UNSUPPORTED_FORMAT, convert(&options, "d.motte"));
    bytes = read_all(tiny, &size);
    bytes[20] = bytes[21] = 99;
    write_all(path_of("future.realm"), bytes, size);
    options.path = path_of("future.realm");
    STATUS(MOTTE_E_UNSUPPORTED_FORMAT, motte_realm_file_schema(&options, &schema, NULL));
    STATUS(MOTTE_E_UNSUPPORTED_FORMAT, convert(&options, "d.motte"));
    bytes[20] = bytes[21] = 24;
    write_all(path_of("cut.realm"), bytes, size / 2);
    options.path = path_of("cut.realm");
    STATUS(MOTTE_E_CORRUPTED, motte_realm_file_schema(&options, &schema, NULL));
    STATUS(MOTTE_E_CORRUPTED, convert(&options, "d.motte"));
    free(bytes);
    options = options_of(encrypted);
    options.key = key;
    options.key_size = 64;
    STATUS(MOTTE_E_WRONG_KEY, motte_realm_file_schema(&options, &schema, NULL));
    STATUS(MOTTE_E_WRONG_KEY, convert(&options, "d.motte"));

    options = options_of(tiny);
    options.schema = schema_of("Dog { name: int }");
    STATUS(MOTTE_E_SCHEMA_MISMATCH, motte_realm_file_schema(&options, &schema, NULL));
    STATUS(MOTTE_E_SCHEMA_MISMATCH, convert(&options, "d.motte"));
    motte_release(options.schema);
    options.schema = schema_of("Other { to: link<Nobody> }");
    STATUS(MOTTE_E_SCHEMA_INVALID, motte_realm_file_schema(&options, &schema, NULL));
    STATUS(MOTTE_E_SCHEMA_INVALID, convert(&options, "d.motte"));
    motte_release(options.schema);
    options.schema = NULL;

    options.path = changed("text.realm", "Lassie", "La\xFFsie", 6);
    options.flags = MOTTE_REALM_FILE_STRICT;
    STATUS(MOTTE_E_INVALID_UTF8, convert(&options, "d.motte"));
    options.flags = MOTTE_REALM_FILE_RESUME;
    STATUS(MOTTE_E_INVALID_ARGUMENT, convert(&options, "d.motte"));
    options.flags = 0;
    options.policy = MOTTE_CREATE_MODIFIED;
    STATUS(MOTTE_E_INVALID_ARGUMENT, convert(&options, "d.motte"));
    options.policy = 0;

    received stop = {.answer = 9};
    motte_report *report = (motte_report *)&stop;
    STATUS(MOTTE_E_CALLBACK, motte_convert_realm_file(&options, path_of("d.motte"), MOTTE_NTS, NULL, 0, progress, &stop,
                                                      freed, NULL, &report));
    CHECK(report == NULL && stop.freed == 1 && check_error().user_code == 9);
    received change = {.touched = options.path};
    STATUS(MOTTE_E_BUSY, motte_convert_realm_file(&options, path_of("d.motte"), MOTTE_NTS, NULL, 0, progress, &change,
                                                  freed, NULL, &report));
    STATUS(MOTTE_E_FILE_NOT_FOUND, convert(&options, "no/such/folder.motte"));
    CHECK(!is_any("d.motte"));
}

/* In a process of its own, whose files cannot grow. */
static void a_full_disk(void) {
    motte_realm_file_options options = options_of(MOTTE_REALM_FILES "/collections.realm");
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {.rlim_cur = 96 << 10, .rlim_max = 96 << 10};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(convert(&options, "full.motte") == MOTTE_E_DISK_FULL && !is_any("full.motte") ? 0 : 1);
    }
    waitpid(child, &status, 0);
    CHECK(child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void imports(void) {
    motte_realm_file_options options = options_of(tiny);
    motte_import_counts counts = {.struct_size = sizeof counts};
    motte_schema *schema;
    motte_report *report;
    motte_realm *realm, *other;
    uint64_t version;

    MUST(motte_realm_file_schema(&options, &schema, &version));
    CHECK(version == 1);
    realm = open_path(path_of("import.motte"), schema, 0);
    STATUS(MOTTE_E_NOT_IN_WRITE, motte_import_realm_file(realm, &options, NULL, NULL, NULL, &counts, &report));
    CHECK(report == NULL);
    MUST(motte_realm_begin_write(realm, 0));
    MUST(motte_import_realm_file(realm, &options, NULL, NULL, NULL, &counts, &report));
    motte_release(report);
    CHECK(counts.created == 4);
    STATUS(MOTTE_E_DUPLICATE_PRIMARY_KEY, motte_import_realm_file(realm, &options, NULL, NULL, NULL, NULL, NULL));
    CHECK(count_of(realm, "Dog") == 3);
    options.policy = MOTTE_CREATE_MODIFIED;
    MUST(motte_import_realm_file(realm, &options, NULL, NULL, NULL, &counts, NULL));
    CHECK(counts.created == 3 && counts.updated == 1);
    options.policy = 0;
    options.flags = MOTTE_REALM_FILE_RESUME;
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_import_realm_file(realm, &options, NULL, NULL, NULL, NULL, NULL));
    MUST(motte_realm_cancel(realm));

    /* In parts, stopped and resumed. Keys that a cancelled write had are passed over while the file is open, and
       resuming needs those from the beginning. */
    shut(realm);
    realm = open_path(path_of("import.motte"), schema, 0);
    received stop = {.answer = 3};
    options.flags = 0;
    options.commit_every = 1;
    MUST(motte_realm_begin_write(realm, 0));
    STATUS(MOTTE_E_CALLBACK, motte_import_realm_file(realm, &options, progress, &stop, freed, NULL, NULL));
    CHECK(stop.freed == 1 && stop.calls == 1 && stop.total == 4);
    MUST(motte_realm_commit(realm, 0, NULL));
    options.flags = MOTTE_REALM_FILE_RESUME;
    MUST(motte_realm_begin_write(realm, 0));
    MUST(motte_import_realm_file(realm, &options, NULL, NULL, NULL, NULL, NULL));
    MUST(motte_realm_commit(realm, 0, NULL));
    CHECK(count_of(realm, "Dog") == 3 && count_of(realm, "Person") == 1);
    options.flags = 0;
    options.commit_every = 0;

    received cancels = {.cancelled = realm};
    options.policy = MOTTE_CREATE_MODIFIED;
    MUST(motte_realm_begin_write(realm, 0));
    STATUS(MOTTE_E_REENTRANT, motte_import_realm_file(realm, &options, progress, &cancels, freed, NULL, NULL));
    MUST(motte_realm_begin_write(realm, 0));
    options.path = changed("text.realm", "Lassie", "La\xFFsie", 6);
    options.flags = MOTTE_REALM_FILE_STRICT;
    STATUS(MOTTE_E_INVALID_UTF8, motte_import_realm_file(realm, &options, NULL, NULL, NULL, NULL, NULL));
    options.flags = 0;
    received touches = {.touched = options.path};
    STATUS(MOTTE_E_BUSY, motte_import_realm_file(realm, &options, progress, &touches, freed, NULL, NULL));
    CHECK(count_of(realm, "Dog") == 3);
    options.path = path_of("nowhere.realm");
    STATUS(MOTTE_E_FILE_NOT_FOUND, motte_import_realm_file(realm, &options, NULL, NULL, NULL, NULL, NULL));
    options.path = MOTTE_REALM_FILES "/tiny.json";
    STATUS(MOTTE_E_UNSUPPORTED_FORMAT, motte_import_realm_file(realm, &options, NULL, NULL, NULL, NULL, NULL));
    options.path = path_of("future.realm");
    STATUS(MOTTE_E_UNSUPPORTED_FORMAT, motte_import_realm_file(realm, &options, NULL, NULL, NULL, NULL, NULL));
    options.path = path_of("cut.realm");
    STATUS(MOTTE_E_CORRUPTED, motte_import_realm_file(realm, &options, NULL, NULL, NULL, NULL, NULL));
    uint8_t key[64] = {1};
    options.path = encrypted;
    options.key = key;
    options.key_size = 64;
    STATUS(MOTTE_E_WRONG_KEY, motte_import_realm_file(realm, &options, NULL, NULL, NULL, NULL, NULL));
    MUST(motte_realm_cancel(realm));
    shut(realm);
    motte_release(schema);

    other = check_realm("no such classes", "Cat { n: int }");
    options = options_of(tiny);
    MUST(motte_realm_begin_write(other, 0));
    STATUS(MOTTE_E_SCHEMA_MISMATCH, motte_import_realm_file(other, &options, NULL, NULL, NULL, NULL, NULL));
    MUST(motte_realm_cancel(other));
    shut(other);
}

static void openings(void) {
    motte_config *config;
    motte_realm *realm;
    motte_value yes = motte_bool(1), number = motte_int(1);
    size_t size;
    unsigned char *bytes = read_all(tiny, &size);

    write_all(path_of("app.realm"), bytes, size);
    MUST(motte_config_new(&config));
    MUST(motte_config_set_path(config, path_of("app.realm"), MOTTE_NTS));
    STATUS(MOTTE_E_NOT_A_MOTTE_FILE, motte_realm_open(config, &realm));
    CHECK(strstr(check_error().message, "motte.convert()") != NULL);
    CHECK(!is_there("app.motte") && !is_there("app.realm-shared"));
    STATUS(MOTTE_E_WRONG_TYPE, motte_config_set_option(config, "convert_realm_files", MOTTE_NTS, &number));
    MUST(motte_config_set_option(config, "convert_realm_files", MOTTE_NTS, &yes));
    MUST(motte_realm_open(config, &realm));
    CHECK(count_of(realm, "Dog") == 3 && is_there("app.motte"));
    MUST(motte_realm_begin_write(realm, 0));
    MUST(motte_realm_delete_all(realm, NULL));
    MUST(motte_realm_commit(realm, 0, NULL));
    shut(realm);
    /* What was done since is there. */
    realm = open_path(path_of("app.realm"), NULL, 1);
    CHECK(count_of(realm, "Dog") == 0);
    shut(realm);
    /* The original is as it was; a change of it is noticed. */
    {
        size_t now_size;
        unsigned char *now = read_all(path_of("app.realm"), &now_size);
        CHECK(now_size == size && memcmp(now, bytes, size) == 0);
        free(now);
    }
    bytes = (free(bytes), read_all(MOTTE_REALM_FILES "/renamed.realm", &size));
    write_all(path_of("app.realm"), bytes, size);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_realm_open(config, &realm));
    free(bytes);
    motte_release(config);
}

int main(void) {
    char command[128];
    if (!mkdtemp(folder)) return 2;
    a_full_disk();
    conversion();
    errors_of_files();
    imports();
    openings();
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) return 2;
    return check_summary();
}
