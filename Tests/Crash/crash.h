/* SPDX-License-Identifier: Apache-2.0
 * What the crash tests write and what must hold of it at every version.
 *
 * Each commit is one round. Round k
 *   - adds ROWS entries with round == k and deletes those of round k - KEPT,
 *   - appends k to the WAL's list and sets the WAL's round to k.
 * So of a sound file, whatever k it shows:
 *   R1  there are ROWS entries of each of the last KEPT rounds, by scan and by index, and none of any other
 *   R2  the list is 1 ... k
 *   R3  each entry's text is made from its round and number
 * Ballast is for those who want large commits; nothing is said about it.
 */
#ifndef MOTTE_CRASH_H
#define MOTTE_CRASH_H

#include "motte.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 7,
    KEPT = 5
};

static const char schema_text[] = "WAL { id: int key, round: int, rounds: list<int>, last: link<Entry> }\n"
                                  "Entry { name: string key, round: int indexed, number: int, WAL: link<WAL>,\n"
                                  "    indexed(round, number desc), unique(number, round), indexed(name [c]) }\n"
                                  "Ballast { weight: int }\n";

typedef struct store {
    motte_realm *realm;
    motte_class wal_class, entry_class;
    motte_prop id, round, rounds, last, name, entry_round, number, wal;
} store;

static inline void die(const char *what, motte_status status) {
    motte_error_details details = {.struct_size = sizeof details};
    int known = motte_last_error(&details) == MOTTE_OK;
    fprintf(stderr, "%s: %s: %s\n", what, motte_status_name(status), known ? details.message : "");
    exit(2);
}

static inline void must(motte_status status, const char *what) {
    if (status < 0) die(what, status);
}
#define MUST(call) must((call), #call)

static inline motte_prop prop_of(store *in, motte_class cls, const char *name) {
    motte_prop prop = 0;
    MUST(motte_prop_find(in->realm, cls, name, MOTTE_NTS, &prop));
    return prop;
}

/* `queue` may be NULL; `timeout` is in milliseconds, -1: for ever. What opening answers is the result. */
static inline motte_status try_open_store(const char *path, const char *durability, motte_queue *queue, int64_t timeout,
                                          store *out) {
    store opened;
    motte_config *config;
    motte_schema *schema;
    motte_value option = {MOTTE_TYPE_STRING, 0, {.string = {durability, strlen(durability)}}};
    motte_value patience = {MOTTE_TYPE_INT, 0, {.integer = timeout}};
    MUST(motte_config_new(&config));
    MUST(motte_schema_parse(schema_text, MOTTE_NTS, &schema));
    MUST(motte_config_set_path(config, path, MOTTE_NTS));
    MUST(motte_config_set_schema(config, schema, 0));
    MUST(motte_config_set_option(config, "durability", MOTTE_NTS, &option));
    MUST(motte_config_set_option(config, "open_timeout", MOTTE_NTS, &patience));
    if (queue) MUST(motte_config_set_queue(config, queue));
    motte_status status = motte_realm_open(config, &opened.realm);
    motte_release(config);
    motte_release(schema);
    if (status < 0) return status;
    MUST(motte_class_find(opened.realm, "WAL", MOTTE_NTS, &opened.wal_class));
    MUST(motte_class_find(opened.realm, "Entry", MOTTE_NTS, &opened.entry_class));
    opened.id = prop_of(&opened, opened.wal_class, "id");
    opened.round = prop_of(&opened, opened.wal_class, "round");
    opened.rounds = prop_of(&opened, opened.wal_class, "rounds");
    opened.last = prop_of(&opened, opened.wal_class, "last");
    opened.name = prop_of(&opened, opened.entry_class, "name");
    opened.entry_round = prop_of(&opened, opened.entry_class, "round");
    opened.number = prop_of(&opened, opened.entry_class, "number");
    opened.wal = prop_of(&opened, opened.entry_class, "WAL");
    *out = opened;
    return status;
}

static inline store open_store_on(const char *path, const char *durability, motte_queue *queue) {
    store opened;
    MUST(try_open_store(path, durability, queue, 60000, &opened));
    return opened;
}

static inline store open_store(const char *path, const char *durability) {
    return open_store_on(path, durability, NULL);
}

static inline motte_value int_value(int64_t number) { return (motte_value){MOTTE_TYPE_INT, 0, {.integer = number}}; }

static inline motte_value link_value(motte_class cls, motte_key key) {
    return (motte_value){MOTTE_TYPE_LINK, cls, {.key = key}};
}

/* Long enough that texts of a few rounds fill a chunk; the same for the same entry every time. */
static inline int entry_name(char *text, size_t size, int64_t round, int number) {
    return snprintf(text, size, "entry %d of round %lld %.*s", number, (long long)round, (int)(round % 40),
                    "........................................");
}

#endif
