/* SPDX-License-Identifier: Apache-2.0
 * forks <file> <forks> <seed>: threads open, write and close in loops, each a file of its own and one that all share,
 * while the process forks again and again, at random moments. Each child opens the shared file and one of the others,
 * reads and writes, and ends within its time:
 *   F1  no child waits for what a thread held that it does not have: opening in it ends
 *   F2  what it reads is a state of the file that was committed
 *   F3  object ids that parent and child make differ
 * and at the end the shared file has what everybody committed. Prints one line and ends with 0.
 */
#define _GNU_SOURCE
#include "crash.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    THREADS = 3,
    SECONDS = 20,
    MOST_CHILDREN = 1 << 16
};

static const char counter_schema[] = "Counter { id: objectId key, owner: int indexed, count: int }\n";
static char shared[4096];

/* Shared with the children. */
static struct words {
    _Atomic int64_t committed; /* to the shared file, by anybody */
    _Atomic int step[MOST_CHILDREN];
} *words;

static unsigned long long state;
static unsigned chance(unsigned bound) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (unsigned)((state >> 16) % bound);
}

static motte_realm *open_counters(const char *path) {
    motte_realm *realm;
    motte_config *config;
    motte_schema *schema;
    motte_value durability = {MOTTE_TYPE_STRING, 0, {.string = {"none", 4}}};
    MUST(motte_config_new(&config));
    MUST(motte_schema_parse(counter_schema, MOTTE_NTS, &schema));
    MUST(motte_config_set_path(config, path, MOTTE_NTS));
    MUST(motte_config_set_schema(config, schema, 0));
    MUST(motte_config_set_option(config, "durability", MOTTE_NTS, &durability));
    MUST(motte_realm_open(config, &realm));
    motte_release(config);
    motte_release(schema);
    return realm;
}

/* An object with an id that this process makes; two equal ones are refused as duplicates. */
static void add(motte_realm *realm, int64_t owner) {
    motte_class cls;
    motte_prop props[2];
    motte_key key;
    motte_value values[2] = {{MOTTE_TYPE_OBJECT_ID, 0, {0}}, int_value(owner)};
    MUST(motte_class_find(realm, "Counter", MOTTE_NTS, &cls));
    MUST(motte_prop_find(realm, cls, "id", MOTTE_NTS, &props[0]));
    MUST(motte_prop_find(realm, cls, "owner", MOTTE_NTS, &props[1]));
    MUST(motte_object_id_new(&values[0].as.object_id));
    MUST(motte_realm_begin_write(realm, 10000));
    MUST(motte_row_create(realm, cls, props, values, 2, 0, &key, NULL));
    MUST(motte_realm_commit(realm, 0, NULL));
}

static size_t count_all(motte_realm *realm) {
    motte_class cls;
    motte_coll *all;
    size_t count;
    MUST(motte_class_find(realm, "Counter", MOTTE_NTS, &cls));
    MUST(motte_class_all(realm, cls, &all));
    MUST(motte_coll_count(all, &count));
    motte_release(all);
    return count;
}

static void shut(motte_realm *realm) {
    MUST(motte_realm_close(realm));
    motte_release(realm);
}

static _Atomic int ends;
static _Atomic int64_t rounds;

static void *work(void *argument) {
    int number = (int)(intptr_t)argument;
    char own[4200];
    snprintf(own, sizeof own, "%s-%d", shared, number);
    for (int64_t round = 0; !ends; round++) {
        shut(open_counters(own));
        motte_realm *realm = open_counters(shared);
        if (round % 4 == 0) {
            add(realm, number);
            words->committed++;
        }
        shut(realm);
        rounds++;
    }
    return NULL;
}

static void child(int number, int writes) {
    alarm(SECONDS);
    words->step[number] = 1;
    int64_t least = words->committed;
    motte_realm *realm = open_counters(shared);
    words->step[number] = 2;
    if ((int64_t)count_all(realm) < least) _exit(3);
    if (writes) {
        add(realm, -number);
        words->committed++;
    }
    words->step[number] = 3;
    shut(realm);
    words->step[number] = 4;
    char other[4200];
    snprintf(other, sizeof other, "%s-%d", shared, number % THREADS);
    shut(open_counters(other));
    words->step[number] = 5;
    _exit(0);
}

int main(int count, char **arguments) {
    if (count < 4) return 64;
    snprintf(shared, sizeof shared, "%s", arguments[1]);
    int forks = atoi(arguments[2]);
    state = strtoull(arguments[3], NULL, 10) | 1;
    if (forks > MOST_CHILDREN) return 64;
    words = mmap(NULL, sizeof *words, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (words == MAP_FAILED) return 2;
    /* What the process does for the first time the Swift runtime prepares holding locks of its own, which a child would
     * find held for ever: everything once, before there is a second thread. Each path of a commit within 16 of them. */
    for (int i = 0; i < 16; i++) {
        motte_realm *realm = open_counters(shared);
        add(realm, 0);
        words->committed++;
        if ((int64_t)count_all(realm) != words->committed) return 2;
        shut(realm);
    }
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
    while (rounds < THREADS) usleep(1000);
    for (int number = 0; number < forks; number++) {
        struct timespec pause = {0, (long)chance(300) * 1000};
        nanosleep(&pause, NULL);
        int writes = number % 8 == 0;
        pid_t process = fork();
        if (process < 0) return 2;
        if (process == 0) child(number, writes);
        int status;
        waitpid(process, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
        fprintf(stderr, "child %d of %d %s %d, at step %d\n", number, forks,
                WIFSIGNALED(status) ? "ended by signal" : "exited with",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), words->step[number]);
        return 1;
    }
    ends = 1;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    motte_realm *realm = open_counters(shared);
    int64_t there = (int64_t)count_all(realm);
    shut(realm);
    if (there != words->committed) {
        fprintf(stderr, "%lld objects are there, %lld were committed\n", (long long)there, (long long)words->committed);
        return 1;
    }
    printf("%d forks, %lld openings meanwhile, %lld commits\n", forks, (long long)rounds * 2, (long long)there);
    return 0;
}
