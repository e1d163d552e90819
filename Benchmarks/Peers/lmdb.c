/* SPDX-License-Identifier: Apache-2.0
 * LMDB with records laid out by hand: what a key-value store costs, without schema, types and notifications above. */
#include "peers.h"

#include <lmdb.h>
#include <stdio.h>
#include <string.h>

static void must(int code, const char *what) {
    if (code) fail(what, mdb_strerror(code));
}
#define MUST(call) must((call), #call)

/* Behind it: the name, the city. */
typedef struct record {
    int64_t age, badge;
    double score;
    uint8_t active, name_size, city_size;
} record;

static MDB_env *environment;
static MDB_dbi rows, badges;
static MDB_txn *reader;
static bool is_indexed;

static MDB_txn *begin(unsigned flags) {
    MDB_txn *txn;
    MUST(mdb_txn_begin(environment, NULL, flags, &txn));
    return txn;
}

static void open_file(const char *folder, bool has_badges) {
    char path[1024];
    snprintf(path, sizeof path, "%s/person.lmdb", folder);
    is_indexed = has_badges;
    reader = NULL;
    MUST(mdb_env_create(&environment));
    MUST(mdb_env_set_mapsize(environment, (size_t)4 << 30));
    MUST(mdb_env_set_maxdbs(environment, 2));
    MUST(mdb_env_open(environment, path, MDB_NOSUBDIR | MDB_NOTLS, 0644));
    MDB_txn *txn = begin(0);
    MUST(mdb_dbi_open(txn, "rows", MDB_CREATE | MDB_INTEGERKEY, &rows));
    if (has_badges) MUST(mdb_dbi_open(txn, "badges", MDB_CREATE | MDB_INTEGERKEY, &badges));
    MUST(mdb_txn_commit(txn));
}

static void load(const person *persons, size_t count) {
    MDB_txn *txn = begin(0);
    for (size_t i = 0; i < count; i++) {
        const person *p = &persons[i];
        char bytes[sizeof(record) + sizeof p->name + sizeof p->city];
        record head = {.age = p->age,
                       .badge = p->badge,
                       .score = p->score,
                       .active = p->active,
                       .name_size = (uint8_t)strlen(p->name),
                       .city_size = (uint8_t)strlen(p->city)};
        memcpy(bytes, &head, sizeof head);
        memcpy(bytes + sizeof head, p->name, head.name_size);
        memcpy(bytes + sizeof head + head.name_size, p->city, head.city_size);
        int64_t id = p->id, badge = p->badge;
        MDB_val key = {sizeof id, &id}, value = {sizeof head + head.name_size + head.city_size, bytes};
        MUST(mdb_put(txn, rows, &key, &value, MDB_APPEND));
        if (!is_indexed) continue;
        MDB_val name = {sizeof badge, &badge}, target = {sizeof id, &id};
        MUST(mdb_put(txn, badges, &name, &target, 0));
    }
    MUST(mdb_txn_commit(txn));
}

static const void *find(MDB_txn *txn, int64_t id, size_t *size) {
    MDB_val key = {sizeof id, &id}, value;
    MUST(mdb_get(txn, rows, &key, &value));
    *size = value.mv_size;
    return value.mv_data;
}

static void age(const int64_t *ids, size_t count) {
    MDB_txn *txn = begin(0);
    for (size_t i = 0; i < count; i++) {
        char bytes[256];
        size_t size;
        const void *found = find(txn, ids[i], &size);
        memcpy(bytes, found, size);
        int64_t id = ids[i], older;
        memcpy(&older, bytes, sizeof older);
        older++;
        memcpy(bytes, &older, sizeof older);
        MDB_val key = {sizeof id, &id}, value = {size, bytes};
        MUST(mdb_put(txn, rows, &key, &value, 0));
    }
    MUST(mdb_txn_commit(txn));
}

/* Each get sees the newest version, as a get of the others does. */
static void renew(void) {
    if (reader) MUST(mdb_txn_renew(reader));
    else reader = begin(MDB_RDONLY);
}

static double values_of(int64_t id) {
    size_t size;
    record head;
    memcpy(&head, find(reader, id, &size), sizeof head);
    return (double)head.age + head.score;
}

static double get(const int64_t *ids, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        renew();
        sum += values_of(ids[i]);
        mdb_txn_reset(reader);
    }
    return sum;
}

static double get_by_badge(const int64_t *wanted, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t badge = wanted[i], id;
        MDB_val key = {sizeof badge, &badge}, value;
        renew();
        MUST(mdb_get(reader, badges, &key, &value));
        memcpy(&id, value.mv_data, sizeof id);
        sum += values_of(id);
        mdb_txn_reset(reader);
    }
    return sum;
}

static void close_file(void) {
    if (reader) mdb_txn_abort(reader);
    mdb_env_close(environment);
}

const engine lmdb_engine = {"LMDB", open_file, load, age, get, get_by_badge, close_file};
