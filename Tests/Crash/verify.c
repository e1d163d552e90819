/* SPDX-License-Identifier: Apache-2.0
 * verify <file> <at least>: checks R1 to R3 of crash.h and prints the round the file shows, which must not be below the
 * last one that was acknowledged.
 * verify <file> watch: does so again after every commit of others, until it is killed.
 */
#include "crash.h"
#include <unistd.h>

static void expect(int holds, const char *rule) {
    if (holds) return;
    fprintf(stderr, "%s does not hold\n", rule);
    exit(1);
}

static void check_entries(store *in, int64_t round) {
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
        motte_query *query;
        motte_value argument = int_value(k);
        size_t found;
        expect(counted[k % KEPT] == ROWS, "R1 (entries of a round)");
        MUST(motte_query_parse(in->realm, in->entry_class, "round == $0", MOTTE_NTS, &argument, 1, &query));
        MUST(motte_query_count(query, &found));
        expect(found == ROWS, "R1 (by index)");
        motte_release(query);
    }
    motte_release(all);
}

static void check_journal(store *in, motte_key journal, int64_t round) {
    motte_coll *list;
    size_t count, got;
    MUST(motte_row_get_coll(in->realm, in->journal_class, journal, in->rounds, &list));
    MUST(motte_coll_count(list, &count));
    expect(count == (size_t)round, "R2 (length)");
    int64_t *rounds = malloc((count + 1) * sizeof *rounds);
    MUST(motte_read_ints(list, MOTTE_PROP_SELF, 0, count, rounds, NULL, &got));
    for (size_t i = 0; i < count; i++) expect(rounds[i] == (int64_t)i + 1, "R2");
    free(rounds);
    motte_release(list);
}

/* The round of the version that is shown, all of it checked. */
static int64_t check(store *in) {
    motte_value id = int_value(1), round = int_value(0);
    motte_key journal;
    if (motte_row_find(in->realm, in->journal_class, &id, &journal) == MOTTE_OK) {
        MUST(motte_row_get_many(in->realm, in->journal_class, journal, &in->round, 1, &round));
        check_journal(in, journal, round.as.integer);
    }
    check_entries(in, round.as.integer);
    return round.as.integer;
}

static int watch(store *in) {
    for (int64_t last = 0;;) {
        bool moved;
        int64_t round = check(in);
        expect(round >= last, "time runs forwards");
        last = round;
        char line[64];
        int size = snprintf(line, sizeof line, "%lld\n", (long long)round);
        if (write(STDOUT_FILENO, line, (size_t)size) != size) return 1;
        MUST(motte_realm_wait_for_change(in->realm, 1000));
        MUST(motte_realm_refresh(in->realm, &moved));
    }
}

int main(int count, char **arguments) {
    if (count < 3) return 64;
    store opened = open_store(arguments[1], "full");
    if (strcmp(arguments[2], "watch") == 0) return watch(&opened);
    int64_t round = check(&opened);
    printf("%lld\n", (long long)round);
    if (round < atoll(arguments[2])) {
        fprintf(stderr, "round %s was acknowledged and is lost\n", arguments[2]);
        return 1;
    }
    return 0;
}
