/* The end of a thread's stack; see motte_shim_stack.h. */
#define _GNU_SOURCE
#include "motte_shim_stack.h"

#include <pthread.h>

_Thread_local uintptr_t motte_shim_stack_end = 0;

uintptr_t motte_shim_find_stack_end(void) {
    pthread_attr_t attributes;
    uintptr_t end = 1;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void *lowest;
        size_t size, guard = 0;
        if (pthread_attr_getstack(&attributes, &lowest, &size) == 0) {
            /* Some libraries count the guard pages in. */
            pthread_attr_getguardsize(&attributes, &guard);
            end = (uintptr_t)lowest + (guard < size / 2 ? guard : 0);
        }
        pthread_attr_destroy(&attributes);
    }
    return motte_shim_stack_end = end;
}
