/* Level-triggered events on an eventfd; see motte_shim_events.h. */
#define _GNU_SOURCE
#include "motte_shim_events.h"
#include "motte_shim_descriptors.h"
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

int motte_shim_event_open(void) {
    int descriptor = motte_shim_open_counter();
    return descriptor < 0 ? -errno : descriptor;
}

void motte_shim_event_close(int descriptor) { close(descriptor); }

void motte_shim_event_set(int descriptor) {
    uint64_t one = 1;
    /* A counter that is full is readable already. */
    ssize_t written = write(descriptor, &one, sizeof one);
    (void)written;
}

void motte_shim_event_clear(int descriptor) {
    uint64_t count;
    ssize_t got = read(descriptor, &count, sizeof count);
    (void)got;
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int motte_shim_event_wait(int descriptor, int64_t timeout_ms) {
    struct pollfd entry = {descriptor, POLLIN, 0};
    int64_t end = timeout_ms < 0 ? 0 : now_ms() + timeout_ms;
    for (;;) {
        int64_t left = timeout_ms < 0 ? -1 : end - now_ms();
        if (timeout_ms >= 0 && left < 0) left = 0;
        int ready = poll(&entry, 1, left > 1000000000 ? 1000000000 : (int)left);
        if (ready > 0) return 1;
        if (ready < 0 && errno != EINTR) return -errno;
        if (ready == 0 && timeout_ms >= 0 && now_ms() >= end) return 0;
    }
}
