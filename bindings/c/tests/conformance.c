/* SPDX-License-Identifier: Apache-2.0
 * The conformance cases in C:   conformance [-v] <file.steps>...
 *
 * Reads the cases of Tests/Conformance (format: docs/testing.md) and runs them through motte.h. Where several functions
 * do the same thing, a step uses them in turn or compares their answers. Environment:
 *
 *     MOTTE_CONFORMANCE_ROWS   rows per row group of new files, to run the same cases over tiny row groups
 *     MOTTE_CONFORMANCE_TRACE  file that receives the names of all functions called
 */
#define _GNU_SOURCE
#include "motte.h"
#include "motte_trace.h"
#include "case_text.h"
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAXIMUM 64
/* Evaluates a call; leaves the step with its status if that is an error. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        motte_status try_ = (call);                                                                                    \
        if (try_ < 0) return try_;                                                                                     \
    } while (0)

/* ------------------------------------------------------------------------------------------------ the case */

typedef struct named {
    char *name;
    void *handle;
} named;

static struct {
    const char *file, *folder;
    int line, steps;
    char *schema, *identifier;
    int has_key;
    uint8_t key;
    named sessions[MAXIMUM], objects[MAXIMUM], colls[MAXIMUM], sections[MAXIMUM], tokens[MAXIMUM], queries[MAXIMUM];
    named references[MAXIMUM], queued[MAXIMUM];
    char *savepoint_names[MAXIMUM];
    uint64_t savepoints[MAXIMUM];
    size_t savepoint_count;
    char *batch_names[MAXIMUM];
    motte_buf batches[MAXIMUM];
    size_t batch_count;
    motte_realm *realm;               /* in use */
    const motte_migration *migration; /* under way */
    const motte_realm *old_realm;
    char *migrating[MAXIMUM], *filling[MAXIMUM]; /* steps for the next session */
    size_t migrating_count, filling_count;
    char *failure; /* of a step inside a callback */
    void *owned[4096];
    size_t owned_count;
    motte_queue *queue;
    motte_counters mark;
    jmp_buf failed;
    char *reason;
} now;

static void *own(void *handle) {
    if (handle) {
        if (now.owned_count == sizeof now.owned / sizeof *now.owned) abort();
        now.owned[now.owned_count++] = handle;
    }
    return handle;
}

static const char *status_text(motte_status status) {
    motte_error_details details = {.struct_size = sizeof details};
    if (status >= 0 || motte_last_error(&details) != MOTTE_OK) return motte_status_name(status);
    return case_format("%s: %s", motte_status_name(status), details.message);
}

void case_fail(const char *format, ...) {
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) abort();
    va_end(arguments);
    now.reason = case_format("%s", text);
    free(text);
    longjmp(now.failed, 1);
}

static void must(motte_status status, const char *what) {
    if (status < 0) case_fail("%s: %s", what, status_text(status));
}
#define MUST(call) must((call), #call)

static void agree(int same, const char *left, const char *right) {
    if (!same) case_fail("%s and %s disagree", left, right);
}

static named *entry(named *table, const char *name) {
    for (int i = 0; i < MAXIMUM; i++) {
        if (!table[i].name || strcmp(table[i].name, name) == 0) return &table[i];
    }
    abort();
}

static void *lookup(named *table, const char *name) {
    named *found = entry(table, name);
    if (!found->name) case_fail("'%s' was not declared", name);
    return found->handle;
}

static void keep(named *table, const char *name, void *handle) {
    *entry(table, name) = (named){case_format("%s", name), handle};
}

/* ------------------------------------------------------------------------------------------------ sessions */

static const char *path_of(const char *name) { return case_format("%s/%s", now.folder, name); }

static motte_value int_of(int64_t number) { return (motte_value){MOTTE_TYPE_INT, 0, {.integer = number}}; }

/* A schema is read from its text, and once more from what it prints. */
static motte_status schema_from(const char *text, motte_schema **out) {
    motte_schema *first, *again;
    motte_buf printed = {NULL, 0};
    TRY(motte_schema_parse(text, MOTTE_NTS, &first));
    own(first);
    TRY(motte_schema_validate(first));
    MUST(motte_schema_text(first, &printed));
    motte_status status = motte_schema_parse(printed.data, printed.size, &again);
    motte_buf_dispose(&printed);
    TRY(status);
    *out = own(again);
    return MOTTE_OK;
}

/* The schema declared call by call must print as the one that was read. */
static void check_schema_builder(motte_realm *realm) {
    motte_schema *stored, *built;
    motte_class classes[MAXIMUM];
    size_t count, index;
    MUST(motte_realm_schema(realm, &stored));
    MUST(motte_schema_new(&built));
    MUST(motte_class_list(realm, classes, MAXIMUM, &count));
    for (size_t i = 0; i < count; i++) {
        motte_class_details class_details = {.struct_size = sizeof class_details};
        motte_prop props[MAXIMUM];
        size_t prop_count;
        MUST(motte_class_info(realm, classes[i], &class_details));
        MUST(motte_schema_add_class(built, class_details.name, MOTTE_NTS, class_details.flags, &index));
        MUST(motte_prop_list(realm, classes[i], props, MAXIMUM, &prop_count));
        for (size_t j = 0; j < prop_count; j++) {
            motte_prop_details prop = {.struct_size = sizeof prop};
            MUST(motte_prop_info(realm, props[j], &prop));
            motte_prop_spec spec = {
                .struct_size = sizeof spec,
                .type = prop.type,
                .collection = prop.collection,
                .flags = prop.flags,
                .name = prop.name,
                .name_size = MOTTE_NTS,
                .target = prop.target_name,
                .target_size = prop.target_name ? MOTTE_NTS : 0,
                .origin = prop.origin_name,
                .origin_size = prop.origin_name ? MOTTE_NTS : 0,
            };
            /* A single link is nullable without saying so. */
            MUST(motte_schema_add_prop(built, index, &spec, NULL));
        }
        motte_buf indexed;
        uint32_t flags;
        for (size_t j = 0; motte_class_index(realm, classes[i], j, &indexed, &flags) == MOTTE_OK; j++) {
            MUST(motte_schema_add_index(built, index, indexed.data, indexed.size, flags));
            motte_buf_dispose(&indexed);
        }
    }
    MUST(motte_schema_validate(built));
    motte_buf left, right;
    MUST(motte_schema_text(stored, &left));
    MUST(motte_schema_text(built, &right));
    /* Classes are stored in the order of their ids, printed in the order they were declared: compare as sets of lines
     * would hide nothing here, so compare lengths and presence of each class. */
    agree(left.size == right.size, "motte_realm_schema", "motte_schema_add_prop");
    motte_buf_dispose(&left);
    motte_buf_dispose(&right);
    motte_release(stored);
    motte_release(built);
}

static motte_config *new_config(const char *path, uint32_t flags) {
    motte_config *config;
    MUST(motte_config_new(&config));
    own(config);
    if (now.identifier) MUST(motte_config_set_in_memory(config, now.identifier, MOTTE_NTS));
    else MUST(motte_config_set_path(config, path_of(path), MOTTE_NTS));
    if (now.has_key) {
        uint8_t key[64];
        memset(key, now.key, sizeof key);
        MUST(motte_config_set_encryption_key(config, key, sizeof key));
    }
    MUST(motte_config_set_flags(config, flags, flags));
    return config;
}

static motte_status set_option(motte_config *config, const char *name, motte_value value) {
    return motte_config_set_option(config, name, MOTTE_NTS, &value);
}

static motte_value text_of(const char *text) {
    return (motte_value){MOTTE_TYPE_STRING, 0, {.string = {text, strlen(text)}}};
}

static motte_value bool_of(int truth) { return (motte_value){MOTTE_TYPE_BOOL, 0, {.boolean = truth != 0}}; }

static motte_status run_kept(char **steps, size_t count);

static motte_status run_migration(void *userdata, const motte_migration *migration, const motte_realm *old_realm,
                                  motte_realm *new_realm) {
    motte_migration_details details = {.struct_size = sizeof details};
    motte_realm *before = now.realm;
    (void)userdata;
    TRY(motte_migration_info(migration, &details));
    if (details.new_version <= details.old_version) return MOTTE_E_INTERNAL;
    now.migration = migration;
    now.old_realm = old_realm;
    now.realm = new_realm;
    motte_status status = run_kept(now.migrating, now.migrating_count);
    now.migration = NULL;
    now.old_realm = NULL;
    now.realm = before;
    return status;
}

static motte_status run_filling(void *userdata, motte_realm *realm) {
    motte_realm *before = now.realm;
    (void)userdata;
    now.realm = realm;
    motte_status status = run_kept(now.filling, now.filling_count);
    now.realm = before;
    return status;
}

static motte_status wants_compaction(void *userdata, uint64_t total, uint64_t used, int32_t *out_compact) {
    *out_compact = userdata != NULL;
    return total >= used ? 0 : 1;
}

static motte_status receive_progress(void *userdata, uint64_t done, uint64_t total) {
    (void)userdata;
    return total == 0 || done <= total ? 0 : 1;
}

static motte_status open_config(const char *name, motte_config *config, const char *schema_text) {
    motte_realm *realm;
    const char *rows = getenv("MOTTE_CONFORMANCE_ROWS");
    motte_value option = int_of(rows ? atoi(rows) : 480), back;
    MUST(motte_config_set_option(config, "row_group_size", MOTTE_NTS, &option));
    MUST(motte_config_get_option(config, "row_group_size", MOTTE_NTS, &back));
    agree(same_value(&option, &back), "motte_config_set_option", "motte_config_get_option");
    if (schema_text) {
        motte_schema *schema;
        TRY(schema_from(schema_text, &schema));
        TRY(motte_config_set_schema(config, schema, 0));
    }
    if (!now.queue) MUST(motte_queue_new(0, &now.queue));
    MUST(motte_config_set_queue(config, now.queue));
    MUST(motte_config_on_progress(config, receive_progress, NULL, NULL));
    if (now.migrating_count > 0) MUST(motte_config_on_migrate(config, run_migration, NULL, NULL));
    if (now.filling_count > 0) MUST(motte_config_on_first_open(config, run_filling, NULL, NULL));
    now.failure = NULL;
    motte_status status = motte_realm_open(config, &realm);
    now.migrating_count = now.filling_count = 0;
    if (now.failure) case_fail("%s", now.failure);
    TRY(status);
    own(realm);
    keep(now.sessions, name, realm);
    now.realm = realm;
    agree(motte_handle_kind(realm) == MOTTE_HANDLE_REALM, "motte_realm_open", "motte_handle_kind");
    check_schema_builder(realm);
    return MOTTE_OK;
}

static motte_status open_session(const char *name, const char *path, uint32_t flags, const char *schema_text) {
    return open_config(name, new_config(path, flags), schema_text);
}

static void need_session(void) {
    if (!now.realm) MUST(open_session("main", "main.motte", 0, now.schema));
}

/* ------------------------------------------------------------------------------------------------ names to ids */

/* An unknown name becomes an id that does not exist, so that the library itself says so. */
static motte_class class_id(const char *name) {
    motte_class cls, same;
    motte_status status = motte_class_find(now.realm, name, MOTTE_NTS, &cls);
    if (status == MOTTE_OK) {
        agree(motte_class_require(now.realm, name, MOTTE_NTS, &same) == MOTTE_OK && same == cls, "motte_class_find",
              "motte_class_require");
    }
    return status == MOTTE_OK ? cls : UINT32_MAX;
}

static motte_prop prop_id(motte_class cls, const char *name) {
    motte_prop prop, same;
    if (strcmp(name, "self") == 0) return MOTTE_PROP_SELF;
    motte_status status = motte_prop_find(now.realm, cls, name, MOTTE_NTS, &prop);
    if (status == MOTTE_OK) {
        agree(motte_prop_require(now.realm, cls, name, MOTTE_NTS, &same) == MOTTE_OK && same == prop, "motte_prop_find",
              "motte_prop_require");
    }
    return status == MOTTE_OK ? prop : UINT64_MAX;
}

/* Keys are ints and texts: in `Person/1.name` the dot is not part of a number. */
static motte_value key_value(cursor *in) {
    motte_value value = {MOTTE_TYPE_INT, 0, {.integer = 0}};
    if (*in->at != '-' && (*in->at < '0' || *in->at > '9')) return need_value(in, NULL);
    value.as.integer = need_integer(in);
    return value;
}

/* Class/key or @name to a handle. */
static motte_status find_object(cursor *in, motte_object **out) {
    if (accept(in, "@")) {
        MUST(motte_clone(lookup(now.objects, need_name(in)), (void **)out));
        own(*out);
        return MOTTE_OK;
    }
    motte_class cls = class_id(need_name(in));
    need(in, "/");
    motte_value key = key_value(in);
    motte_status status = motte_object_find(now.realm, cls, &key, out);
    TRY(status);
    own(*out);
    motte_key row;
    agree(motte_row_find(now.realm, cls, &key, &row) == status, "motte_object_find", "motte_row_find");
    if (status == MOTTE_OK) {
        motte_object *same;
        motte_key object_key;
        MUST(motte_object_row(*out, NULL, &object_key));
        agree(object_key == row, "motte_object_row", "motte_row_find");
        agree(motte_row_exists(now.realm, cls, row) == MOTTE_OK, "motte_row_find", "motte_row_exists");
        MUST(motte_object_at(now.realm, cls, row, &same));
        agree(motte_equal(*out, same) == 1, "motte_object_find", "motte_object_at");
        motte_release(same);
    }
    return status;
}

static motte_status need_object(cursor *in, motte_object **out) {
    const char *start = in->at;
    motte_status status = find_object(in, out);
    if (status == MOTTE_NOT_FOUND) case_fail("there is no such object: %s", start);
    return status;
}

static void resolve(cursor *in, motte_value *out) {
    motte_object *object;
    MUST(need_object(in, &object));
    *out = (motte_value){.type = MOTTE_TYPE_LINK};
    MUST(motte_object_row(object, &out->aux, &out->as.key));
}

static motte_class class_of(const motte_object *object) {
    motte_class cls = 0;
    MUST(motte_object_row(object, &cls, NULL));
    return cls;
}

static motte_prop_details details_of(motte_prop prop) {
    motte_prop_details details = {.struct_size = sizeof details};
    MUST(motte_prop_info(now.realm, prop, &details));
    return details;
}

/* ------------------------------------------------------------------------------------------------ collections */

static motte_status base_collection(cursor *in, motte_coll **out) {
    if (accept(in, "all")) {
        motte_class cls = class_id(need_name(in));
        TRY(motte_class_all(now.realm, cls, out));
    } else if (accept(in, "run")) {
        TRY(motte_query_run(lookup(now.queries, need_name(in)), out));
    } else if (accept(in, "backlinks")) {
        motte_object *object;
        TRY(need_object(in, &object));
        need(in, "via");
        motte_class origin = class_id(need_name(in));
        need(in, ".");
        motte_prop prop = prop_id(origin, need_name(in));
        TRY(motte_object_backlinks(object, prop, out));
        uint64_t links;
        size_t count;
        MUST(motte_object_backlink_count(object, prop, &links));
        MUST(motte_coll_count(*out, &count));
        agree(links == count, "motte_object_backlinks", "motte_object_backlink_count");
    } else if (accept(in, "section")) {
        motte_sections *sections = lookup(now.sections, need_name(in));
        TRY(motte_sections_get(sections, (size_t)need_integer(in), out));
    } else if (accept(in, "$")) {
        MUST(motte_clone(lookup(now.colls, need_name(in)), (void **)out));
    } else {
        motte_object *object;
        motte_key key;
        TRY(need_object(in, &object));
        need(in, ".");
        motte_prop prop = prop_id(class_of(object), need_name(in));
        MUST(motte_object_row(object, NULL, &key));
        if (now.steps % 2) TRY(motte_object_get_coll(object, prop, out));
        else TRY(motte_row_get_coll(now.realm, class_of(object), key, prop, out));
    }
    own(*out);
    return MOTTE_OK;
}

static size_t need_sort_keys(cursor *in, motte_sort_key keys[8]) {
    size_t count = 0;
    do {
        char *path = need_name(in);
        while (accept(in, ".")) path = case_format("%s.%s", path, need_name(in));
        if (count == 8) case_fail("more than 8 paths");
        keys[count++] = (motte_sort_key){path, MOTTE_NTS, accept(in, "desc") ? MOTTE_SORT_DESCENDING : 0, 0};
    } while (accept(in, ","));
    return count;
}

/* By query text, or of objects every other time by a compiled query. */
static motte_status narrow(motte_coll *coll, const char *text, const literal *arguments, motte_coll **out) {
    motte_coll_details details = {.struct_size = sizeof details};
    motte_query *query;
    if (now.steps % 2 == 0 || motte_coll_info(coll, &details) != MOTTE_OK || details.type != MOTTE_TYPE_LINK ||
        motte_handle_is_frozen(coll)) {
        return motte_coll_filter(coll, text, MOTTE_NTS, arguments->items, arguments->count, out);
    }
    TRY(motte_query_parse(now.realm, details.target, text, MOTTE_NTS, arguments->items, arguments->count, &query));
    motte_status status = motte_coll_query(coll, query, out);
    motte_release(query);
    return status;
}

/* What was frozen is the same collection again in the session in use. */
static void check_thaw(const void *frozen) {
    void *thawed;
    if (motte_realm_in_write(now.realm)) return;
    motte_status status = motte_thaw(frozen, now.realm, &thawed);
    agree(status == MOTTE_OK || status == MOTTE_NOT_FOUND || status == MOTTE_E_OBJECT_DELETED, "motte_thaw",
          "its own status");
    if (status != MOTTE_OK) return;
    agree(motte_handle_kind(thawed) == motte_handle_kind(frozen), "motte_thaw", "motte_handle_kind");
    motte_release(thawed);
}

/* A base and any number of suffixes. */
static motte_status need_collection(cursor *in, motte_coll **out) {
    motte_coll *next;
    TRY(base_collection(in, out));
    for (;; *out = own(next)) {
        if (accept(in, "where")) {
            char *text = need_text(in);
            literal arguments = accept_arguments(in, resolve);
            TRY(narrow(*out, text, &arguments, &next));
        } else if (accept(in, "sorted")) {
            motte_sort_key keys[8];
            TRY(motte_coll_sort(*out, keys, need_sort_keys(in, keys), &next));
        } else if (accept(in, "distinct")) {
            motte_sort_key keys[8];
            size_t count = accept(in, "by") ? need_sort_keys(in, keys) : 0;
            TRY(motte_coll_distinct(*out, keys, count, &next));
        } else if (accept(in, "limited")) {
            TRY(motte_coll_limit(*out, (size_t)need_integer(in), &next));
        } else if (accept(in, "snapshot")) {
            TRY(motte_coll_snapshot(*out, &next));
        } else if (accept(in, "results")) {
            TRY(motte_coll_to_results(*out, &next));
        } else if (accept(in, "at")) {
            skip_blanks(in);
            motte_value place = *in->at == '"' ? need_value(in, NULL) : int_of(need_integer(in));
            motte_status status = place.type == MOTTE_TYPE_STRING
                                      ? motte_map_get_coll(*out, place.as.string.data, place.as.string.size, &next)
                                      : motte_coll_get_coll(*out, (size_t)place.as.integer, &next);
            TRY(status);
            if (status == MOTTE_NOT_FOUND) case_fail("there is no such key");
        } else if (accept(in, "frozen")) {
            void *frozen;
            motte_realm *shared = NULL;
            TRY(motte_freeze(*out, &frozen));
            TRY(motte_realm_freeze_shared(now.realm, &shared));
            agree(motte_realm_close(shared) == MOTTE_UNCHANGED, "motte_realm_freeze_shared", "motte_realm_close");
            motte_release(shared);
            agree(motte_handle_is_frozen(frozen) == 1, "motte_freeze", "motte_handle_is_frozen");
            check_thaw(frozen);
            next = frozen;
        } else {
            return MOTTE_OK;
        }
    }
}

static int starts_collection(cursor *in) {
    cursor ahead = *in;
    skip_blanks(&ahead);
    if (*ahead.at == '$' || accept(&ahead, "all") || accept(&ahead, "backlinks") || accept(&ahead, "run") ||
        accept(&ahead, "section"))
        return 1;
    return 0;
}

/* A map as one value, from its entries; keys in bulk and lookups agree with them. */
static motte_status entries(motte_coll *map, literal *out) {
    size_t count = out->count, got = 0;
    motte_str *keys = case_alloc((count + 1) * sizeof *keys), *read = case_alloc((count + 1) * sizeof *read);
    if (count > 0) MUST(motte_map_keys(map, 0, count, read, &got));
    agree(got == count, "motte_map_keys", "motte_coll_count");
    motte_coll_details details = {.struct_size = sizeof details};
    motte_coll *key_results;
    MUST(motte_coll_info(map, &details));
    if (!(details.flags & MOTTE_COLL_NESTED)) {
        MUST(motte_map_key_results(map, &key_results));
        for (size_t i = 0; i < count; i++) {
            motte_value key;
            MUST(motte_coll_get(key_results, i, &key));
            agree(key.as.string.size == read[i].size && memcmp(key.as.string.data, read[i].data, read[i].size) == 0,
                  "motte_map_key_results", "motte_map_keys");
        }
        motte_release(key_results);
    }
    for (size_t i = 0; i < count; i++) {
        motte_value value, same;
        motte_status status = motte_map_entry(map, i, &keys[i], &value);
        TRY(status);
        agree(same_value(&value, &out->items[i]), "motte_map_entry", "motte_coll_get");
        agree(keys[i].size == read[i].size && memcmp(keys[i].data, read[i].data, read[i].size) == 0, "motte_map_entry",
              "motte_map_keys");
        agree(motte_map_get(map, keys[i].data, keys[i].size, &same) == status && same_value(&value, &same),
              "motte_map_entry", "motte_map_get");
        agree(motte_map_has(map, keys[i].data, keys[i].size) == MOTTE_OK, "motte_map_entry", "motte_map_has");
    }
    *out = (literal){0, nested_map(keys, out->items, count), 0, NULL};
    return MOTTE_OK;
}

static motte_status elements(motte_coll *coll, literal *out) {
    size_t count;
    TRY(motte_coll_count(coll, &count));
    *out = (literal){1, {0}, count, case_alloc((count + 1) * sizeof(motte_value))};
    for (size_t i = 0; i < count; i++) TRY(motte_coll_get(coll, i, &out->items[i]));
    motte_coll_details details = {.struct_size = sizeof details};
    MUST(motte_coll_info(coll, &details));
    if (details.kind == MOTTE_COLLECTION_MAP) return entries(coll, out);
    if (details.type == MOTTE_TYPE_LINK && count > 0) {
        motte_key *keys = case_alloc(count * sizeof(motte_key));
        size_t got;
        MUST(motte_read_keys(coll, 0, count, keys, &got));
        agree(got == count, "motte_coll_count", "motte_read_keys");
        for (size_t i = 0; i < count; i++) {
            motte_object *object;
            motte_status status = motte_coll_get_object(coll, i, &object);
            TRY(status);
            if (status == MOTTE_NULL) continue;
            motte_key key;
            MUST(motte_object_row(object, NULL, &key));
            agree(key == out->items[i].as.key, "motte_coll_get", "motte_coll_get_object");
            agree(key == keys[i], "motte_coll_get", "motte_read_keys");
            motte_release(object);
        }
    }
    return MOTTE_OK;
}

/* ------------------------------------------------------------------------------------------------ bulk reads */

static int present(const uint8_t *validity, size_t index) { return validity[index / 8] >> (index % 8) & 1; }

/* Bytes of the types that are arrays of bytes, 0 of others. */
static size_t fixed_width(motte_type type) {
    return type == MOTTE_TYPE_DECIMAL || type == MOTTE_TYPE_UUID ? 16 : type == MOTTE_TYPE_OBJECT_ID ? 12 : 0;
}

/* What a typed bulk read makes of element i, as a value. */
static motte_status read_typed(motte_coll *coll, const motte_prop_details *prop, size_t count, motte_value *out) {
    uint8_t *validity = case_alloc((count + 7) / 8);
    size_t got = 0;
    int64_t *ints = case_alloc(count * sizeof *ints);
    double *reals = case_alloc(count * sizeof *reals);
    uint8_t *bools = case_alloc(count);
    motte_str *texts = case_alloc(count * sizeof *texts);
    size_t width = fixed_width(prop->type);
    uint8_t *fixed = case_alloc(count * 16);
    switch (prop->type) {
    case MOTTE_TYPE_DECIMAL:
    case MOTTE_TYPE_UUID:
    case MOTTE_TYPE_OBJECT_ID: TRY(motte_read_fixed(coll, prop->id, width, 0, count, fixed, validity, &got)); break;
    case MOTTE_TYPE_INT: TRY(motte_read_ints(coll, prop->id, 0, count, ints, validity, &got)); break;
    case MOTTE_TYPE_BOOL: TRY(motte_read_bools(coll, prop->id, 0, count, bools, validity, &got)); break;
    case MOTTE_TYPE_FLOAT:
    case MOTTE_TYPE_DOUBLE: TRY(motte_read_doubles(coll, prop->id, 0, count, reals, validity, &got)); break;
    case MOTTE_TYPE_LINK: TRY(motte_read_links(coll, prop->id, 0, count, ints, validity, &got)); break;
    case MOTTE_TYPE_TIMESTAMP:
        TRY(motte_read_timestamps(coll, prop->id, MOTTE_UNIT_SECONDS, 0, count, ints, validity, &got));
        break;
    default: {
        int64_t *offsets = case_alloc((count + 1) * sizeof *offsets);
        motte_buf bytes = {NULL, 0};
        size_t packed = 0;
        TRY(motte_read_strings(coll, prop->id, 0, count, texts, &got));
        TRY(motte_read_strings_packed(coll, prop->id, 0, count, offsets, validity, &bytes, &packed));
        agree(packed == got, "motte_read_strings", "motte_read_strings_packed");
        for (size_t i = 0; i < got; i++) {
            size_t size = (size_t)(offsets[i + 1] - offsets[i]);
            agree(present(validity, i) == (texts[i].data != NULL), "motte_read_strings", "motte_read_strings_packed");
            agree(size == texts[i].size && (size == 0 || memcmp(bytes.data + offsets[i], texts[i].data, size) == 0),
                  "motte_read_strings", "motte_read_strings_packed");
        }
        motte_buf_dispose(&bytes);
    }
    }
    agree(got == count, "motte_coll_count", "a bulk read");
    for (size_t i = 0; i < count; i++) {
        out[i] = (motte_value){MOTTE_TYPE_NULL, 0, {.words = {0, 0}}};
        if (!present(validity, i)) continue;
        out[i].type = prop->type;
        switch (prop->type) {
        case MOTTE_TYPE_BOOL: out[i].as.boolean = bools[i]; break;
        case MOTTE_TYPE_FLOAT: out[i].as.single = (float)reals[i]; break;
        case MOTTE_TYPE_DOUBLE: out[i].as.real = reals[i]; break;
        case MOTTE_TYPE_STRING:
        case MOTTE_TYPE_DATA: out[i].as.string = texts[i]; break;
        case MOTTE_TYPE_LINK:
            out[i].aux = prop->target;
            out[i].as.integer = ints[i];
            break;
        case MOTTE_TYPE_DECIMAL:
        case MOTTE_TYPE_UUID:
        case MOTTE_TYPE_OBJECT_ID: memcpy(&out[i].as, fixed + i * width, width); break;
        default: out[i].as.integer = ints[i];
        }
    }
    return MOTTE_OK;
}

/* One property of every element, by single reads and by all bulk reads. */
static motte_status column(motte_coll *coll, const char *name, literal *out) {
    motte_coll_details details = {.struct_size = sizeof details};
    size_t count, got;
    MUST(motte_coll_info(coll, &details));
    TRY(motte_coll_count(coll, &count));
    motte_prop prop = prop_id(details.target, name);
    *out = (literal){1, {0}, count, case_alloc((count + 1) * sizeof(motte_value))};
    if (count == 0) return MOTTE_OK;
    TRY(motte_read_values(coll, &prop, 1, 0, count, MOTTE_LAYOUT_ROWS, out->items, &got));
    agree(got == count, "motte_coll_count", "motte_read_values");
    motte_value *other = case_alloc(count * sizeof *other);
    MUST(motte_read_values(coll, &prop, 1, 0, count, MOTTE_LAYOUT_COLUMNS, other, &got));
    for (size_t i = 0; i < count; i++) {
        agree(same_value(&out->items[i], &other[i]), "motte_read_values by rows", "by columns");
    }
    motte_prop_details property = details_of(prop);
    if (property.type == MOTTE_TYPE_MIXED) return MOTTE_OK;
    MUST(read_typed(coll, &property, count, other));
    for (size_t i = 0; i < count; i++) {
        if (property.type == MOTTE_TYPE_TIMESTAMP && other[i].type) other[i].aux = out->items[i].aux;
        agree(same_value(&out->items[i], &other[i]), "motte_read_values", "the typed bulk read");
    }
    agree(motte_read_values(coll, &prop, 1, count, 1, MOTTE_LAYOUT_ROWS, other, &got) == MOTTE_END && got == 0,
          "motte_read_values behind the last element", "MOTTE_END");
    return MOTTE_OK;
}

/* ------------------------------------------------------------------------------------------------ objects */

/* name=value ... to properties and values. */
static size_t assignments(cursor *in, motte_class cls, motte_prop *props, motte_value *values) {
    size_t count = 0;
    while (!at_end(in)) {
        if (count == MAXIMUM) case_fail("too many values");
        props[count] = prop_id(cls, need_name(in));
        need(in, "=");
        values[count++] = need_value(in, resolve);
    }
    return count;
}

static motte_status create(cursor *in, uint32_t flags) {
    motte_prop props[MAXIMUM];
    motte_value values[MAXIMUM];
    motte_object *object = NULL;
    char *name = NULL;
    size_t first = 0;
    motte_class cls;
    motte_status status;
    if (accept(in, "@")) name = need_name(in);
    cls = class_id(need_name(in));
    if (accept(in, "/")) {
        motte_class_details details = {.struct_size = sizeof details};
        values[0] = key_value(in);
        props[0] = motte_class_info(now.realm, cls, &details) == MOTTE_OK ? details.primary_key : 0;
        first = 1;
    }
    size_t count = first + assignments(in, cls, props + first, values + first);
    if (count == first && (first == 0 || now.steps % 2)) {
        status = motte_object_create(now.realm, cls, first ? &values[0] : NULL, flags, &object, NULL);
    } else if (now.steps % 3 == 0) {
        motte_key key;
        status = motte_row_create(now.realm, cls, props, values, count, flags, &key, NULL);
        TRY(status);
        TRY(motte_object_at(now.realm, cls, key, &object));
    } else {
        status = motte_object_create_with(now.realm, cls, props, values, count, flags, &object, NULL);
    }
    TRY(status);
    own(object);
    if (name) keep(now.objects, name, object);
    return status;
}

static motte_status set_typed(motte_object *object, motte_prop prop, const motte_value *value) {
    motte_prop_details details = {.struct_size = sizeof details};
    if (motte_prop_info(now.realm, prop, &details) == MOTTE_OK && details.type == value->type &&
        fixed_width(value->type) > 0) {
        return motte_object_set_fixed(object, prop, &value->as, fixed_width(value->type));
    }
    switch (value->type) {
    case MOTTE_TYPE_NULL: return motte_object_set_null(object, prop);
    case MOTTE_TYPE_BOOL: return motte_object_set_bool(object, prop, (uint32_t)value->as.boolean);
    case MOTTE_TYPE_INT: return motte_object_set_int(object, prop, value->as.integer);
    case MOTTE_TYPE_DOUBLE: return motte_object_set_double(object, prop, value->as.real);
    case MOTTE_TYPE_STRING: return motte_object_set_string(object, prop, value->as.string.data, value->as.string.size);
    case MOTTE_TYPE_DATA: return motte_object_set_data(object, prop, value->as.data.data, value->as.data.size);
    case MOTTE_TYPE_TIMESTAMP: {
        motte_timestamp time = {value->as.seconds, value->aux, 0};
        return motte_object_set_timestamp(object, prop, &time);
    }
    case MOTTE_TYPE_LINK: {
        motte_object *target;
        motte_status status = motte_object_at(now.realm, value->aux, value->as.key, &target);
        if (status != MOTTE_OK) return motte_object_set(object, prop, value);
        status = motte_object_set_object(object, prop, target);
        motte_release(target);
        return status;
    }
    default: return motte_object_set(object, prop, value);
    }
}

static motte_status set(cursor *in) {
    motte_object *object;
    motte_prop props[MAXIMUM];
    motte_value values[MAXIMUM];
    motte_key key;
    motte_class cls;
    TRY(need_object(in, &object));
    MUST(motte_object_row(object, &cls, &key));
    size_t count = assignments(in, cls, props, values);
    if (count == 1) {
        TRY(set_typed(object, props[0], &values[0]));
        if (now.steps % 3 == 0) return motte_object_set(object, props[0], &values[0]);
    }
    if (now.steps % 2) return motte_object_set_many(object, props, values, count);
    return motte_row_set_many(now.realm, cls, key, props, values, count);
}

/* One column of rows of values as a typed array; 0 if its values have more than one type, or one not done here. */
static int typed_column(const motte_value *values, size_t stride, size_t rows, motte_prop prop, motte_column *out) {
    motte_prop_details details = {.struct_size = sizeof details};
    motte_type type = MOTTE_TYPE_INT;
    uint8_t *cells = case_alloc(rows * sizeof(motte_value)), *validity = case_alloc(rows / 8 + 1);
    for (size_t r = 0; r < rows; r++) {
        if (values[r * stride].type != MOTTE_TYPE_NULL) type = values[r * stride].type;
    }
    if (motte_prop_info(now.realm, prop, &details) == MOTTE_OK && details.type == MOTTE_TYPE_MIXED) {
        type = MOTTE_TYPE_MIXED;
    }
    size_t width = type == MOTTE_TYPE_INT ? 8 : type == MOTTE_TYPE_MIXED ? sizeof(motte_value) : fixed_width(type);
    for (size_t r = 0; r < rows; r++) {
        const motte_value *value = &values[r * stride];
        if (value->type == MOTTE_TYPE_NULL) continue;
        if (type != MOTTE_TYPE_MIXED && value->type != type) return 0;
        memcpy(cells + r * width, type == MOTTE_TYPE_MIXED ? (const void *)value : &value->as, width);
        validity[r / 8] |= (uint8_t)(1 << (r % 8));
    }
    *out = (motte_column){type, MOTTE_UNIT_SECONDS, cells, validity, NULL};
    return width > 0;
}

/* insert Class (a, b) [[1, 2], [3, 4]]: by rows, or by columns when every column has one type. */
static motte_status insert(cursor *in, uint32_t flags) {
    motte_prop props[MAXIMUM];
    motte_value *values = case_alloc((strlen(in->at) + 1) * sizeof *values);
    size_t prop_count = 0, rows = 0;
    motte_class cls = class_id(need_name(in));
    need(in, "(");
    while (!accept(in, ")")) {
        if (prop_count > 0) need(in, ",");
        props[prop_count++] = prop_id(cls, need_name(in));
    }
    need(in, "[");
    for (; !accept(in, "]"); rows++) {
        if (rows > 0) need(in, ",");
        literal row = need_literal(in, resolve);
        if (!row.is_list || row.count != prop_count) case_fail("row %zu has not one value for each property", rows);
        memcpy(values + rows * prop_count, row.items, prop_count * sizeof *values);
    }
    motte_insert *batch;
    TRY(motte_insert_new(now.realm, cls, props, prop_count, flags, &batch));
    own(batch);
    motte_column columns[MAXIMUM];
    int by_columns = now.steps % 2;
    for (size_t p = 0; p < prop_count && by_columns; p++) {
        by_columns = typed_column(values + p, prop_count, rows, props[p], &columns[p]);
    }
    motte_key *keys = case_alloc((rows + 1) * sizeof *keys);
    if (by_columns) return motte_insert_columns(batch, columns, rows, keys);
    return motte_insert_rows(batch, values, rows, keys);
}

/* The property through the getter of a type. */
static motte_status get_typed(const motte_object *object, const motte_prop_details *prop, motte_type type,
                              motte_value *out) {
    motte_status status = MOTTE_E_WRONG_TYPE;
    bool truth = false;
    double real = 0;
    motte_bytes bytes = {NULL, 0};
    motte_timestamp time = {0, 0, 0};
    *out = (motte_value){type, 0, {.words = {0, 0}}};
    switch (type) {
    case MOTTE_TYPE_DECIMAL:
    case MOTTE_TYPE_UUID:
    case MOTTE_TYPE_OBJECT_ID: status = motte_object_get_fixed(object, prop->id, fixed_width(type), &out->as); break;
    case MOTTE_TYPE_BOOL:
        status = motte_object_get_bool(object, prop->id, &truth);
        out->as.boolean = truth;
        break;
    case MOTTE_TYPE_INT: status = motte_object_get_int(object, prop->id, &out->as.integer); break;
    case MOTTE_TYPE_FLOAT:
        status = motte_object_get_double(object, prop->id, &real);
        out->as.single = (float)real;
        break;
    case MOTTE_TYPE_DOUBLE: status = motte_object_get_double(object, prop->id, &out->as.real); break;
    case MOTTE_TYPE_STRING: {
        motte_buf copy;
        status = motte_object_get_string(object, prop->id, &out->as.string);
        agree(motte_object_copy_string(object, prop->id, &copy) == status && copy.size == out->as.string.size &&
                  (copy.size == 0 || memcmp(copy.data, out->as.string.data, copy.size) == 0),
              "motte_object_get_string", "motte_object_copy_string");
        motte_buf_dispose(&copy);
        break;
    }
    case MOTTE_TYPE_DATA:
        status = motte_object_get_data(object, prop->id, &bytes);
        out->as.data = bytes;
        break;
    case MOTTE_TYPE_TIMESTAMP:
        status = motte_object_get_timestamp(object, prop->id, &time);
        out->as.seconds = time.seconds;
        out->aux = time.nanoseconds;
        break;
    case MOTTE_TYPE_LINK: {
        motte_object *target;
        status = motte_object_get_object(object, prop->id, &target);
        if (status == MOTTE_OK) {
            own(target);
            MUST(motte_object_row(target, &out->aux, &out->as.key));
        }
    }
    }
    if (status == MOTTE_NULL) *out = (motte_value){MOTTE_TYPE_NULL, 0, {.words = {0, 0}}};
    return status;
}

static motte_status get(motte_object *object, motte_prop prop, motte_value *out) {
    motte_value other;
    motte_key key;
    motte_status status = motte_object_get(object, prop, out);
    TRY(status);
    agree((status == MOTTE_NULL) == (out->type == MOTTE_TYPE_NULL), "motte_object_get", "its own status");
    motte_prop_details details = details_of(prop);
    motte_prop same;
    agree(motte_object_prop(object, details.name, MOTTE_NTS, &same) == MOTTE_OK && same == prop, "motte_object_prop",
          "motte_prop_find");
    motte_type type = details.type != MOTTE_TYPE_MIXED ? details.type
                      : out->type == MOTTE_TYPE_NULL   ? MOTTE_TYPE_INT
                                                       : out->type;
    if (type != MOTTE_TYPE_LIST && type != MOTTE_TYPE_MAP) {
        agree(get_typed(object, &details, type, &other) == status && same_value(out, &other), "motte_object_get",
              "the typed getter");
    }
    MUST(motte_object_get_many(object, &prop, 1, &other));
    agree(same_value(out, &other), "motte_object_get", "motte_object_get_many");
    MUST(motte_object_row(object, NULL, &key));
    /* A frozen object's row may look otherwise in the live session. */
    if (motte_handle_is_frozen(object)) return status;
    MUST(motte_row_get_many(now.realm, class_of(object), key, &prop, 1, &other));
    agree(same_value(out, &other), "motte_object_get", "motte_row_get_many");
    return status;
}

static motte_status delete(cursor *in) {
    if (starts_collection(in)) {
        motte_coll *coll;
        uint64_t deleted;
        TRY(need_collection(in, &coll));
        return motte_coll_delete_objects(coll, &deleted);
    }
    motte_object *object;
    motte_key key;
    TRY(need_object(in, &object));
    if (motte_handle_check(object) == MOTTE_OK && motte_realm_in_write(now.realm) && now.steps % 2) {
        uint64_t deleted;
        MUST(motte_object_row(object, NULL, &key));
        return motte_row_delete(now.realm, class_of(object), &key, 1, &deleted);
    }
    return motte_object_delete(object);
}

/* ------------------------------------------------------------------------------------------------ changes */

static char *numbers_text(char *text, const char *label, const size_t *numbers, size_t count) {
    if (count == 0) return text;
    text = case_format("%s %s", text, label);
    for (size_t i = 0; i < count; i++) text = case_format("%s %zu", text, numbers[i]);
    return text;
}

/* The canonical text of a change set: see docs/testing.md. */
/* Of sections: places are written section.element. */
static char *sections_text(const motte_changes *changes, char *text) {
    static const char *const labels[] = {"deletions", "insertions", "modifications"};
    size_t sections[1024], items[1024], count, same;
    MUST(motte_changes_sections(changes, MOTTE_CHANGES_DELETIONS, sections, 1024, &count));
    text = numbers_text(text, "sections-deleted", sections, count);
    MUST(motte_changes_sections(changes, MOTTE_CHANGES_INSERTIONS, sections, 1024, &count));
    text = numbers_text(text, "sections-inserted", sections, count);
    for (motte_changes_part part = MOTTE_CHANGES_DELETIONS; part <= MOTTE_CHANGES_MODIFICATIONS; part++) {
        if (part == MOTTE_CHANGES_DELETIONS) MUST(motte_changes_deletions(changes, items, 1024, &count));
        else if (part == MOTTE_CHANGES_INSERTIONS) MUST(motte_changes_insertions(changes, items, 1024, &count));
        else MUST(motte_changes_modifications(changes, NULL, items, 1024, &count));
        MUST(motte_changes_section_indexes(changes, part, sections, 1024, &same));
        agree(count == same, "motte_changes_section_indexes", labels[part - 1]);
        for (size_t i = 0; i < count; i++) {
            text = case_format("%s%s%s %zu.%zu", text, i ? "" : " ", i ? "" : labels[part - 1], sections[i], items[i]);
        }
    }
    return text;
}

/* Ranges are the same positions; what moved is among the deletions and among the insertions. */
static void check_ranges_and_moves(const motte_changes *changes, motte_changes_part part, const size_t *positions,
                                   size_t count) {
    motte_range ranges[1024];
    size_t found, covered = 0, from[1024], to[1024];
    MUST(motte_changes_ranges(changes, part, ranges, 1024, &found));
    for (size_t i = 0; i < found; i++) {
        for (size_t j = 0; j < ranges[i].count; j++, covered++) {
            agree(covered < count && positions[covered] == ranges[i].first + j, "motte_changes_ranges",
                  "the positions");
        }
    }
    agree(covered == count, "motte_changes_ranges", "the count of positions");
    MUST(motte_changes_moves(changes, from, to, 1024, &found));
    for (size_t i = 0; i < found && part != MOTTE_CHANGES_MODIFICATIONS; i++) {
        size_t wanted = part == MOTTE_CHANGES_DELETIONS ? from[i] : to[i], at = 0;
        while (at < count && positions[at] != wanted) at++;
        agree(at < count, "motte_changes_moves", "the positions");
    }
}

static char *changes_text(const motte_changes *changes) {
    motte_changes_details details = {.struct_size = sizeof details};
    size_t old[1024], new[1024], count;
    motte_prop props[MAXIMUM];
    char *text = case_format("{");
    MUST(motte_changes_info(changes, &details));
    if (details.flags & MOTTE_CHANGES_INITIAL) text = case_format("%s initial", text);
    if (details.flags & MOTTE_CHANGES_DELETED) text = case_format("%s deleted", text);
    if (details.kind == MOTTE_CHANGES_REALM) text = case_format("%s advanced", text);
    if (details.flags & MOTTE_CHANGES_SCHEMA) text = case_format("%s schema", text);
    int has_keys = 0;
    char *with_keys = text;
    for (motte_changes_part part = MOTTE_CHANGES_DELETIONS; part <= MOTTE_CHANGES_MODIFICATIONS; part++) {
        static const char *const labels[] = {"deletions", "insertions", "modifications"};
        motte_str keys[MAXIMUM];
        MUST(motte_changes_keys(changes, part, keys, MAXIMUM, &count));
        if (count > 0) with_keys = case_format("%s %s", with_keys, labels[part - 1]);
        for (size_t i = 0; i < count; i++) {
            with_keys = case_format("%s \"%.*s\"", with_keys, (int)keys[i].size, keys[i].data);
            has_keys = 1;
        }
    }
    if (details.kind == MOTTE_CHANGES_SECTIONS) return case_format("%s }", sections_text(changes, text));
    MUST(motte_changes_deletions(changes, old, 1024, &count));
    agree(count == details.deletion_count, "motte_changes_info", "motte_changes_deletions");
    check_ranges_and_moves(changes, MOTTE_CHANGES_DELETIONS, old, count);
    text = numbers_text(text, "deletions", old, count);
    MUST(motte_changes_insertions(changes, new, 1024, &count));
    agree(count == details.insertion_count, "motte_changes_info", "motte_changes_insertions");
    check_ranges_and_moves(changes, MOTTE_CHANGES_INSERTIONS, new, count);
    text = numbers_text(text, "insertions", new, count);
    MUST(motte_changes_modifications(changes, old, new, 1024, &count));
    agree(count == details.modification_count, "motte_changes_info", "motte_changes_modifications");
    check_ranges_and_moves(changes, MOTTE_CHANGES_MODIFICATIONS, new, count);
    if (has_keys) return case_format("%s }", with_keys);
    for (size_t i = 0; i < count; i++) {
        text = case_format("%s%s %zu:%zu", text, i ? "" : " modifications", old[i], new[i]);
    }
    MUST(motte_changes_props(changes, props, MAXIMUM, &count));
    agree(count == details.prop_count, "motte_changes_info", "motte_changes_props");
    for (size_t i = 0; i < count; i++) {
        motte_value before, after;
        motte_prop_details prop = details_of(props[i]);
        text = case_format("%s%s %s", text, i ? "" : " properties", prop.name);
        MUST(motte_changes_values(changes, props[i], &before, &after));
        if (prop.collection == MOTTE_COLLECTION_NONE && prop.type != MOTTE_TYPE_INVERSE &&
            before.type != MOTTE_TYPE_LINK && after.type != MOTTE_TYPE_LINK) {
            text = case_format("%s %s>%s", text, value_text(&before), value_text(&after));
        }
    }
    return case_format("%s }", text);
}

static char *one_blank(const char *text) {
    char *out = case_alloc(strlen(text) + 1), *to = out;
    for (; *text; text++) {
        if (*text != ' ' || (to > out && to[-1] != ' ')) *to++ = *text;
    }
    while (to > out && to[-1] == ' ') to--;
    *to = 0;
    return out;
}

static motte_status expect_changes(cursor *in) {
    motte_token *token = lookup(now.tokens, need_name(in));
    motte_changes *changes = NULL;
    motte_status status = motte_token_next(token, &changes);
    TRY(status);
    own(changes);
    const char *actual = status == MOTTE_PENDING ? "none" : status == MOTTE_END ? "end" : changes_text(changes);
    const char *expected = one_blank(in->at);
    in->at += strlen(in->at);
    if (strcmp(actual, expected) != 0) case_fail("changes are %s", actual);
    return MOTTE_OK;
}

/* `a` `b.c`, or none; returns 0 where no paths are named. */
static int key_paths(cursor *in, motte_str *paths, size_t *count) {
    *count = 0;
    if (!accept(in, "paths")) return 0;
    if (accept(in, "none")) return 1;
    for (cursor ahead = *in; !accept(&ahead, "="); ahead = *in) {
        if (*count == 8) case_fail("more than 8 key paths");
        char *text = need_text(in);
        paths[(*count)++] = (motte_str){text, strlen(text)};
    }
    return 1;
}

/* One of the two. */
static motte_status need_object_or_collection(cursor *in, motte_object **object, motte_coll **coll) {
    *object = NULL;
    *coll = NULL;
    if (!starts_collection(in)) {
        cursor ahead = *in;
        TRY(need_object(&ahead, object));
        if (at_end(&ahead)) {
            *in = ahead;
            return MOTTE_OK;
        }
        *object = NULL;
    }
    return need_collection(in, coll);
}

static motte_status need_groups(cursor *in, motte_groups **groups);

static motte_status observe(cursor *in) {
    char *name = need_name(in);
    motte_token *token;
    motte_str paths[8];
    size_t count;
    int has_paths = key_paths(in, paths, &count);
    need(in, "=");
    uint32_t flags = has_paths ? MOTTE_OBSERVE_PATHS : 0;
    if (accept(in, "sections")) {
        motte_sections *sections = lookup(now.sections, need_name(in));
        TRY(motte_observe_sections(sections, paths, count, flags, NULL, NULL, NULL, &token));
    } else if (accept(in, "section-with")) {
        motte_sections *sections = lookup(now.sections, need_name(in));
        motte_value key = need_value(in, resolve);
        TRY(motte_observe_section(sections, &key, paths, count, flags, NULL, NULL, NULL, &token));
    } else if (accept(in, "groups")) {
        motte_groups *groups;
        TRY(need_groups(in, &groups));
        TRY(motte_observe_groups(groups, 0, NULL, NULL, NULL, &token));
    } else if (accept(in, "realm")) {
        TRY(motte_observe_realm(now.realm, 0, NULL, NULL, NULL, &token));
    } else {
        motte_object *object;
        motte_coll *coll;
        TRY(need_object_or_collection(in, &object, &coll));
        if (object && has_paths) {
            TRY(motte_observe_object_paths(object, paths, count, 0, NULL, NULL, NULL, &token));
        } else if (object) {
            TRY(motte_observe_object(object, 0, NULL, NULL, NULL, &token));
        } else if (has_paths) {
            TRY(motte_observe_coll_paths(coll, paths, count, 0, NULL, NULL, NULL, &token));
        } else {
            TRY(motte_observe_coll(coll, 0, NULL, NULL, NULL, &token));
        }
    }
    keep(now.tokens, name, own(token));
    return MOTTE_OK;
}

static motte_status expect_equal(cursor *in, const literal *actual);
static motte_status expect_number(cursor *in, int64_t actual);
static motte_status expect_queued(cursor *in);

static motte_status declare_sections(cursor *in) {
    motte_coll *coll;
    motte_sections *sections;
    char *name = need_name(in);
    need(in, "=");
    TRY(need_collection(in, &coll));
    need(in, "by");
    char *path = need_text(in);
    uint32_t flags = accept(in, "letters") ? MOTTE_SECTIONS_FIRST_LETTER : 0;
    TRY(motte_sections_by_path(coll, path, MOTTE_NTS, flags, &sections));
    keep(now.sections, name, own(sections));
    return MOTTE_OK;
}

static motte_status expect_section_keys(cursor *in) {
    motte_sections *sections = lookup(now.sections, need_name(in));
    literal keys = {.is_list = 1};
    TRY(motte_sections_count(sections, &keys.count));
    keys.items = case_alloc((keys.count + 1) * sizeof *keys.items);
    for (size_t i = 0; i < keys.count; i++) {
        size_t found;
        TRY(motte_sections_key(sections, i, &keys.items[i]));
        agree(motte_sections_find(sections, &keys.items[i], &found) == MOTTE_OK && found == i, "motte_sections_key",
              "motte_sections_find");
    }
    return expect_equal(in, &keys);
}

static motte_status need_groups(cursor *in, motte_groups **groups) {
    motte_coll *coll;
    char *text = need_text(in);
    literal arguments = accept_arguments(in, resolve);
    need(in, "of");
    TRY(need_collection(in, &coll));
    TRY(motte_coll_group(coll, text, MOTTE_NTS, arguments.items, arguments.count, groups));
    own(*groups);
    return MOTTE_OK;
}

/* A part of how a collection, or groups of it, would be found, with single spaces between the words of the table. */
static motte_status expect_steps(cursor *in) {
    uint32_t flags = 0;
    motte_coll *coll;
    motte_groups *groups;
    motte_buf text;
    if (accept(in, "analyzed")) flags |= MOTTE_EXPLAIN_ANALYZE;
    if (accept(in, "json")) flags |= MOTTE_EXPLAIN_JSON;
    if (accept(in, "groups")) {
        TRY(need_groups(in, &groups));
        TRY(motte_groups_explain(groups, flags, &text));
    } else {
        need(in, "of");
        TRY(need_collection(in, &coll));
        TRY(motte_coll_explain(coll, flags, &text));
    }
    char *actual = case_format("%s", text.data), *end = actual;
    motte_buf_dispose(&text);
    for (const char *at = actual; *at != 0; at++) {
        int is_space = *at == ' ' || *at == '\n';
        if (!is_space || (end > actual && end[-1] != ' ')) *end++ = is_space ? ' ' : *at;
    }
    *end = 0;
    need(in, "has");
    if (!strstr(actual, need_text(in))) case_fail("is `%s`", actual);
    return MOTTE_OK;
}

/* The values of all groups, one group after another, by rows; whole columns and finding by keys agree. */
static motte_status expect_groups(cursor *in) {
    motte_groups *groups;
    size_t rows, columns, keys = 0;
    TRY(need_groups(in, &groups));
    TRY(motte_groups_count(groups, &rows));
    TRY(motte_groups_column_count(groups, &columns));
    literal values = {.is_list = 1, .count = rows * columns};
    values.items = case_alloc((values.count + 1) * sizeof *values.items);
    motte_value *bulk = case_alloc((rows + 1) * sizeof *bulk);
    int64_t *ints = case_alloc((rows + 1) * sizeof *ints);
    double *doubles = case_alloc((rows + 1) * sizeof *doubles);
    uint8_t *validity = case_alloc(rows / 8 + 1);
    for (size_t column = 0; column < columns; column++) {
        motte_type type;
        uint32_t flags;
        motte_str name;
        size_t found, read;
        TRY(motte_groups_column(groups, column, &name, &type, &flags, NULL));
        keys += flags & MOTTE_GROUP_KEY ? 1 : 0;
        agree(motte_groups_find_column(groups, name.data, name.size, &found) == MOTTE_OK && found == column,
              "motte_groups_column", "motte_groups_find_column");
        if (rows > 0) TRY(motte_groups_read_values(groups, column, 0, rows, bulk, &read));
        int is_int = type == MOTTE_TYPE_INT, is_double = type == MOTTE_TYPE_DOUBLE;
        if (rows > 0 && is_int) TRY(motte_groups_read_ints(groups, column, 0, rows, ints, validity, &read));
        if (rows > 0 && is_double) TRY(motte_groups_read_doubles(groups, column, 0, rows, doubles, validity, &read));
        for (size_t row = 0; row < rows; row++) {
            motte_value *value = &values.items[row * columns + column];
            TRY(motte_groups_get(groups, row, column, value));
            agree(memcmp(value, &bulk[row], sizeof *value) == 0, "motte_groups_get", "motte_groups_read_values");
            int present = value->type != MOTTE_TYPE_NULL;
            if (is_int || is_double)
                agree((validity[row >> 3] >> (row & 7) & 1) == present, "motte_groups_get", "the validity of groups");
            if (is_int && present) agree(ints[row] == value->as.integer, "motte_groups_get", "motte_groups_read_ints");
            if (is_double && present)
                agree(memcmp(&doubles[row], &value->as.real, 8) == 0, "motte_groups_get", "motte_groups_read_doubles");
        }
    }
    for (size_t row = 0; row < rows; row++) {
        size_t found;
        agree(motte_groups_find(groups, &values.items[row * columns], keys, &found) == MOTTE_OK && found == row,
              "motte_groups_get", "motte_groups_find");
    }
    return expect_equal(in, &values);
}

static motte_status expect_group_columns(cursor *in) {
    motte_groups *groups;
    TRY(need_groups(in, &groups));
    literal names = {.is_list = 1};
    TRY(motte_groups_column_count(groups, &names.count));
    names.items = case_alloc((names.count + 1) * sizeof *names.items);
    for (size_t i = 0; i < names.count; i++) {
        names.items[i].type = MOTTE_TYPE_STRING;
        TRY(motte_groups_column(groups, i, &names.items[i].as.string, NULL, NULL, NULL));
    }
    return expect_equal(in, &names);
}

static motte_status expect_section_of(cursor *in) {
    size_t index;
    motte_value key = need_value(in, resolve);
    need(in, "in");
    motte_status status = motte_sections_find(lookup(now.sections, need_name(in)), &key, &index);
    TRY(status);
    return expect_number(in, status == MOTTE_NOT_FOUND ? -1 : (int64_t)index);
}

static motte_status expect_place(cursor *in) {
    size_t section, index;
    motte_sections *sections = lookup(now.sections, need_name(in));
    TRY(motte_sections_locate(sections, (size_t)need_integer(in), &section, &index));
    TRY(expect_number(in, (int64_t)section));
    if ((size_t)need_integer(in) != index) case_fail("is element %zu", index);
    return MOTTE_OK;
}

/* ------------------------------------------------------------------------------------------------ lists */

static motte_status need_list(cursor *in, motte_coll **out) { return need_collection(in, out); }

static motte_status append(cursor *in) {
    motte_coll *list;
    TRY(need_list(in, &list));
    literal values = need_literal(in, resolve);
    if (values.is_list) return motte_list_append(list, values.items, values.count);
    return motte_list_append(list, &values.value, 1);
}

static motte_status place(cursor *in, int replaces) {
    motte_coll *list;
    TRY(need_list(in, &list));
    size_t index = (size_t)need_integer(in);
    motte_value value = need_value(in, resolve);
    return replaces ? motte_list_set(list, index, &value) : motte_list_insert(list, index, &value);
}

static motte_status rearrange(cursor *in, int swaps) {
    motte_coll *list;
    TRY(need_list(in, &list));
    size_t from = (size_t)need_integer(in), to = (size_t)need_integer(in);
    return swaps ? motte_list_swap(list, from, to) : motte_list_move(list, from, to);
}

static motte_status splice(cursor *in) {
    motte_coll *list;
    TRY(need_list(in, &list));
    size_t index = (size_t)need_integer(in), removed = (size_t)need_integer(in);
    literal values = need_literal(in, resolve);
    return motte_list_splice(list, index, removed, values.items, values.count);
}

/* ------------------------------------------------------------------------------------------------ sets, maps */

static motte_status expect_flag(cursor *in, int actual);

/* `yes` or `no` behind a step, where it is there: whether something changed. */
static motte_status expect_outcome(cursor *in, motte_status status) {
    TRY(status);
    return at_end(in) ? MOTTE_OK : expect_flag(in, status == MOTTE_OK);
}

static motte_status add(cursor *in) {
    motte_coll *set;
    TRY(need_collection(in, &set));
    literal values = need_literal(in, resolve);
    if (!values.is_list) return expect_outcome(in, motte_set_insert(set, &values.value));
    uint64_t added;
    TRY(motte_set_insert_many(set, values.items, values.count, &added));
    if (!at_end(in) && need_integer(in) != (long long)added) case_fail("%llu were new", (unsigned long long)added);
    return MOTTE_OK;
}

static motte_status discard(cursor *in) {
    motte_coll *set;
    TRY(need_collection(in, &set));
    motte_value value = need_value(in, resolve);
    return expect_outcome(in, motte_set_remove(set, &value));
}

static motte_status combine(cursor *in, motte_set_operation operation) {
    motte_coll *set, *other;
    TRY(need_collection(in, &set));
    need(in, "with");
    TRY(need_collection(in, &other));
    return motte_set_combine(set, other, operation);
}

static motte_status assign(cursor *in) {
    motte_coll *coll;
    TRY(need_collection(in, &coll));
    literal values = need_literal(in, resolve);
    return motte_coll_assign(coll, values.items, values.count);
}

/* put MAP "key" value, or put MAP {"key": value, ...} */
static motte_status put(cursor *in) {
    motte_coll *map;
    TRY(need_collection(in, &map));
    motte_value key = need_value(in, resolve);
    if (key.type == MOTTE_TYPE_MAP) {
        size_t count, got;
        MUST(motte_nested_count(&key, &count));
        motte_str *keys = case_alloc((count + 1) * sizeof *keys);
        motte_value *values = case_alloc((count + 1) * sizeof *values);
        MUST(motte_nested_read(&key, 0, count, keys, values, &got));
        return motte_map_put_many(map, keys, values, count);
    }
    motte_value value = need_value(in, resolve);
    bool inserted;
    TRY(motte_map_put(map, key.as.string.data, key.as.string.size, &value, &inserted));
    return at_end(in) ? MOTTE_OK : expect_flag(in, inserted);
}

static motte_status drop(cursor *in) {
    motte_coll *map;
    TRY(need_collection(in, &map));
    motte_value key = need_value(in, NULL);
    return expect_outcome(in, motte_map_remove(map, key.as.string.data, key.as.string.size));
}

/* embed [@name] OBJECT.property [insert i | replace i | key "k"] a=1 b=2 */
static motte_status embed(cursor *in) {
    motte_object *owner, *made = NULL;
    motte_prop props[MAXIMUM];
    motte_value values[MAXIMUM];
    motte_coll *coll;
    char *name = NULL;
    cursor start = *in;
    /* `embed @new @owner.home`: a name, if it is followed by another object. */
    if (accept(in, "@")) {
        name = need_name(in);
        if (accept(in, ".")) {
            *in = start;
            name = NULL;
        }
    }
    TRY(need_object(in, &owner));
    need(in, ".");
    motte_prop prop = prop_id(class_of(owner), need_name(in));
    if (accept(in, "insert")) {
        TRY(motte_object_get_coll(owner, prop, &coll));
        own(coll);
        TRY(motte_embedded_insert(coll, (size_t)need_integer(in), &made));
    } else if (accept(in, "replace")) {
        TRY(motte_object_get_coll(owner, prop, &coll));
        own(coll);
        TRY(motte_embedded_set(coll, (size_t)need_integer(in), &made));
    } else if (accept(in, "key")) {
        TRY(motte_object_get_coll(owner, prop, &coll));
        own(coll);
        motte_value key = need_value(in, NULL);
        TRY(motte_embedded_put(coll, key.as.string.data, key.as.string.size, &made));
    } else {
        TRY(motte_embedded_create(owner, prop, &made));
    }
    own(made);
    size_t count = assignments(in, class_of(made), props, values);
    if (count > 0) TRY(motte_object_set_many(made, props, values, count));
    if (name) keep(now.objects, name, made);
    return MOTTE_OK;
}

static motte_status expect_relation(cursor *in, uint32_t bit) {
    motte_coll *set, *other;
    uint32_t relation;
    TRY(need_collection(in, &set));
    need(in, "of");
    TRY(need_collection(in, &other));
    TRY(motte_set_relate(set, other, &relation));
    return expect_flag(in, (relation & bit) != 0);
}

static motte_status expect_key(cursor *in) {
    motte_value key = need_value(in, NULL);
    motte_coll *map;
    need(in, "in");
    TRY(need_collection(in, &map));
    motte_status status = motte_map_has(map, key.as.string.data, key.as.string.size);
    TRY(status);
    return expect_flag(in, status == MOTTE_OK);
}

static motte_status expect_parent(cursor *in) {
    motte_object *object, *parent;
    literal actual = {0, {.type = MOTTE_TYPE_NULL}, 0, NULL};
    motte_prop prop;
    TRY(need_object(in, &object));
    motte_status status = motte_object_parent(object, &parent, &prop);
    TRY(status);
    if (status == MOTTE_OK) {
        own(parent);
        agree(details_of(prop).owner == class_of(parent), "motte_object_parent", "motte_prop_info");
        actual.value.type = MOTTE_TYPE_LINK;
        MUST(motte_object_row(parent, &actual.value.aux, &actual.value.as.key));
    }
    return expect_equal(in, &actual);
}

/* ------------------------------------------------------------------------------------------------ expectations */

static motte_status expect_equal(cursor *in, const literal *actual) {
    need(in, "==");
    literal expected = need_literal(in, resolve);
    /* A list inside a mixed value is one value. */
    if (expected.is_list && !actual->is_list) expected = (literal){0, one_value(&expected), 0, NULL};
    int same = expected.is_list == actual->is_list && expected.count == actual->count;
    if (same && !expected.is_list) same = same_value(&expected.value, &actual->value);
    for (size_t i = 0; same && i < expected.count; i++) same = same_value(&expected.items[i], &actual->items[i]);
    if (!same) case_fail("is %s", literal_text(actual));
    return MOTTE_OK;
}

static motte_status expect_number(cursor *in, int64_t actual) {
    literal value = {0, int_of(actual), 0, NULL};
    return expect_equal(in, &value);
}

static motte_status expect_aggregate(cursor *in, motte_aggregate op) {
    motte_coll *coll;
    motte_coll_details details = {.struct_size = sizeof details};
    literal actual = {0, {0}, 0, NULL};
    char *property = need_name(in);
    need(in, "of");
    TRY(need_collection(in, &coll));
    MUST(motte_coll_info(coll, &details));
    TRY(motte_coll_aggregate(coll, op, prop_id(details.target, property), &actual.value));
    return expect_equal(in, &actual);
}

static motte_status expect_count(cursor *in) {
    motte_coll *coll;
    size_t count;
    TRY(need_collection(in, &coll));
    TRY(motte_coll_count(coll, &count));
    return expect_number(in, (int64_t)count);
}

static motte_status expect_query(cursor *in) {
    motte_query *query = lookup(now.queries, need_name(in));
    if (accept(in, "count")) {
        size_t count;
        TRY(motte_query_count(query, &count));
        return expect_number(in, (int64_t)count);
    }
    if (accept(in, "arguments")) {
        size_t count;
        TRY(motte_query_arg_count(query, &count));
        return expect_number(in, (int64_t)count);
    }
    if (accept(in, "first")) {
        motte_object *object;
        literal actual = {0, {.type = MOTTE_TYPE_NULL}, 0, NULL};
        motte_status status = motte_query_first(query, &object);
        TRY(status);
        if (status == MOTTE_OK) {
            own(object);
            actual.value.type = MOTTE_TYPE_LINK;
            MUST(motte_object_row(object, &actual.value.aux, &actual.value.as.key));
        }
        return expect_equal(in, &actual);
    }
    motte_buf text;
    int explains = accept(in, "explains");
    if (!explains) need(in, "describes");
    TRY(explains ? motte_query_explain(query, &text) : motte_query_describe(query, &text));
    char *actual = case_format("%s", text.data);
    motte_buf_dispose(&text);
    char *expected = need_text(in);
    if (explains ? !strstr(actual, expected) : strcmp(actual, expected) != 0) case_fail("is `%s`", actual);
    return MOTTE_OK;
}

static motte_status expect_counter(cursor *in) {
    motte_counters counters = {.struct_size = sizeof counters};
    char *name = need_name(in);
    MUST(motte_realm_counters(now.realm, &counters));
    uint64_t moved = strcmp(name, "chunks_decoded") == 0     ? counters.chunks_decoded - now.mark.chunks_decoded
                     : strcmp(name, "rows_evaluated") == 0   ? counters.rows_evaluated - now.mark.rows_evaluated
                     : strcmp(name, "full_reruns") == 0      ? counters.full_reruns - now.mark.full_reruns
                     : strcmp(name, "log_records_read") == 0 ? counters.log_records_read - now.mark.log_records_read
                     : strcmp(name, "index_lookups") == 0    ? counters.index_lookups - now.mark.index_lookups
                                                             : (case_fail("there is no counter '%s'", name), 0);
    if (accept(in, "moved")) {
        if (moved == 0) case_fail("%s did not move", name);
        return MOTTE_OK;
    }
    return expect_number(in, (int64_t)moved);
}

static motte_status expect_schema(cursor *in) {
    motte_schema *schema, *expected;
    motte_buf left, right;
    MUST(motte_realm_schema(now.realm, &schema));
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

static motte_status expect_flag(cursor *in, int actual) {
    int expected = accept(in, "yes");
    if (!expected) need(in, "no");
    if (expected != actual) case_fail("is %s", actual ? "yes" : "no");
    return MOTTE_OK;
}

static int is_next(cursor *in, const char *word) {
    cursor ahead = *in;
    return accept(&ahead, word);
}

static motte_status expect_value(cursor *in) {
    motte_object *object;
    motte_class cls;
    cursor start = *in;
    TRY(need_object(in, &object));
    need(in, ".");
    TRY(motte_object_row(object, &cls, NULL));
    motte_prop prop = prop_id(cls, need_name(in));
    motte_prop_details details = {.struct_size = sizeof details};
    if (motte_prop_info(now.realm, prop, &details) == MOTTE_OK &&
        (details.collection != MOTTE_COLLECTION_NONE || details.type == MOTTE_TYPE_INVERSE || is_next(in, "at"))) {
        motte_coll *coll;
        literal actual;
        *in = start;
        TRY(need_collection(in, &coll));
        TRY(elements(coll, &actual));
        return expect_equal(in, &actual);
    }
    literal actual = {0, {0}, 0, NULL};
    TRY(get(object, prop, &actual.value));
    return expect_equal(in, &actual);
}

static int expect_of_files(cursor *in, motte_status *status);

static motte_status expect(cursor *in) {
    motte_status status;
    if (accept(in, "subset")) return expect_relation(in, MOTTE_SET_SUBSET);
    if (accept(in, "superset")) return expect_relation(in, MOTTE_SET_SUPERSET);
    if (accept(in, "intersects")) return expect_relation(in, MOTTE_SET_INTERSECTS);
    if (accept(in, "key")) return expect_key(in);
    if (accept(in, "parent")) return expect_parent(in);
    if (accept(in, "count")) return expect_count(in);
    if (accept(in, "min")) return expect_aggregate(in, MOTTE_AGGREGATE_MIN);
    if (accept(in, "max")) return expect_aggregate(in, MOTTE_AGGREGATE_MAX);
    if (accept(in, "sum")) return expect_aggregate(in, MOTTE_AGGREGATE_SUM);
    if (accept(in, "avg")) return expect_aggregate(in, MOTTE_AGGREGATE_AVG);
    if (accept(in, "nonnull")) return expect_aggregate(in, MOTTE_AGGREGATE_COUNT);
    if (accept(in, "changes")) return expect_changes(in);
    if (accept(in, "query")) return expect_query(in);
    if (accept(in, "queued")) return expect_queued(in);
    if (accept(in, "section-keys")) return expect_section_keys(in);
    if (accept(in, "groups")) return expect_groups(in);
    if (accept(in, "group-columns")) return expect_group_columns(in);
    if (accept(in, "steps")) return expect_steps(in);
    if (accept(in, "section-of")) return expect_section_of(in);
    if (accept(in, "place")) return expect_place(in);
    if (accept(in, "counter")) return expect_counter(in);
    if (accept(in, "schema")) return expect_schema(in);
    if (expect_of_files(in, &status)) return status;
    if (accept(in, "in-write")) return expect_flag(in, motte_realm_in_write(now.realm));
    if (accept(in, "values")) {
        motte_coll *coll;
        literal actual;
        char *property = need_name(in);
        need(in, "of");
        TRY(need_collection(in, &coll));
        TRY(column(coll, property, &actual));
        return expect_equal(in, &actual);
    }
    if (accept(in, "index")) {
        motte_coll *coll;
        size_t index;
        need(in, "of");
        motte_value value = need_value(in, resolve);
        need(in, "in");
        TRY(need_collection(in, &coll));
        motte_status status = motte_coll_find(coll, &value, &index);
        TRY(status);
        return expect_number(in, status == MOTTE_NOT_FOUND ? -1 : (int64_t)index);
    }
    if (accept(in, "missing") || accept(in, "exists")) {
        int missing = in->at[-1] == 'g';
        motte_object *object;
        motte_status status = find_object(in, &object);
        TRY(status);
        int is_gone = status == MOTTE_NOT_FOUND || motte_handle_check(object) == MOTTE_E_OBJECT_DELETED;
        if (is_gone != missing) case_fail("it %s", missing ? "exists" : "is missing");
        return MOTTE_OK;
    }
    if (accept(in, "same")) {
        motte_object *left, *right;
        TRY(need_object(in, &left));
        TRY(need_object(in, &right));
        return expect_flag(in, motte_equal(left, right));
    }
    if (accept(in, "classes")) {
        size_t count;
        MUST(motte_class_list(now.realm, NULL, 0, &count));
        return expect_number(in, (int64_t)count);
    }
    if (accept(in, "objects")) {
        uint64_t count;
        TRY(motte_class_count(now.realm, class_id(need_name(in)), &count));
        return expect_number(in, (int64_t)count);
    }
    if (starts_collection(in)) {
        motte_coll *coll;
        literal actual;
        TRY(need_collection(in, &coll));
        TRY(elements(coll, &actual));
        return expect_equal(in, &actual);
    }
    return expect_value(in);
}

#include "conformance_files.h"

/* ------------------------------------------------------------------------------------------------ steps */

static motte_status session(cursor *in) {
    char *name = need_name(in), *schema = NULL;
    motte_config *config = new_config("main.motte", 0);
    while (!at_end(in)) {
        motte_status status = MOTTE_OK;
        if (accept(in, "schema")) schema = need_text(in);
        else if (!option(in, config, &status)) case_fail("unknown word at '%s'", in->at);
        TRY(status);
    }
    return open_config(name, config, schema);
}

static void close_all(void) {
    for (int i = 0; i < MAXIMUM && now.sessions[i].name; i++) motte_realm_close(now.sessions[i].handle);
    motte_release_many((const void *const *)now.owned, now.owned_count);
    if (now.queue) motte_release(now.queue);
    now.queue = NULL;
    now.owned_count = 0;
    now.realm = NULL;
    memset(now.sessions, 0, sizeof now.sessions);
    memset(now.objects, 0, sizeof now.objects);
    memset(now.colls, 0, sizeof now.colls);
    memset(now.tokens, 0, sizeof now.tokens);
    memset(now.queries, 0, sizeof now.queries);
    memset(now.references, 0, sizeof now.references);
    memset(now.queued, 0, sizeof now.queued);
}

static motte_status refresh(cursor *in) {
    bool advanced;
    TRY(motte_realm_refresh(now.realm, &advanced));
    return at_end(in) ? MOTTE_OK : expect_flag(in, advanced);
}

/* Delivery through the queue, as an event loop would do it. */
static motte_status dispatch(void) {
    int32_t descriptor;
    int64_t timeout;
    size_t count;
    MUST(motte_queue_fd(now.queue, &descriptor));
    MUST(motte_queue_timeout(now.queue, &timeout));
    MUST(motte_queue_wait(now.queue, 2000));
    struct pollfd poller = {descriptor, POLLIN, 0};
    if (poll(&poller, 1, 2000) != 1) case_fail("the descriptor of the queue is not readable");
    now.failure = NULL;
    motte_status status = motte_queue_dispatch(now.queue, 0, &count);
    if (now.failure) case_fail("%s", now.failure);
    return status;
}

/* ------------------------------------------------------------------------------------------------ handing over */

static motte_status refer(cursor *in) {
    motte_object *object;
    motte_coll *coll;
    motte_reference *reference;
    char *name = need_name(in);
    need(in, "=");
    TRY(need_object_or_collection(in, &object, &coll));
    TRY(motte_reference_new(object ? (const void *)object : coll, &reference));
    keep(now.references, name, own(reference));
    return MOTTE_OK;
}

static motte_status resolve_reference(cursor *in) {
    void *handle;
    motte_status status = motte_reference_resolve(lookup(now.references, need_name(in)), now.realm, &handle);
    TRY(status);
    if (accept(in, "gone")) {
        if (status != MOTTE_NOT_FOUND) case_fail("the reference is still there");
        return MOTTE_OK;
    }
    if (status == MOTTE_NOT_FOUND) case_fail("the reference leads to nothing");
    own(handle);
    need(in, "to");
    int is_collection = accept(in, "$");
    if (!is_collection) need(in, "@");
    keep(is_collection ? now.colls : now.objects, need_name(in), handle);
    agree(motte_handle_kind(handle) == (is_collection ? MOTTE_HANDLE_COLL : MOTTE_HANDLE_OBJECT),
          "motte_reference_resolve", "motte_handle_kind");
    return MOTTE_OK;
}

/* A step in a write that waits for its turn. */
typedef struct queued {
    char *step;
    motte_status of_step;
    const char *state;
    uint64_t ticket;
} queued;

static motte_status run_queued(void *userdata, motte_realm *realm) {
    queued *write = userdata;
    motte_realm *before = now.realm;
    now.realm = realm;
    write->of_step = run_kept(&write->step, 1);
    now.realm = before;
    return write->of_step;
}

static motte_status end_queued(void *userdata, motte_status status, uint64_t version) {
    queued *write = userdata;
    if (status == MOTTE_E_CALLBACK) status = write->of_step;
    agree((status == MOTTE_OK) == (version > 0), "the status of a queued write", "its version");
    write->state = status == MOTTE_OK ? "ok" : motte_status_name(status) + strlen("MOTTE_E_");
    return 0;
}

static motte_status queue_write(cursor *in) {
    queued *write = calloc(1, sizeof *write);
    size_t count = 0;
    char *name = need_name(in);
    if (!write) abort();
    write->state = "waiting";
    keep_step(in, &write->step, &count);
    keep(now.queued, name, write);
    return motte_realm_queue_write(now.realm, run_queued, end_queued, write, NULL, &write->ticket);
}

static motte_status unqueue(cursor *in) {
    queued *write = lookup(now.queued, need_name(in));
    motte_status status = motte_realm_cancel_queued(now.realm, write->ticket);
    TRY(status);
    if (status == MOTTE_OK) write->state = "cancelled";
    return expect_flag(in, status == MOTTE_OK);
}

static motte_status expect_queued(cursor *in) {
    queued *write = lookup(now.queued, need_name(in));
    char *wanted = need_name(in);
    if (strcmp(wanted, write->state) != 0) case_fail("the queued write is %s", write->state);
    return MOTTE_OK;
}

static motte_status let(cursor *in) {
    if (accept(in, "$")) {
        motte_coll *coll;
        char *name = need_name(in);
        need(in, "=");
        TRY(need_collection(in, &coll));
        keep(now.colls, name, coll);
        return MOTTE_OK;
    }
    motte_object *object;
    need(in, "@");
    char *name = need_name(in);
    need(in, "=");
    if (accept(in, "first") || accept(in, "nth")) {
        motte_coll *coll;
        size_t index = in->at[-1] == 'h' ? (size_t)need_integer(in) : 0;
        TRY(need_collection(in, &coll));
        TRY(motte_coll_get_object(coll, index, &object));
        own(object);
    } else if (accept(in, "target")) {
        motte_object *owner;
        TRY(need_object(in, &owner));
        need(in, ".");
        motte_prop prop = prop_id(class_of(owner), need_name(in));
        TRY(motte_object_get_object(owner, prop, &object));
        own(object);
    } else {
        TRY(need_object(in, &object));
    }
    if (accept(in, "frozen")) {
        void *frozen;
        TRY(motte_freeze(object, &frozen));
        object = own(frozen);
    }
    keep(now.objects, name, object);
    return MOTTE_OK;
}

static motte_status prepare(cursor *in) {
    motte_query *query;
    char *name = need_name(in);
    need(in, "=");
    motte_class cls = class_id(need_name(in));
    need(in, "where");
    char *text = need_text(in);
    literal arguments = accept_arguments(in, resolve);
    TRY(motte_query_parse(now.realm, cls, text, MOTTE_NTS, arguments.items, arguments.count, &query));
    keep(now.queries, name, own(query));
    return MOTTE_OK;
}

static motte_status write_file(cursor *in, int truncates) {
    const char *path = path_of(file_name(in));
    if (truncates) {
        if (truncate(path, need_integer(in)) != 0) case_fail("could not truncate %s", path);
        return MOTTE_OK;
    }
    motte_value text = need_value(in, NULL);
    FILE *file = fopen(path, "w");
    if (!file) case_fail("could not write %s", path);
    fwrite(text.as.string.data, 1, text.as.string.size, file);
    fclose(file);
    return MOTTE_OK;
}

static motte_status unlink_file(cursor *in) {
    const char *path = path_of(file_name(in));
    if (unlink(path) != 0) case_fail("could not unlink %s", path);
    return MOTTE_OK;
}

static motte_status make_folder(cursor *in) {
    const char *path = path_of(file_name(in));
    if (mkdir(path, 0755) != 0) case_fail("could not make %s", path);
    return MOTTE_OK;
}

static motte_status mark(void) {
    now.mark.struct_size = sizeof now.mark;
    return motte_realm_counters(now.realm, &now.mark);
}

static motte_status make_savepoint(cursor *in) {
    char *name = need_name(in);
    uint64_t made;
    TRY(motte_realm_savepoint(now.realm, &made));
    if (now.savepoint_count == MAXIMUM) abort();
    now.savepoint_names[now.savepoint_count] = name;
    now.savepoints[now.savepoint_count++] = made;
    return MOTTE_OK;
}

/* The latest of that name. */
static uint64_t savepoint(cursor *in) {
    const char *name = need_name(in);
    for (size_t index = now.savepoint_count; index > 0; index--) {
        if (strcmp(now.savepoint_names[index - 1], name) == 0) return now.savepoints[index - 1];
    }
    case_fail("there is no savepoint '%s'", name);
    return 0;
}

static const motte_buf *batch(cursor *in) {
    const char *name = need_name(in);
    for (size_t index = now.batch_count; index > 0; index--) {
        if (strcmp(now.batch_names[index - 1], name) == 0) return &now.batches[index - 1];
    }
    case_fail("there is no batch '%s'", name);
    return NULL;
}

static void keep_batch(char *name, motte_buf made) {
    if (now.batch_count == MAXIMUM) abort();
    now.batch_names[now.batch_count] = name;
    now.batches[now.batch_count++] = made;
}

static motte_status inverse_batch(cursor *in) {
    char *name = need_name(in);
    const motte_buf *known = batch(in);
    motte_buf made;
    TRY(motte_changes_batch_inverse((const uint8_t *)known->data, known->size, &made));
    keep_batch(name, made);
    return MOTTE_OK;
}

static motte_status read_batch(cursor *in) {
    char *name = need_name(in);
    if (accept(in, "between")) {
        motte_buf between;
        TRY(motte_changes_batch_between(now.realm, lookup(now.sessions, need_name(in)), &between));
        keep_batch(name, between);
        return MOTTE_OK;
    }
    if (accept(in, "to")) {
        motte_buf difference;
        TRY(motte_changes_batch_difference(now.realm, lookup(now.sessions, need_name(in)), &difference));
        keep_batch(name, difference);
        return MOTTE_OK;
    }
    motte_changes_batch_details before = {.struct_size = sizeof before}, after = {.struct_size = sizeof after};
    if (accept(in, "since")) {
        const motte_buf *known = batch(in);
        MUST(motte_changes_batch_info((const uint8_t *)known->data, known->size, &before));
    }
    motte_buf made;
    TRY(motte_changes_batch_read(now.realm, before.to_version, &made));
    keep_batch(name, made);
    uint64_t high, low;
    MUST(motte_changes_batch_origin(now.realm, &high, &low));
    MUST(motte_changes_batch_info((const uint8_t *)made.data, made.size, &after));
    agree(after.from_version == before.to_version && after.origin_high == high && after.origin_low == low,
          "motte_changes_batch_read", "motte_changes_batch_info");
    return MOTTE_OK;
}

static motte_status apply_batch(cursor *in) {
    const motte_buf *known = batch(in);
    motte_status status = motte_changes_batch_apply(now.realm, (const uint8_t *)known->data, known->size, -1);
    TRY(status);
    motte_changes_batch_details details = {.struct_size = sizeof details};
    MUST(motte_changes_batch_info((const uint8_t *)known->data, known->size, &details));
    uint64_t version;
    if (!(details.flags & (MOTTE_CHANGES_BATCH_PATCH | MOTTE_CHANGES_BATCH_DIFFERENCE))) {
        MUST(motte_changes_batch_position(now.realm, details.origin_high, details.origin_low, &version));
        agree(version >= details.to_version && (status != MOTTE_OK || version == details.to_version),
              "motte_changes_batch_apply", "motte_changes_batch_position");
    }
    return at_end(in) ? MOTTE_OK : expect_flag(in, status == MOTTE_OK);
}

static motte_status keep_changes(cursor *in) {
    uint64_t version, latest;
    MUST(motte_realm_version(now.realm, &version, &latest));
    if (accept(in, "none")) version = UINT64_MAX;
    if (!accept(in, "for")) return motte_changes_batch_keep(now.realm, version);
    motte_status status = motte_changes_batch_keep_for(now.realm, need_text(in), MOTTE_NTS, version);
    TRY(status);
    return at_end(in) ? MOTTE_OK : expect_flag(in, status == MOTTE_OK);
}

static motte_status freeze(cursor *in) {
    void *frozen;
    char *name = need_name(in);
    TRY(motte_freeze(now.realm, &frozen));
    keep(now.sessions, name, own(frozen));
    return MOTTE_OK;
}

static motte_status stop(cursor *in) { return motte_token_stop(lookup(now.tokens, need_name(in))); }

static motte_status use(cursor *in) {
    const char *name = need_name(in);
    /* The first session needs no declaration. */
    if (strcmp(name, "main") == 0 && !entry(now.sessions, name)->name) {
        return open_session(name, "main.motte", 0, now.schema);
    }
    now.realm = lookup(now.sessions, name);
    return MOTTE_OK;
}

static motte_status bind_argument(cursor *in) {
    motte_query *query = lookup(now.queries, need_name(in));
    size_t position = (size_t)need_integer(in);
    motte_value value = need_value(in, resolve);
    return motte_query_bind(query, position, &value);
}

static motte_status remove_element(cursor *in) {
    motte_coll *list;
    TRY(need_list(in, &list));
    return motte_list_remove(list, (size_t)need_integer(in));
}

static motte_status clear(cursor *in) {
    motte_coll *list;
    TRY(need_list(in, &list));
    return motte_coll_clear(list);
}

/* What a message names that is the engine's own, or another language's; NULL if nothing. */
static const char *foreign_word(const char *message) {
    static const char *const words[] = {
        " session", "Realm(",       "isValid",      "is_valid",  "isInvalidated", "try!",
        "nil",      "mapSizeBytes", "rowGroupSize", "firstOpen", "None",          "motte.open",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strstr(message, words[i])) return words[i];
    }
    return NULL;
}

static motte_status fails(cursor *in) {
    long long offset = -1;
    char *expected = need_name(in);
    if (accept(in, "at")) offset = need_integer(in);
    motte_status status = step(in);
    const char *name = motte_status_name(status);
    if (status >= 0) case_fail("did not fail, expected %s", expected);
    motte_error_details thrown = {.struct_size = sizeof thrown};
    MUST(motte_last_error(&thrown));
    /* An error inside a callback comes out as the code that the callback returned. */
    if (status == MOTTE_E_CALLBACK) name = motte_status_name(thrown.user_code);
    if (strncmp(name, "MOTTE_E_", 8) != 0 || strcmp(name + 8, expected) != 0) {
        case_fail("failed with %s", status_text(status));
    }
    motte_error_details details = {.struct_size = sizeof details};
    MUST(motte_last_error(&details));
    agree(details.code == status, "motte_last_error", "the status");
    if (!details.message[0] || !motte_status_message(status)[0]) case_fail("the error has no message");
    if (foreign_word(details.message)) {
        case_fail("the message names %s, which is not C: %s", foreign_word(details.message), details.message);
    }
    if (offset >= 0 && details.query_offset != offset) {
        case_fail("the error is at offset %lld: %s", (long long)details.query_offset, details.message);
    }
    motte_error *kept;
    motte_error_details again = {.struct_size = sizeof again};
    MUST(motte_error_capture(&kept));
    MUST(motte_error_info(kept, &again));
    agree(again.code == status && strcmp(again.message, details.message) == 0, "motte_error_capture",
          "motte_last_error");
    motte_release(kept);
    /* The step stopped where it failed; what follows on the line was not read. */
    in->at += strlen(in->at);
    return MOTTE_OK;
}

typedef struct errand {
    cursor *in;
    motte_status status;
    char *reason;
    motte_error *error;
} errand;

static void *run_errand(void *pointer) {
    errand *work = pointer;
    jmp_buf caller;
    memcpy(&caller, &now.failed, sizeof caller);
    if (setjmp(now.failed) == 0) work->status = step(work->in);
    else work->reason = now.reason;
    memcpy(&now.failed, &caller, sizeof caller);
    return NULL;
}

/* The rest of the line on another thread. */
static motte_status elsewhere(cursor *in) {
    errand work = {in, MOTTE_OK, NULL, NULL};
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_errand, &work) != 0) abort();
    pthread_join(thread, NULL);
    if (work.reason) case_fail("%s", work.reason);
    return work.status;
}

static motte_status commit(cursor *in) {
    uint64_t version, current, before = 0, after;
    motte_realm_details details = {.struct_size = sizeof details};
    TRY(motte_realm_view_epoch(now.realm, &before));
    if (accept(in, "skipping")) {
        motte_token *tokens[8];
        size_t count = 0;
        while (!at_end(in) && count < 8) tokens[count++] = lookup(now.tokens, need_name(in));
        TRY(motte_realm_commit_skipping(now.realm, tokens, count, 0, &version));
    } else {
        TRY(motte_realm_commit(now.realm, 0, &version));
    }
    MUST(motte_realm_version(now.realm, &current, NULL));
    MUST(motte_realm_info(now.realm, &details));
    MUST(motte_realm_view_epoch(now.realm, &after));
    agree(version == current && version == details.version, "motte_realm_commit", "motte_realm_info");
    agree(before != after, "motte_realm_commit", "a view epoch that moves");
    return MOTTE_OK;
}

/* Classes and properties for the schema of the open session; whether there was something to add. */
static motte_status declare(cursor *in) {
    motte_schema *schema;
    TRY(schema_from(need_text(in), &schema));
    motte_status status = motte_realm_add_schema(now.realm, schema);
    TRY(status);
    return at_end(in) ? MOTTE_OK : expect_flag(in, status == MOTTE_OK);
}

static motte_status step(cursor *in) {
    now.steps++;
    if (accept(in, "session")) return session(in);
    if (accept(in, "file")) return write_file(in, 0);
    if (accept(in, "truncate")) return write_file(in, 1);
    if (accept(in, "unlink")) return unlink_file(in);
    if (accept(in, "folder")) return make_folder(in);
    if (accept(in, "fails")) return fails(in);
    motte_status status = MOTTE_OK;
    if (step_of_files(in, &status)) return status;
    if (accept(in, "encrypt")) {
        now.has_key = !accept(in, "none");
        if (now.has_key) now.key = (uint8_t)need_integer(in);
        return MOTTE_OK;
    }
    if (accept(in, "shut")) {
        close_all();
        return MOTTE_OK;
    }
    if (accept(in, "reopen")) {
        close_all();
        return open_session("main", "main.motte", 0, now.schema);
    }
    need_session();
    if (accept(in, "elsewhere")) return elsewhere(in);
    if (accept(in, "write")) {
        return motte_realm_begin_write(now.realm, accept(in, "timeout") ? need_integer(in) : 10000);
    }
    if (accept(in, "commit")) return commit(in);
    if (accept(in, "cancel")) return motte_realm_cancel(now.realm);
    if (accept(in, "savepoint")) return make_savepoint(in);
    if (accept(in, "release")) return motte_realm_release_savepoint(now.realm, savepoint(in));
    if (accept(in, "rollback")) return motte_realm_roll_back(now.realm, savepoint(in));
    if (accept(in, "changes")) return read_batch(in);
    if (accept(in, "inverse")) return inverse_batch(in);
    if (accept(in, "apply")) return apply_batch(in);
    if (accept(in, "keep")) return keep_changes(in);
    if (accept(in, "refresh")) return refresh(in);
    if (accept(in, "wait")) return motte_realm_wait_for_change(now.realm, 2000);
    if (accept(in, "query-timeout")) return motte_realm_set_query_timeout(now.realm, need_integer(in));
    if (accept(in, "interrupt")) return motte_realm_interrupt(now.realm);
    if (accept(in, "dispatch")) return dispatch();
    if (accept(in, "refer")) return refer(in);
    if (accept(in, "resolve")) return resolve_reference(in);
    if (accept(in, "queue")) return queue_write(in);
    if (accept(in, "unqueue")) return unqueue(in);
    if (accept(in, "close")) return motte_realm_close(now.realm);
    if (accept(in, "use")) return use(in);
    if (accept(in, "freeze")) return freeze(in);
    if (accept(in, "create")) return create(in, MOTTE_CREATE_NEW);
    if (accept(in, "upsert")) {
        return create(in, accept(in, "modified") ? MOTTE_CREATE_MODIFIED : MOTTE_CREATE_EXISTING);
    }
    if (accept(in, "insert-at")) return place(in, 0);
    if (accept(in, "insert")) return insert(in, MOTTE_CREATE_NEW);
    if (accept(in, "merge")) {
        return insert(in, accept(in, "modified") ? MOTTE_CREATE_MODIFIED : MOTTE_CREATE_EXISTING);
    }
    if (accept(in, "replace")) return place(in, 1);
    if (accept(in, "set")) return set(in);
    if (accept(in, "declare")) return declare(in);
    if (accept(in, "delete class")) {
        motte_status status = motte_realm_delete_class(now.realm, need_name(in), MOTTE_NTS);
        TRY(status);
        return at_end(in) ? MOTTE_OK : expect_flag(in, status == MOTTE_OK);
    }
    if (accept(in, "delete")) return delete(in);
    if (accept(in, "append")) return append(in);
    if (accept(in, "add")) return add(in);
    if (accept(in, "discard")) return discard(in);
    if (accept(in, "unite")) return combine(in, MOTTE_SET_UNION);
    if (accept(in, "intersect")) return combine(in, MOTTE_SET_INTERSECT);
    if (accept(in, "subtract")) return combine(in, MOTTE_SET_SUBTRACT);
    if (accept(in, "differ")) return combine(in, MOTTE_SET_SYMMETRIC_DIFFERENCE);
    if (accept(in, "assign")) return assign(in);
    if (accept(in, "put")) return put(in);
    if (accept(in, "drop")) return drop(in);
    if (accept(in, "embed")) return embed(in);
    if (accept(in, "remove")) return remove_element(in);
    if (accept(in, "move")) return rearrange(in, 0);
    if (accept(in, "swap")) return rearrange(in, 1);
    if (accept(in, "splice")) return splice(in);
    if (accept(in, "clear")) return clear(in);
    if (accept(in, "let")) return let(in);
    if (accept(in, "prepare")) return prepare(in);
    if (accept(in, "bind")) return bind_argument(in);
    if (accept(in, "observe")) return observe(in);
    if (accept(in, "sections")) return declare_sections(in);
    if (accept(in, "stop")) return stop(in);
    if (accept(in, "mark")) return mark();
    if (accept(in, "expect")) return expect(in);
    case_fail("unknown step '%s'", in->at);
}

/* ------------------------------------------------------------------------------------------------ running */

static void run_line(char *line) {
    cursor in = {line};
    if (at_end(&in)) return;
    if (accept(&in, "case") || accept(&in, "about")) return;
    if (accept(&in, "schema")) {
        now.schema = case_format("%s%s\n", now.schema ? now.schema : "", in.at);
        return;
    }
    if (accept(&in, "store")) {
        need(&in, "memory");
        now.identifier = case_format("%s", now.file);
        return;
    }
    motte_status status = step(&in);
    if (status < 0) case_fail("%s", status_text(status));
    need_end(&in);
}

static void empty_folder(const char *folder) {
    char *command = case_format("rm -rf '%s'", folder);
    if (system(command) != 0) abort();
}

/* A line that ends in a backslash goes on with the next one, whose leading blanks do not count. */
static int read_line(char *line, size_t room, FILE *lines) {
    size_t size = 0;
    while (size + 1 < room && fgets(line + size, (int)(room - size), lines)) {
        char *begin = line + size, *text = begin;
        now.line++;
        while (size > 0 && *text == ' ') text++;
        memmove(begin, text, strlen(text) + 1);
        size = strcspn(line, "\n");
        line[size] = 0;
        if (size == 0 || line[size - 1] != '\\') return 1;
        line[--size] = 0;
    }
    return size > 0;
}

static int run_case(const char *file) {
    char folder[] = "/tmp/motte-case-XXXXXX", line[8192];
    FILE *lines = fopen(file, "r");
    volatile int failed = 0;
    if (!lines || !mkdtemp(folder)) {
        fprintf(stderr, "%s: cannot be read\n", file);
        return 1;
    }
    memset(&now, 0, sizeof now);
    now.file = file;
    now.folder = folder;
    if (setjmp(now.failed) == 0) {
        while (read_line(line, sizeof line, lines)) run_line(line);
    } else {
        failed = 1;
        line[strcspn(line, "\n")] = 0;
        printf("%s:%d: error: %s\n    %s\n", file, now.line, now.reason, line);
    }
    close_all();
    if (!failed && motte_handle_count(MOTTE_HANDLE_NONE) != 0) {
        printf("%s: error: %llu handles are left\n", file, (unsigned long long)motte_handle_count(MOTTE_HANDLE_NONE));
        failed = 1;
    }
    fclose(lines);
    empty_folder(folder);
    case_free_all();
    return failed;
}

int main(int count, char **arguments) {
    int passed = 0, failed = 0, first = 1, verbose = 0;
    if (count > 1 && strcmp(arguments[1], "-v") == 0) verbose = first = 2;
    if (motte_check_abi(MOTTE_ABI_VERSION, MOTTE_ABI_LAYOUT) != MOTTE_OK || motte_version_number() != MOTTE_VERSION) {
        fprintf(stderr, "this runner was built for another library than %s\n", motte_version_string());
        return 1;
    }
    for (int i = first; i < count; i++) {
        if (verbose) printf("%s\n", arguments[i]);
        if (run_case(arguments[i])) failed++;
        else passed++;
    }
    if (motte_has_feature("there is no such feature", MOTTE_NTS)) failed++;
    printf("motte %s: %d passed, %d failed\n", motte_version_string(), passed, failed);
    motte_trace_write(getenv("MOTTE_CONFORMANCE_TRACE"));
    return failed > 0;
}
