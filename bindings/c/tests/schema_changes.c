/* Changes of the schema of an open realm, who is notified of them, and messages about them. */
#define _GNU_SOURCE
#include "check.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static motte_realm *open_again(const char *identifier) {
    motte_config *config;
    motte_realm *realm;
    MUST(motte_config_new(&config));
    MUST(motte_config_set_in_memory(config, identifier, MOTTE_NTS));
    MUST(motte_realm_open(config, &realm));
    motte_release(config);
    return realm;
}

static motte_schema *parsed(const char *text) {
    motte_schema *schema;
    MUST(motte_schema_parse(text, MOTTE_NTS, &schema));
    return schema;
}

static uint32_t flags_of_next(motte_token *token) {
    motte_changes *changes;
    motte_changes_details details;
    details.struct_size = sizeof details;
    MUST(motte_token_next(token, &changes));
    MUST(motte_changes_info(changes, &details));
    motte_release(changes);
    return details.flags;
}

static void commit_something(motte_realm *realm) {
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_realm_commit(realm, 0, NULL));
}

static int is_sound(motte_realm *realm) {
    motte_report *report;
    motte_report_details details;
    details.struct_size = sizeof details;
    MUST(motte_realm_verify(realm, NULL, NULL, NULL, &report));
    MUST(motte_report_info(report, &details));
    motte_release(report);
    return (details.flags & MOTTE_REPORT_SOUND) != 0;
}

static void additions(void) {
    motte_realm *realm = check_realm("additions", "Person { id: int key, name: string }"),
                *other = open_again("additions");
    motte_schema *more = parsed("Person { id: int key, name: string indexed, age: int }  Dog { owner: link<Person> }");
    motte_schema *otherwise = parsed("Person { id: int key, name: int }");
    motte_token *here, *there;
    motte_class dog;
    motte_prop age;
    MUST(motte_observe_realm(realm, 0, NULL, NULL, NULL, &here));
    MUST(motte_observe_realm(other, 0, NULL, NULL, NULL, &there));
    commit_something(realm);
    CHECK(flags_of_next(here) == 0);
    STATUS(MOTTE_OK, motte_realm_add_schema(realm, more));
    CHECK(flags_of_next(here) == MOTTE_CHANGES_SCHEMA);
    STATUS(MOTTE_OK, motte_class_find(realm, "Dog", MOTTE_NTS, &dog));
    STATUS(MOTTE_OK, motte_prop_find(realm, motte_class_named(realm, "Person"), "age", MOTTE_NTS, &age));
    STATUS(MOTTE_UNCHANGED, motte_realm_add_schema(realm, more));
    STATUS(MOTTE_NOT_FOUND, motte_class_find(other, "Dog", MOTTE_NTS, &dog));
    MUST(motte_realm_refresh(other, NULL));
    CHECK(flags_of_next(there) == MOTTE_CHANGES_SCHEMA);
    STATUS(MOTTE_OK, motte_class_find(other, "Dog", MOTTE_NTS, &dog));
    commit_something(realm);
    CHECK(flags_of_next(here) == 0);
    STATUS(MOTTE_E_SCHEMA_MISMATCH, motte_realm_add_schema(realm, otherwise));
    MUST(motte_realm_begin_write(realm, -1));
    STATUS(MOTTE_E_ALREADY_IN_WRITE, motte_realm_add_schema(realm, more));
    MUST(motte_realm_cancel(realm));
    motte_release(more), motte_release(otherwise), motte_release(here), motte_release(there);
    MUST(motte_realm_close(realm));
    MUST(motte_realm_close(other));
    motte_release(realm), motte_release(other);
}

static void removals(void) {
    motte_realm *realm =
        check_realm("removals", "Person { id: int key, any: mixed, dog: link<Dog> }  Dog { name: string }  "
                                "Cat { name: string }");
    motte_class cls, person = motte_class_named(realm, "Person"), cat = motte_class_named(realm, "Cat");
    motte_value key = motte_int(1), value;
    motte_object *ada, *tom;
    motte_key row;
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_object_create(realm, person, &key, 0, &ada, NULL));
    MUST(motte_object_create(realm, cat, NULL, 0, &tom, NULL));
    MUST(motte_object_set_object(ada, motte_prop_named(realm, person, "any"), tom));
    STATUS(MOTTE_E_ALREADY_IN_WRITE, motte_realm_delete_class(realm, "Cat", MOTTE_NTS));
    MUST(motte_realm_commit(realm, 0, NULL));
    STATUS(MOTTE_E_SCHEMA_INVALID, motte_realm_delete_class(realm, "Dog", MOTTE_NTS));
    CHECK(strstr(check_error().message, "Person.dog") != NULL);
    STATUS(MOTTE_NOT_FOUND, motte_realm_delete_class(realm, "Mouse", MOTTE_NTS));
    STATUS(MOTTE_OK, motte_realm_delete_class(realm, "Cat", MOTTE_NTS));
    STATUS(MOTTE_NOT_FOUND, motte_class_find(realm, "Cat", MOTTE_NTS, &cls));
    STATUS(MOTTE_E_OBJECT_DELETED, motte_handle_check(tom));
    STATUS(MOTTE_NULL, motte_object_get(ada, motte_prop_named(realm, person, "any"), &value));
    STATUS(MOTTE_OK, motte_object_row(ada, NULL, &row));
    /* The name can be used again, with nothing of what it was. */
    motte_schema *again = parsed("Cat { lives: int }");
    uint64_t count = 7;
    STATUS(MOTTE_OK, motte_realm_add_schema(realm, again));
    MUST(motte_class_count(realm, motte_class_named(realm, "Cat"), &count));
    CHECK(count == 0);
    CHECK(is_sound(realm));
    motte_release(again), motte_release(ada), motte_release(tom);
    MUST(motte_realm_close(realm));
    motte_release(realm);
}

/* A change that cannot be written leaves all as it was, and can be tried again. */
static void half_way(void) {
    char path[] = "/tmp/motte-half-way-XXXXXX", name[32];
    motte_realm *realm;
    motte_class person, bird, home;
    motte_object *owner = NULL, *part = NULL;
    motte_value key;
    motte_prop age;
    uint64_t count = 0;
    struct rlimit before, now;
    int fd = mkstemp(path);
    if (fd < 0 || close(fd) != 0 || unlink(path) != 0) exit(2);
    MUST(motte_open(path, "Person { id: int key, name: string, home: link<Home> }  embedded Home { city: string }",
                    &realm));
    person = motte_class_named(realm, "Person"), home = motte_class_named(realm, "Home");
    MUST(motte_realm_begin_write(realm, -1));
    for (int id = 0; id < 3000; id++) {
        key = motte_int(id);
        MUST(motte_object_create(realm, person, &key, 0, &owner, NULL));
        snprintf(name, sizeof name, "%d and %d", id * 7919, id * 31);
        MUST(motte_object_set_string(owner, motte_prop_named(realm, person, "name"), name, MOTTE_NTS));
        MUST(motte_embedded_create(owner, motte_prop_named(realm, person, "home"), &part));
        motte_release(owner), motte_release(part);
    }
    MUST(motte_realm_commit(realm, 0, NULL));
    motte_schema *more = parsed("Person { id: int key, name: string indexed, home: link<Home>, age: int }  "
                                "embedded Home { city: string }  Bird { name: string }");
    if (getrlimit(RLIMIT_FSIZE, &before) != 0 || signal(SIGXFSZ, SIG_IGN) == SIG_ERR) exit(2);
    now = before;
    now.rlim_cur = 4 * 4096;
    if (setrlimit(RLIMIT_FSIZE, &now) != 0) exit(2);
    STATUS(MOTTE_E_DISK_FULL, motte_realm_add_schema(realm, more));
    STATUS(MOTTE_NOT_FOUND, motte_class_find(realm, "Bird", MOTTE_NTS, &bird));
    STATUS(MOTTE_NOT_FOUND, motte_prop_find(realm, person, "age", MOTTE_NTS, &age));
    STATUS(MOTTE_E_DISK_FULL, motte_realm_delete_class(realm, "Person", MOTTE_NTS));
    if (setrlimit(RLIMIT_FSIZE, &before) != 0) exit(2);
    MUST(motte_class_count(realm, person, &count));
    CHECK(count == 3000 && is_sound(realm));
    STATUS(MOTTE_OK, motte_realm_add_schema(realm, more));
    STATUS(MOTTE_OK, motte_prop_find(realm, person, "age", MOTTE_NTS, &age));
    /* What its objects own goes with them. */
    STATUS(MOTTE_OK, motte_realm_delete_class(realm, "Person", MOTTE_NTS));
    MUST(motte_class_count(realm, home, &count));
    CHECK(count == 0 && is_sound(realm));
    MUST(motte_realm_close(realm));
    motte_config *config;
    MUST(motte_config_new(&config));
    MUST(motte_config_set_path(config, path, MOTTE_NTS));
    STATUS(MOTTE_OK, motte_file_delete(config));
    motte_release(config), motte_release(realm), motte_release(more);
}

/* What calls have looked up is not taken for that of a class that came in place of the old one. */
static void replacements(void) {
    motte_realm *realm = check_realm("replacements", "Person { id: int key }"), *other;
    motte_schema *first = parsed("Dog { name: string, age: int }"), *second = parsed("Dog { age: int, name: string }");
    motte_prop props[2];
    motte_value values[2] = {motte_string("Rex"), motte_int(3)};
    motte_key row;
    motte_class dog, newer;
    STATUS(MOTTE_OK, motte_realm_add_schema(realm, first));
    dog = motte_class_named(realm, "Dog");
    props[0] = motte_prop_named(realm, dog, "name"), props[1] = motte_prop_named(realm, dog, "age");
    MUST(motte_realm_begin_write(realm, -1));
    STATUS(MOTTE_OK, motte_row_create(realm, dog, props, values, 2, 0, &row, NULL));
    MUST(motte_realm_commit(realm, 0, NULL));
    STATUS(MOTTE_OK, motte_realm_delete_class(realm, "Dog", MOTTE_NTS));
    other = open_again("replacements");
    STATUS(MOTTE_OK, motte_realm_add_schema(other, second));
    MUST(motte_realm_begin_write(realm, -1));
    newer = motte_class_named(realm, "Dog");
    CHECK(newer != 0 && newer != dog && motte_prop_named(realm, newer, "name") != props[0]);
    STATUS(MOTTE_E_UNKNOWN_CLASS, motte_row_create(realm, dog, props, values, 2, 0, &row, NULL));
    STATUS(MOTTE_E_UNKNOWN_CLASS, motte_row_set_many(realm, dog, 0, props, values, 2));
    STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_row_create(realm, newer, props, values, 2, 0, &row, NULL));
    props[0] = motte_prop_named(realm, newer, "name"), props[1] = motte_prop_named(realm, newer, "age");
    STATUS(MOTTE_OK, motte_row_create(realm, newer, props, values, 2, 0, &row, NULL));
    MUST(motte_realm_commit(realm, 0, NULL));
    MUST(motte_realm_close(realm));
    MUST(motte_realm_close(other));
    motte_release(realm), motte_release(other), motte_release(first), motte_release(second);
}

typedef struct received {
    int counts[6], freed, depth;
    char last[400];
} received;

static void listen(void *userdata, motte_log_level level, const char *category, const char *message) {
    received *r = (received *)userdata;
    r->counts[level]++;
    r->depth++;
    CHECK(r->depth == 1);
    snprintf(r->last, sizeof r->last, "%s: %s", category, message);
    /* Fails, which is neither logged nor the last error of the call that is logged. */
    motte_class cls;
    motte_class_find(NULL, "x", 1, &cls);
    r->depth--;
}

static void count_freed(void *userdata) { ((received *)userdata)->freed++; }

static void messages(void) {
    received first, second;
    motte_query *query;
    motte_coll *coll;
    motte_schema *schema;
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_log_set(9, listen, &first, count_freed));
    CHECK(first.freed == 1);
    first.freed = 0;
    STATUS(MOTTE_OK, motte_log_set(MOTTE_LOG_INFO, listen, &first, count_freed));
    motte_realm *realm = check_realm("messages", "Person { id: int key }");
    CHECK(first.counts[MOTTE_LOG_INFO] == 1 && strstr(first.last, "class Person is added") != NULL);
    commit_something(realm);
    CHECK(first.counts[MOTTE_LOG_DEBUG] == 0);
    STATUS(MOTTE_OK, motte_log_set(MOTTE_LOG_TRACE, listen, &second, count_freed));
    CHECK(first.freed == 1);
    commit_something(realm);
    CHECK(second.counts[MOTTE_LOG_DEBUG] == 1 && strstr(second.last, "write: messages: committed version") != NULL);
    MUST(motte_query_parse(realm, motte_class_named(realm, "Person"), MOTTE_LIT("id == 3"), NULL, 0, &query));
    MUST(motte_query_run(query, &coll));
    CHECK(second.counts[MOTTE_LOG_TRACE] == 1 && strstr(second.last, "query: id == 3: ") != NULL);
    STATUS(MOTTE_E_SCHEMA_INVALID, motte_schema_parse("Person {", MOTTE_NTS, &schema));
    CHECK(check_error().code == MOTTE_E_SCHEMA_INVALID);
    CHECK(second.counts[MOTTE_LOG_DEBUG] == 2 && strncmp(second.last, "call: ", 6) == 0);
    STATUS(MOTTE_OK, motte_log_set(MOTTE_LOG_OFF, NULL, NULL, NULL));
    CHECK(second.freed == 1);
    commit_something(realm);
    CHECK(second.counts[MOTTE_LOG_DEBUG] == 2);
    motte_release(query), motte_release(coll);
    MUST(motte_realm_close(realm));
    motte_release(realm);
}

static motte_status explain(void *userdata, const motte_changes *changes) {
    motte_class cls;
    (void)changes;
    MUST(motte_callback_fail(MOTTE_LIT("why"), userdata, count_freed));
    /* Is logged, by a function that fails itself. */
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_class_find(NULL, "x", 1, &cls));
    return 7;
}

/* What a callback says of its failure arrives, whatever is logged and called in between; of a commit in the log
 * alone. */
static void failures_of_callbacks(void) {
    received log, reason;
    motte_token *token;
    memset(&log, 0, sizeof log);
    memset(&reason, 0, sizeof reason);
    motte_realm *realm = check_realm("failures of callbacks", "Person { id: int key }");
    MUST(motte_observe_realm(realm, 0, explain, &reason, NULL, &token));
    STATUS(MOTTE_OK, motte_log_set(MOTTE_LOG_DEBUG, listen, &log, count_freed));
    MUST(motte_realm_begin_write(realm, -1));
    STATUS(MOTTE_OK, motte_realm_commit(realm, 0, NULL));
    CHECK(log.counts[MOTTE_LOG_ERROR] == 1);
    {
        motte_realm *other = check_realm("failures of callbacks", "Person { id: int key }");
        motte_class person = motte_class_named(other, "Person");
        motte_prop id = motte_prop_named(other, person, "id");
        motte_value one = motte_int(1);
        MUST(motte_realm_begin_write(other, -1));
        MUST(motte_row_create(other, person, &id, &one, 1, 0, NULL, NULL));
        MUST(motte_realm_commit(other, 0, NULL));
        MUST(motte_realm_close(other));
        motte_release(other);
    }
    STATUS(MOTTE_E_CALLBACK, motte_realm_refresh(realm, NULL));
    motte_error_details error = check_error();
    CHECK(error.user_code == 7 && error.user_pointer == &reason && strcmp(error.message, "why") == 0);
    CHECK(reason.freed == 1 && strcmp(log.last, "call: why") == 0);
    STATUS(MOTTE_OK, motte_log_set(MOTTE_LOG_OFF, NULL, NULL, NULL));
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_realm_commit(NULL, 0, NULL));
    CHECK(reason.freed == 2);
    motte_release(token);
    MUST(motte_realm_close(realm));
    motte_release(realm);
}

static motte_status refuse(void *userdata, const motte_changes *changes) {
    (void)userdata, (void)changes;
    return 7;
}

typedef struct nested_call {
    motte_realm *realm;
    motte_schema *schema;
    motte_status added, deleted;
} nested_call;

static motte_status call_inside(void *userdata, const motte_changes *changes) {
    nested_call *call = (nested_call *)userdata;
    (void)changes;
    call->added = motte_realm_add_schema(call->realm, call->schema);
    call->deleted = motte_realm_delete_class(call->realm, "Dog", MOTTE_NTS);
    return MOTTE_OK;
}

static void refusals(void) {
    motte_realm *realm = check_realm("refusals", "Person { id: int key }  Dog { name: string }"), *frozen, *reading;
    motte_schema *more = parsed("Cat { name: string }"), *invalid, *other = parsed("Bird { name: string }");
    motte_config *config;
    motte_token *token;
    char path[] = "/tmp/motte-schema-XXXXXX";
    MUST(motte_schema_new(&invalid));
    MUST(motte_schema_add_class(invalid, "Empty", MOTTE_NTS, 0, NULL));
    motte_prop_spec spec = {.struct_size = sizeof spec,
                            .type = MOTTE_TYPE_LINK,
                            .name = "to",
                            .name_size = 2,
                            .target = "Nothing",
                            .target_size = 7};
    MUST(motte_schema_add_prop(invalid, 0, &spec, NULL));
    STATUS(MOTTE_E_SCHEMA_INVALID, motte_realm_add_schema(realm, invalid));
    MUST(motte_realm_freeze(realm, &frozen));
    STATUS(MOTTE_E_FROZEN, motte_realm_add_schema(frozen, more));
    STATUS(MOTTE_E_FROZEN, motte_realm_delete_class(frozen, "Dog", MOTTE_NTS));
    motte_release(frozen);

    nested_call call = {realm, more, 0, 0};
    MUST(motte_observe_realm(realm, 0, call_inside, &call, NULL, &token));
    commit_something(realm);
    CHECK(call.added == MOTTE_E_REENTRANT && call.deleted == MOTTE_E_REENTRANT);
    motte_release(token);

    /* The change is there, whatever a callback says of it. */
    MUST(motte_observe_realm(realm, 0, refuse, NULL, NULL, &token));
    STATUS(MOTTE_OK, motte_realm_add_schema(realm, more));
    CHECK(motte_class_named(realm, "Cat") != 0);
    STATUS(MOTTE_OK, motte_realm_delete_class(realm, "Dog", MOTTE_NTS));
    CHECK(motte_class_named(realm, "Dog") == 0);
    motte_release(token);
    MUST(motte_realm_close(realm));
    motte_release(realm);

    int fd = mkstemp(path);
    if (fd < 0 || close(fd) != 0 || unlink(path) != 0) exit(2);
    MUST(motte_open(path, "Dog { name: string }", &realm));
    MUST(motte_config_new(&config));
    MUST(motte_config_set_path(config, path, MOTTE_NTS));
    MUST(motte_config_set_flags(config, MOTTE_CONFIG_READ_ONLY, MOTTE_CONFIG_READ_ONLY));
    MUST(motte_realm_open(config, &reading));
    STATUS(MOTTE_E_READ_ONLY, motte_realm_add_schema(reading, other));
    STATUS(MOTTE_E_READ_ONLY, motte_realm_delete_class(reading, "Dog", MOTTE_NTS));
    /* It relies on all that the file had. */
    STATUS(MOTTE_OK, motte_realm_delete_class(realm, "Dog", MOTTE_NTS));
    STATUS(MOTTE_E_SCHEMA_CHANGED, motte_realm_refresh(reading, NULL));
    MUST(motte_realm_close(reading));
    MUST(motte_realm_close(realm));
    STATUS(MOTTE_OK, motte_file_delete(config));
    motte_release(config), motte_release(realm), motte_release(reading);
    motte_release(more), motte_release(invalid), motte_release(other);
}

int main(void) {
    additions();
    refusals();
    removals();
    half_way();
    replacements();
    messages();
    failures_of_callbacks();
    return check_summary();
}
