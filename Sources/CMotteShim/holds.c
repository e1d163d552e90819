/* The barrier of motte_shim_open_hold: on the side that takes memory away, which is rare, instead of on the side that
 * reads. */
#include "motte_shim.h"

#include <unistd.h>

#if defined(__linux__)
#include <sys/syscall.h>
#endif

int motte_shim_has_barrier;

#if defined(__linux__) && defined(SYS_membarrier)
/* linux/membarrier.h, which not every system has the header of. */
enum {
    QUERY = 0,
    PRIVATE_EXPEDITED = 1 << 3,
    REGISTER_PRIVATE_EXPEDITED = 1 << 4
};

void motte_shim_prepare_holds(void) {
    long known = syscall(SYS_membarrier, QUERY, 0, 0);
    if (known < 0 || !(known & PRIVATE_EXPEDITED)) return;
    if (syscall(SYS_membarrier, REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0) return;
    __atomic_store_n(&motte_shim_has_barrier, 1, __ATOMIC_SEQ_CST);
}

int motte_shim_see_holds(void) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&motte_shim_has_barrier, __ATOMIC_ACQUIRE)) return 0;
    if (syscall(SYS_membarrier, PRIVATE_EXPEDITED, 0, 0) == 0) return 0;
    /* A process that was stored away and restored may have to ask again to be let. */
    if (syscall(SYS_membarrier, REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0) return -1;
    return syscall(SYS_membarrier, PRIVATE_EXPEDITED, 0, 0) == 0 ? 0 : -1;
}
#else
void motte_shim_prepare_holds(void) {}
int motte_shim_see_holds(void) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return 0;
}
#endif
