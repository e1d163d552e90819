/* SPDX-License-Identifier: Apache-2.0
 * What peers.c measures: the rows, and what an engine does with them. */
#ifndef MOTTE_PEERS_H
#define MOTTE_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Five properties beside the key, those of W2, and one that an index is on. */
typedef struct person {
    int64_t id, age, badge;
    double score;
    bool active;
    char name[24], city[16];
} person;

typedef struct engine {
    const char *name;
    /* A new file in a folder of its own; with an index of badges, or without that property. */
    void (*open)(const char *folder, bool has_badges);
    /* All in one durable transaction; ids ascend. */
    void (*load)(const person *persons, size_t count);
    /* Adds one to the age of each, in one durable transaction. */
    void (*age)(const int64_t *ids, size_t count);
    /* Sums of what was found. */
    double (*get)(const int64_t *ids, size_t count);
    double (*get_by_badge)(const int64_t *badges, size_t count);
    void (*close)(void);
} engine;

extern const engine motte_engine, lmdb_engine, objectbox_engine;

/* False where the library is not there. */
bool objectbox_load(const char *path);

void fail(const char *what, const char *why);

#endif
