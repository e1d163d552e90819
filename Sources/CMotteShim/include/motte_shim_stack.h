/* How much of the calling thread's stack is left: texts that are nested deeply are walked by calls within calls, and
 * some threads have little. */
#ifndef MOTTE_SHIM_STACK_H
#define MOTTE_SHIM_STACK_H
#include <stddef.h>
#include <stdint.h>

/* The lowest address of the thread's stack that may be used; 1 where it is not known. 0: not asked yet. */
extern _Thread_local uintptr_t motte_shim_stack_end;
uintptr_t motte_shim_find_stack_end(void);

/* Plenty on another stack than the thread's own, such as that of a coroutine. */
static inline size_t motte_shim_stack_left(void) {
    uintptr_t end = motte_shim_stack_end;
    if (end == 0) end = motte_shim_find_stack_end();
    return (uintptr_t)__builtin_frame_address(0) - end;
}
#endif
