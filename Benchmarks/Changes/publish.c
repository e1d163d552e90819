/* Messages to a stream of NATS JetStream, one after the other, each acknowledged, as of `nats bench --js --syncpub`.
 *
 *     publish ADDRESS SUBJECT BYTES COUNT        prints the microseconds of each
 *
 * libnats is loaded, so that its headers are not needed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const names[] = {"libnats.so", "libnats.so.3.4", "libnats.so.3.8", "libnats.so.3.10"};

static void *library(void) {
    void *handle = NULL;
    for (size_t i = 0; !handle && i < sizeof names / sizeof names[0]; i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return handle;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

int main(int argc, char **argv) {
    void *handle = library();
    if (argc != 5 || !handle) return fprintf(stderr, "publish: %s\n", handle ? "wrong arguments" : dlerror()), 2;
    int (*connect)(void **, const char *);
    int (*request)(void **, void *, const char *, const void *, int, int64_t);
    const char *(*data)(const void *);
    int (*length)(const void *);
    void (*destroy)(void *);
    *(void **)&connect = dlsym(handle, "natsConnection_ConnectTo");
    *(void **)&request = dlsym(handle, "natsConnection_Request");
    *(void **)&data = dlsym(handle, "natsMsg_GetData");
    *(void **)&length = dlsym(handle, "natsMsg_GetDataLength");
    *(void **)&destroy = dlsym(handle, "natsMsg_Destroy");
    if (!connect || !request || !data || !length || !destroy) return fprintf(stderr, "publish: %s\n", dlerror()), 2;

    void *connection = NULL;
    if (connect(&connection, argv[1])) return fprintf(stderr, "publish: no connection\n"), 1;
    int size = atoi(argv[3]);
    unsigned char *bytes = malloc((size_t)size + 1);
    for (int i = 0; bytes && i < size; i++) bytes[i] = (unsigned char)rand();
    for (int left = atoi(argv[4]); bytes && left > 0; left--) {
        void *answer = NULL;
        double began = now();
        if (request(&answer, connection, argv[2], bytes, size, 5000)) return fprintf(stderr, "publish: no answer\n"), 1;
        double took = now() - began;
        if (!memmem(data(answer), (size_t)length(answer), "\"seq\"", 5))
            return fprintf(stderr, "publish: %.*s\n", length(answer), data(answer)), 1;
        destroy(answer);
        printf("%.2f\n", took);
    }
    free(bytes);
    return 0;
}
