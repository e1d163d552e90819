/* What the examples share: a call that fails ends the program and says why. A program of your own returns the status
 * instead, or jumps to where it cleans up; handles in MOTTE_OWNED variables are released either way. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <motte_inline.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Statuses from 0 up are fine: MOTTE_OK, or an outcome such as MOTTE_NOT_FOUND, which the caller looks at. */
static inline motte_status check(motte_status status, const char *what) {
    if (status >= 0) return status;
    motte_print_error(stderr, what, status);
    exit(1);
}

#define DO(call) check((call), #call)

#endif
