/* SPDX-License-Identifier: Apache-2.0
 * Single objects through C, beside LMDB with records laid out by hand and ObjectBox: docs/BENCHMARKS.md has the
 * figures.
 *
 *     peers [--rows 300000] [--rounds 5] [--clock wall|cpu] [--objectbox path of its library]
 *
 * Engines take turns within each round, all must find the same, and medians are printed. */
#define _GNU_SOURCE
#include "peers.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_ENGINES = 3,
    MOST_ROUNDS = 99,
    WORKS = 4
};

static const struct {
    const char *name, *title, *unit;
    double scale;
} works[WORKS] = {
    {"W2", "bulk insert, ascending key, one durable transaction", "ns/object", 1e9},
    {"W13", "one int of a third of the objects, one durable transaction", "ms", 1e3},
    {"W4", "get by primary key, read 2 properties", "ns", 1e9},
    {"W4i", "get by an index of an int, read 2 properties", "ns", 1e9},
};

static clockid_t measured_clock = CLOCK_MONOTONIC;
static double times[WORKS][MOST_ENGINES][MOST_ROUNDS];

void fail(const char *what, const char *why) {
    fprintf(stderr, "peers: %s: %s\n", what, why);
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(measured_clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static uint64_t random_word(uint64_t *state) {
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return *state;
}

static void remove_folder(const char *path) {
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char inner[1024];
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (unlink(inner)) remove_folder(inner);
    }
    if (folder) closedir(folder);
    rmdir(path);
}

static void make_persons(person *persons, size_t rows) {
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < rows; i++) {
        uint64_t word = random_word(&state);
        person *p = &persons[i];
        *p = (person){.id = (int64_t)i + 1, .age = (int64_t)(word % 100), .badge = (int64_t)i * 7};
        p->score = (double)(word >> 40) / 16;
        p->active = word & 1;
        snprintf(p->name, sizeof p->name, "name %08x", (unsigned)(word >> 32));
        snprintf(p->city, sizeof p->city, "city %u", (unsigned)(word >> 20) % 1000);
    }
    /* Badges in another order than ids. */
    for (size_t i = rows; i > 1; i--) {
        size_t other = random_word(&state) % i;
        int64_t badge = persons[i - 1].badge;
        persons[i - 1].badge = persons[other].badge;
        persons[other].badge = badge;
    }
}

static double measure(const engine *e, const person *persons, size_t rows, const int64_t *ids, const int64_t *badges,
                      double *spent[WORKS]) {
    char folder[1024];
    const char *parent = getenv("TMPDIR");
    double start, sum = 0;
    snprintf(folder, sizeof folder, "%s/motte-peers-XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(folder)) fail(folder, "cannot be made");
    e->open(folder, false);
    start = now();
    e->load(persons, rows);
    *spent[0] = now() - start;
    e->get(ids, rows / 3);
    start = now();
    sum += e->get(ids, rows / 3);
    *spent[2] = (now() - start) / (double)(rows / 3);
    start = now();
    e->age(ids, rows / 3);
    *spent[1] = now() - start;
    *spent[0] /= (double)rows;
    sum += e->get(ids, rows / 3);
    e->close();
    remove_folder(folder);

    if (mkdir(folder, 0700)) fail(folder, "cannot be made again");
    e->open(folder, true);
    e->load(persons, rows);
    e->get_by_badge(badges, rows / 3);
    start = now();
    sum += e->get_by_badge(badges, rows / 3);
    *spent[3] = (now() - start) / (double)(rows / 3);
    e->close();
    remove_folder(folder);
    return sum;
}

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

int main(int argc, char **argv) {
    const engine *engines[MOST_ENGINES] = {&motte_engine, &lmdb_engine};
    size_t engine_count = 2, rows = 300000, rounds = 5;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--rows")) rows = strtoul(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--rounds")) rounds = strtoul(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--clock") && !strcmp(argv[i + 1], "cpu")) measured_clock = CLOCK_PROCESS_CPUTIME_ID;
        else if (!strcmp(argv[i], "--objectbox") && objectbox_load(argv[i + 1]))
            engines[engine_count++] = &objectbox_engine;
    }
    if (rows < 3 || rounds < 1 || rounds > MOST_ROUNDS) fail("--rows, --rounds", "out of range");
    person *persons = calloc(rows, sizeof *persons);
    int64_t *ids = calloc(rows / 3, sizeof *ids), *badges = calloc(rows / 3, sizeof *badges);
    if (!persons || !ids || !badges) fail("rows", "too many");
    make_persons(persons, rows);
    uint64_t state = 362436069;
    for (size_t i = 0; i < rows / 3; i++) {
        size_t row = random_word(&state) % rows;
        ids[i] = persons[row].id, badges[i] = persons[row].badge;
    }
    for (size_t round = 0; round < rounds; round++) {
        double sums[MOST_ENGINES];
        for (size_t turn = 0; turn < engine_count; turn++) {
            size_t e = (turn + round) % engine_count;
            double *spent[WORKS];
            for (int work = 0; work < WORKS; work++) spent[work] = &times[work][e][round];
            sums[e] = measure(engines[e], persons, rows, ids, badges, spent);
        }
        for (size_t e = 1; e < engine_count; e++)
            if (sums[e] != sums[0]) fail(engines[e]->name, "has found other values");
    }
    printf("%zu objects, medians of %zu rounds in turn\n%-5s%-62s%-10s", rows, rounds, "", "", "");
    for (size_t e = 0; e < engine_count; e++) printf("%12s", engines[e]->name);
    printf("\n");
    for (int work = 0; work < WORKS; work++) {
        printf("%-5s%-62s%-10s", works[work].name, works[work].title, works[work].unit);
        for (size_t e = 0; e < engine_count; e++) {
            qsort(times[work][e], rounds, sizeof(double), ascending);
            printf("%12.1f", times[work][e][rounds / 2] * works[work].scale);
        }
        printf("\n");
    }
    free(persons), free(ids), free(badges);
    return 0;
}
