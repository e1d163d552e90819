/* Ending queries: by another thread, by time, by what is called meanwhile; and that everything is as it was. */
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <unistd.h>

enum {
    rows = 20000
};

static int freed_count, called;

typedef struct asked {
    motte_realm *realm;
    int answer;
} asked;

static void freed(void *userdata) {
    (void)userdata;
    freed_count++;
}

static motte_status progress(void *userdata) {
    asked *a = (asked *)userdata;
    called++;
    STATUS(MOTTE_E_REENTRANT, motte_realm_refresh(a->realm, NULL));
    STATUS(MOTTE_E_REENTRANT, motte_realm_begin_write(a->realm, 0));
    STATUS(MOTTE_E_REENTRANT, motte_realm_close(a->realm));
    if (a->answer) MUST(motte_callback_fail("that is enough", MOTTE_NTS, a, NULL));
    return a->answer;
}

static int is_done;

static void *interrupt(void *realm) {
    while (!__atomic_load_n(&is_done, __ATOMIC_RELAXED)) {
        MUST(motte_realm_interrupt((motte_realm *)realm));
        usleep(1000);
    }
    return NULL;
}

/* A query that takes a minute: `count` patterns, none of which any of the rows has. */
static char *long_query(int count) {
    char *text = malloc((size_t)count * 64 + 1), *end = text;
    CHECK(text != NULL);
    for (int i = 0; i < count; i++) end += sprintf(end, "%sname LIKE '*a*b*c*%d*'", i ? " OR " : "", i);
    return text;
}

static motte_status counted(const motte_coll *all, const char *text, size_t *count) {
    motte_coll *found = NULL;
    MUST(motte_coll_filter(all, text, MOTTE_NTS, NULL, 0, &found));
    motte_status status = motte_coll_count(found, count);
    motte_release(found);
    return status;
}

int main(void) {
    motte_realm *realm = check_realm("interruption", "Item { id: int key, name: string, n: int }"), *frozen = NULL;
    motte_class item = motte_class_named(realm, "Item");
    motte_prop props[3] = {motte_prop_named(realm, item, "id"), motte_prop_named(realm, item, "name"),
                           motte_prop_named(realm, item, "n")};
    motte_coll *all, *same = NULL;
    motte_key row;
    char name[201];
    size_t count = 0;
    pthread_t thread;
    asked kept = {realm, 0}, ending = {realm, 7};
    motte_error_details details;

    MUST(motte_realm_begin_write(realm, -1));
    for (int i = 0; i < rows; i++) {
        memset(name, "abab"[i % 4], sizeof name - 1);
        snprintf(name + 180, 20, "c%d", i);
        motte_value cells[3] = {motte_int(i), motte_string(name), motte_int(i % 10)};
        MUST(motte_row_create(realm, item, props, cells, 3, 0, &row, NULL));
    }
    MUST(motte_realm_commit(realm, 0, NULL));
    MUST(motte_class_all(realm, item, &all));
    char *text = long_query(1500);

    /* Time. */
    MUST(motte_realm_set_query_timeout(realm, 100));
    STATUS(MOTTE_E_INTERRUPTED, counted(all, text, &count));
    CHECK(count == 0 && check_error().category == MOTTE_CATEGORY_STATE && strstr(check_error().message, "100 ms"));
    MUST(motte_realm_set_query_timeout(realm, 0));
    MUST(motte_freeze(realm, (void **)&frozen));
    MUST(motte_class_all(frozen, item, &same));
    STATUS(MOTTE_E_INTERRUPTED, counted(same, "n > 4", &count));
    MUST(motte_realm_set_query_timeout(frozen, -1));
    MUST(counted(same, "n > 4", &count));
    CHECK(count == rows / 2);
    STATUS(MOTTE_E_INTERRUPTED, counted(all, "n > 4", &count));
    MUST(motte_realm_set_query_timeout(realm, -1));

    /* Another thread, in a write, which stays whole. */
    MUST(motte_realm_begin_write(realm, -1));
    motte_value value = motte_int(100);
    MUST(motte_row_set_many(realm, item, row, &props[2], &value, 1));
    CHECK(pthread_create(&thread, NULL, interrupt, realm) == 0);
    STATUS(MOTTE_E_INTERRUPTED, counted(all, text, &count));
    __atomic_store_n(&is_done, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    MUST(counted(all, "n == 100", &count));
    CHECK(count == 1);
    MUST(motte_realm_commit(realm, 0, NULL));
    MUST(counted(all, "n == 100", &count));
    CHECK(count == 1);

    /* What is called meanwhile. */
    STATUS(MOTTE_E_FROZEN, motte_realm_on_query_progress(frozen, progress, &kept, freed));
    CHECK(freed_count == 1);
    MUST(motte_realm_on_query_progress(realm, progress, &kept, freed));
    MUST(counted(all, "n > 4", &count));
    CHECK(freed_count == 1);
    MUST(motte_realm_on_query_progress(realm, progress, &ending, freed));
    CHECK(freed_count == 2);
    called = 0;
    STATUS(MOTTE_E_CALLBACK, counted(all, text, &count));
    details = check_error();
    CHECK(called == 1 && details.user_code == 7 && details.user_pointer == &ending);
    CHECK(strcmp(details.message, "that is enough") == 0);
    MUST(motte_realm_on_query_progress(realm, NULL, NULL, NULL));
    CHECK(freed_count == 3);
    MUST(motte_realm_on_query_progress(realm, progress, &kept, freed));
    MUST(motte_realm_close(realm));
    CHECK(freed_count == 4);

    STATUS(MOTTE_E_CLOSED, motte_realm_interrupt(realm));
    STATUS(MOTTE_E_CLOSED, motte_realm_set_query_timeout(realm, 1));
    motte_release(same);
    motte_release(all);
    motte_release(frozen);
    motte_release(realm);
    STATUS(MOTTE_E_STALE_HANDLE, motte_realm_interrupt(realm));
    free(text);
    return check_summary();
}
