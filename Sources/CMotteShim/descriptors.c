/* Opening files and sockets, and what a forked child keeps of them; see motte_shim_descriptors.h. */
#define _GNU_SOURCE
#include "motte_shim_descriptors.h"
#include "at_fork.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FIRST = 3,
    MOST_OWN = 8192
};

/* Opening gives the lowest number that is free. So while a file is opened, those of the standard descriptors that are
 * closed are taken by something that can be neither read nor written: a file that had such a number only for a moment
 * could get what another thread prints just then. */
typedef struct {
    int taken[FIRST];
    int count;
} standard;

static standard occupy(void) {
    standard held = {.count = 0};
    struct pollfd look[FIRST] = {{.fd = 0}, {.fd = 1}, {.fd = 2}};
    if (poll(look, FIRST, 0) <= 0) return held;
    for (int number = 0; number < FIRST; number++) {
        if (!(look[number].revents & POLLNVAL)) continue;
        int got = open("/", O_PATH | O_CLOEXEC);
        if (got >= FIRST) close(got);
        if (got < 0 || got >= FIRST) break;
        held.taken[held.count++] = got;
    }
    return held;
}

/* What was opened meanwhile; another thread may have closed a standard descriptor since. */
static int leave(standard held, int descriptor) {
    int number = errno;
    if (descriptor >= 0 && descriptor < FIRST) {
        int low = descriptor;
        descriptor = fcntl(low, F_DUPFD_CLOEXEC, FIRST);
        number = errno;
        close(low);
    }
    while (held.count > 0) close(held.taken[--held.count]);
    errno = number;
    return descriptor;
}

int motte_shim_open(const char *path, int flags, unsigned mode) {
    standard held = occupy();
    return leave(held, open(path, flags | O_CLOEXEC, mode));
}

int motte_shim_open_plain(const char *path, int flags) {
    int descriptor = motte_shim_open(path, flags | O_NONBLOCK | O_NOCTTY, 0);
    if (descriptor < 0) return -1;
    struct stat facts;
    int number = 0;
    if (fstat(descriptor, &facts) != 0) {
        number = errno;
    } else if (!S_ISREG(facts.st_mode)) {
        number = S_ISDIR(facts.st_mode) ? EISDIR : ENODEV;
    }
    if (number == 0) return descriptor;
    close(descriptor);
    errno = number;
    return -1;
}

int motte_shim_open_temporary(char *pattern) {
    standard held = occupy();
    return leave(held, mkostemp(pattern, O_CLOEXEC));
}

int motte_shim_duplicate(int descriptor) { return fcntl(descriptor, F_DUPFD_CLOEXEC, FIRST); }

int motte_shim_open_counter(void) {
    standard held = occupy();
    return leave(held, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

DIR *motte_shim_open_folder(const char *path) {
    int descriptor = motte_shim_open(path, O_RDONLY | O_DIRECTORY, 0);
    if (descriptor < 0) return NULL;
    DIR *folder = fdopendir(descriptor);
    if (!folder) close(descriptor);
    return folder;
}

FILE *motte_shim_open_text(const char *path) {
    int descriptor = motte_shim_open(path, O_RDONLY, 0);
    if (descriptor < 0) return NULL;
    FILE *file = fdopen(descriptor, "r");
    if (!file) close(descriptor);
    return file;
}

/* What children do not keep. */
static pthread_mutex_t own_mutex = PTHREAD_MUTEX_INITIALIZER;
static int own[MOST_OWN];
static int own_count = 0;

void motte_shim_descriptors_before_fork(void) { pthread_mutex_lock(&own_mutex); }

void motte_shim_descriptors_after_fork(int is_child) {
    if (!is_child) {
        pthread_mutex_unlock(&own_mutex);
        return;
    }
    pthread_mutex_init(&own_mutex, NULL);
    for (int i = 0; i < own_count; i++) close(own[i]);
    own_count = 0;
}

/* Called holding the mutex. */
static int keep_own(int descriptor) {
    if (descriptor < 0) return -1;
    if (own_count < MOST_OWN) {
        own[own_count++] = descriptor;
        return descriptor;
    }
    close(descriptor);
    errno = EMFILE;
    return -1;
}

int motte_shim_open_own(const char *path, int flags, unsigned mode) {
    pthread_mutex_lock(&own_mutex);
    /* Whoever waits here for a FIFO's other end would keep forks waiting. */
    int descriptor = keep_own(motte_shim_open(path, flags | O_NONBLOCK, mode));
    pthread_mutex_unlock(&own_mutex);
    return descriptor;
}

int motte_shim_open_own_socket(int domain, int type) {
    pthread_mutex_lock(&own_mutex);
    standard held = occupy();
    int descriptor = keep_own(leave(held, socket(domain, type | SOCK_CLOEXEC, 0)));
    pthread_mutex_unlock(&own_mutex);
    return descriptor;
}

int motte_shim_accept_own(int listening) {
    pthread_mutex_lock(&own_mutex);
    standard held = occupy();
    int descriptor = keep_own(leave(held, accept4(listening, NULL, NULL, SOCK_CLOEXEC)));
    pthread_mutex_unlock(&own_mutex);
    return descriptor;
}

void motte_shim_close_own(int descriptor) {
    pthread_mutex_lock(&own_mutex);
    for (int i = 0; i < own_count; i++) {
        if (own[i] != descriptor) continue;
        own[i] = own[--own_count];
        struct flock everything = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
        (void)fcntl(descriptor, F_OFD_SETLK, &everything);
        close(descriptor);
        break;
    }
    pthread_mutex_unlock(&own_mutex);
}
