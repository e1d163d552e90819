/* SPDX-License-Identifier: Apache-2.0
 * writer <file> <rounds> [full|none]: commits round after round (crash.h) and prints the number of each round after
 * its commit returned, in one write. 0 rounds: until killed. A commit that fails is printed as "failed <status>" and
 * ends the program with success.
 */
#include "rounds.h"
#include <unistd.h>

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
