/* Libraries of the system that are loaded when they are used. */
#ifndef MOTTE_SHIM_LIBRARY_H
#define MOTTE_SHIM_LIBRARY_H

#include <stddef.h>

enum {
    MOTTE_SHIM_PROBLEM_SIZE = 256
};

/* Name of a function or variable, and the pointer that is to hold its address. */
typedef struct {
    const char *name;
    void *target;
} motte_shim_symbol;

/* Loads the library that `variable` of the environment names, else the first of `names` that there is; NULL ends the
 * names, and stands for no variable. 0, or -1 with the reason in `problem`; what has been found is filled in then too.
 * It stays loaded. */
int motte_shim_library_load(const char *variable, const char *const *names, const motte_shim_symbol *symbols,
                            size_t count, char problem[MOTTE_SHIM_PROBLEM_SIZE]);

#endif
