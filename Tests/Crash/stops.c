/* SPDX-License-Identifier: Apache-2.0
 * stops <file> <cycles> <seed>: in each cycle a process opens a file, writes a round and closes it, and is stopped or
 * killed between two of its system calls, any two: this one traces it. While it stands still or is dead another process
 * opens the file, writes, closes, and sometimes compacts it before.
 *   S1  nobody waits longer than he said he would: who finds the file held by the one that stands still gets a status
 *       TIMEOUT or BUSY, and the dead hold nothing
 *   S2  who was stopped goes on and succeeds
 *   S3  every acknowledged round is there, and the file is sound (crash.h)
 * Most cycles go on with one file; some make a new one. Prints one line and ends with 0; what failed names the cycle
 * and the stop.
 */
#define _GNU_SOURCE
#include "rounds.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PATIENCE = 100,
    LONG = 20000,
    SECONDS = 60,
    PEER_SECONDS = 20
};

/* Shared with the children. */
static struct words {
    int64_t acknowledged;
    int finished, refused, compacted;
} *words;

static unsigned long long state;
static unsigned chance(unsigned bound) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (unsigned)((state >> 16) % bound);
}

static void acknowledge(int64_t round) {
    if (round > words->acknowledged) words->acknowledged = round;
}

static int is_refusal(motte_status status) { return status == MOTTE_E_TIMEOUT || status == MOTTE_E_BUSY; }

/* Opens, writes a round, closes. Refusals are for who has little patience. */
static void work(const char *path, int64_t patience) {
    store opened;
    int64_t round;
    motte_status status = try_open_store(path, "none", NULL, patience, &opened);
    if (patience == PATIENCE && is_refusal(status)) {
        words->refused++;
        return;
    }
    MUST(status);
    status = motte_realm_begin_write(opened.realm, patience);
    if (patience == PATIENCE && is_refusal(status)) {
        words->refused++;
    } else {
        MUST(status);
        MUST(write_begun_round(&opened, &round));
        acknowledge(round);
        words->finished++;
    }
    MUST(motte_realm_close(opened.realm));
    motte_release(opened.realm);
}

static void compact(const char *path) {
    motte_config *config;
    MUST(motte_config_new(&config));
    MUST(motte_config_set_path(config, path, MOTTE_NTS));
    motte_status status = motte_file_compact(config, NULL, NULL, NULL, NULL, NULL);
    if (status == MOTTE_OK) words->compacted++;
    else if (!is_refusal(status) && status != MOTTE_E_FILE_NOT_FOUND && status != MOTTE_E_NOT_A_MOTTE_FILE)
        die("compact", status);
    motte_release(config);
}

static void verify_file(const char *path) {
    store opened;
    MUST(try_open_store(path, "none", NULL, LONG, &opened));
    expect(check(&opened) >= words->acknowledged, "every acknowledged round is there");
    MUST(motte_realm_close(opened.realm));
    motte_release(opened.realm);
}

/* 0, or what went wrong is said. */
static int ends_well(pid_t process, const char *who, unsigned cycle, long stop) {
    int status;
    waitpid(process, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 1;
    fprintf(stderr, "cycle %u, at stop %ld: the %s %s %d\n", cycle, stop, who,
            WIFSIGNALED(status) ? "ended by signal" : "exited with",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return 0;
}

typedef enum {
    VICTIM,
    PEER,
    PATIENT_PEER,
    VERIFIER
} role;

static pid_t start(role as, const char *path, int compacts) {
    fflush(stderr);
    pid_t process = fork();
    if (process != 0) return process;
    alarm(as == PEER ? PEER_SECONDS : SECONDS);
    if (as == VICTIM) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
    }
    if (as == VERIFIER) verify_file(path);
    if (compacts) compact(path);
    if (as != VERIFIER) work(path, as == PEER ? PATIENCE : LONG);
    _exit(0);
}

/* Lets the victim go on to its `stop`-th stop, at the beginning or the end of a system call; -1: it ended before, and
 * `*count` says how many there were. */
static int go_on_to(pid_t victim, long stop, long *count) {
    int status, signal_number = 0;
    if (waitpid(victim, &status, 0) != victim || !WIFSTOPPED(status)) return -1;
    ptrace(PTRACE_SETOPTIONS, victim, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
    for (*count = 0; *count < stop;) {
        if (ptrace(PTRACE_SYSCALL, victim, NULL, (void *)(intptr_t)signal_number) != 0) return -1;
        if (waitpid(victim, &status, 0) != victim) return -1;
        if (!WIFSTOPPED(status)) return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : -1;
        signal_number = WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(status);
        *count += signal_number == 0;
    }
    return 0;
}

int main(int count, char **arguments) {
    if (count < 4) return 64;
    unsigned cycles = (unsigned)atoi(arguments[2]);
    state = strtoull(arguments[3], NULL, 10) | 1;
    words = mmap(NULL, sizeof *words, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (words == MAP_FAILED) return 2;
    char common[4096], fresh[4200];
    snprintf(common, sizeof common, "%s", arguments[1]);
    int64_t of_common = 0;
    /* Of the longest run so far, on a file that is there and on a new one. */
    long stops[2] = {1 << 30, 1 << 30};
    unsigned killed = 0, stopped = 0;
    for (unsigned cycle = 0; cycle < cycles; cycle++) {
        int is_new = cycle == 1 || (cycle > 2 && chance(4) == 0);
        snprintf(fresh, sizeof fresh, "%s-%u", common, cycle);
        const char *path = is_new ? fresh : common;
        if (is_new) of_common = words->acknowledged, words->acknowledged = 0;
        /* The first on the common file makes it; the third is the first that finds it. */
        long most = stops[is_new], reached = 0;
        long stop = cycle < 3 || most == 1 << 30 ? 1 << 30 : (long)chance((unsigned)most);
        pid_t victim = start(VICTIM, path, 0);
        int found = go_on_to(victim, stop, &reached);
        if (found < 0) {
            fprintf(stderr, "cycle %u: the process ended at stop %ld, or cannot be traced\n", cycle, reached);
            return 1;
        }
        if (found == 1) {
            if (cycle != 0) stops[is_new] = reached;
        } else if (chance(2)) {
            killed++;
            kill(victim, SIGKILL);
            waitpid(victim, NULL, 0);
            if (!ends_well(start(PATIENT_PEER, path, chance(6) == 0), "one after the dead", cycle, stop)) return 1;
        } else {
            stopped++;
            int both = chance(3) == 0;
            if (!ends_well(start(PEER, path, chance(6) == 0), "one beside the stopped", cycle, stop)) return 1;
            if (both && !ends_well(start(PEER, path, 0), "second beside the stopped", cycle, stop)) return 1;
            ptrace(PTRACE_DETACH, victim, NULL, NULL);
            if (!ends_well(victim, "stopped one", cycle, stop)) return 1;
        }
        if ((is_new || cycle % 4 == 0 || cycle + 1 == cycles) &&
            !ends_well(start(VERIFIER, path, 0), "verifier", cycle, stop))
            return 1;
        if (is_new) words->acknowledged = of_common;
    }
    printf("%u killed and %u stopped at one of %ld stops, of a new file %ld; %d rounds written, %d refusals, "
           "%d compactions\n",
           killed, stopped, stops[0], stops[1], words->finished, words->refused, words->compacted);
    return killed > 0 && stopped > 0 && words->finished > 0 ? 0 : 1;
}
