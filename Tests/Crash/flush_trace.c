/* SPDX-License-Identifier: Apache-2.0
 * Loaded in front of the C library (LD_PRELOAD): logs, in their order, the calls that write to, flush or map the
 * database file, and what the program prints; and makes one of them fail if asked. One line a call:
 *
 *     write <bytes> <result>       to a descriptor that does not flush by itself
 *     syncwrite <bytes> <result>   to one opened with O_DSYNC or O_SYNC: durable when it returns
 *     flush <result>
 *     map                          a shared mapping that can be written, which this cannot follow
 *     name                         a file got the name of the database
 *     flushnew, flushdir           of another file in the directory of the database, and of the directory
 *     say <text>                   to standard output: the acknowledgement
 *
 *     MOTTE_FLUSH_LOG     file to append to           MOTTE_FLUSH_FILE   end of the name of the database file
 *     MOTTE_FLUSH_FAIL    "flush 5", "syncwrite 5" or "write 5": the fifth such call fails with EIO and does nothing
 *     MOTTE_FLUSH_KILL    the same: the process is killed behind that call
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* By the system call itself: the log must not log. */
static void note(const char *format, ...) {
    static int log = -1;
    char line[512];
    __builtin_va_list arguments;
    __builtin_va_start(arguments, format);
    int size = vsnprintf(line, sizeof line, format, arguments);
    __builtin_va_end(arguments);
    if (log < 0) {
        const char *path = getenv("MOTTE_FLUSH_LOG");
        if (!path) return;
        log = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    }
    syscall(SYS_write, log, line, (size_t)size);
}

static int is_database(int descriptor) {
    char link[64], path[4096];
    const char *wanted = getenv("MOTTE_FLUSH_FILE");
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t size = wanted ? readlink(link, path, sizeof path - 1) : -1;
    if (size <= 0) return 0;
    path[size] = 0;
    size_t length = strlen(wanted);
    return (size_t)size >= length && strcmp(path + size - length, wanted) == 0;
}

static int flushes_itself(int descriptor) { return (fcntl(descriptor, F_GETFL) & O_DSYNC) != 0; }

static int counts[3];

static int kind(const char *operation) {
    return strcmp(operation, "flush") == 0 ? 0 : strcmp(operation, "syncwrite") == 0 ? 1 : 2;
}

/* Whether this call is the one that the variable names. */
static int is_chosen(const char *variable, const char *operation) {
    const char *order = getenv(variable);
    size_t length = strlen(operation);
    return order && strncmp(order, operation, length) == 0 && order[length] == ' ' &&
           atoi(order + length + 1) == counts[kind(operation)];
}

static int fails(const char *operation) {
    counts[kind(operation)]++;
    return is_chosen("MOTTE_FLUSH_FAIL", operation);
}

static void die_if_asked(const char *operation) {
    if (is_chosen("MOTTE_FLUSH_KILL", operation)) kill(getpid(), SIGKILL);
}

/* `work` is the call; it runs under the lock, so that the order of the log is the order of the calls. */
#define LOGGED_WRITE(descriptor, size, work)                                                                           \
    do {                                                                                                               \
        if (!is_database(descriptor)) return (work);                                                                   \
        const char *operation = flushes_itself(descriptor) ? "syncwrite" : "write";                                    \
        ssize_t result = -1;                                                                                           \
        pthread_mutex_lock(&lock);                                                                                     \
        if (fails(operation)) errno = EIO;                                                                             \
        else result = (work);                                                                                          \
        int kept = errno;                                                                                              \
        note("%s %zu %zd\n", operation, (size_t)(size), result);                                                       \
        die_if_asked(operation);                                                                                       \
        pthread_mutex_unlock(&lock);                                                                                   \
        errno = kept;                                                                                                  \
        return result;                                                                                                 \
    } while (0)

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static size_t total(const struct iovec *parts, int count) {
    size_t sum = 0;
    for (int i = 0; i < count; i++) sum += parts[i].iov_len;
    return sum;
}

ssize_t write(int descriptor, const void *bytes, size_t size) {
    if (descriptor == STDOUT_FILENO) {
        pthread_mutex_lock(&lock);
        note("say %.*s%s", (int)size, (const char *)bytes, size && ((const char *)bytes)[size - 1] == '\n' ? "" : "\n");
        pthread_mutex_unlock(&lock);
        return NEXT(write)(descriptor, bytes, size);
    }
    LOGGED_WRITE(descriptor, size, NEXT(write)(descriptor, bytes, size));
}

ssize_t pwrite(int descriptor, const void *bytes, size_t size, off_t offset) {
    LOGGED_WRITE(descriptor, size, NEXT(pwrite)(descriptor, bytes, size, offset));
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t size, off64_t offset) {
    LOGGED_WRITE(descriptor, size, NEXT(pwrite64)(descriptor, bytes, size, offset));
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    LOGGED_WRITE(descriptor, total(parts, count), NEXT(writev)(descriptor, parts, count));
}

ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
    LOGGED_WRITE(descriptor, total(parts, count), NEXT(pwritev)(descriptor, parts, count, offset));
}

ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off64_t offset) {
    LOGGED_WRITE(descriptor, total(parts, count), NEXT(pwritev64)(descriptor, parts, count, offset));
}

/* Flushes of other things in the directory of the database, which is that of the log: of the directory itself, and of a
 * file that is to get the database's name. */
static void note_flush_beside(int descriptor) {
    struct stat facts;
    char link[64], path[4096], own[4096];
    const char *log = getenv("MOTTE_FLUSH_LOG");
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t size = log ? readlink(link, path, sizeof path - 1) : -1;
    if (size <= 0 || fstat(descriptor, &facts) != 0) return;
    path[size] = 0;
    snprintf(own, sizeof own, "%s", log);
    char *end = strrchr(own, '/');
    if (end) *end = 0;
    if (S_ISDIR(facts.st_mode) && strcmp(path, own) == 0) note("flushdir\n");
    if (S_ISREG(facts.st_mode) && strncmp(path, own, strlen(own)) == 0) note("flushnew\n");
}

static void note_name(const char *path) {
    const char *wanted = getenv("MOTTE_FLUSH_FILE");
    size_t size = strlen(path), length = wanted ? strlen(wanted) : 0;
    if (wanted && size >= length && strcmp(path + size - length, wanted) == 0) note("name\n");
}

int rename(const char *from, const char *to) {
    int result = NEXT(rename)(from, to);
    if (result == 0) note_name(to);
    return result;
}

int link(const char *from, const char *to) {
    int result = NEXT(link)(from, to);
    if (result == 0) note_name(to);
    return result;
}

#define LOGGED_FLUSH(descriptor, work)                                                                                 \
    do {                                                                                                               \
        if (!is_database(descriptor)) {                                                                                \
            note_flush_beside(descriptor);                                                                             \
            return (work);                                                                                             \
        }                                                                                                              \
        int result = -1;                                                                                               \
        pthread_mutex_lock(&lock);                                                                                     \
        if (fails("flush")) errno = EIO;                                                                               \
        else result = (work);                                                                                          \
        int kept = errno;                                                                                              \
        note("flush %d\n", result);                                                                                    \
        die_if_asked("flush");                                                                                         \
        pthread_mutex_unlock(&lock);                                                                                   \
        errno = kept;                                                                                                  \
        return result;                                                                                                 \
    } while (0)

int fsync(int descriptor) { LOGGED_FLUSH(descriptor, NEXT(fsync)(descriptor)); }
int fdatasync(int descriptor) { LOGGED_FLUSH(descriptor, NEXT(fdatasync)(descriptor)); }

int msync(void *address, size_t size, int flags) {
    int result = NEXT(msync)(address, size, flags);
    note("msync %d\n", result);
    return result;
}

static void note_mapping(int protection, int flags, int descriptor) {
    if (descriptor >= 0 && (protection & PROT_WRITE) && (flags & MAP_SHARED) && is_database(descriptor)) note("map\n");
}

void *mmap(void *address, size_t size, int protection, int flags, int descriptor, off_t offset) {
    note_mapping(protection, flags, descriptor);
    return NEXT(mmap)(address, size, protection, flags, descriptor, offset);
}

void *mmap64(void *address, size_t size, int protection, int flags, int descriptor, off64_t offset) {
    note_mapping(protection, flags, descriptor);
    return NEXT(mmap64)(address, size, protection, flags, descriptor, offset);
}
