/* SPDX-License-Identifier: Apache-2.0
 * An event loop with poll(): a thread that stands for another process commits, and the loop is notified of what changed
 * in a query.  cc poll.c $(pkg-config --cflags --libs motte) -lpthread
 */
#define _GNU_SOURCE
#include "example.h"

#include <poll.h>
#include <pthread.h>

static const char schema[] = "Reading { id: int key, celsius: double }";

/* Called by motte_queue_dispatch(), on the thread of the loop. The first change set is the state to begin with. */
static motte_status show(void *userdata, const motte_changes *changes) {
    const motte_coll *warm = *(motte_coll **)userdata;
    motte_changes_details details = {.struct_size = sizeof details};
    size_t count;
    DO(motte_changes_info(changes, &details));
    DO(motte_coll_count(warm, &count));
    printf("%zu warm readings: %" PRIu64 " new, %" PRIu64 " gone\n", count, details.insertion_count,
           details.deletion_count);
    return MOTTE_OK;
}

/* Somebody else: a realm of its own, on its own thread. */
static void *measure(void *path) {
    static const double celsius[] = {19.5, 24.0, 31.5};
    MOTTE_OWNED motte_realm *realm = NULL;
    DO(motte_open((const char *)path, schema, &realm));
    DO(motte_realm_begin_write(realm, -1));
    for (int i = 0; i < 3; i++) {
        DO(motte_realm_add(realm, "Reading", MOTTE_FIELDS({"id", motte_int(i)}, {"celsius", motte_double(celsius[i])}),
                           NULL));
    }
    DO(motte_realm_commit(realm, 0, NULL));
    DO(motte_realm_close(realm));
    return NULL;
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "poll.motte";
    MOTTE_OWNED motte_config *config = NULL;
    MOTTE_OWNED motte_schema *classes = NULL;
    MOTTE_OWNED motte_queue *queue = NULL;
    MOTTE_OWNED motte_realm *realm = NULL;
    MOTTE_OWNED motte_coll *warm = NULL;
    MOTTE_OWNED motte_token *token = NULL;
    motte_value least = motte_double(20);
    pthread_t other;
    size_t count = 0;
    int32_t fd;

    /* A realm that is bound to a queue is notified of commits by others. */
    DO(motte_queue_new(0, &queue));
    DO(motte_queue_fd(queue, &fd));
    DO(motte_config_new(&config));
    DO(motte_config_set_path(config, path, MOTTE_NTS));
    DO(motte_schema_parse(schema, MOTTE_NTS, &classes));
    DO(motte_config_set_schema(config, classes, 0));
    DO(motte_config_set_queue(config, queue));
    DO(motte_realm_open(config, &realm));
    DO(motte_realm_query(realm, "Reading", "celsius >= $0", &least, 1, &warm));
    DO(motte_observe_coll(warm, 0, show, &warm, NULL, &token));

    DO(motte_queue_dispatch(queue, 0, NULL));
    if (pthread_create(&other, NULL, measure, (void *)path) != 0) return 1;
    while (count < 2) {
        /* Descriptors of the program's own stand beside the queue's. */
        struct pollfd waiting = {.fd = fd, .events = POLLIN};
        int64_t timeout;
        DO(motte_queue_timeout(queue, &timeout));
        if (poll(&waiting, 1, timeout < 0 || timeout > 10000 ? 10000 : (int)timeout) < 0) return 1;
        DO(motte_queue_dispatch(queue, 0, NULL));
        DO(motte_coll_count(warm, &count));
    }
    pthread_join(other, NULL);
    DO(motte_realm_close(realm));
    return 0;
}
