/* SPDX-License-Identifier: Apache-2.0
 * Motte through its C interface: columns to insert, rows by their handle-less form, a query that is prepared once. */
#include "motte_inline.h"
#include "peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(motte_status status, const char *what) {
    if (status < 0 || status == MOTTE_NOT_FOUND) fail(what, motte_status_name(status));
}
#define MUST(call) must((call), #call)

enum {
    ID,
    NAME,
    AGE,
    SCORE,
    ACTIVE,
    CITY,
    BADGE,
    PROPS
};
enum {
    PIECE = 10000
};

static motte_realm *realm;
static motte_class cls;
static motte_prop props[PROPS];
static motte_query *by_badge;
static size_t prop_count;

static void open_file(const char *folder, bool has_badges) {
    static const char *const names[PROPS] = {"id", "name", "age", "score", "active", "city", "badge"};
    char path[1024], schema[256];
    motte_config *config;
    motte_schema *parsed;
    snprintf(path, sizeof path, "%s/person.motte", folder);
    snprintf(schema, sizeof schema,
             "Person { id: int key, name: string, age: int, score: double, active: bool, city: string%s }",
             has_badges ? ", badge: int indexed" : "");
    MUST(motte_config_new(&config));
    MUST(motte_schema_parse(schema, MOTTE_NTS, &parsed));
    MUST(motte_config_set_path(config, path, MOTTE_NTS));
    MUST(motte_config_set_schema(config, parsed, 0));
    MUST(motte_realm_open(config, &realm));
    motte_release(config);
    motte_release(parsed);
    MUST(motte_class_require(realm, "Person", MOTTE_NTS, &cls));
    prop_count = has_badges ? PROPS : PROPS - 1;
    for (size_t i = 0; i < prop_count; i++) MUST(motte_prop_require(realm, cls, names[i], MOTTE_NTS, &props[i]));
    by_badge = NULL;
    motte_value first = motte_int(0);
    if (has_badges) MUST(motte_query_parse(realm, cls, "badge == $0", MOTTE_NTS, &first, 1, &by_badge));
}

static void load(const person *persons, size_t count) {
    static int64_t ids[PIECE], ages[PIECE], badges[PIECE];
    static double scores[PIECE];
    static uint8_t actives[PIECE];
    static motte_str names[PIECE], cities[PIECE];
    motte_column columns[PROPS] = {
        {.type = MOTTE_TYPE_INT, .values = ids},      {.type = MOTTE_TYPE_STRING, .values = names},
        {.type = MOTTE_TYPE_INT, .values = ages},     {.type = MOTTE_TYPE_DOUBLE, .values = scores},
        {.type = MOTTE_TYPE_BOOL, .values = actives}, {.type = MOTTE_TYPE_STRING, .values = cities},
        {.type = MOTTE_TYPE_INT, .values = badges},
    };
    motte_insert *insert;
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_insert_new(realm, cls, props, prop_count, 0, &insert));
    for (size_t first = 0; first < count; first += PIECE) {
        size_t rows = count - first < PIECE ? count - first : PIECE;
        for (size_t i = 0; i < rows; i++) {
            const person *p = &persons[first + i];
            ids[i] = p->id, ages[i] = p->age, badges[i] = p->badge, scores[i] = p->score, actives[i] = p->active;
            names[i] = (motte_str){p->name, strlen(p->name)};
            cities[i] = (motte_str){p->city, strlen(p->city)};
        }
        MUST(motte_insert_columns(insert, columns, rows, NULL));
    }
    motte_release(insert);
    MUST(motte_realm_commit(realm, 0, NULL));
}

static motte_key find(int64_t id) {
    motte_key key;
    motte_value wanted = motte_int(id);
    MUST(motte_row_find(realm, cls, &wanted, &key));
    return key;
}

static void age(const int64_t *ids, size_t count) {
    MUST(motte_realm_begin_write(realm, -1));
    for (size_t i = 0; i < count; i++) {
        motte_key key = find(ids[i]);
        motte_value value;
        MUST(motte_row_get_many(realm, cls, key, &props[AGE], 1, &value));
        value = motte_int(value.as.integer + 1);
        MUST(motte_row_set_many(realm, cls, key, &props[AGE], &value, 1));
    }
    MUST(motte_realm_commit(realm, 0, NULL));
}

static double get(const int64_t *ids, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        motte_value values[2];
        MUST(motte_row_get_many(realm, cls, find(ids[i]), &props[AGE], 2, values));
        sum += (double)values[0].as.integer + values[1].as.real;
    }
    return sum;
}

static double get_by_badge(const int64_t *badges, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        motte_value wanted = motte_int(badges[i]), values[2];
        motte_object *object;
        MUST(motte_query_bind(by_badge, 0, &wanted));
        MUST(motte_query_first(by_badge, &object));
        MUST(motte_object_get_many(object, &props[AGE], 2, values));
        sum += (double)values[0].as.integer + values[1].as.real;
        motte_release(object);
    }
    return sum;
}

static void close_file(void) {
    motte_release(by_badge);
    MUST(motte_realm_close(realm));
    motte_release(realm);
}

const engine motte_engine = {"Motte", open_file, load, age, get, get_by_badge, close_file};
