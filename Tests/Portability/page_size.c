/* Loaded before a program (LD_PRELOAD): the system's pages are as large as MOTTE_PAGE_SIZE says, as on aarch64, and a
 * file is mapped only from where such a page begins. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static long page_size(void) {
    const char *text = getenv("MOTTE_PAGE_SIZE");
    return text ? strtol(text, NULL, 10) : 4096;
}

long sysconf(int name) {
    static long (*real)(int);
    if (name == _SC_PAGESIZE) return page_size();
    if (!real) real = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
    return real(name);
}

int getpagesize(void) { return (int)page_size(); }

static int is_refused(off_t offset) { return offset % page_size() != 0; }

void *mmap(void *at, size_t size, int protection, int flags, int descriptor, off_t offset) {
    static void *(*real)(void *, size_t, int, int, int, off_t);
    if (!real) real = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
    if (is_refused(offset)) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    return real(at, size, protection, flags, descriptor, offset);
}

void *mmap64(void *at, size_t size, int protection, int flags, int descriptor, off_t offset) {
    return mmap(at, size, protection, flags, descriptor, offset);
}
