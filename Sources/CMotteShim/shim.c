/* Thread identity, futex, file locks and CRC-32C; see motte_shim.h for what each promises. */
#define _GNU_SOURCE
#include "motte_shim.h"
#include "motte_shim_descriptors.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

static _Atomic uint64_t next_serial = 1;
_Thread_local uint64_t motte_shim_serial_of_thread = 0;
_Thread_local uint64_t motte_shim_untracked_serial = 0;
_Thread_local uint32_t motte_shim_tracking_depth = 0;
_Thread_local void *motte_shim_scope_of_thread = NULL;
_Thread_local uint32_t motte_shim_call_depth = 0;
_Thread_local uint64_t motte_shim_frozen_serial_of_thread = 0;
_Thread_local void *motte_shim_frozen_source_of_thread = NULL;
_Thread_local uint64_t motte_shim_calls_with_release = 0;

_Thread_local const uint64_t *motte_shim_last_closed = NULL;
_Thread_local uint64_t motte_shim_closed_before_call = 0;
static void (*_Atomic lets_go)(uint64_t last);

void motte_shim_let_go_by(void (*function)(uint64_t last), const uint64_t *last_closed) {
    atomic_store(&lets_go, function);
    motte_shim_last_closed = last_closed;
}

void motte_shim_let_go(void) {
    uint64_t last = motte_shim_closed_before_call;
    motte_shim_closed_before_call = 0;
    void (*function)(uint64_t last) = lets_go;
    function(last);
}

uint64_t motte_shim_new_thread_serial(void) {
    motte_shim_serial_of_thread = atomic_fetch_add(&next_serial, 1);
    if (motte_shim_tracking_depth == 0) motte_shim_untracked_serial = motte_shim_serial_of_thread;
    return motte_shim_serial_of_thread;
}

int motte_shim_futex_wait(uint32_t *word, uint32_t expected, int64_t timeout_ms) {
    struct timespec limit = {timeout_ms / 1000, (timeout_ms % 1000) * 1000000};
    long result = syscall(SYS_futex, word, FUTEX_WAIT, expected, timeout_ms < 0 ? NULL : &limit, NULL, 0);
    return result == -1 && errno == ETIMEDOUT ? 1 : 0;
}

void motte_shim_futex_wake_all(uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0); }

static int64_t read_clock(clockid_t clock, int64_t per_second, int64_t divisor) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * per_second + now.tv_nsec / divisor;
}

int64_t motte_shim_monotonic_ms(void) { return read_clock(CLOCK_MONOTONIC, 1000, 1000000); }
int64_t motte_shim_monotonic_ns(void) { return read_clock(CLOCK_MONOTONIC, 1000000000, 1); }
#ifdef CLOCK_MONOTONIC_COARSE
int64_t motte_shim_coarse_ns(void) { return read_clock(CLOCK_MONOTONIC_COARSE, 1000000000, 1); }
#else
int64_t motte_shim_coarse_ns(void) { return motte_shim_monotonic_ns(); }
#endif

/* Not 0: how many numbers were given out since all of them are the same each time. */
static uint64_t repeated;

void motte_shim_repeat(void) { repeated = 1; }

int64_t motte_shim_wall_time_ns(void) {
    return repeated ? 1700000000000000000 : read_clock(CLOCK_REALTIME, 1000000000, 1);
}

int motte_shim_lock_byte(int descriptor, int64_t offset, int kind) {
    struct flock lock = {.l_whence = SEEK_SET, .l_start = offset, .l_len = 1};
    lock.l_type = kind == MOTTE_SHIM_EXCLUSIVE ? F_WRLCK : kind == MOTTE_SHIM_SHARED ? F_RDLCK : F_UNLCK;
    int result;
    do result = fcntl(descriptor, F_OFD_SETLK, &lock);
    while (result == -1 && errno == EINTR);
    if (result == 0) return 0;
    return errno == EACCES ? EAGAIN : errno;
}

int motte_shim_test_byte(int descriptor, int64_t offset) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1};
    if (fcntl(descriptor, F_OFD_GETLK, &lock) == -1) return errno;
    return lock.l_type == F_UNLCK ? 0 : EAGAIN;
}

int motte_shim_test_bytes_except(int descriptor, int64_t first, int64_t count, int64_t but) {
    struct flock below = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = first, .l_len = but - first};
    struct flock above = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = but + 1};
    above.l_len = first + count - but - 1;
    /* A length of 0 would mean the rest of the file. */
    if (below.l_len > 0 && fcntl(descriptor, F_OFD_GETLK, &below) == -1) return errno;
    if (above.l_len > 0 && fcntl(descriptor, F_OFD_GETLK, &above) == -1) return errno;
    int is_free = (below.l_len <= 0 || below.l_type == F_UNLCK) && (above.l_len <= 0 || above.l_type == F_UNLCK);
    return is_free ? 0 : EAGAIN;
}

/* Only what is needed is asked for: a look at a file's times makes file systems stamp its next write again, and the
 * flush behind that write then writes the inode as well. */
static int identity(int directory, const char *path, int flags, uint64_t *device, uint64_t *inode) {
    struct statx facts;
    if (statx(directory, path, flags | AT_STATX_DONT_SYNC, STATX_INO, &facts) == 0) {
        *device = makedev(facts.stx_dev_major, facts.stx_dev_minor);
        *inode = facts.stx_ino;
        return 0;
    }
    if (errno != ENOSYS) return errno;
    struct stat older;
    if (fstatat(directory, path, &older, flags) != 0) return errno;
    *device = older.st_dev;
    *inode = older.st_ino;
    return 0;
}

int motte_shim_has_name(int descriptor, uint64_t *size) {
    struct statx facts;
    unsigned int wanted = STATX_NLINK | (size ? STATX_SIZE : 0);
    if (size) *size = UINT64_MAX;
    if (statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, wanted, &facts) == 0) {
        if (size) *size = facts.stx_size;
        return facts.stx_nlink > 0;
    }
    struct stat older;
    if (errno != ENOSYS || fstat(descriptor, &older) != 0) return 1;
    if (size) *size = (uint64_t)older.st_size;
    return older.st_nlink > 0;
}

int motte_shim_file_identity(const char *path, uint64_t *device, uint64_t *inode) {
    return identity(AT_FDCWD, path, 0, device, inode);
}

int motte_shim_descriptor_identity(int descriptor, uint64_t *device, uint64_t *inode) {
    return identity(descriptor, "", AT_EMPTY_PATH, device, inode);
}

uint64_t motte_shim_process_start(int32_t pid) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int descriptor = motte_shim_open(path, O_RDONLY, 0);
    if (descriptor == -1) return 0;
    ssize_t count = read(descriptor, text, sizeof text - 1);
    close(descriptor);
    if (count <= 0) return 0;
    text[count] = 0;
    /* The name in parentheses may hold anything, so count fields from its end: state is field 3, the start is 22. */
    char *field = strrchr(text, ')');
    for (int number = 2; field && number < 22; number++) field = strchr(field + 1, ' ');
    return field ? strtoull(field + 1, NULL, 10) : 0;
}

uint64_t motte_shim_own_start(void) {
    static int32_t known_process;
    static uint64_t known_start;
    int32_t process = (int32_t)getpid();
    if (process != known_process) {
        known_start = motte_shim_process_start(process);
        known_process = known_start ? process : 0;
    }
    return known_start;
}

uint32_t motte_shim_file_system_type(const char *path) {
    struct statfs facts;
    return statfs(path, &facts) == 0 ? (uint32_t)facts.f_type : 0;
}

static void path_of(int descriptor, char path[32]) { snprintf(path, 32, "/proc/self/fd/%d", descriptor); }

int motte_shim_open_unnamed(const char *folder, unsigned mode) {
    char path[32];
    int descriptor = motte_shim_open(folder, O_RDWR | O_TMPFILE, mode);
    if (descriptor < 0) return -1;
    path_of(descriptor, path);
    if (access(path, F_OK) == 0) return descriptor;
    close(descriptor);
    errno = ENOENT;
    return -1;
}

int motte_shim_name_file(int descriptor, const char *path) {
    char own[32];
    path_of(descriptor, own);
    return linkat(AT_FDCWD, own, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

int motte_shim_random(void *bytes, size_t count) {
    unsigned char *next = bytes;
    for (; repeated && count > 0; count--) *next++ = (unsigned char)((repeated++ * 0x9E3779B97F4A7C15u) >> 56);
    while (count > 0) {
        ssize_t got = getrandom(next, count, 0);
        if (got == -1 && errno == EINTR) continue;
        if (got <= 0) return errno ? errno : EIO;
        next += got;
        count -= (size_t)got;
    }
    return 0;
}

static uint64_t image_nonce;
__attribute__((constructor)) static void choose_image_nonce(void) {
    /* Without a random source the address still tells two images of one process apart, which is what it is for. */
    if (motte_shim_random(&image_nonce, sizeof image_nonce) != 0) image_nonce = (uint64_t)(uintptr_t)&image_nonce;
    if (image_nonce == 0) image_nonce = 1;
}
uint64_t motte_shim_image_nonce(void) { return image_nonce; }

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

/* The instruction takes three cycles and one begins in each: so three runs go side by side, of this many bytes. */
enum {
    crc_run = 512
};
/* What a checksum becomes over so many zero bytes, for each byte of it: which puts those of runs together. */
static uint32_t crc_beyond_run[4][256];

__attribute__((target("sse4.2"))) static uint32_t crc32c_one(uint32_t crc, const unsigned char *bytes, size_t count) {
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

static inline uint32_t beyond_run(uint32_t crc) {
    return crc_beyond_run[0][crc & 0xFF] ^ crc_beyond_run[1][crc >> 8 & 0xFF] ^ crc_beyond_run[2][crc >> 16 & 0xFF] ^
           crc_beyond_run[3][crc >> 24];
}

__attribute__((target("sse4.2"))) static uint32_t crc32c_hardware(uint32_t crc, const unsigned char *bytes,
                                                                  size_t count) {
    for (; count >= 3 * crc_run; bytes += 3 * crc_run, count -= 3 * crc_run) {
        uint64_t first = crc, second = 0, third = 0;
        for (size_t offset = 0; offset < crc_run; offset += 8) {
            uint64_t words[3];
            memcpy(&words[0], bytes + offset, 8);
            memcpy(&words[1], bytes + crc_run + offset, 8);
            memcpy(&words[2], bytes + 2 * crc_run + offset, 8);
            first = _mm_crc32_u64(first, words[0]);
            second = _mm_crc32_u64(second, words[1]);
            third = _mm_crc32_u64(third, words[2]);
        }
        crc = beyond_run(beyond_run((uint32_t)first) ^ (uint32_t)second) ^ (uint32_t)third;
    }
    return crc32c_one(crc, bytes, count);
}

/* A checksum over zeros is the exclusive or of those of its bits. */
__attribute__((constructor)) static void fill_crc_runs(void) {
    static const unsigned char zeros[crc_run];
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("sse4.2")) return;
    for (int part = 0; part < 4; part++) {
        for (int bit = 0; bit < 8; bit++) {
            uint32_t alone = crc32c_one(1u << (8 * part + bit), zeros, crc_run);
            for (int lower = 0; lower < 1 << bit; lower++)
                crc_beyond_run[part][1 << bit | lower] = crc_beyond_run[part][lower] ^ alone;
        }
    }
}
#endif

uint32_t motte_shim_crc32c(uint32_t seed, const void *bytes, size_t count) {
    uint32_t crc = ~seed;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) return ~crc32c_hardware(crc, bytes, count);
#endif
    return ~crc32c_portable(crc, bytes, count);
}
