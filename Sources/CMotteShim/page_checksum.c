/* The checksum of pages. Not a CRC: a page holds records that carry a CRC of their own, and a CRC over two such records
 * is the same whatever they say, so an old record in a new page would pass. Multiplying is not linear in that sense.
 * Every step is a bijection of its lane, so a change within one 8-byte word always changes the result. */
#include "motte_shim.h"
#include <string.h>

static inline uint64_t rotate(uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

static inline uint64_t step(uint64_t lane, const unsigned char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, 8);
    return rotate((lane ^ word) * 0x9E3779B97F4A7C15u, 29);
}

static inline uint64_t mix(uint64_t value) {
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
    value = (value ^ value >> 27) * 0x94D049BB133111EBu;
    return value ^ value >> 31;
}

uint64_t motte_shim_page_checksum(const void *start, size_t count) {
    const unsigned char *bytes = start;
    uint64_t lanes[4] = {1, 2, 3, 4};
    size_t rest = count;
    for (; rest >= 32; rest -= 32, bytes += 32)
        for (int lane = 0; lane < 4; lane++) lanes[lane] = step(lanes[lane], bytes + 8 * lane);
    if (rest > 0) {
        unsigned char last[32] = {0};
        memcpy(last, bytes, rest);
        for (int lane = 0; lane < 4; lane++) lanes[lane] = step(lanes[lane], last + 8 * lane);
    }
    uint64_t sum = count;
    for (int lane = 0; lane < 4; lane++) sum = mix(sum ^ lanes[lane]) + 1;
    return sum;
}
