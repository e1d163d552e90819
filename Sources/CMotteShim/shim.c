/* Thread identity, fork generation, futex and CRC-32C; see motte_shim.h for what each promises. */
#define _GNU_SOURCE
#include "motte_shim.h"
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <limits.h>

static _Atomic uint64_t next_serial = 1;
static _Thread_local uint64_t thread_serial = 0;

uint64_t motte_shim_thread_serial(void) {
    if (thread_serial == 0) thread_serial = atomic_fetch_add(&next_serial, 1);
    return thread_serial;
}

static _Atomic uint32_t fork_generation = 0;
static void count_fork(void) { atomic_fetch_add(&fork_generation, 1); }

__attribute__((constructor)) static void register_fork_handler(void) {
    pthread_atfork(NULL, NULL, count_fork);
}

uint32_t motte_shim_fork_generation(void) {
    return atomic_load_explicit(&fork_generation, memory_order_relaxed);
}

int motte_shim_futex_wait(uint32_t *word, uint32_t expected, int64_t timeout_ms) {
    struct timespec limit = { timeout_ms / 1000, (timeout_ms % 1000) * 1000000 };
    long result = syscall(SYS_futex, word, FUTEX_WAIT, expected, timeout_ms < 0 ? NULL : &limit, NULL, 0);
    return result == -1 && errno == ETIMEDOUT ? 1 : 0;
}

void motte_shim_futex_wake_all(uint32_t *word) {
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

uint32_t motte_shim_load32(const uint32_t *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }
void motte_shim_store32(uint32_t *word, uint32_t value) { __atomic_store_n(word, value, __ATOMIC_SEQ_CST); }
uint64_t motte_shim_load64(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }
void motte_shim_store64(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_SEQ_CST); }
int motte_shim_compare_exchange64(uint64_t *word, uint64_t expected, uint64_t desired) {
    return __atomic_compare_exchange_n(word, &expected, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* CRC-32C. The table form serves processors without the instruction. */
static uint32_t crc_table[256];

__attribute__((constructor)) static void fill_crc_table(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (crc & 1 ? 0x82F63B78u : 0);
        crc_table[byte] = crc;
    }
}

static uint32_t crc32c_portable(uint32_t crc, const unsigned char *bytes, size_t count) {
    while (count--) crc = crc_table[(crc ^ *bytes++) & 0xFF] ^ (crc >> 8);
    return crc;
}

#if defined(__x86_64__)
#include <nmmintrin.h>
#include <string.h>
__attribute__((target("sse4.2")))
static uint32_t crc32c_hardware(uint32_t crc, const unsigned char *bytes, size_t count) {
    uint64_t wide = crc;
    while (count >= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        wide = _mm_crc32_u64(wide, word);
        bytes += 8;
        count -= 8;
    }
    crc = (uint32_t)wide;
    while (count--) crc = _mm_crc32_u8(crc, *bytes++);
    return crc;
}
#endif

uint32_t motte_shim_crc32c(uint32_t seed, const void *bytes, size_t count) {
    uint32_t crc = ~seed;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) return ~crc32c_hardware(crc, bytes, count);
#endif
    return ~crc32c_portable(crc, bytes, count);
}
