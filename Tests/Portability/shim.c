/* What the shims answer without the rest of the engine, as lines: two machines that print the same agree about the
 * bytes of a file (checksums), about scans of columns, whose code differs by processor, and about clocks, locks,
 * futexes and random numbers being there at all. */
#include "motte_shim.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t state = 1;
static uint64_t next_number(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 11;
}

static unsigned char bytes[20000];
static uint64_t words[320];

static uint64_t words_sum(size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) sum = (sum << 7 | sum >> 57) ^ words[i];
    return sum;
}

static void checksums(void) {
    const size_t lengths[] = {0,   1,   3,   4,   8,   9,    16,   17,   31,    64,
                              128, 129, 240, 241, 512, 1024, 1025, 4096, 16384, 19993};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        /* Also where they do not lie as a processor likes it. */
        for (size_t shift = 0; shift < 8; shift += 7) {
            printf("%zu bytes at %zu: %016" PRIx64 " %08" PRIx32 "\n", lengths[i], shift,
                   motte_shim_xxh3(bytes + shift, lengths[i]), motte_shim_crc32c(7, bytes + shift, lengths[i]));
        }
    }
}

static void scans(void) {
    static const uint8_t ranges[][2] = {{0, 0}, {0, 255}, {200, 100}, {127, 1}, {128, 127}, {255, 0}};
    static const size_t rows[] = {1, 7, 63, 64, 65, 127, 1904, 9999};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        for (size_t j = 0; j < sizeof rows / sizeof *rows; j++) {
            const uint16_t low = (uint16_t)(ranges[i][0] * 257u), span = (uint16_t)(ranges[i][1] * 257u);
            size_t count = (rows[j] + 63) / 64;
            memset(words, 0, sizeof words);
            motte_shim_select_bytes(bytes, rows[j], ranges[i][0], ranges[i][1], words);
            printf("bytes from %u, %zu rows: %016" PRIx64 " %zu\n", ranges[i][0], rows[j], words_sum(count),
                   motte_shim_count_bits(words, count));
            memset(words, 0, sizeof words);
            motte_shim_select_shorts(bytes, rows[j], low, span, words);
            printf("shorts from %u, %zu rows: %016" PRIx64 " %zu\n", low, rows[j], words_sum(count),
                   motte_shim_count_bits(words, count));
        }
    }
}

static void system_calls(void) {
    char path[] = "/tmp/motte-shim-XXXXXX";
    uint32_t word = 1;
    uint64_t number = 1, size = 0;
    int descriptor = mkstemp(path), other = open(path, O_RDWR);
    printf("lock %d", motte_shim_lock_byte(descriptor, 100, MOTTE_SHIM_EXCLUSIVE));
    printf(", seen by another %d", motte_shim_test_byte(other, 100) == EAGAIN);
    printf(", beside it %d\n", motte_shim_test_byte(other, 101));
    printf("named %d", motte_shim_has_name(descriptor, &size));
    unlink(path);
    printf(", not named %d\n", motte_shim_has_name(descriptor, &size));
    motte_shim_futex_wait(&word, 1, 1);
    motte_shim_futex_wake_all(&word);
    printf("exchanged %d %d\n", motte_shim_compare_exchange64(&number, 1, 2),
           motte_shim_compare_exchange64(&number, 1, 3));
    printf("clocks %d %d\n", motte_shim_monotonic_ns() > 0, motte_shim_wall_time_ns() > 1600000000000000000);
    printf("random %d\n", motte_shim_random(bytes, 16));
    printf("memory %d\n", motte_shim_memory_limit() > 1 << 20);
    printf("thread %d\n", motte_shim_thread_serial() != 0);
    close(descriptor);
    close(other);
}

int main(void) {
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)next_number();
    checksums();
    scans();
    system_calls();
    return 0;
}
