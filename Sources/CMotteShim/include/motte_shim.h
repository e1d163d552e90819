/* What the engine needs from the platform and Swift cannot reach: thread identity, fork generation, futex, CRC-32C.
 * Called only from Motte's own modules; nothing here is exported from libmotte. */
#ifndef MOTTE_SHIM_H
#define MOTTE_SHIM_H
#include <stdint.h>
#include <stddef.h>

/* A number that identifies the calling thread for the life of the process and is never reused. Never 0. */
uint64_t motte_shim_thread_serial(void);

/* Grows by one in every forked child (pthread_atfork), so that an object made before fork can be told apart. */
uint32_t motte_shim_fork_generation(void);

/* Sleeps while *word == expected, at most timeout_ms (negative: no limit). Works across processes on shared memory.
 * Returns 0 when woken or when the value differed, 1 on timeout. */
int motte_shim_futex_wait(uint32_t *word, uint32_t expected, int64_t timeout_ms);
void motte_shim_futex_wake_all(uint32_t *word);

/* Sequentially consistent access to a shared word. */
uint32_t motte_shim_load32(const uint32_t *word);
void motte_shim_store32(uint32_t *word, uint32_t value);
uint64_t motte_shim_load64(const uint64_t *word);
void motte_shim_store64(uint64_t *word, uint64_t value);
int motte_shim_compare_exchange64(uint64_t *word, uint64_t expected, uint64_t desired);

/* CRC-32C (Castagnoli) of `count` bytes continuing from `seed` (0 to start). Hardware instruction where present. */
uint32_t motte_shim_crc32c(uint32_t seed, const void *bytes, size_t count);
#endif
