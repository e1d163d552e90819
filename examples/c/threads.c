/* SPDX-License-Identifier: Apache-2.0
 * Threads: each opens a realm of its own; a reference leads to the same object in another one; something frozen may be
 * read by all of them at once.  cc threads.c $(pkg-config --cflags --libs motte) -lpthread
 */
#include "example.h"

#include <pthread.h>

static const char schema[] = "Counter { name: string key, value: int }";
static const char *path;

enum {
    WORKERS = 4,
    ROUNDS = 25
};

/* Adds in its own realm. Writers take turns, so nothing is lost. */
static void *count_up(void *userdata) {
    motte_reference *reference = (motte_reference *)userdata;
    MOTTE_OWNED motte_realm *realm = NULL;
    MOTTE_OWNED void *counter = NULL;
    DO(motte_open(path, schema, &realm));
    if (DO(motte_reference_resolve(reference, realm, &counter)) == MOTTE_NOT_FOUND) exit(1);
    for (int i = 0; i < ROUNDS; i++) {
        DO(motte_realm_begin_write(realm, -1));
        DO(motte_object_add_int((motte_object *)counter, "value", 1, NULL));
        DO(motte_realm_commit(realm, 0, NULL));
    }
    DO(motte_realm_close(realm));
    return NULL;
}

/* Reads what never changes, with the handle of another thread. */
static void *read_frozen(void *userdata) {
    int64_t *value = (int64_t *)malloc(sizeof *value);
    if (!value) exit(1);
    DO(motte_object_get_int((const motte_object *)userdata, "value", value));
    return value;
}

int main(int argc, char **argv) {
    MOTTE_OWNED motte_realm *realm = NULL;
    MOTTE_OWNED motte_object *counter = NULL, *frozen = NULL;
    MOTTE_OWNED void *thawed = NULL;
    motte_reference *references[WORKERS];
    pthread_t threads[WORKERS];
    int64_t value, then = 0;

    path = argc > 1 ? argv[1] : "threads.motte";
    DO(motte_open(path, schema, &realm));
    DO(motte_realm_begin_write(realm, -1));
    DO(motte_realm_add(realm, "Counter", MOTTE_FIELDS({"name", motte_string("visits")}), &counter));
    DO(motte_realm_commit(realm, 0, NULL));
    DO(motte_object_freeze(counter, &frozen));

    for (int i = 0; i < WORKERS; i++) {
        DO(motte_reference_new(counter, &references[i]));
        if (pthread_create(&threads[i], NULL, count_up, references[i]) != 0) return 1;
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        DO(motte_release(references[i]));
    }
    DO(motte_realm_refresh(realm, NULL));
    DO(motte_object_get_int(counter, "value", &value));
    printf("%d threads counted to %" PRId64 "\n", WORKERS, value);

    for (int i = 0; i < WORKERS; i++) {
        if (pthread_create(&threads[i], NULL, read_frozen, frozen) != 0) return 1;
    }
    for (int i = 0; i < WORKERS; i++) {
        void *read;
        pthread_join(threads[i], &read);
        then += *(int64_t *)read;
        free(read);
    }
    printf("frozen before that: %" PRId64 "\n", then);

    /* Back from the frozen object to the live one. */
    if (DO(motte_thaw(frozen, realm, &thawed)) == MOTTE_NOT_FOUND) return 1;
    DO(motte_object_get_int((motte_object *)thawed, "value", &value));
    printf("thawed: %" PRId64 "\n", value);
    DO(motte_realm_close(realm));
    return 0;
}
