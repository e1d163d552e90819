/* SPDX-License-Identifier: Apache-2.0
 * Writing one round of crash.h, and checking what must hold of a file, for all programs of the crash tests.
 */
#ifndef MOTTE_CRASH_ROUNDS_H
#define MOTTE_CRASH_ROUNDS_H

#include "crash.h"

static inline void add_entries(store *in, motte_key wal, int64_t round) {
    motte_prop props[] = {in->name, in->entry_round, in->number, in->wal};
    motte_value values[ROWS * 4];
    char names[ROWS][128];
    motte_key keys[ROWS];
    motte_insert *insert;
    for (int i = 0; i < ROWS; i++) {
        int size = entry_name(names[i], sizeof names[i], round, i);
        values[i * 4] = (motte_value){MOTTE_TYPE_STRING, 0, {.string = {names[i], (size_t)size}}};
        values[i * 4 + 1] = int_value(round);
        values[i * 4 + 2] = int_value(i);
        values[i * 4 + 3] = link_value(in->wal_class, wal);
    }
    MUST(motte_insert_new(in->realm, in->entry_class, props, 4, 0, &insert));
    MUST(motte_insert_rows(insert, values, ROWS, keys));
    motte_release(insert);
    motte_value now[] = {int_value(round), link_value(in->entry_class, keys[ROWS - 1])};
    motte_prop changed[] = {in->round, in->last};
    MUST(motte_row_set_many(in->realm, in->wal_class, wal, changed, now, 2));
}

static inline void delete_entries(store *in, int64_t round) {
    motte_query *query;
    motte_coll *old;
    motte_value argument = int_value(round);
    uint64_t deleted;
    MUST(motte_query_parse(in->realm, in->entry_class, "round == $0", MOTTE_NTS, &argument, 1, &query));
    MUST(motte_query_run(query, &old));
    MUST(motte_coll_delete_objects(old, &deleted));
    motte_release(old);
    motte_release(query);
}

/* In a write that has begun; ends it. */
static inline motte_status write_begun_round(store *in, int64_t *out_round) {
    motte_value wal_id = int_value(1), round = int_value(0);
    motte_key wal;
    motte_coll *rounds;
    if (motte_row_find(in->realm, in->wal_class, &wal_id, &wal) == MOTTE_NOT_FOUND) {
        MUST(motte_row_create(in->realm, in->wal_class, &in->id, &wal_id, 1, 0, &wal, NULL));
    }
    MUST(motte_row_get_many(in->realm, in->wal_class, wal, &in->round, 1, &round));
    round.as.integer++;
    add_entries(in, wal, round.as.integer);
    delete_entries(in, round.as.integer - KEPT);
    MUST(motte_row_get_coll(in->realm, in->wal_class, wal, in->rounds, &rounds));
    MUST(motte_list_append(rounds, &round, 1));
    motte_release(rounds);
    *out_round = round.as.integer;
    return motte_realm_commit(in->realm, 0, NULL);
}

static inline motte_status write_round(store *in, int64_t *out_round) {
    MUST(motte_realm_begin_write(in->realm, -1));
    return write_begun_round(in, out_round);
}

static inline void expect(int holds, const char *rule) {
    if (holds) return;
    fprintf(stderr, "%s does not hold\n", rule);
    exit(1);
}

static inline void expect_count(store *in, const char *text, const motte_value *arguments, size_t count, size_t wanted,
                                const char *rule) {
    motte_query *query;
    size_t found;
    MUST(motte_query_parse(in->realm, in->entry_class, text, MOTTE_NTS, arguments, count, &query));
    MUST(motte_query_count(query, &found));
    expect(found == wanted, rule);
    motte_release(query);
}

/* Of one round, by each of the ordered indexes. */
static inline void check_indexes(store *in, int64_t round) {
    char name[128], capitals[32];
    motte_value one[] = {int_value(round), int_value(3)};
    expect_count(in, "round == $0 AND number <= $1", one, 2, 4, "R1 (by two properties)");
    expect_count(in, "number == $1 AND round == $0", one, 2, 1, "R1 (by unique values)");
    expect_count(in, "round == $0 DISTINCT(number)", one, 1, ROWS, "R1 (distinct by an index)");
    int size = entry_name(name, sizeof name, round, 3);
    motte_value whole = {MOTTE_TYPE_STRING, 0, {.string = {name, (size_t)size}}};
    expect_count(in, "name ==[c] $0", &whole, 1, 1, "R1 (without case)");
    int length = snprintf(capitals, sizeof capitals, "ENTRY 3 OF ROUND %lld ", (long long)round);
    motte_value beginning = {MOTTE_TYPE_STRING, 0, {.string = {capitals, (size_t)length}}};
    expect_count(in, "name BEGINSWITH[c] $0", &beginning, 1, 1, "R1 (by a beginning without case)");
}

static inline void check_entries(store *in, int64_t round) {
    static int64_t rounds[1 << 16], numbers[1 << 16];
    static motte_str names[1 << 16];
    int counted[KEPT] = {0};
    motte_coll *all;
    size_t count, got;
    MUST(motte_class_all(in->realm, in->entry_class, &all));
    MUST(motte_coll_count(all, &count));
    expect(count == (size_t)(round < KEPT ? round : KEPT) * ROWS, "R1 (number of entries)");
    MUST(motte_read_ints(all, in->entry_round, 0, count, rounds, NULL, &got));
    MUST(motte_read_ints(all, in->number, 0, count, numbers, NULL, &got));
    MUST(motte_read_strings(all, in->name, 0, count, names, &got));
    expect(got == count, "R1 (bulk read)");
    for (size_t i = 0; i < count; i++) {
        char name[128];
        int size = entry_name(name, sizeof name, rounds[i], (int)numbers[i]);
        expect(rounds[i] > round - KEPT && rounds[i] <= round, "R1 (rounds of the entries)");
        counted[rounds[i] % KEPT]++;
        expect(names[i].size == (size_t)size && memcmp(names[i].data, name, names[i].size) == 0, "R3");
        motte_value key = {MOTTE_TYPE_STRING, 0, {.string = {name, (size_t)size}}};
        expect(motte_row_find(in->realm, in->entry_class, &key, &(motte_key){0}) == MOTTE_OK, "R1 (by primary key)");
    }
    for (int64_t k = round; k > 0 && k > round - KEPT; k--) {
        motte_value argument = int_value(k);
        expect(counted[k % KEPT] == ROWS, "R1 (entries of a round)");
        expect_count(in, "round == $0", &argument, 1, ROWS, "R1 (by index)");
        check_indexes(in, k);
    }
    motte_release(all);
}

static inline void check_wal(store *in, motte_key wal, int64_t round) {
    motte_coll *list;
    size_t count, got;
    MUST(motte_row_get_coll(in->realm, in->wal_class, wal, in->rounds, &list));
    MUST(motte_coll_count(list, &count));
    expect(count == (size_t)round, "R2 (length)");
    int64_t *rounds = malloc((count + 1) * sizeof *rounds);
    MUST(motte_read_ints(list, MOTTE_PROP_SELF, 0, count, rounds, NULL, &got));
    for (size_t i = 0; i < count; i++) expect(rounds[i] == (int64_t)i + 1, "R2");
    free(rounds);
    motte_release(list);
}

/* The round of the version that is shown, all of it checked. */
static inline int64_t check(store *in) {
    motte_value id = int_value(1), round = int_value(0);
    motte_key wal;
    if (motte_row_find(in->realm, in->wal_class, &id, &wal) == MOTTE_OK) {
        MUST(motte_row_get_many(in->realm, in->wal_class, wal, &in->round, 1, &round));
        check_wal(in, wal, round.as.integer);
    }
    check_entries(in, round.as.integer);
    return round.as.integer;
}

#endif
