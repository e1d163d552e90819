/* What fork() takes care of; see motte_shim.h for what is promised. */
#include "at_fork.h"
#include "motte_shim.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

/* The child gets only the forking thread, so everything another thread might hold has to be free by then: the
 * prepare handler takes the lock around opening and closing files and every mutex of the process that was named to it,
 * and the child starts with fresh ones. It asks for them without waiting while it holds others, so that it need not
 * know in which order others take them. A thread that forks while it holds one itself would wait for ever, so the
 * attempts end: what such a one guards may then be half done in the child. */
#define MOST_KEPT_MUTEXES 64
#define MOST_FORK_ATTEMPTS 20000
uint32_t motte_shim_reads = 0;
static pthread_mutex_t open_files = PTHREAD_MUTEX_INITIALIZER;
/* Only ever added to. Without a lock, since the first use of one may come under that of opening. */
static _Atomic(pthread_mutex_t *) kept_mutexes[MOST_KEPT_MUTEXES];
static _Atomic int kept_mutex_count = 0;
/* Those that the fork under way holds; of the one thread that forks. */
static pthread_mutex_t *taken[MOST_KEPT_MUTEXES];
static int taken_count = 0;

void motte_shim_keep_through_fork(pthread_mutex_t *mutex) {
    int place = atomic_fetch_add(&kept_mutex_count, 1);
    if (place < MOST_KEPT_MUTEXES) atomic_store(&kept_mutexes[place], mutex);
}

static void give_back(void) {
    while (taken_count > 0) pthread_mutex_unlock(taken[--taken_count]);
}

static int take_kept_mutexes(int may_leave_some) {
    taken_count = 0;
    for (int i = 0; i < MOST_KEPT_MUTEXES; i++) {
        pthread_mutex_t *mutex = atomic_load(&kept_mutexes[i]);
        if (!mutex) continue;
        if (pthread_mutex_trylock(mutex) == 0) {
            taken[taken_count++] = mutex;
        } else if (!may_leave_some) {
            give_back();
            return 0;
        }
    }
    return 1;
}

static void before_fork(void) {
    for (int attempt = 0;; attempt++) {
        pthread_mutex_lock(&open_files);
        if (take_kept_mutexes(attempt == MOST_FORK_ATTEMPTS)) break;
        /* Whoever holds one may be waiting for the lock around opening. */
        pthread_mutex_unlock(&open_files);
        struct timespec pause = {0, 50000};
        nanosleep(&pause, NULL);
    }
    /* Last, since whoever holds these two waits for nobody. */
    motte_shim_descriptors_before_fork();
    motte_shim_mappings_before_fork();
}

static void after_fork_in_parent(void) {
    motte_shim_mappings_after_fork(0);
    motte_shim_descriptors_after_fork(0);
    give_back();
    pthread_mutex_unlock(&open_files);
}

static void after_fork_in_child(void) {
    for (int i = 0; i < MOST_KEPT_MUTEXES; i++) {
        pthread_mutex_t *mutex = atomic_load(&kept_mutexes[i]);
        if (mutex) pthread_mutex_init(mutex, NULL);
    }
    taken_count = 0;
    pthread_mutex_init(&open_files, NULL);
    /* Locks live as long as any copy of the descriptor, or any mapping that was made through it. */
    motte_shim_mappings_after_fork(1);
    motte_shim_descriptors_after_fork(1);
    __atomic_fetch_add(&motte_shim_reads, 1, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void register_fork_handlers(void) {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void motte_shim_open_files_lock(void) { pthread_mutex_lock(&open_files); }
void motte_shim_open_files_unlock(void) { pthread_mutex_unlock(&open_files); }
