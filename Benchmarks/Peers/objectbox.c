/* SPDX-License-Identifier: Apache-2.0
 * ObjectBox through its C interface, whose library is loaded from where it is named: cursors, and objects as
 * FlatBuffers, which are laid out here by hand and read in place. */
#include "peers.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* As its header of version 5 has them; handles are void *. */
enum {
    TYPE_BOOL = 1,
    TYPE_LONG = 6,
    TYPE_DOUBLE = 8,
    TYPE_STRING = 9
};
enum {
    FLAG_ID = 1,
    FLAG_INDEXED = 8
};
enum {
    PERSON = 1,
    ID = 1,
    NAME,
    AGE,
    SCORE,
    ACTIVE,
    CITY,
    BADGE
};
typedef uint32_t number;

#define FUNCTIONS(X)                                                                                                   \
    X(void *, model, (void))                                                                                           \
    X(int, model_entity, (void *, const char *, number, uint64_t))                                                     \
    X(int, model_property, (void *, const char *, int, number, uint64_t))                                              \
    X(int, model_property_flags, (void *, number))                                                                     \
    X(int, model_property_index_id, (void *, number, uint64_t))                                                        \
    X(int, model_entity_last_property_id, (void *, number, uint64_t))                                                  \
    X(void, model_last_entity_id, (void *, number, uint64_t))                                                          \
    X(void, model_last_index_id, (void *, number, uint64_t))                                                           \
    X(void *, opt, (void))                                                                                             \
    X(int, opt_directory, (void *, const char *))                                                                      \
    X(void, opt_max_db_size_in_kb, (void *, uint64_t))                                                                 \
    X(int, opt_model, (void *, void *))                                                                                \
    X(void *, store_open, (void *))                                                                                    \
    X(int, store_close, (void *))                                                                                      \
    X(void *, txn_write, (void *))                                                                                     \
    X(void *, txn_read, (void *))                                                                                      \
    X(int, txn_success, (void *))                                                                                      \
    X(int, txn_close, (void *))                                                                                        \
    X(void *, cursor, (void *, number))                                                                                \
    X(int, cursor_close, (void *))                                                                                     \
    X(int, cursor_put_new, (void *, uint64_t, const void *, size_t))                                                   \
    X(int, cursor_update, (void *, uint64_t, const void *, size_t))                                                    \
    X(int, cursor_get, (void *, uint64_t, const void **, size_t *))                                                    \
    X(void *, query_builder, (void *, number))                                                                         \
    X(int, qb_equals_int, (void *, number, int64_t))                                                                   \
    X(int, qb_close, (void *))                                                                                         \
    X(void *, query, (void *))                                                                                         \
    X(int, query_close, (void *))                                                                                      \
    X(int, query_param_int, (void *, number, number, int64_t))                                                         \
    X(int, query_find_first, (void *, const void **, size_t *))                                                        \
    X(const char *, last_error_message, (void))

#define DECLARED(result, name, parameters) result(*name) parameters;
static struct {
    FUNCTIONS(DECLARED)
} obx;

bool objectbox_load(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    if (!library) return false;
    void *found;
#define FOUND(result, name, parameters)                                                                                \
    found = dlsym(library, "obx_" #name);                                                                              \
    if (!found) fail("obx_" #name, "is not in the library of ObjectBox");                                              \
    memcpy(&obx.name, &found, sizeof found);
    FUNCTIONS(FOUND)
    return true;
}

static void must(int code, const char *what) {
    if (code) fail(what, obx.last_error_message());
}
#define MUST(call) must((call), #call)

static void *made(void *handle, const char *what) {
    if (!handle) fail(what, obx.last_error_message());
    return handle;
}

static void *store, *by_badge;
static bool is_indexed;

static void property(void *model, const char *name, int type, number id) {
    MUST(obx.model_property(model, name, type, id, 100 + id));
}

static void open_store(const char *folder, bool has_badges) {
    char path[1024];
    snprintf(path, sizeof path, "%s/objectbox", folder);
    is_indexed = has_badges;
    void *model = made(obx.model(), "obx_model"), *options = made(obx.opt(), "obx_opt");
    MUST(obx.model_entity(model, "Person", PERSON, 99));
    property(model, "id", TYPE_LONG, ID);
    MUST(obx.model_property_flags(model, FLAG_ID));
    property(model, "name", TYPE_STRING, NAME);
    property(model, "age", TYPE_LONG, AGE);
    property(model, "score", TYPE_DOUBLE, SCORE);
    property(model, "active", TYPE_BOOL, ACTIVE);
    property(model, "city", TYPE_STRING, CITY);
    if (has_badges) {
        property(model, "badge", TYPE_LONG, BADGE);
        MUST(obx.model_property_flags(model, FLAG_INDEXED));
        MUST(obx.model_property_index_id(model, 1, 200));
        obx.model_last_index_id(model, 1, 200);
    }
    number last = has_badges ? BADGE : CITY;
    MUST(obx.model_entity_last_property_id(model, last, 100 + last));
    obx.model_last_entity_id(model, PERSON, 99);
    MUST(obx.opt_directory(options, path));
    obx.opt_max_db_size_in_kb(options, 4 << 20);
    MUST(obx.opt_model(options, model));
    store = made(obx.store_open(options), "obx_store_open");
    by_badge = NULL;
    if (has_badges) {
        void *builder = made(obx.query_builder(store, PERSON), "obx_query_builder");
        if (!obx.qb_equals_int(builder, BADGE, 0)) fail("obx_qb_equals_int", obx.last_error_message());
        by_badge = made(obx.query(builder), "obx_query");
        MUST(obx.qb_close(builder));
    }
}

/* A FlatBuffer of one table: where it is, what its fields' places are, the fields; then the texts. */
enum {
    VTABLE = 4,
    TABLE = 24,
    FIELDS = 7,
    HEAD = 72
};
enum {
    AT_NAME = 4,
    AT_CITY = 8,
    AT_ACTIVE = 12,
    AT_ID = 16,
    AT_AGE = 24,
    AT_SCORE = 32,
    AT_BADGE = 40
};

static void put16(char *bytes, size_t at, uint16_t value) { memcpy(bytes + at, &value, sizeof value); }
static void put32(char *bytes, size_t at, uint32_t value) { memcpy(bytes + at, &value, sizeof value); }

static size_t put_text(char *bytes, size_t field, size_t at, const char *text) {
    size_t size = strlen(text);
    put32(bytes, TABLE + field, (uint32_t)(at - TABLE - field));
    put32(bytes, at, (uint32_t)size);
    memcpy(bytes + at + 4, text, size);
    size_t end = at + 4 + size, next = (end + 4) / 4 * 4;
    memset(bytes + end, 0, next - end);
    return next;
}

/* `bytes` are aligned for what is in them. */
static size_t encode(const person *p, char *bytes) {
    static const uint16_t places[FIELDS] = {AT_ID, AT_NAME, AT_AGE, AT_SCORE, AT_ACTIVE, AT_CITY, AT_BADGE};
    memset(bytes, 0, HEAD);
    put32(bytes, 0, TABLE);
    size_t fields = is_indexed ? FIELDS : FIELDS - 1;
    put16(bytes, VTABLE, (uint16_t)(4 + 2 * fields));
    put16(bytes, VTABLE + 2, HEAD - TABLE);
    for (size_t i = 0; i < fields; i++) put16(bytes, VTABLE + 4 + 2 * i, places[i]);
    put32(bytes, TABLE, TABLE - VTABLE);
    memcpy(bytes + TABLE + AT_ID, &p->id, sizeof p->id);
    memcpy(bytes + TABLE + AT_AGE, &p->age, sizeof p->age);
    memcpy(bytes + TABLE + AT_SCORE, &p->score, sizeof p->score);
    memcpy(bytes + TABLE + AT_BADGE, &p->badge, sizeof p->badge);
    bytes[TABLE + AT_ACTIVE] = p->active;
    return put_text(bytes, AT_CITY, put_text(bytes, AT_NAME, HEAD, p->name), p->city);
}

typedef union buffer {
    char bytes[256];
    double aligned;
} buffer;

static void load(const person *persons, size_t count) {
    void *txn = made(obx.txn_write(store), "obx_txn_write"), *cursor = made(obx.cursor(txn, PERSON), "obx_cursor");
    buffer object;
    for (size_t i = 0; i < count; i++) {
        size_t size = encode(&persons[i], object.bytes);
        MUST(obx.cursor_put_new(cursor, (uint64_t)persons[i].id, object.bytes, size));
    }
    MUST(obx.cursor_close(cursor));
    MUST(obx.txn_success(txn));
}

static void age(const int64_t *ids, size_t count) {
    void *txn = made(obx.txn_write(store), "obx_txn_write"), *cursor = made(obx.cursor(txn, PERSON), "obx_cursor");
    for (size_t i = 0; i < count; i++) {
        buffer object;
        const void *found;
        size_t size;
        int64_t older;
        MUST(obx.cursor_get(cursor, (uint64_t)ids[i], &found, &size));
        memcpy(object.bytes, found, size);
        memcpy(&older, object.bytes + TABLE + AT_AGE, sizeof older);
        older++;
        memcpy(object.bytes + TABLE + AT_AGE, &older, sizeof older);
        MUST(obx.cursor_update(cursor, (uint64_t)ids[i], object.bytes, size));
    }
    MUST(obx.cursor_close(cursor));
    MUST(obx.txn_success(txn));
}

static double values_of(const void *object) {
    int64_t years;
    double score;
    memcpy(&years, (const char *)object + TABLE + AT_AGE, sizeof years);
    memcpy(&score, (const char *)object + TABLE + AT_SCORE, sizeof score);
    return (double)years + score;
}

/* One transaction for all: its cheapest way. */
static double get(const int64_t *ids, size_t count) {
    void *txn = made(obx.txn_read(store), "obx_txn_read"), *cursor = made(obx.cursor(txn, PERSON), "obx_cursor");
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const void *found;
        size_t size;
        MUST(obx.cursor_get(cursor, (uint64_t)ids[i], &found, &size));
        sum += values_of(found);
    }
    MUST(obx.cursor_close(cursor));
    MUST(obx.txn_close(txn));
    return sum;
}

static double get_by_badge(const int64_t *badges, size_t count) {
    void *txn = made(obx.txn_read(store), "obx_txn_read");
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const void *found;
        size_t size;
        MUST(obx.query_param_int(by_badge, PERSON, BADGE, badges[i]));
        MUST(obx.query_find_first(by_badge, &found, &size));
        sum += values_of(found);
    }
    MUST(obx.txn_close(txn));
    return sum;
}

static void close_store(void) {
    if (by_badge) MUST(obx.query_close(by_badge));
    MUST(obx.store_close(store));
}

const engine objectbox_engine = {"ObjectBox", open_store, load, age, get, get_by_badge, close_store};
