/* A descriptor that can be made readable and unreadable: what event loops wait on. */
#ifndef MOTTE_SHIM_EVENTS_H
#define MOTTE_SHIM_EVENTS_H
#include <stdint.h>

/* A close-on-exec, non-blocking eventfd, or -errno. */
int motte_shim_event_open(void);
void motte_shim_event_close(int descriptor);

/* Makes it readable; and unreadable. */
void motte_shim_event_set(int descriptor);
void motte_shim_event_clear(int descriptor);

/* Waits until it is readable, at most timeout_ms (negative: no limit). 1 readable, 0 timeout, -errno. */
int motte_shim_event_wait(int descriptor, int64_t timeout_ms);
#endif
