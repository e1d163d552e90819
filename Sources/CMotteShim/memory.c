/* How much memory there is for this process. */
#include "motte_shim.h"
#include "motte_shim_descriptors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t smaller(uint64_t one, uint64_t other) { return one < other ? one : other; }

/* A number in a file of one line; none for "max" and for what is not there. */
static uint64_t number_in(const char *path, uint64_t none) {
    char text[32];
    FILE *file = motte_shim_open_text(path);
    if (!file) return none;
    size_t count = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[count] = 0;
    char *end;
    unsigned long long found = strtoull(text, &end, 10);
    return end == text || found == 0 ? none : found;
}

/* The limit of the process's own control group; those above it are not looked at, nor is the first version. */
static uint64_t group_limit(uint64_t none) {
    char line[512], path[640];
    FILE *file = motte_shim_open_text("/proc/self/cgroup");
    if (!file) return none;
    uint64_t least = none;
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "0::/", 4) != 0) continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", line + 3);
        least = smaller(least, number_in(path, none));
        least = smaller(least, number_in("/sys/fs/cgroup/memory.max", none));
    }
    fclose(file);
    return least;
}

uint64_t motte_shim_memory_limit(void) {
    long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGE_SIZE);
    uint64_t least = pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes : (uint64_t)1 << 30;
    least = group_limit(least);
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        least = smaller(least, (uint64_t)limit.rlim_cur);
    }
    return least;
}

uint64_t motte_shim_address_space_left(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
    uint64_t pages = number_in("/proc/self/statm", 0), size = (uint64_t)sysconf(_SC_PAGE_SIZE);
    return pages * size < (uint64_t)limit.rlim_cur ? (uint64_t)limit.rlim_cur - pages * size : 0;
}
