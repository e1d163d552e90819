/* Mappings that survive the loss of their file; see motte_shim_mappings.h. */
#define _GNU_SOURCE
#include "motte_shim_mappings.h"
#include "at_fork.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum {
    MOST_MAPPINGS = 16384
};

/* Read by the signal handler, which can take no lock: an entry is complete once its start is there. */
typedef struct {
    _Atomic uintptr_t start;
    _Atomic size_t size;
    _Atomic int is_lost;
    /* Whether zeros may take its place; not where they would be taken for what was written. */
    _Atomic int may_be_lost;
} mapping;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static mapping mappings[MOST_MAPPINGS];
/* Places that were ever used. */
static _Atomic int mapping_count = 0;
static struct sigaction former;

static int put_zeros(mapping *entry) {
    void *start = (void *)atomic_load(&entry->start);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
    atomic_store(&entry->is_lost, 1);
    return mmap(start, atomic_load(&entry->size), PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED;
}

static void on_lost_page(int number, siginfo_t *facts, void *context) {
    int kept = errno;
    uintptr_t place = (uintptr_t)facts->si_addr;
    int count = facts->si_code > 0 ? atomic_load(&mapping_count) : 0;
    for (int i = 0; i < count; i++) {
        uintptr_t start = atomic_load(&mappings[i].start);
        if (start == 0 || place < start || place - start >= atomic_load(&mappings[i].size)) continue;
        if (!atomic_load(&mappings[i].may_be_lost) || !put_zeros(&mappings[i])) break;
        errno = kept;
        return;
    }
    if (former.sa_flags & SA_SIGINFO) {
        former.sa_sigaction(number, facts, context);
    } else if (former.sa_handler != SIG_DFL && former.sa_handler != SIG_IGN) {
        former.sa_handler(number);
    } else if (former.sa_handler == SIG_DFL || facts->si_code > 0) {
        /* As without us: it comes again when the handler returns, and ends the process. */
        signal(SIGBUS, SIG_DFL);
        if (facts->si_code <= 0) raise(SIGBUS);
    }
    errno = kept;
}

static void handle_lost_pages(void) {
    struct sigaction action = {.sa_sigaction = on_lost_page, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, NULL, &former) == 0) sigaction(SIGBUS, &action, NULL);
}

void motte_shim_block_signals(sigset_t *out_before) {
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t most;
    sigfillset(&most);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&most, faults[i]);
    pthread_sigmask(SIG_BLOCK, &most, out_before);
    /* The program may have blocked it on the thread that starts ours. */
    sigset_t bus;
    sigemptyset(&bus);
    sigaddset(&bus, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &bus, NULL);
}

void motte_shim_restore_signals(const sigset_t *before) { pthread_sigmask(SIG_SETMASK, before, NULL); }

/* Called holding the mutex. */
static mapping *find(uintptr_t start) {
    int count = atomic_load(&mapping_count);
    for (int i = 0; i < count; i++) {
        if (atomic_load(&mappings[i].start) == start) return &mappings[i];
    }
    return NULL;
}

static void *map(int descriptor, int64_t offset, size_t size, int access, int kind, int may_be_lost) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, handle_lost_pages);
    pthread_mutex_lock(&mutex);
    mapping *place = find(0);
    int count = atomic_load(&mapping_count);
    if (!place && count < MOST_MAPPINGS) place = &mappings[count];
    void *start = MAP_FAILED;
    if (place) {
        start = mmap(NULL, size, access, kind, descriptor, offset);
    } else {
        errno = ENOMEM;
    }
    if (start != MAP_FAILED) {
        atomic_store(&place->size, size);
        atomic_store(&place->is_lost, 0);
        atomic_store(&place->may_be_lost, may_be_lost);
        atomic_store(&place->start, (uintptr_t)start);
        if (place == &mappings[count]) atomic_store(&mapping_count, count + 1);
    }
    pthread_mutex_unlock(&mutex);
    return start == MAP_FAILED ? NULL : start;
}

void *motte_shim_map(int descriptor, int64_t offset, size_t size) {
    return map(descriptor, offset, size, PROT_READ | PROT_WRITE, MAP_SHARED, 1);
}

void *motte_shim_map_scratch(int descriptor, int64_t offset, size_t size) {
    return map(descriptor, offset, size, PROT_READ | PROT_WRITE, MAP_SHARED, 0);
}

void *motte_shim_map_to_read(int descriptor, size_t size) {
    return map(descriptor, 0, size, PROT_READ, MAP_PRIVATE, 1);
}

void motte_shim_unmap(void *start, size_t size) {
    pthread_mutex_lock(&mutex);
    mapping *place = find((uintptr_t)start);
    if (place) atomic_store(&place->start, 0);
    munmap(start, size);
    pthread_mutex_unlock(&mutex);
}

int motte_shim_is_lost(const void *start) {
    pthread_mutex_lock(&mutex);
    mapping *place = find((uintptr_t)start);
    int is_lost = place && atomic_load(&place->is_lost);
    pthread_mutex_unlock(&mutex);
    return is_lost;
}

void motte_shim_mappings_before_fork(void) { pthread_mutex_lock(&mutex); }

void motte_shim_mappings_after_fork(int is_child) {
    if (!is_child) {
        pthread_mutex_unlock(&mutex);
        return;
    }
    pthread_mutex_init(&mutex, NULL);
    int count = atomic_load(&mapping_count);
    for (int i = 0; i < count; i++) {
        if (atomic_load(&mappings[i].start) != 0) put_zeros(&mappings[i]);
    }
}
