/* Scans of bytes and bits by the widest instructions that the processor has; see motte_shim.h. */
#include "motte_shim.h"
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* From `row`, a multiple of 64, to the end. */
static void select_rest(const uint8_t *values, size_t row, size_t rows, uint8_t low, uint8_t span, uint64_t *words) {
    for (; row < rows; row += 64) {
        size_t count = rows - row < 64 ? rows - row : 64;
        uint64_t word = 0;
        for (size_t bit = 0; bit < count; bit++) {
            word |= (uint64_t)((uint8_t)(values[row + bit] - low) <= span) << bit;
        }
        words[row / 64] = word;
    }
}

#if defined(__x86_64__)
static void select_narrow(const uint8_t *values, size_t rows, uint8_t low, uint8_t span, uint64_t *words) {
    const __m128i lows = _mm_set1_epi8((char)low), spans = _mm_set1_epi8((char)span);
    size_t row = 0;
    for (; row + 64 <= rows; row += 64) {
        uint64_t word = 0;
        for (int part = 0; part < 4; part++) {
            __m128i batch = _mm_loadu_si128((const __m128i *)(values + row + 16 * part));
            __m128i distance = _mm_sub_epi8(batch, lows);
            __m128i within = _mm_cmpeq_epi8(_mm_min_epu8(distance, spans), distance);
            word |= (uint64_t)(uint32_t)_mm_movemask_epi8(within) << (16 * part);
        }
        words[row / 64] = word;
    }
    select_rest(values, row, rows, low, span, words);
}

__attribute__((target("avx2"))) static void select_wide(const uint8_t *values, size_t rows, uint8_t low, uint8_t span,
                                                        uint64_t *words) {
    const __m256i lows = _mm256_set1_epi8((char)low), spans = _mm256_set1_epi8((char)span);
    size_t row = 0;
    for (; row + 64 <= rows; row += 64) {
        __m256i first = _mm256_sub_epi8(_mm256_loadu_si256((const __m256i *)(values + row)), lows);
        __m256i second = _mm256_sub_epi8(_mm256_loadu_si256((const __m256i *)(values + row + 32)), lows);
        uint32_t one = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(first, spans), first));
        uint32_t two = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(second, spans), second));
        words[row / 64] = one | (uint64_t)two << 32;
    }
    select_rest(values, row, rows, low, span, words);
}

__attribute__((target("popcnt"))) static size_t count_at_once(const uint64_t *words, size_t count) {
    size_t total = 0;
    for (size_t index = 0; index < count; index++) total += (size_t)__builtin_popcountll(words[index]);
    return total;
}
#endif

void motte_shim_select_bytes(const uint8_t *values, size_t rows, uint8_t low, uint8_t span, uint64_t *words) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) return select_wide(values, rows, low, span, words);
    select_narrow(values, rows, low, span, words);
#else
    select_rest(values, 0, rows, low, span, words);
#endif
}

/* The same of two-byte numbers, which may lie at odd addresses. */
static void select_rest_of_shorts(const char *values, size_t row, size_t rows, uint16_t low, uint16_t span,
                                  uint64_t *words) {
    for (; row < rows; row += 64) {
        size_t count = rows - row < 64 ? rows - row : 64;
        uint64_t word = 0;
        for (size_t bit = 0; bit < count; bit++) {
            uint16_t value;
            memcpy(&value, values + 2 * (row + bit), sizeof value);
            word |= (uint64_t)((uint16_t)(value - low) <= span) << bit;
        }
        words[row / 64] = word;
    }
}

#if defined(__x86_64__)
/* Sixteen rows: two vectors of words, packed to bytes. SSE2 has no unsigned minimum of words; distances above the span
 * are those that a subtraction with saturation leaves something of. */
static inline uint32_t sixteen_shorts(const char *values, __m128i lows, __m128i spans) {
    __m128i zero = _mm_setzero_si128();
    __m128i first = _mm_sub_epi16(_mm_loadu_si128((const __m128i *)values), lows);
    __m128i second = _mm_sub_epi16(_mm_loadu_si128((const __m128i *)(values + 16)), lows);
    __m128i one = _mm_cmpeq_epi16(_mm_subs_epu16(first, spans), zero);
    __m128i two = _mm_cmpeq_epi16(_mm_subs_epu16(second, spans), zero);
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(one, two));
}

static void select_shorts_narrow(const char *values, size_t rows, uint16_t low, uint16_t span, uint64_t *words) {
    const __m128i lows = _mm_set1_epi16((short)low), spans = _mm_set1_epi16((short)span);
    size_t row = 0;
    for (; row + 64 <= rows; row += 64) {
        uint64_t word = 0;
        for (int part = 0; part < 4; part++) {
            word |= (uint64_t)sixteen_shorts(values + 2 * row + 32 * part, lows, spans) << (16 * part);
        }
        words[row / 64] = word;
    }
    select_rest_of_shorts(values, row, rows, low, span, words);
}

__attribute__((target("avx2"))) static inline uint32_t thirty_two_shorts(const char *values, __m256i lows,
                                                                         __m256i spans) {
    __m256i first = _mm256_sub_epi16(_mm256_loadu_si256((const __m256i *)values), lows);
    __m256i second = _mm256_sub_epi16(_mm256_loadu_si256((const __m256i *)(values + 32)), lows);
    __m256i one = _mm256_cmpeq_epi16(_mm256_min_epu16(first, spans), first);
    __m256i two = _mm256_cmpeq_epi16(_mm256_min_epu16(second, spans), second);
    /* Packing works within halves of vectors: the middle quarters change places. */
    __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi16(one, two), 0xD8);
    return (uint32_t)_mm256_movemask_epi8(both);
}

__attribute__((target("avx2"))) static void select_shorts_wide(const char *values, size_t rows, uint16_t low,
                                                               uint16_t span, uint64_t *words) {
    const __m256i lows = _mm256_set1_epi16((short)low), spans = _mm256_set1_epi16((short)span);
    size_t row = 0;
    for (; row + 64 <= rows; row += 64) {
        uint64_t one = thirty_two_shorts(values + 2 * row, lows, spans);
        uint64_t two = thirty_two_shorts(values + 2 * row + 64, lows, spans);
        words[row / 64] = one | two << 32;
    }
    select_rest_of_shorts(values, row, rows, low, span, words);
}
#endif

void motte_shim_select_shorts(const void *values, size_t rows, uint16_t low, uint16_t span, uint64_t *words) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) return select_shorts_wide(values, rows, low, span, words);
    select_shorts_narrow(values, rows, low, span, words);
#else
    select_rest_of_shorts(values, 0, rows, low, span, words);
#endif
}

size_t motte_shim_count_bits(const uint64_t *words, size_t count) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("popcnt")) return count_at_once(words, count);
#endif
    size_t total = 0;
    for (size_t index = 0; index < count; index++) total += (size_t)__builtin_popcountll(words[index]);
    return total;
}
