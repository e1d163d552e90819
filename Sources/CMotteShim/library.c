/* See motte_shim_library.h. */
#define _GNU_SOURCE
#include "motte_shim_library.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(char problem[MOTTE_SHIM_PROBLEM_SIZE]) {
    const char *why = dlerror();
    snprintf(problem, MOTTE_SHIM_PROBLEM_SIZE, "%s", why ? why : "unknown");
    return -1;
}

int motte_shim_library_load(const char *variable, const char *const *names, const motte_shim_symbol *symbols,
                            size_t count, char problem[MOTTE_SHIM_PROBLEM_SIZE]) {
    const char *wanted = variable ? secure_getenv(variable) : NULL;
    const char *only[] = {wanted, NULL};
    void *library = NULL;
    for (names = wanted && *wanted ? only : names; !library && *names; names++)
        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    if (!library) return fail(problem);
    for (size_t i = 0; i < count; i++) {
        void *address = dlsym(library, symbols[i].name);
        if (!address) return fail(problem);
        memcpy(symbols[i].target, &address, sizeof address);
    }
    return 0;
}
