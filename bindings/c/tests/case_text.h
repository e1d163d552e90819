/* SPDX-License-Identifier: Apache-2.0
 * Reading the line format of the conformance cases (docs/testing.md): a cursor over one line, literals with their
 * memory, and values as canonical text. Knows nothing of realms: what stands for an object is looked up by a callback.
 */
#ifndef MOTTE_CASE_TEXT_H
#define MOTTE_CASE_TEXT_H

#include "motte.h"
#include <stdarg.h>

/* Memory that lives as long as the case. */
void *case_alloc(size_t size);
char *case_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
void case_free_all(void);

/* Gives up the case: prints the reason with file and line and returns to the loop over cases. */
void case_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* What is left of a line. */
typedef struct cursor {
    const char *at;
} cursor;

void skip_blanks(cursor *in);
int at_end(cursor *in);
/* Steps over `text` if it is next; a word must end there. */
int accept(cursor *in, const char *text);
void need(cursor *in, const char *text);
/* A name of letters, digits, '_' and '-'; NULL if there is none. */
char *accept_name(cursor *in);
char *need_name(cursor *in);
long long need_integer(cursor *in);
/* Text in backquotes, taken as it stands. */
char *need_text(cursor *in);
void need_end(cursor *in);

/* One value, or a list of them. */
typedef struct literal {
    int is_list;
    motte_value value;
    size_t count;
    motte_value *items;
} literal;

/* Class and key of the object that `Class/key` or `@name` stands for; fails the case if there is none. */
typedef void (*resolve_fn)(cursor *in, motte_value *out_link);

literal need_literal(cursor *in, resolve_fn resolve);
motte_value need_value(cursor *in, resolve_fn resolve);
/* Zero or more values in parentheses, or nothing at all. */
literal accept_arguments(cursor *in, resolve_fn resolve);

/* The list as one value, as mixed properties hold it. */
motte_value nested_list(const motte_value *items, size_t count);
motte_value nested_map(const motte_str *keys, const motte_value *values, size_t count);
/* A literal where one value is wanted. */
motte_value one_value(const literal *value);

/* Equal in type and payload; floats and doubles by value, NaN equal to NaN. */
int same_value(const motte_value *left, const motte_value *right);
char *value_text(const motte_value *value);
char *literal_text(const literal *value);

#endif
