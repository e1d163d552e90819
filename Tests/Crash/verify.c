/* SPDX-License-Identifier: Apache-2.0
 * verify <file> <at least>: checks R1 to R3 of crash.h and prints the round the file shows, which must not be below the
 * last one that was acknowledged.
 * verify <file> watch: does so again after every commit of others, until it is killed.
 */
#include "rounds.h"
#include <unistd.h>

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
