/* What the engine needs from the platform and Swift cannot reach: thread identity, fork handling, futex, atomics on
 * shared memory, open-file-description locks, process start times, CRC-32C, wide instructions of scans.
 * Called only from Motte's own modules; nothing here is exported from libmotte. */
#ifndef MOTTE_SHIM_H
#define MOTTE_SHIM_H
#include <pthread.h>
#include <stdint.h>
#include <stddef.h>

/* A number that identifies the calling thread for the life of the process and is never reused. Never 0. Every read of
 * a property asks for it, so it is read in place. */
extern _Thread_local uint64_t motte_shim_serial_of_thread;
uint64_t motte_shim_new_thread_serial(void);
static inline uint64_t motte_shim_thread_serial(void) {
    uint64_t serial = motte_shim_serial_of_thread;
    return serial != 0 ? serial : motte_shim_new_thread_serial();
}

/* The same while nobody tracks what the thread reads, else 0; also before a thread has a serial. */
extern _Thread_local uint64_t motte_shim_untracked_serial;
extern _Thread_local uint32_t motte_shim_tracking_depth;
static inline void motte_shim_begin_tracking(void) {
    motte_shim_tracking_depth++;
    motte_shim_untracked_serial = 0;
}
static inline void motte_shim_end_tracking(void) {
    if (--motte_shim_tracking_depth == 0) motte_shim_untracked_serial = motte_shim_thread_serial();
}
static inline uint64_t motte_shim_serial_for_reading(void) { return motte_shim_untracked_serial; }

/* A reference that the calling thread keeps while a part of a program runs, NULL outside of it. */
extern _Thread_local void *motte_shim_scope_of_thread;
/* Calls from C that this thread is in, one within another where it is called back. */
extern _Thread_local uint32_t motte_shim_call_depth;
/* A bit for each depth: a session has let memory go in the call there. */
extern _Thread_local uint64_t motte_shim_calls_with_release;
static inline uint64_t motte_shim_call_bit(void) { return 1ull << (motte_shim_call_depth & 63); }
/* The number of the last thing that was closed on another thread and that this one has read from and not let go of; 0
 * without any, NULL as long as the thread has read from nothing that others close. */
extern _Thread_local const uint64_t *motte_shim_last_closed;
/* What it was when the outermost call began: what a call has lent is used until the next one has ended. */
extern _Thread_local uint64_t motte_shim_closed_before_call;
void motte_shim_let_go(void);
/* What lets go of things up to that number. Set once, before the thread has one. */
void motte_shim_let_go_by(void (*function)(uint64_t last), const uint64_t *last_closed);
static inline void motte_shim_forget_closed(void) { motte_shim_last_closed = NULL; }
static inline void motte_shim_enter_call(void) {
    if (motte_shim_call_depth++ == 0 && motte_shim_last_closed) {
        motte_shim_closed_before_call = __atomic_load_n(motte_shim_last_closed, __ATOMIC_ACQUIRE);
    }
    motte_shim_calls_with_release &= ~motte_shim_call_bit();
}
/* Whether the innermost call asks for the first time: what a call was given as arguments must survive the call, so it
 * lets memory go once, before it reads anything. */
static inline int motte_shim_may_release(void) {
    if (motte_shim_calls_with_release & motte_shim_call_bit()) return 0;
    motte_shim_calls_with_release |= motte_shim_call_bit();
    return 1;
}
static inline void motte_shim_leave_call(void) {
    if (--motte_shim_call_depth == 0 && motte_shim_closed_before_call != 0) motte_shim_let_go();
}
/* Calls of the interface that are under way on this thread, each within the one before. */
static inline uint32_t motte_shim_calls(void) { return motte_shim_call_depth; }
/* The row source of something frozen that the thread has used last, and of what. */
extern _Thread_local uint64_t motte_shim_frozen_serial_of_thread;
extern _Thread_local void *motte_shim_frozen_source_of_thread;
static inline uint64_t motte_shim_frozen_serial(void) { return motte_shim_frozen_serial_of_thread; }
static inline void *motte_shim_frozen_source(void) { return motte_shim_frozen_source_of_thread; }
static inline void motte_shim_set_frozen(uint64_t serial, void *source) {
    motte_shim_frozen_serial_of_thread = serial;
    motte_shim_frozen_source_of_thread = source;
}
static inline void *motte_shim_scope(void) { return motte_shim_scope_of_thread; }
static inline void motte_shim_set_scope(void *scope) { motte_shim_scope_of_thread = scope; }

/* Whether the calling thread runs on behalf of an executor, given by the two words that Swift has for it. In place, so
 * that only a module which asks needs the concurrency runtime; linked, not looked up by name, which finds nothing in a
 * program that has the runtime in itself. */
__attribute__((swiftcall)) _Bool swift_task_isCurrentExecutorWithFlags(uintptr_t, uintptr_t, uintptr_t);
static inline _Bool motte_shim_is_current_executor(uintptr_t identity, uintptr_t implementation) {
    return swift_task_isCurrentExecutorWithFlags(identity, implementation, 0);
}

/* Grows by one in every forked child (pthread_atfork), so that an object made before fork can be distinguished. It
 * changes while the child has a single thread. The top bit says that all threads' reads are tracked: so both are asked
 * in one comparison. */
extern uint32_t motte_shim_reads;
#define MOTTE_SHIM_TRACKED 0x80000000u
static inline uint32_t motte_shim_read_state(void) { return __atomic_load_n(&motte_shim_reads, __ATOMIC_RELAXED); }
static inline uint32_t motte_shim_fork_generation(void) { return motte_shim_read_state() & ~MOTTE_SHIM_TRACKED; }
static inline int motte_shim_tracks_reads(void) {
    return motte_shim_tracking_depth != 0 || (motte_shim_read_state() & MOTTE_SHIM_TRACKED) != 0;
}
static inline void motte_shim_track_reads(void) {
    __atomic_fetch_or(&motte_shim_reads, MOTTE_SHIM_TRACKED, __ATOMIC_RELAXED);
}

/* The lock around opening and closing files. fork() waits for it, and the child gets it free: so a child never
 * inherits a half-opened file or a held lock. Not recursive; held for the length of one open or close. */
void motte_shim_open_files_lock(void);
void motte_shim_open_files_unlock(void);

/* A mutex that lives as long as the process and guards something of the whole process: fork() waits for it, too, and
 * the child gets it free and what it guards whole. Not called while holding it. */
void motte_shim_keep_through_fork(pthread_mutex_t *mutex);

/* Sleeps while *word == expected, at most timeout_ms (negative: no limit). Works across processes on shared memory.
 * Returns 0 when woken or when the value differed, 1 on timeout. */
int motte_shim_futex_wait(uint32_t *word, uint32_t expected, int64_t timeout_ms);
void motte_shim_futex_wake_all(uint32_t *word);

/* CLOCK_MONOTONIC in milliseconds and in nanoseconds; CLOCK_REALTIME in nanoseconds. */
int64_t motte_shim_monotonic_ms(void);
int64_t motte_shim_monotonic_ns(void);
/* A few milliseconds late at most, and read in a few nanoseconds. */
int64_t motte_shim_coarse_ns(void);
int64_t motte_shim_wall_time_ns(void);

/* Byte locks of the open file description (F_OFD_*): they belong to the descriptor, not to the process, so that two
 * users in one process exclude each other and closing another descriptor of the file changes nothing.
 * Each returns 0, or the errno; EAGAIN means that somebody else holds the byte. */
enum {
    MOTTE_SHIM_UNLOCK = 0,
    MOTTE_SHIM_SHARED = 1,
    MOTTE_SHIM_EXCLUSIVE = 2
};
int motte_shim_lock_byte(int descriptor, int64_t offset, int kind);
/* 0: an exclusive lock could be had; EAGAIN: somebody holds a lock there; other: errno. */
int motte_shim_test_byte(int descriptor, int64_t offset);
/* 0: nobody else holds a lock on any of `count` bytes but that at `but`; EAGAIN: somebody does; other: errno. */
int motte_shim_test_bytes_except(int descriptor, int64_t first, int64_t count, int64_t but);
/* Which file is at a path, or open. Cheap, and leaves the file's times alone. 0, or errno. */
int motte_shim_file_identity(const char *path, uint64_t *device, uint64_t *inode);
int motte_shim_descriptor_identity(int descriptor, uint64_t *device, uint64_t *inode);
/* Whether a file that is open still has a name: not when it was deleted, or another was renamed to its name. A third of
 * what looking at its path takes. `size`, which may be NULL, gets its length, or the highest number if that is not
 * known. */
int motte_shim_has_name(int descriptor, uint64_t *size);

/* When the process started, in clock ticks since boot (field 22 of /proc/<pid>/stat); 0 when there is no such process.
 * With the pid it names a process for ever, which the pid alone does not. */
uint64_t motte_shim_process_start(int32_t pid);
/* The same of this process, looked up once. Called holding the open-files lock. */
uint64_t motte_shim_own_start(void);

/* Bytes of memory that this process can have at most: of the machine, its control group (Linux) and its limits. */
uint64_t motte_shim_memory_limit(void);
/* Bytes of address space that it may still take; UINT64_MAX where that is not limited. */
uint64_t motte_shim_address_space_left(void);

/* The f_type of the file system at `path` (linux/magic.h); 0 when it is not known. */
uint32_t motte_shim_file_system_type(const char *path);

/* A random number, the same for the life of this image of the library in this process. */
uint64_t motte_shim_image_nonce(void);
/* A file in a folder that has no name (O_TMPFILE), and a name for it, which nothing may have yet. -1 and errno; the
 * first also where a name could not be given later. */
int motte_shim_open_unnamed(const char *folder, unsigned mode);
int motte_shim_name_file(int descriptor, const char *path);
/* Fills the bytes from the system's random source. Returns 0 or an errno. */
int motte_shim_random(void *bytes, size_t count);
/* For fuzzing, in a process of one thread: from here on random bytes and the wall clock are the same as after every
 * other call of this. */
void motte_shim_repeat(void);

/* Sequentially consistent access to a shared word. */
static inline uint32_t motte_shim_load32(const uint32_t *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }
static inline void motte_shim_store32(uint32_t *word, uint32_t value) {
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}
static inline uint32_t motte_shim_add32(uint32_t *word, uint32_t value) {
    return __atomic_add_fetch(word, value, __ATOMIC_SEQ_CST);
}
static inline uint64_t motte_shim_load64(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }
static inline void motte_shim_store64(uint64_t *word, uint64_t value) {
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}
/* Of a word that nothing else depends on. */
static inline uint64_t motte_shim_peek64(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }
static inline void motte_shim_poke64(uint64_t *word, uint64_t value) {
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}
/* The same, seen by others a little later. */
static inline void motte_shim_release64(uint64_t *word, uint64_t value) {
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
static inline int motte_shim_compare_exchange64(uint64_t *word, uint64_t expected, uint64_t desired) {
    return __atomic_compare_exchange_n(word, &expected, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* Says in a word of this process that its owner may be lent memory from now on, which costs no more than a store where
 * the system can make all threads pass a barrier; who takes memory away calls the other first and reads the words
 * then. Either sees what the other wrote before. */
extern int motte_shim_has_barrier;
static inline void motte_shim_open_hold(uint64_t *word) {
    __atomic_store_n(word, UINT64_MAX, __ATOMIC_RELEASE);
    if (__atomic_load_n(&motte_shim_has_barrier, __ATOMIC_ACQUIRE)) {
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    } else {
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    }
}
/* 0, or -1: the system refused the barrier this once, and nothing may be taken. */
int motte_shim_see_holds(void);
/* Called once before the others. */
void motte_shim_prepare_holds(void);

/* CRC-32C (Castagnoli) of `count` bytes continuing from `seed` (0 to start). Hardware instruction where present. */
uint32_t motte_shim_crc32c(uint32_t seed, const void *bytes, size_t count);

/* The loops of scans for which processors have instructions that Swift cannot name, the widest of them taken.
 * The first sets the bit of each of `rows` bytes whose distance from `low` is at most `span`, and clears the others up
 * to the end of the last word; the second does so for numbers of two bytes, at any address; the third says how many
 * bits of `count` words are set. */
void motte_shim_select_bytes(const uint8_t *values, size_t rows, uint8_t low, uint8_t span, uint64_t *words);
void motte_shim_select_shorts(const void *values, size_t rows, uint16_t low, uint16_t span, uint64_t *words);
size_t motte_shim_count_bits(const uint64_t *words, size_t count);

/* Has a place fetched that is read soon. Any address may be named. */
static inline void motte_shim_prefetch(const void *place) { __builtin_prefetch(place); }

/* XXH3-64 without a seed: the checksum of pages. */
uint64_t motte_shim_xxh3(const void *bytes, size_t count);
#endif
