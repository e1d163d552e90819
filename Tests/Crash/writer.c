/* SPDX-License-Identifier: Apache-2.0
 * writer <file> <rounds> [full|none]: commits round after round (crash.h) and prints the number of each round after
 * its commit returned, in one write. 0 rounds: until killed. A commit that fails is printed as "failed <status>" and
 * ends the program with success.
 */
#include "crash.h"
#include <unistd.h>

static void add_entries(store *in, motte_key journal, int64_t round) {
    motte_prop props[] = {in->name, in->entry_round, in->number, in->journal};
    motte_value values[ROWS * 4];
    char names[ROWS][128];
    motte_key keys[ROWS];
    motte_insert *insert;
    for (int i = 0; i < ROWS; i++) {
        int size = entry_name(names[i], sizeof names[i], round, i);
        values[i * 4] = (motte_value){MOTTE_TYPE_STRING, 0, {.string = {names[i], (size_t)size}}};
        values[i * 4 + 1] = int_value(round);
        values[i * 4 + 2] = int_value(i);
        values[i * 4 + 3] = link_value(in->journal_class, journal);
    }
    MUST(motte_insert_new(in->realm, in->entry_class, props, 4, 0, &insert));
    MUST(motte_insert_rows(insert, values, ROWS, keys));
    motte_release(insert);
    motte_value now[] = {int_value(round), link_value(in->entry_class, keys[ROWS - 1])};
    motte_prop changed[] = {in->round, in->last};
    MUST(motte_row_set_many(in->realm, in->journal_class, journal, changed, now, 2));
}

static void delete_entries(store *in, int64_t round) {
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

static motte_status write_round(store *in, int64_t *out_round) {
    motte_value journal_id = int_value(1), round = int_value(0);
    motte_key journal;
    motte_coll *rounds;
    MUST(motte_realm_begin_write(in->realm, -1));
    if (motte_row_find(in->realm, in->journal_class, &journal_id, &journal) == MOTTE_NOT_FOUND) {
        MUST(motte_row_create(in->realm, in->journal_class, &in->id, &journal_id, 1, 0, &journal));
    }
    MUST(motte_row_get_many(in->realm, in->journal_class, journal, &in->round, 1, &round));
    round.as.integer++;
    add_entries(in, journal, round.as.integer);
    delete_entries(in, round.as.integer - KEPT);
    MUST(motte_row_get_coll(in->realm, in->journal_class, journal, in->rounds, &rounds));
    MUST(motte_list_append(rounds, &round, 1));
    motte_release(rounds);
    *out_round = round.as.integer;
    return motte_realm_commit(in->realm, 0, NULL);
}

int main(int count, char **arguments) {
    if (count < 3) return 64;
    store opened = open_store(arguments[1], count > 3 ? arguments[3] : "full");
    char line[64];
    for (long left = atol(arguments[2]), endless = left == 0; endless || left > 0; left--) {
        int64_t round;
        motte_status status = write_round(&opened, &round);
        int size = status < 0 ? snprintf(line, sizeof line, "failed %s\n", motte_status_name(status))
                              : snprintf(line, sizeof line, "%lld\n", (long long)round);
        if (status < 0) {
            motte_error_details details = {.struct_size = sizeof details};
            if (motte_last_error(&details) == MOTTE_OK) fprintf(stderr, "%s\n", details.message);
        }
        if (write(STDOUT_FILENO, line, (size_t)size) != size) return 1;
        if (status < 0) return 0;
    }
    MUST(motte_realm_close(opened.realm));
    motte_release(opened.realm);
    return 0;
}
