/* Regular expressions, which match a whole text or do not, by libpcre2-8, which is loaded when it is used first.
 *
 * A text takes time in proportion to its length, whatever the pattern: where backtracking, which is compiled to machine
 * code, takes more steps than that, the text is matched again by following all alternatives at once. */
#ifndef MOTTE_SHIM_PATTERN_H
#define MOTTE_SHIM_PATTERN_H

#include <stddef.h>

typedef struct motte_shim_pattern motte_shim_pattern;

/* Loads the library, once. 0, or -1: `motte_shim_pattern_problem` says why. The environment variable MOTTE_LIBPCRE2
 * names another file than libpcre2-8.so.0. */
int motte_shim_pattern_load(void);
const char *motte_shim_pattern_problem(void);

/* A pattern in UTF-8, and another that matches the same and is good for following all alternatives at once, where at
 * most `states` places can be reached at the same time; the caller has looked through both. NULL: `*message` says why,
 * of at most `message_size` bytes, and `*offset` where, in bytes; without a message there was no memory. */
motte_shim_pattern *motte_shim_pattern_compile(const void *text, size_t size, const void *steady, size_t steady_size,
                                               int ignores_case, size_t states, char *message, size_t message_size,
                                               size_t *offset);
void motte_shim_pattern_free(motte_shim_pattern *pattern);

/* 1, or 0; texts that are not UTF-8 do not match. -1: something that cannot be, as far as is known. From any thread. */
int motte_shim_pattern_matches(motte_shim_pattern *pattern, const void *text, size_t size);

#endif
