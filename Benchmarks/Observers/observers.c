/* SPDX-License-Identifier: Apache-2.0
 * What observers cost, over the shipped library: docs/BENCHMARKS.md has the figures.
 *
 *     observers delivery [most rows]   one changed object notified to observers of N matches, beside a query run again
 *     observers bulk [most rows]       the same for 10,000 objects changed in one commit
 *     observers many [rows]            100 observers of one query and of 100, while 1,000 commits a second come
 *     observers handed [rows]          what a queue's thread does for a commit of another, and when it is notified of
 *     it observers memory [rows]          resident bytes of one observer of that many matches
 *     observers latency [commits]      from a commit to the callback of another process
 *
 * Each prints medians; run it on an idle machine.
 */
#include "motte_inline.h"

#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void must(motte_status status, const char *what) {
    if (status >= 0) return;
    motte_print_error(stderr, what, status);
    exit(2);
}
#define MUST(call) must((call), #call)

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static double percentile(double *values, size_t count, double part) {
    qsort(values, count, sizeof *values, ascending);
    return values[(size_t)((double)(count - 1) * part)];
}

/* What the allocator keeps for later is nobody's. */
static long resident(void) {
    malloc_trim(0);
    long pages = 0, ignored;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &ignored, &pages) != 2) pages = 0;
    if (file) fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

/* ------------------------------------------------------------------------------------------------ the store */

static const char schema_text[] = "Item { id: int key, rank: int, name: string, group: link<Group> }\n"
                                  "Group { id: int key, label: string }\n"
                                  "Holder { all: list<Item>, some: set<Item>, named: map<Item>, parts: list<Part> }\n"
                                  "Part { of: link<Holder>, rank: int }\n";

typedef struct store {
    motte_realm *realm;
    motte_class item, group, part;
    motte_prop id, rank, name, link, group_id, label, part_rank;
} store;

/* A limit keeps the notifier from looking at versions ahead of the sessions. */
static bool versions_are_limited = false;

static store open_store(const char *path, const char *durability, motte_queue *queue) {
    store s;
    motte_config *config;
    motte_schema *schema;
    motte_value option = motte_string(durability), many_versions = motte_int(1000000);
    MUST(motte_config_new(&config));
    MUST(motte_schema_parse(schema_text, MOTTE_NTS, &schema));
    if (path) MUST(motte_config_set_path(config, path, MOTTE_NTS));
    else MUST(motte_config_set_in_memory(config, "observers", MOTTE_NTS));
    MUST(motte_config_set_schema(config, schema, 0));
    if (path) MUST(motte_config_set_option(config, "durability", MOTTE_NTS, &option));
    if (versions_are_limited) MUST(motte_config_set_option(config, "max_live_versions", MOTTE_NTS, &many_versions));
    if (queue) MUST(motte_config_set_queue(config, queue));
    MUST(motte_realm_open(config, &s.realm));
    motte_release(config);
    motte_release(schema);
    s.item = motte_class_named(s.realm, "Item");
    s.group = motte_class_named(s.realm, "Group");
    s.id = motte_prop_named(s.realm, s.item, "id");
    s.rank = motte_prop_named(s.realm, s.item, "rank");
    s.name = motte_prop_named(s.realm, s.item, "name");
    s.link = motte_prop_named(s.realm, s.item, "group");
    s.group_id = motte_prop_named(s.realm, s.group, "id");
    s.label = motte_prop_named(s.realm, s.group, "label");
    s.part = motte_class_named(s.realm, "Part");
    s.part_rank = motte_prop_named(s.realm, s.part, "rank");
    return s;
}

static void close_store(store *s) {
    motte_realm_close(s->realm);
    motte_release(s->realm);
}

static void stop_observing(motte_coll *results, motte_token *token) {
    motte_release(token);
    motte_release(results);
}

/* Items in random order of rank, one group for each ten of them. */
static void fill(store *s, size_t rows) {
    unsigned long long seed = 88172645463325252ull;
    motte_prop groups[] = {s->group_id, s->label}, items[] = {s->id, s->rank, s->name, s->link};
    motte_key keys[1000];
    motte_insert *insert;
    static motte_value values[4000];
    MUST(motte_realm_begin_write(s->realm, -1));
    MUST(motte_insert_new(s->realm, s->group, groups, 2, 0, &insert));
    for (size_t first = 0; first < rows / 10 + 1; first += 1000) {
        for (size_t i = 0; i < 1000; i++) {
            values[i * 2] = motte_int((int64_t)(first + i));
            values[i * 2 + 1] = motte_string("label");
        }
        MUST(motte_insert_rows(insert, values, 1000, keys));
    }
    motte_release(insert);
    MUST(motte_insert_new(s->realm, s->item, items, 4, 0, &insert));
    for (size_t first = 0; first < rows; first += 1000) {
        for (size_t i = 0; i < 1000; i++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            values[i * 4] = motte_int((int64_t)(first + i));
            values[i * 4 + 1] = motte_int((int64_t)(seed >> 20));
            values[i * 4 + 2] = motte_string("a name of some length");
            values[i * 4 + 3] = (motte_value){MOTTE_TYPE_LINK, s->group, {.key = (motte_key)((first + i) / 10)}};
        }
        MUST(motte_insert_rows(insert, values, 1000, keys));
    }
    motte_release(insert);
    MUST(motte_realm_commit(s->realm, 0, NULL));
}

static motte_coll *query(store *s, const char *text) {
    motte_query *parsed;
    motte_coll *found;
    MUST(motte_query_parse(s->realm, s->item, text, MOTTE_NTS, NULL, 0, &parsed));
    MUST(motte_query_run(parsed, &found));
    motte_release(parsed);
    return found;
}

/* ------------------------------------------------------------------------------------------------ delivery */

typedef struct watched {
    const char *name, *text;
    motte_str path;
    enum {
        CHANGES_ITEMS,
        CHANGES_GROUPS,
        CHANGES_PARTS
    } changes;
    enum {
        WATCHED_QUERY,
        WATCHED_PROPERTY,
        WATCHED_BACKLINKS,
        WATCHED_OBJECT,
        WATCHED_SECTIONS
    } kind;
} watched;

static const watched all_watched[] = {
    {"unsorted", "rank >= 0", {NULL, 0}, CHANGES_ITEMS, WATCHED_QUERY},
    {"sorted", "rank >= 0 SORT(rank ASC)", {NULL, 0}, CHANGES_ITEMS, WATCHED_QUERY},
    {"key path through a link", "rank >= 0", {"group.label", 11}, CHANGES_GROUPS, WATCHED_QUERY},
};

static void change(store *s, const watched *w, motte_key key, const motte_value *label, const motte_value *rank) {
    motte_class cls = w->changes == CHANGES_PARTS ? s->part : s->item;
    if (w->changes == CHANGES_GROUPS) MUST(motte_row_set_many(s->realm, s->group, key, &s->label, label, 1));
    else MUST(motte_row_set_many(s->realm, cls, key, cls == s->part ? &s->part_rank : &s->rank, rank, 1));
}

/* The time that the writer's realm takes to be notified of a commit of one object by another, and to run the query
 * instead. */
static void deliver(store *s, const watched *w, size_t rows) {
    enum {
        ROUNDS = 60
    };
    double notified[ROUNDS], bare[ROUNDS], again[7];
    motte_coll *results = query(s, w->text);
    motte_token *token;
    motte_changes *changes;
    store other = open_store(NULL, "full", NULL);
    bool advanced;
    for (int observes = 0; observes < 2; observes++) {
        if (observes) {
            if (w->path.data) {
                MUST(motte_observe_coll_paths(results, &w->path, 1, 0, NULL, NULL, NULL, &token));
            } else {
                MUST(motte_observe_coll(results, 0, NULL, NULL, NULL, &token));
            }
            MUST(motte_token_next(token, &changes));
            motte_release(changes);
        }
        for (int round = 0; round < ROUNDS; round++) {
            motte_key key = (motte_key)((size_t)round * 7919 % (w->changes == CHANGES_GROUPS ? rows / 10 : rows));
            motte_value label = motte_string(round % 2 ? "one" : "two"), rank = motte_int(round * 104729 % 1000000);
            MUST(motte_realm_begin_write(other.realm, -1));
            change(&other, w, key, &label, &rank);
            MUST(motte_realm_commit(other.realm, 0, NULL));
            double start = now();
            MUST(motte_realm_refresh(s->realm, &advanced));
            if (observes) MUST(motte_token_next(token, &changes));
            (observes ? notified : bare)[round] = now() - start;
            if (observes) motte_release(changes);
        }
    }
    for (int round = 0; round < 7; round++) {
        size_t count, got;
        motte_coll *fresh = query(s, w->text);
        double start = now();
        MUST(motte_coll_count(fresh, &count));
        motte_key *keys = malloc((count + 1) * sizeof *keys);
        MUST(motte_read_keys(fresh, 0, count, keys, &got));
        again[round] = now() - start;
        free(keys);
        motte_release(fresh);
    }
    printf("%-26s %9zu %14.1f %14.1f %14.1f\n", w->name, rows, percentile(notified, ROUNDS, 0.5) * 1e6,
           percentile(bare, ROUNDS, 0.5) * 1e6, percentile(again, 7, 0.5) * 1e6);
    fflush(stdout);
    stop_observing(results, token);
    close_store(&other);
}

static void delivery(size_t most) {
    printf("%-26s %9s %14s %14s %14s\n", "one changed object", "matches", "observed us", "refresh us", "run again us");
    for (size_t rows = 1000; rows <= most; rows *= rows == 1000 ? 100 : 10) {
        store s = open_store(NULL, "full", NULL);
        fill(&s, rows);
        for (size_t i = 0; i < sizeof all_watched / sizeof *all_watched; i++) deliver(&s, &all_watched[i], rows);
        close_store(&s);
    }
}

/* ------------------------------------------------------------------------------------------------ bulk */

static void change_many(store *other, const watched *w, size_t rows, size_t round) {
    size_t count = w->changes == CHANGES_GROUPS ? rows / 10 : rows;
    MUST(motte_realm_begin_write(other->realm, -1));
    for (size_t i = 0; i < 10000; i++) {
        motte_key key = (motte_key)((i * 7919 + round * 31) % count);
        motte_value label = motte_string(round % 2 ? "one" : "two"), rank = motte_int((int64_t)(i * 104729 % 1000000));
        change(other, w, key, &label, &rank);
    }
    MUST(motte_realm_commit(other->realm, 0, NULL));
}

/* What whoever runs the query again has to find out besides: which keys went, came and moved. What only changed would
 * take a comparison of values, too. Positions are 1 and up; answers how many. */
static size_t compare(const motte_key *old, size_t old_count, const motte_key *new, size_t new_count, size_t rows) {
    unsigned *place = calloc(rows, sizeof *place), *ends = malloc((old_count + 1) * sizeof *ends);
    size_t found = 0, stayed = 0, longest = 0;
    for (size_t i = 0; i < new_count; i++) place[new[i]] = (unsigned)i + 1;
    /* The longest run of keys that kept their order. */
    for (size_t i = 0; i < old_count; i++) {
        unsigned at = place[old[i]];
        if (!at) {
            found++;
            continue;
        }
        stayed++;
        size_t low = 0, high = longest;
        if (longest && ends[longest - 1] < at) low = longest;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (ends[middle] < at) low = middle + 1;
            else high = middle;
        }
        ends[low] = at;
        if (low == longest) longest++;
    }
    free(place);
    free(ends);
    return found + (new_count - stayed) + (stayed - longest) * 2;
}

/* Notified of 10,000 changes: beside advancing and running the query, and beside comparing its outcome with the
 * last. */
static void tell_of_many(store *s, const watched *w, size_t rows) {
    enum {
        ROUNDS = 7
    };
    double notified[ROUNDS], again[ROUNDS], compared[ROUNDS], start;
    store other = open_store(NULL, "full", NULL);
    motte_token *token;
    motte_changes *changes;
    bool advanced;
    motte_key *last = NULL;
    size_t last_count = 0, differences = 0;
    for (int round = 0; round < ROUNDS; round++) {
        size_t count, got;
        change_many(&other, w, rows, (size_t)round);
        motte_coll *fresh = query(s, w->text);
        start = now();
        MUST(motte_realm_refresh(s->realm, &advanced));
        MUST(motte_coll_count(fresh, &count));
        motte_key *keys = malloc((count + 1) * sizeof *keys);
        MUST(motte_read_keys(fresh, 0, count, keys, &got));
        again[round] = now() - start;
        differences += compare(last, last_count, keys, got, rows);
        compared[round] = now() - start;
        free(last);
        last = keys;
        last_count = got;
        motte_release(fresh);
    }
    free(last);
    if (differences == 0) exit(2);
    motte_coll *results = query(s, w->text);
    if (w->path.data) MUST(motte_observe_coll_paths(results, &w->path, 1, 0, NULL, NULL, NULL, &token));
    else MUST(motte_observe_coll(results, 0, NULL, NULL, NULL, &token));
    MUST(motte_token_next(token, &changes));
    motte_release(changes);
    for (int round = 0; round < ROUNDS; round++) {
        change_many(&other, w, rows, (size_t)(round + ROUNDS));
        start = now();
        MUST(motte_realm_refresh(s->realm, &advanced));
        MUST(motte_token_next(token, &changes));
        notified[round] = now() - start;
        motte_release(changes);
    }
    double observed = percentile(notified, ROUNDS, 0.5), rerun = percentile(again, ROUNDS, 0.5);
    double both = percentile(compared, ROUNDS, 0.5);
    printf("%-26s %9zu %12.2f %12.2f %14.2f %8.2f %8.2f\n", w->name, rows, observed * 1e3, rerun * 1e3, both * 1e3,
           observed / rerun, observed / both);
    fflush(stdout);
    stop_observing(results, token);
    close_store(&other);
}

static void bulk(size_t most) {
    printf("%-26s %9s %12s %12s %14s %8s %8s\n", "10,000 changed objects", "matches", "observed ms", "run again ms",
           "and compare ms", "ratio", "ratio");
    for (size_t rows = 100000; rows <= most; rows *= 10) {
        store s = open_store(NULL, "full", NULL);
        fill(&s, rows);
        for (size_t i = 0; i < sizeof all_watched / sizeof *all_watched; i++) tell_of_many(&s, &all_watched[i], rows);
        close_store(&s);
    }
}

/* ------------------------------------------------------------------------------------------------ many */

/* The time that `count` observers take to be notified of one commit, as part of the millisecond that 1,000 a second
 * leave. */
static void receive(store *s, const char *name, const char *format, int count, bool same, size_t rows) {
    enum {
        ROUNDS = 200
    };
    double notified[ROUNDS];
    motte_coll *results[100];
    motte_token *tokens[100];
    motte_changes *changes;
    char text[100];
    bool advanced;
    store other = open_store(NULL, "full", NULL);
    long before = resident();
    for (int i = 0; i < count; i++) {
        snprintf(text, sizeof text, format, same ? 0 : i);
        results[i] = query(s, text);
        MUST(motte_observe_coll(results[i], 0, NULL, NULL, NULL, &tokens[i]));
        MUST(motte_token_next(tokens[i], &changes));
        motte_release(changes);
    }
    long bytes = resident() - before;
    for (int round = 0; round < ROUNDS; round++) {
        motte_value rank = motte_int(round * 104729 % 1000000 + 1000);
        MUST(motte_realm_begin_write(other.realm, -1));
        motte_key key = (motte_key)((size_t)round * 7919 % rows);
        MUST(motte_row_set_many(other.realm, other.item, key, &other.rank, &rank, 1));
        MUST(motte_realm_commit(other.realm, 0, NULL));
        double start = now();
        MUST(motte_realm_refresh(s->realm, &advanced));
        for (int i = 0; i < count; i++) {
            MUST(motte_token_next(tokens[i], &changes));
            motte_release(changes);
        }
        notified[round] = now() - start;
    }
    double time = percentile(notified, ROUNDS, 0.5);
    printf("%-34s %4d %9zu %10.1f %9.2f %10.1f\n", name, count, rows, time * 1e6, time * 1e3, (double)bytes / 1e6);
    fflush(stdout);
    for (int i = 0; i < count; i++) {
        motte_release(tokens[i]);
        motte_release(results[i]);
    }
    close_store(&other);
}

static void many(size_t rows) {
    printf("%-34s %4s %9s %10s %9s %10s\n", "observers", "", "matches", "us/commit", "of 1 ms", "MB in all");
    store s = open_store(NULL, "full", NULL);
    fill(&s, rows);
    receive(&s, "unsorted", "rank >= %d", 1, true, rows);
    receive(&s, "unsorted, one query", "rank >= %d", 100, true, rows);
    receive(&s, "unsorted, different queries", "rank >= %d", 100, false, rows);
    receive(&s, "sorted", "rank >= %d SORT(rank ASC)", 1, true, rows);
    receive(&s, "sorted, one query", "rank >= %d SORT(rank ASC)", 100, true, rows);
    receive(&s, "sorted, different queries", "rank >= %d SORT(rank ASC)", 100, false, rows);
    close_store(&s);
}

/* ------------------------------------------------------------------------------------------------ handed */

enum {
    HANDED_ROUNDS = 41
};

typedef struct handing {
    const watched *w;
    size_t rows, changes;
    sem_t go;
    double committed, received;
} handing;

static double thread_time(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void *commit_for_others(void *argument) {
    handing *h = argument;
    store other = open_store(NULL, "full", NULL);
    size_t count = h->w->changes == CHANGES_GROUPS ? h->rows / 10 : h->rows;
    for (size_t round = 0; round < HANDED_ROUNDS; round++) {
        while (sem_wait(&h->go) != 0) {}
        usleep(5000);
        MUST(motte_realm_begin_write(other.realm, -1));
        for (size_t i = 0; i < h->changes; i++) {
            motte_key key = (motte_key)((i * 7919 + round * 31) % count);
            motte_value label = motte_string(round % 2 ? "one" : "two"),
                        rank = motte_int((int64_t)(i * 104729 + round));
            change(&other, h->w, key, &label, &rank);
        }
        h->committed = now();
        MUST(motte_realm_commit(other.realm, 0, NULL));
    }
    close_store(&other);
    return NULL;
}

static motte_status note_received(void *userdata, const motte_changes *changes) {
    handing *h = userdata;
    (void)changes;
    h->received = now();
    return 0;
}

/* One object with all items in its list, set and map, and as many parts that link to it. */
static void fill_holder(store *s, size_t rows) {
    motte_class holder = motte_class_named(s->realm, "Holder"), part = motte_class_named(s->realm, "Part");
    motte_prop of = motte_prop_named(s->realm, part, "of");
    static const char *const names[] = {"all", "some", "named"};
    enum {
        STEP = 1000
    };
    static motte_value values[STEP];
    static char texts[STEP][16];
    motte_str keys[STEP];
    motte_key key, made[STEP];
    motte_insert *insert;
    MUST(motte_realm_begin_write(s->realm, -1));
    MUST(motte_row_create(s->realm, holder, NULL, NULL, 0, 0, &key, NULL));
    for (int kind = 0; kind < 3; kind++) {
        motte_coll *coll;
        MUST(motte_row_get_coll(s->realm, holder, key, motte_prop_named(s->realm, holder, names[kind]), &coll));
        for (size_t first = 0; first < rows; first += STEP) {
            for (size_t i = 0; i < STEP; i++) {
                values[i] = (motte_value){MOTTE_TYPE_LINK, s->item, {.key = (motte_key)(first + i)}};
                snprintf(texts[i], sizeof texts[i], "k%09zu", first + i);
                keys[i] = (motte_str){texts[i], strlen(texts[i])};
            }
            if (kind == 0) MUST(motte_list_append(coll, values, STEP));
            else if (kind == 1) MUST(motte_set_insert_many(coll, values, STEP, NULL));
            else MUST(motte_map_put_many(coll, keys, values, STEP));
        }
        motte_release(coll);
    }
    MUST(motte_insert_new(s->realm, part, &of, 1, 0, &insert));
    for (size_t i = 0; i < STEP; i++) values[i] = (motte_value){MOTTE_TYPE_LINK, holder, {.key = key}};
    for (size_t first = 0; first < rows; first += STEP) MUST(motte_insert_rows(insert, values, STEP, made));
    motte_release(insert);
    MUST(motte_realm_commit(s->realm, 0, NULL));
}

/* Begins to observe what is named; `kept` is for the caller to release. */
static motte_token *observe_named(store *s, const watched *w, handing *h, void **kept) {
    motte_class holder = motte_class_named(s->realm, "Holder");
    motte_token *token;
    motte_coll *coll;
    switch (w->kind) {
    case WATCHED_PROPERTY:
        MUST(motte_row_get_coll(s->realm, holder, 0, motte_prop_named(s->realm, holder, w->text), &coll));
        MUST(motte_observe_coll(coll, 0, note_received, h, NULL, &token));
        *kept = coll;
        return token;
    case WATCHED_BACKLINKS: {
        motte_object *object;
        motte_class part = motte_class_named(s->realm, "Part");
        MUST(motte_object_at(s->realm, holder, 0, &object));
        MUST(motte_object_backlinks(object, motte_prop_named(s->realm, part, w->text), &coll));
        MUST(motte_observe_coll(coll, 0, note_received, h, NULL, &token));
        motte_release(object);
        *kept = coll;
        return token;
    }
    case WATCHED_OBJECT: {
        motte_object *object;
        MUST(motte_object_at(s->realm, holder, 0, &object));
        MUST(motte_observe_object_paths(object, &w->path, 1, 0, note_received, h, NULL, &token));
        *kept = object;
        return token;
    }
    case WATCHED_SECTIONS: {
        motte_sections *sections;
        coll = query(s, w->text);
        MUST(motte_sections_by_path(coll, w->path.data, w->path.size, 0, &sections));
        MUST(motte_observe_sections(sections, NULL, 0, 0, note_received, h, NULL, &token));
        motte_release(coll);
        *kept = sections;
        return token;
    }
    case WATCHED_QUERY: break;
    }
    coll = query(s, w->text);
    if (w->path.data) MUST(motte_observe_coll_paths(coll, &w->path, 1, 0, note_received, h, NULL, &token));
    else MUST(motte_observe_coll(coll, 0, note_received, h, NULL, &token));
    *kept = coll;
    return token;
}

static void hand(const watched *w, size_t rows, size_t changes) {
    double own[HANDED_ROUNDS], delay[HANDED_ROUNDS];
    handing h = {.w = w, .rows = rows, .changes = changes};
    motte_queue *queue;
    motte_token *token;
    struct pollfd waiting = {.events = POLLIN};
    pthread_t writer;
    size_t delivered;
    MUST(motte_queue_new(0, &queue));
    store s = open_store(NULL, "full", queue);
    void *kept;
    token = observe_named(&s, w, &h, &kept);
    MUST(motte_queue_fd(queue, &waiting.fd));
    MUST(motte_queue_dispatch(queue, 0, &delivered));
    if (sem_init(&h.go, 0, 1) != 0 || pthread_create(&writer, NULL, commit_for_others, &h) != 0) exit(2);
    for (int round = 0; round < HANDED_ROUNDS;) {
        if (poll(&waiting, 1, -1) < 0) exit(2);
        double start = thread_time();
        MUST(motte_queue_dispatch(queue, 0, &delivered));
        own[round] = thread_time() - start;
        if (delivered == 0) continue;
        delay[round++] = h.received - h.committed;
        sem_post(&h.go);
    }
    pthread_join(writer, NULL);
    sem_destroy(&h.go);
    printf("%-26s %9zu %9zu %11s %14.1f %16.1f\n", w->name, rows, changes, versions_are_limited ? "itself" : "notifier",
           percentile(own, HANDED_ROUNDS, 0.5) * 1e6, percentile(delay, HANDED_ROUNDS, 0.5) * 1e6);
    fflush(stdout);
    motte_release(token);
    motte_release(kept);
    close_store(&s);
    motte_release(queue);
}

static void handed(size_t rows) {
    static const watched distinct = {
        "distinguished", "rank >= 0 SORT(rank ASC) DISTINCT(name, group)", {NULL, 0}, CHANGES_ITEMS, WATCHED_QUERY};
    printf("%-26s %9s %9s %11s %14s %16s\n", "commits of another thread", "matches", "changes", "computed by",
           "own thread us", "commit to it us");
    static const watched others[] = {
        {"list of links", "all", {NULL, 0}, CHANGES_ITEMS, WATCHED_PROPERTY},
        {"set of links", "some", {NULL, 0}, CHANGES_ITEMS, WATCHED_PROPERTY},
        {"map of links", "named", {NULL, 0}, CHANGES_ITEMS, WATCHED_PROPERTY},
        {"inverse collection", "of", {NULL, 0}, CHANGES_PARTS, WATCHED_BACKLINKS},
        {"object, path into a list", NULL, {"all.rank", 8}, CHANGES_ITEMS, WATCHED_OBJECT},
        {"sections by a path", "rank >= 0", {"group.label", 11}, CHANGES_GROUPS, WATCHED_SECTIONS},
    };
    for (int limited = 1; limited >= 0; limited--) {
        versions_are_limited = limited;
        store s = open_store(NULL, "full", NULL);
        fill(&s, rows);
        for (size_t i = 0; i < sizeof all_watched / sizeof *all_watched; i++) {
            hand(&all_watched[i], rows, 1);
            hand(&all_watched[i], rows, 100);
            hand(&all_watched[i], rows, 10000);
        }
        hand(&distinct, rows, 1);
        fill_holder(&s, rows);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) hand(&others[i], rows, 10000);
        close_store(&s);
    }
}

/* ------------------------------------------------------------------------------------------------ memory */

static void memory(size_t rows) {
    store s = open_store(NULL, "full", NULL);
    fill(&s, rows);
    for (int i = 0; i < 2; i++) {
        motte_token *token;
        motte_changes *changes;
        size_t count;
        /* Touches the chunks, so that what is left to count is the observer's. */
        motte_coll *results = query(&s, all_watched[i].text);
        MUST(motte_coll_count(results, &count));
        motte_release(results);
        long before = resident();
        results = query(&s, all_watched[i].text);
        MUST(motte_observe_coll(results, 0, NULL, NULL, NULL, &token));
        MUST(motte_token_next(token, &changes));
        motte_release(changes);
        long after = resident();
        printf("%-26s %9zu matches %8.1f MB, %.1f bytes a match\n", all_watched[i].name, count,
               (double)(after - before) / 1e6, (double)(after - before) / (double)count);
        stop_observing(results, token);
    }
    close_store(&s);
}

/* ------------------------------------------------------------------------------------------------ latency */

typedef struct listener {
    store *s;
    int out;
} listener;

static motte_status received(void *userdata, const motte_changes *changes) {
    listener *l = userdata;
    motte_changes_details details = {.struct_size = sizeof details};
    motte_value sent = motte_int(0);
    MUST(motte_changes_info(changes, &details));
    double delay = 0;
    if (!(details.flags & MOTTE_CHANGES_INITIAL)) {
        MUST(motte_row_get_many(l->s->realm, l->s->item, 0, &l->s->rank, 1, &sent));
        delay = now() - (double)sent.as.integer / 1e9;
    }
    return write(l->out, &delay, sizeof delay) == sizeof delay ? 0 : 1;
}

static void listen_to(const char *path, int out) {
    motte_queue *queue;
    motte_token *token;
    struct pollfd waiting = {.events = POLLIN};
    MUST(motte_queue_new(0, &queue));
    store s = open_store(path, "full", queue);
    listener l = {&s, out};
    motte_coll *all;
    MUST(motte_class_all(s.realm, s.item, &all));
    MUST(motte_observe_coll(all, 0, received, &l, NULL, &token));
    MUST(motte_queue_fd(queue, &waiting.fd));
    while (poll(&waiting, 1, -1) >= 0) MUST(motte_queue_dispatch(queue, 0, NULL));
}

static void latency(const char *path, size_t commits) {
    int pipes[2];
    double *delays = malloc((commits + 1) * sizeof *delays), first;
    if (pipe(pipes) != 0) exit(2);
    pid_t child = fork();
    if (child == 0) {
        listen_to(path, pipes[1]);
        _exit(0);
    }
    /* The child is there when it has reported its start. */
    if (read(pipes[0], &first, sizeof first) != sizeof first) exit(2);
    store s = open_store(path, "full", NULL);
    motte_key key = 0;
    for (size_t round = 0; round < commits; round++) {
        motte_prop props[] = {s.id, s.rank};
        MUST(motte_realm_begin_write(s.realm, -1));
        motte_value values[] = {motte_int(0), motte_int((int64_t)(now() * 1e9))};
        if (round == 0) MUST(motte_row_create(s.realm, s.item, props, values, 2, 0, &key, NULL));
        else MUST(motte_row_set_many(s.realm, s.item, key, &props[1], &values[1], 1));
        double start = now();
        MUST(motte_realm_commit(s.realm, 0, NULL));
        double took = now() - start;
        if (read(pipes[0], &delays[round], sizeof *delays) != sizeof *delays) exit(2);
        delays[round] -= took; /* from the end of the commit; the other can be first */
        usleep(10000);
    }
    printf("commit to callback in another process: p50 %.2f ms, p99 %.2f ms, most %.2f ms (%zu commits)\n",
           percentile(delays, commits, 0.5) * 1e3, percentile(delays, commits, 0.99) * 1e3,
           percentile(delays, commits, 1) * 1e3, commits);
    kill(child, 9);
    waitpid(child, NULL, 0);
    close_store(&s);
    free(delays);
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    size_t number = count > 2 ? (size_t)atoll(arguments[2]) : 0;
    char path[] = "/tmp/motte-observers-XXXXXX", file[64];
    if (!mkdtemp(path)) return 2;
    snprintf(file, sizeof file, "%s/file", path);
    /* What it costs where it is computed; `handed` says who does. */
    versions_are_limited = strcmp(what, "latency") != 0;
    if (!strcmp(what, "delivery")) delivery(number ? number : 1000000);
    else if (!strcmp(what, "bulk")) bulk(number ? number : 1000000);
    else if (!strcmp(what, "many")) many(number ? number : 100000);
    else if (!strcmp(what, "handed")) handed(number ? number : 100000);
    else if (!strcmp(what, "memory")) memory(number ? number : 1000000);
    else if (!strcmp(what, "latency")) latency(file, number ? number : 200);
    else fprintf(stderr, "usage: observers delivery|bulk|many|handed|memory|latency [number]\n");
    unlink(file);
    rmdir(path);
    return 0;
}
