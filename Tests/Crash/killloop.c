/* SPDX-License-Identifier: Apache-2.0
 * killloop <file> <cycles> <seed>: writers and observers in processes of their own on one file, some of which are
 * killed in each cycle at a random moment. After each cycle, unless all were killed:
 *   K1  a writer that lives goes on writing: the dead left no lock behind
 *   K2  an observer that lives is notified of the newest acknowledged commit
 *   K3  what observers are shown has no smaller round than before
 *   K5  the change sets of a list lead from what it was shown to what it is shown
 *   K6  a child that an observer forks, its notifier being at work or not, is refused what its parent has opened, and
 *       opens its own
 * and after every fourth, and at the end, in a new process:
 *   K4  the file is sound (crash.h) and shows every acknowledged round
 *
 * Some commits change so many rows that the observers' notifiers compute ahead of them, of a list, an object, sections
 * and queries, when they are killed.
 *
 * Children are forked, not started: a cycle costs milliseconds. Their words lie in memory that outlives them. The time
 * from a commit to the callback in another process is measured on the way. Prints one line and ends with 0.
 */
#define _GNU_SOURCE
#include "rounds.h"
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    WRITERS = 2,
    OBSERVERS = 2,
    CHILDREN = WRITERS + OBSERVERS,
    MOST_ROUNDS = 1 << 20,
    MOST_DELAYS = 1 << 20
};

/* Shared with the children. */
static struct words {
    _Atomic int64_t acknowledged;
    _Atomic int64_t received[CHILDREN];
    _Atomic int64_t received_count, backwards;
    _Atomic int64_t committed[MOST_ROUNDS]; /* when the commit returned, in ns */
    struct {
        int64_t round, at;
    } receiving[MOST_DELAYS];
} *words;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

static unsigned long long state;
static unsigned chance(unsigned bound) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (unsigned)((state >> 16) % bound);
}

/* ---------------------------------------------------------------------------------------------------- children */

enum {
    BALLAST = 256
};

/* So many rows that they are the notifier's. */
static void change_many(store *in) {
    motte_class ballast;
    motte_prop weight;
    MUST(motte_class_find(in->realm, "Ballast", MOTTE_NTS, &ballast));
    weight = prop_of(in, ballast, "weight");
    motte_value value = int_value((int64_t)chance(1000));
    MUST(motte_realm_begin_write(in->realm, -1));
    for (motte_key key = 0; key < BALLAST; key++) {
        if (motte_row_exists(in->realm, ballast, key) == MOTTE_OK) {
            MUST(motte_row_set_many(in->realm, ballast, key, &weight, &value, 1));
        } else {
            motte_key made;
            MUST(motte_row_create(in->realm, ballast, &weight, &value, 1, 0, &made, NULL));
        }
    }
}

static void be_writer(const char *file) {
    store in = open_store(file, "full");
    for (;;) {
        int64_t round;
        if (chance(3) == 0) {
            change_many(&in);
            MUST(motte_realm_commit(in.realm, 0, NULL));
        }
        MUST(write_round(&in, &round));
        if (round < MOST_ROUNDS) words->committed[round] = now();
        for (int64_t known = words->acknowledged; known < round;) {
            if (atomic_compare_exchange_weak(&words->acknowledged, &known, round)) break;
        }
        usleep(chance(3000));
    }
}

typedef struct observer {
    store *in;
    int number;
} observer;

static motte_status received(void *userdata, const motte_changes *changes) {
    observer *self = userdata;
    motte_changes_details details = {.struct_size = sizeof details};
    motte_value id = int_value(1), round = int_value(0);
    motte_key wal;
    MUST(motte_changes_info(changes, &details));
    if (motte_row_find(self->in->realm, self->in->wal_class, &id, &wal) != MOTTE_OK) return 0;
    MUST(motte_row_get_many(self->in->realm, self->in->wal_class, wal, &self->in->round, 1, &round));
    if (round.as.integer < words->received[self->number]) words->backwards++;
    int64_t at = now();
    words->received[self->number] = round.as.integer;
    if (!(details.flags & MOTTE_CHANGES_INITIAL)) {
        int64_t place = words->received_count++;
        if (place < MOST_DELAYS) words->receiving[place].round = round.as.integer, words->receiving[place].at = at;
    }
    return 0;
}

/* A list as it was reported. */
typedef struct notified {
    motte_coll *list;
    size_t count;
} notified;

static motte_status received_of_list(void *userdata, const motte_changes *changes) {
    notified *self = userdata;
    motte_changes_details details = {.struct_size = sizeof details};
    size_t count;
    MUST(motte_changes_info(changes, &details));
    MUST(motte_coll_count(self->list, &count));
    if (details.flags & MOTTE_CHANGES_INITIAL) self->count = count;
    else self->count += details.insertion_count - details.deletion_count;
    if (self->count != count) _exit(5); /* K5 */
    return 0;
}

static motte_status received_of_more(void *userdata, const motte_changes *changes) {
    (void)userdata, (void)changes;
    return 0;
}

/* So much that the notifier has something to do. */
static void observe_more(store *in) {
    static notified rounds;
    motte_value id = int_value(1);
    motte_token *token;
    motte_key wal;
    motte_coll *all;
    motte_object *object;
    motte_sections *sections;
    motte_query *query;
    if (motte_row_find(in->realm, in->wal_class, &id, &wal) != MOTTE_OK) return;
    MUST(motte_row_get_coll(in->realm, in->wal_class, wal, in->rounds, &rounds.list));
    MUST(motte_observe_coll(rounds.list, 0, received_of_list, &rounds, NULL, &token));
    MUST(motte_object_at(in->realm, in->wal_class, wal, &object));
    MUST(motte_observe_object(object, 0, received_of_more, NULL, NULL, &token));
    MUST(motte_query_parse(in->realm, in->entry_class, "SORT(number DESC)", MOTTE_NTS, NULL, 0, &query));
    MUST(motte_query_run(query, &all));
    MUST(motte_observe_coll(all, 0, received_of_more, NULL, NULL, &token));
    MUST(motte_sections_by_path(all, "round", MOTTE_NTS, 0, &sections));
    MUST(motte_observe_sections(sections, NULL, 0, 0, received_of_more, NULL, NULL, &token));
}

/* A child with a thread less than its parent. */
static void fork_once(store *in, const char *file) {
    bool advanced;
    int status;
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (motte_realm_refresh(in->realm, &advanced) != MOTTE_E_FORKED) _exit(6); /* K6 */
        store own = open_store(file, "full");
        motte_coll *all;
        size_t count;
        MUST(motte_class_all(own.realm, own.entry_class, &all));
        MUST(motte_coll_count(all, &count));
        _exit(count % ROWS == 0 ? 0 : 7);
    }
    if (waitpid(child, &status, 0) != child || status != 0) _exit(6);
}

static void be_observer(const char *file, int number) {
    motte_queue *queue;
    motte_token *token;
    motte_coll *all;
    struct pollfd waiting = {.events = POLLIN};
    MUST(motte_queue_new(0, &queue));
    store in = open_store_on(file, "full", queue);
    observer self = {&in, number};
    MUST(motte_class_all(in.realm, in.wal_class, &all));
    MUST(motte_observe_coll(all, 0, received, &self, NULL, &token));
    observe_more(&in);
    MUST(motte_queue_fd(queue, &waiting.fd));
    while (poll(&waiting, 1, -1) >= 0) {
        MUST(motte_queue_dispatch(queue, 0, NULL));
        if (chance(10) == 0) fork_once(&in, file);
    }
}

static pid_t start(const char *file, int number) {
    pid_t child = fork();
    if (child != 0) return child;
    state ^= (unsigned long long)getpid() << 20;
    if (number < WRITERS) be_writer(file);
    else be_observer(file, number);
    _exit(3);
}

/* ------------------------------------------------------------------------------------------------------- driver */

static pid_t children[CHILDREN];

static void fail(const char *what, long long cycle) {
    fprintf(stderr, "cycle %lld: %s (round %lld acknowledged; seen %lld, %lld)\n", cycle, what,
            (long long)words->acknowledged, (long long)words->received[WRITERS],
            (long long)words->received[WRITERS + 1]);
    for (int i = 0; i < CHILDREN; i++) {
        if (children[i] > 0) kill(children[i], SIGKILL);
    }
    exit(1);
}

/* A child that ended by itself says why on standard error. */
static void check_alive(long long cycle) {
    int status;
    for (int i = 0; i < CHILDREN; i++) {
        if (children[i] > 0 && waitpid(children[i], &status, WNOHANG) == children[i]) {
            children[i] = 0;
            fail(i < WRITERS ? "a writer ended by itself" : "an observer ended by itself", cycle);
        }
    }
}

static void wait_until(_Atomic int64_t *word, int64_t least, const char *what, long long cycle) {
    for (int64_t limit = now() + 20000000000; *word < least; usleep(200)) {
        check_alive(cycle);
        if (now() > limit) fail(what, cycle);
    }
}

static void verify(const char *file, long long cycle) {
    int64_t least = words->acknowledged;
    int status;
    pid_t child = fork();
    if (child == 0) {
        store in = open_store(file, "full");
        _exit(check(&in) < least ? 4 : 0);
    }
    if (waitpid(child, &status, 0) != child || status != 0) fail("the file is not as it must be (K4)", cycle);
}

static int ascending(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* From the return of a commit in one process to the callback in another, which can come first. */
static void report(long long cycles, long long kills) {
    static int64_t delay[MOST_DELAYS];
    int64_t received_count = words->received_count < MOST_DELAYS ? words->received_count : MOST_DELAYS, delays = 0;
    for (int64_t i = 0; i < received_count; i++) {
        int64_t round = words->receiving[i].round, sent = round < MOST_ROUNDS ? words->committed[round] : 0;
        /* 0: the writer was killed before it could say when. */
        if (sent) delay[delays++] = words->receiving[i].at - sent;
    }
    if (delays == 0) fail("no commit was seen in another process", cycles);
    qsort(delay, (size_t)delays, sizeof *delay, ascending);
    printf("%lld cycles, %lld kills, %lld rounds, %lld seen in another process: median %.2f ms, p99 %.2f ms\n", cycles,
           kills, (long long)words->acknowledged, (long long)delays, (double)delay[delays / 2] / 1e6,
           (double)delay[delays * 99 / 100] / 1e6);
}

int main(int count, char **arguments) {
    if (count < 4) return 64;
    const char *file = arguments[1];
    long long cycles = atoll(arguments[2]), kills = 0;
    state = strtoull(arguments[3], NULL, 10) | 1;
    words = mmap(NULL, sizeof *words, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (words == MAP_FAILED) return 65;
    for (long long cycle = 0; cycle < cycles; cycle++) {
        for (int i = 0; i < CHILDREN; i++) {
            if (children[i] == 0) children[i] = start(file, i);
        }
        /* Some are killed while they open the file, most while they work. */
        usleep(chance(chance(4) ? 30000 : 3000));
        check_alive(cycle);
        unsigned victims = 1 + chance((1 << CHILDREN) - 1);
        for (int i = 0; i < CHILDREN; i++) {
            if (!(victims >> i & 1)) continue;
            kill(children[i], SIGKILL);
            waitpid(children[i], NULL, 0);
            children[i] = 0;
            kills++;
            words->received[i] = 0;
        }
        if (children[0] || children[1]) {
            wait_until(&words->acknowledged, words->acknowledged + 1, "nobody can write any more (K1)", cycle);
        }
        int64_t newest = words->acknowledged;
        for (int i = WRITERS; i < CHILDREN; i++) {
            if (children[i]) wait_until(&words->received[i], newest, "an observer is not notified (K2)", cycle);
        }
        if (words->backwards) fail("an observer was shown an older version (K3)", cycle);
        if (cycle % 4 == 3) verify(file, cycle);
    }
    for (int i = 0; i < CHILDREN; i++) {
        if (children[i] == 0) continue;
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
        kills++;
    }
    verify(file, cycles);
    report(cycles, kills);
    return 0;
}
