/* XXH3-64 without a seed, written from the specification of xxHash (doc/xxhash_spec.md there, version 0.2.0). The
 * checksum of pages; why this one is said in docs/decisions/0030-page-checksum.md. Names are those of the specification
 * where it has some. The published test vectors are in Tests/PagesTests/ChecksumTests.swift.
 *
 * Lanes lie in pairs, as vectors of 16 bytes: every processor of the two architectures that Motte runs on has these,
 * and wider ones gain little (123 ns for a page of 4 KB, with AVX2 118 ns), so nothing is chosen while running. */
#include "motte_shim.h"
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "files are little-endian, and so are the machines that Motte runs on"
#endif

/* What the specification calls the default secret. */
static const unsigned char secret[192] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c, 0xde, 0xd4,
    0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f, 0xcb, 0x79, 0xe6, 0x4e,
    0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21, 0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43,
    0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c, 0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb,
    0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3, 0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19,
    0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8, 0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7,
    0xc7, 0x0b, 0x4f, 0x1d, 0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78,
    0x73, 0x64, 0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e, 0x2b, 0x16,
    0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce, 0x45, 0xcb, 0x3a, 0x8f,
    0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
};

#define PRIME32_1 0x9E3779B1u
#define PRIME32_2 0x85EBCA77u
#define PRIME32_3 0xC2B2AE3Du
#define PRIME64_1 0x9E3779B185EBCA87u
#define PRIME64_2 0xC2B2AE3D27D4EB4Fu
#define PRIME64_3 0x165667B19E3779F9u
#define PRIME64_4 0x85EBCA77C2B2AE63u
#define PRIME64_5 0x27D4EB2F165667C5u
#define PRIME_MX1 0x165667919E3779F9u
#define PRIME_MX2 0x9FB21C651E98DF25u

static inline uint64_t word(const unsigned char *at) {
    uint64_t value;
    memcpy(&value, at, 8);
    return value;
}

static inline uint32_t half(const unsigned char *at) {
    uint32_t value;
    memcpy(&value, at, 4);
    return value;
}

static inline uint64_t rotate(uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

/* The halves of the 128-bit product, one upon the other. */
static inline uint64_t fold(uint64_t left, uint64_t right) {
    unsigned __int128 product = (unsigned __int128)left * right;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t avalanche(uint64_t value) {
    value = (value ^ value >> 37) * PRIME_MX1;
    return value ^ value >> 32;
}

static inline uint64_t avalanche_xxh64(uint64_t value) {
    value = (value ^ value >> 33) * PRIME64_2;
    value = (value ^ value >> 29) * PRIME64_3;
    return value ^ value >> 32;
}

/* Of 16 bytes. */
static inline uint64_t mix_step(const unsigned char *bytes, size_t secret_offset) {
    return fold(word(bytes) ^ word(secret + secret_offset), word(bytes + 8) ^ word(secret + secret_offset + 8));
}

/* 0 to 16 bytes. */
static uint64_t small(const unsigned char *bytes, size_t count) {
    if (count > 8) {
        uint64_t low = word(secret + 24) ^ word(secret + 32) ^ word(bytes);
        uint64_t high = word(secret + 40) ^ word(secret + 48) ^ word(bytes + count - 8);
        return avalanche(count + __builtin_bswap64(low) + high + fold(low, high));
    }
    if (count > 3) {
        uint64_t combined = half(bytes + count - 4) | (uint64_t)half(bytes) << 32;
        uint64_t value = word(secret + 8) ^ word(secret + 16) ^ combined;
        value ^= rotate(value, 49) ^ rotate(value, 24);
        value *= PRIME_MX2;
        value ^= (value >> 35) + count;
        value *= PRIME_MX2;
        return value ^ value >> 28;
    }
    if (count == 0) return avalanche_xxh64(word(secret + 56) ^ word(secret + 64));
    uint32_t combined = bytes[count - 1] | (uint32_t)count << 8 | (uint32_t)bytes[0] << 16;
    combined |= (uint32_t)bytes[count >> 1] << 24;
    return avalanche_xxh64((uint64_t)(half(secret) ^ half(secret + 4)) ^ combined);
}

/* 17 to 240 bytes. */
static uint64_t medium(const unsigned char *bytes, size_t count) {
    uint64_t sum = count * PRIME64_1;
    if (count <= 128) {
        for (size_t round = ((count - 1) >> 5) + 1; round-- > 0;) {
            sum += mix_step(bytes + 16 * round, 32 * round);
            sum += mix_step(bytes + count - 16 * round - 16, 32 * round + 16);
        }
        return avalanche(sum);
    }
    for (size_t chunk = 0; chunk < 8; chunk++) sum += mix_step(bytes + 16 * chunk, 16 * chunk);
    sum = avalanche(sum);
    for (size_t chunk = 8; chunk < count >> 4; chunk++) sum += mix_step(bytes + 16 * chunk, 16 * (chunk - 8) + 3);
    return avalanche(sum + mix_step(bytes + count - 16, 119));
}

typedef uint64_t pair __attribute__((vector_size(16)));

static inline pair load(const unsigned char *at) {
    pair value;
    memcpy(&value, at, 16);
    return value;
}

enum {
    STRIPE = 64,
    BLOCK = 1024
};

static inline void accumulate(pair lanes[4], const unsigned char *stripe, const unsigned char *secret_part) {
    for (int i = 0; i < 4; i++) {
        pair value = load(stripe + 16 * i), keyed = value ^ load(secret_part + 16 * i);
        lanes[i] += __builtin_shufflevector(value, value, 1, 0) + (keyed & 0xFFFFFFFF) * (keyed >> 32);
    }
}

static inline void scramble(pair lanes[4]) {
    const unsigned char *end = secret + sizeof secret - STRIPE;
    for (int i = 0; i < 4; i++) lanes[i] = (lanes[i] ^ lanes[i] >> 47 ^ load(end + 16 * i)) * PRIME32_1;
}

/* More than 240 bytes. The last block, of which at least one byte is left, ends with a stripe that overlaps. */
static uint64_t large(const unsigned char *bytes, size_t count) {
    pair lanes[4] = {{PRIME32_3, PRIME64_1}, {PRIME64_2, PRIME64_3}, {PRIME64_4, PRIME32_2}, {PRIME64_5, PRIME32_1}};
    const unsigned char *block = bytes;
    size_t rest = count;
    for (; rest > BLOCK; block += BLOCK, rest -= BLOCK) {
        for (int stripe = 0; stripe < BLOCK / STRIPE; stripe++)
            accumulate(lanes, block + STRIPE * stripe, secret + 8 * stripe);
        scramble(lanes);
    }
    for (size_t stripe = 0; stripe < (rest - 1) / STRIPE; stripe++)
        accumulate(lanes, block + STRIPE * stripe, secret + 8 * stripe);
    accumulate(lanes, bytes + count - STRIPE, secret + sizeof secret - STRIPE - 7);
    uint64_t sum = count * PRIME64_1;
    for (int i = 0; i < 4; i++)
        sum += fold(lanes[i][0] ^ word(secret + 11 + 16 * i), lanes[i][1] ^ word(secret + 19 + 16 * i));
    return avalanche(sum);
}

uint64_t motte_shim_xxh3(const void *bytes, size_t count) {
    if (count > 240) return large(bytes, count);
    return count > 16 ? medium(bytes, count) : small(bytes, count);
}
