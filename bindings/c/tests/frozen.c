/* Frozen realms: which are one, what closing one ends, and threads that read from it meanwhile. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static const char path[] = "frozen.motte";
static const char note[] = "a text that is longer than what is stored beside its length, so it is read from a page";

static motte_realm *open_realm(void) {
    motte_realm *realm = NULL;
    unlink(path);
    MUST(motte_open(path, "Item { id: int key, text: string, notes: list<string> }", &realm));
    MUST(motte_realm_begin_write(realm, -1));
    for (int64_t id = 0; id < 50; id++) {
        MUST(motte_realm_add(realm, "Item", MOTTE_FIELDS({"id", motte_int(id)}, {"text", motte_string(note)}), NULL));
    }
    motte_class item = motte_class_named(realm, "Item");
    motte_coll *notes = NULL;
    motte_value value = motte_string(note);
    MUST(motte_row_get_coll(realm, item, 0, motte_prop_named(realm, item, "notes"), &notes));
    for (size_t index = 0; index < 20; index++) MUST(motte_list_insert(notes, index, &value));
    motte_release(notes);
    MUST(motte_realm_commit(realm, 0, NULL));
    return realm;
}

static motte_coll *all_of(motte_realm *realm) {
    motte_coll *all = NULL;
    MUST(motte_class_all(realm, motte_class_named(realm, "Item"), &all));
    return all;
}

static size_t count_of(const motte_coll *coll) {
    size_t count = 0;
    MUST(motte_coll_count(coll, &count));
    return count;
}

/* ------------------------------------------------------------------------------------------------ which are one */

static void test_each_is_closed_by_itself(motte_realm *realm) {
    motte_realm *one = NULL, *two = NULL, *shared = NULL, *again = NULL;
    motte_coll *all = all_of(realm), *of_one, *alone = NULL, *alone_of_one = NULL, *same = NULL;

    MUST(motte_freeze(realm, (void **)&one));
    MUST(motte_freeze(one, (void **)&two));
    CHECK(!motte_equal(one, two));
    of_one = all_of(one);
    MUST(motte_freeze(all, (void **)&alone));
    MUST(motte_freeze(of_one, (void **)&alone_of_one));
    MUST(motte_freeze(alone_of_one, (void **)&same));
    CHECK(motte_equal(same, alone_of_one) && !motte_equal(of_one, alone_of_one));

    MUST(motte_realm_set_query_timeout(two, 7));
    STATUS(MOTTE_OK, motte_realm_close(one));
    STATUS(MOTTE_UNCHANGED, motte_realm_close(one));
    STATUS(MOTTE_E_CLOSED, motte_handle_check(of_one));
    STATUS(MOTTE_E_CLOSED, motte_freeze(one, (void **)&again));
    STATUS(MOTTE_E_CLOSED, motte_realm_freeze_shared(one, &again));
    CHECK(count_of(alone) == 50 && count_of(alone_of_one) == 50 && count_of(same) == 50);

    MUST(motte_realm_freeze_shared(realm, &shared));
    MUST(motte_realm_freeze_shared(shared, &again));
    CHECK(motte_equal(shared, again) && motte_handle_is_frozen(shared));
    STATUS(MOTTE_UNCHANGED, motte_realm_close(shared));
    CHECK(count_of(alone) == 50);
    STATUS(MOTTE_OK, motte_realm_close(two));
    STATUS(MOTTE_E_FROZEN, motte_realm_begin_write(shared, 0));

    const void *handles[] = {one, two, shared, again, all, of_one, alone, alone_of_one, same};
    MUST(motte_release_many(handles, sizeof handles / sizeof *handles));
}

static void test_shared_realm_has_the_limits_of_its_time(motte_realm *realm) {
    motte_realm *before = NULL, *limited = NULL;
    MUST(motte_realm_freeze_shared(realm, &before));
    MUST(motte_realm_set_query_timeout(realm, 1000));
    MUST(motte_realm_freeze_shared(realm, &limited));
    CHECK(!motte_equal(before, limited));
    MUST(motte_realm_set_query_timeout(realm, -1));
    motte_release(before);
    motte_release(limited);
}

/* ------------------------------------------------------------------------------------------- closed in a function */

typedef struct closer {
    motte_realm *realm;
    motte_status said;
} closer;

static motte_status close_in_key(void *userdata, const motte_coll *coll, size_t index, motte_value *out_key) {
    closer *c = (closer *)userdata;
    (void)coll;
    c->said = motte_realm_close(c->realm);
    *out_key = motte_int((int64_t)index % 3);
    return 0;
}

static motte_status fail_in_key(void *userdata, const motte_coll *coll, size_t index, motte_value *out_key) {
    (void)coll;
    (void)index;
    (void)out_key;
    return *(int *)userdata;
}

static void test_sections_are_frozen_with_their_keys(motte_realm *realm) {
    int failure = 7;
    motte_sections *sections = NULL;
    void *frozen = NULL;
    motte_coll *all = all_of(realm);
    MUST(motte_sections_by_callback(all, fail_in_key, &failure, NULL, &sections));
    STATUS(MOTTE_E_CALLBACK, motte_freeze(sections, &frozen));
    CHECK(frozen == NULL);
    motte_release(sections);
    motte_release(all);
}

static void test_not_closed_in_a_function_that_its_sections_call(motte_realm *realm) {
    closer c = {NULL, 0};
    motte_sections *sections = NULL;
    size_t count = 0;
    MUST(motte_freeze(realm, (void **)&c.realm));
    motte_coll *all = all_of(c.realm);
    MUST(motte_sections_by_callback(all, close_in_key, &c, NULL, &sections));
    MUST(motte_sections_count(sections, &count));
    CHECK(count == 3 && c.said == MOTTE_E_REENTRANT);
    STATUS(MOTTE_OK, motte_realm_close(c.realm));
    STATUS(MOTTE_E_CLOSED, motte_sections_count(sections, &count));
    motte_release(sections);
    motte_release(all);
    motte_release(c.realm);
}

/* ------------------------------------------------------------------------------------------------ threads */

typedef struct shared_read {
    motte_realm *realm;
    motte_coll *all, *notes;
    motte_class item;
    motte_prop text;
    atomic_int ready;
    atomic_bool is_done;
    atomic_long wrong;
    motte_value lent;
} shared_read;

/* Reads texts, objects and queries until the realm is closed; what a call lends is looked at after it. */
static void *read_until_closed(void *argument) {
    shared_read *r = (shared_read *)argument;
    motte_value value;
    atomic_fetch_add(&r->ready, 1);
    for (motte_key key = 0;; key = (key + 1) % 50) {
        motte_coll *found = NULL;
        size_t count = 0;
        motte_status status = motte_row_get_many(r->realm, r->item, key, &r->text, 1, &value);
        if (status >= 0 &&
            (value.as.string.size != sizeof note - 1 || memcmp(value.as.string.data, note, sizeof note - 1) != 0)) {
            r->wrong++;
        }
        if (status >= 0)
            status = motte_coll_filter(r->all, "id < 25 AND text CONTAINS 'longer'", MOTTE_NTS, NULL, 0, &found);
        if (status >= 0) status = motte_coll_count(found, &count);
        motte_release(found);
        if (status >= 0 && count != 25) r->wrong++;
        /* Whether what results are of is still there is asked several times within a call. */
        motte_coll *results = NULL;
        if (status >= 0) status = motte_coll_to_results(r->notes, &results);
        if (status >= 0) status = motte_coll_count(results, &count);
        motte_release(results);
        if (status >= 0 && count != 20) r->wrong++;
        if (status >= 0) status = motte_handle_check(r->notes);
        if (status == MOTTE_E_CLOSED) return NULL;
        if (status < 0) r->wrong++;
    }
}

static void test_closed_while_threads_read(motte_realm *realm) {
    for (int round = 0; round < 60; round++) {
        shared_read r = {NULL, NULL, NULL, motte_class_named(realm, "Item"), 0, 0, false, 0, {0}};
        pthread_t threads[3];
        r.text = motte_prop_named(realm, r.item, "text");
        MUST(motte_freeze(realm, (void **)&r.realm));
        r.all = all_of(r.realm);
        MUST(motte_row_get_coll(r.realm, r.item, 0, motte_prop_named(realm, r.item, "notes"), &r.notes));
        for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, read_until_closed, &r);
        while (r.ready < 3) usleep(10);
        usleep((unsigned)(round % 7) * 100);
        STATUS(MOTTE_OK, motte_realm_close(r.realm));
        for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
        CHECK(r.wrong == 0);
        motte_release(r.notes);
        motte_release(r.all);
        motte_release(r.realm);
    }
}

/* Reads once, and ends when it is told to. */
static void *read_and_wait(void *argument) {
    shared_read *r = (shared_read *)argument;
    motte_value value;
    if (motte_row_get_many(r->realm, r->item, 0, &r->text, 1, &value) < 0) r->wrong++;
    atomic_fetch_add(&r->ready, 1);
    while (!r->is_done) usleep(100);
    /* Lent by this thread's latest call on the realm, which has been closed since. */
    if (memcmp(value.as.string.data, note, sizeof note - 1) != 0) r->wrong++;
    return NULL;
}

static size_t readers_of(const motte_realm *realm) {
    size_t count = 0;
    MUST(motte_realm_readers(realm, NULL, 0, &count));
    return count;
}

static void change(motte_realm *realm) {
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_realm_add(realm, "Item", MOTTE_FIELDS({"id", motte_int(1000)}), NULL));
    MUST(motte_realm_commit(realm, 0, NULL));
    MUST(motte_realm_begin_write(realm, -1));
    motte_value id = motte_int(1000);
    motte_class item = motte_class_named(realm, "Item");
    motte_key added;
    MUST(motte_row_find(realm, item, &id, &added));
    MUST(motte_row_delete(realm, item, &added, 1, NULL));
    MUST(motte_realm_commit(realm, 0, NULL));
}

static void test_the_version_goes_with_the_last_who_may_use_it(motte_realm *realm) {
    shared_read r = {NULL, NULL, NULL, motte_class_named(realm, "Item"), 0, 0, false, 0, {0}};
    pthread_t reader;
    r.text = motte_prop_named(realm, r.item, "text");
    CHECK(readers_of(realm) == 1);
    MUST(motte_freeze(realm, (void **)&r.realm));
    pthread_create(&reader, NULL, read_and_wait, &r);
    while (r.ready < 1) usleep(10);
    change(realm);
    CHECK(readers_of(realm) == 2);
    STATUS(MOTTE_OK, motte_realm_close(r.realm));
    r.is_done = true;
    pthread_join(reader, NULL);
    CHECK(r.wrong == 0 && readers_of(realm) == 1);

    /* A thread that goes on to something else that is frozen, or that asks again, gives it back as well. */
    for (int asks_again = 0; asks_again < 2; asks_again++) {
        motte_realm *next = NULL;
        motte_value value;
        motte_release(r.realm);
        MUST(motte_freeze(realm, (void **)&r.realm));
        pthread_create(&reader, NULL, read_and_wait, &r);
        pthread_join(reader, NULL);
        MUST(motte_row_get_many(r.realm, r.item, 0, &r.text, 1, &value));
        change(realm);
        CHECK(readers_of(realm) == 2);
        STATUS(MOTTE_OK, motte_realm_close(r.realm));
        CHECK(readers_of(realm) == 1);
        if (asks_again) {
            STATUS(MOTTE_E_CLOSED, motte_row_get_many(r.realm, r.item, 0, &r.text, 1, &value));
        } else {
            MUST(motte_freeze(realm, (void **)&next));
            MUST(motte_row_get_many(next, r.item, 0, &r.text, 1, &value));
            motte_release(next);
        }
    }
    motte_release(r.realm);
}

static void *lend_text(void *argument) {
    shared_read *r = (shared_read *)argument;
    MUST(motte_row_get_many(r->realm, r->item, 0, &r->text, 1, &r->lent));
    return NULL;
}

/* What an open realm has lent is there until it is closed, also when the thread that asked has ended. */
static void test_texts_outlive_the_thread_that_read_them(motte_realm *realm) {
    shared_read r;
    pthread_t reader;
    char *others[64];
    memset(&r, 0, sizeof r);
    r.item = motte_class_named(realm, "Item");
    r.text = motte_prop_named(realm, r.item, "text");
    MUST(motte_freeze(realm, (void **)&r.realm));
    pthread_create(&reader, NULL, lend_text, &r);
    pthread_join(reader, NULL);
    for (int i = 0; i < 64; i++) {
        others[i] = malloc(4064);
        memset(others[i], '!', 4064);
    }
    CHECK(r.lent.as.string.size == sizeof note - 1 && memcmp(r.lent.as.string.data, note, sizeof note - 1) == 0);
    for (int i = 0; i < 64; i++) free(others[i]);
    change(realm);
    CHECK(readers_of(realm) == 2);
    STATUS(MOTTE_OK, motte_realm_close(r.realm));
    CHECK(readers_of(realm) == 1);
    motte_release(r.realm);
}

typedef struct passer {
    shared_read first, second;
    atomic_int step;
} passer;

static void *read_one_then_the_other(void *argument) {
    passer *p = (passer *)argument;
    motte_value value;
    motte_coll *all = all_of(p->second.realm), *found = NULL;
    MUST(motte_row_get_many(p->first.realm, p->first.item, 0, &p->first.text, 1, &value));
    p->step = 1;
    while (p->step != 2) usleep(10);
    /* What the closed one has lent is an argument of the next call, and goes with that. */
    MUST(motte_coll_filter(all, "text == $0", MOTTE_NTS, &value, 1, &found));
    p->step = 3;
    while (p->step != 4) usleep(10);
    if (count_of(found) != 50) p->first.wrong++;
    motte_release(found);
    motte_release(all);
    return NULL;
}

static void test_a_thread_that_goes_on_gives_back_what_was_closed(motte_realm *realm) {
    passer p;
    pthread_t thread;
    memset(&p, 0, sizeof p);
    p.first.item = motte_class_named(realm, "Item");
    p.first.text = motte_prop_named(realm, p.first.item, "text");
    MUST(motte_freeze(realm, (void **)&p.first.realm));
    change(realm);
    MUST(motte_freeze(realm, (void **)&p.second.realm));
    pthread_create(&thread, NULL, read_one_then_the_other, &p);
    while (p.step != 1) usleep(10);
    STATUS(MOTTE_OK, motte_realm_close(p.first.realm));
    CHECK(readers_of(realm) == 2);
    p.step = 2;
    while (p.step != 3) usleep(10);
    CHECK(readers_of(realm) == 1);
    p.step = 4;
    pthread_join(thread, NULL);
    CHECK(p.first.wrong == 0);
    motte_release(p.first.realm);
    motte_release(p.second.realm);
}

/* ------------------------------------------------------------------------------------------- forks */

enum {
    MANY = 400
};

typedef struct closing {
    motte_realm *realms[MANY];
    atomic_int is_over;
} closing;

static void *close_all(void *argument) {
    closing *c = (closing *)argument;
    for (int i = 0; i < MANY; i++) motte_realm_close(c->realms[i]);
    c->is_over = 1;
    return NULL;
}

/* Of a child: 0, or what went wrong. */
static int read_frozen(void) {
    motte_realm *realm = NULL, *frozen = NULL;
    uint64_t count = 0;
    alarm(20);
    if (motte_open(path, NULL, &realm) < 0) return 3;
    if (motte_freeze(realm, (void **)&frozen) < 0) return 4;
    if (motte_class_count(frozen, motte_class_named(frozen, "Item"), &count) < 0) return 5;
    return count == 50 && motte_realm_close(frozen) == MOTTE_OK ? 0 : 6;
}

static void test_a_child_reads_what_is_frozen_whatever_was_closed_at_its_fork(motte_realm *realm) {
    for (int round = 0; round < 3; round++) {
        closing c;
        pid_t children[20];
        int count = 0, wrong = 0;
        uint64_t number;
        pthread_t thread;
        c.is_over = 0;
        for (int i = 0; i < MANY; i++) {
            MUST(motte_freeze(realm, (void **)&c.realms[i]));
            MUST(motte_class_count(c.realms[i], motte_class_named(realm, "Item"), &number));
        }
        pthread_create(&thread, NULL, close_all, &c);
        while (!c.is_over && count < 20) {
            if ((children[count] = fork()) == 0) _exit(read_frozen());
            count++;
        }
        pthread_join(thread, NULL);
        for (int i = 0; i < count; i++) {
            int status = 0;
            waitpid(children[i], &status, 0);
            if (status != 0) wrong++;
        }
        CHECK(wrong == 0);
        for (int i = 0; i < MANY; i++) motte_release(c.realms[i]);
    }
}

/* A program may have all keys of threads that the system has: then frozen realms cannot be read, and all else can. */
static void test_a_process_without_keys_of_threads(void) {
    pid_t child = fork();
    if (child == 0) {
        pthread_key_t key;
        while (pthread_key_create(&key, NULL) == 0) continue;
        motte_realm *realm = open_realm(), *frozen = NULL;
        motte_coll *all = all_of(realm), *alone = NULL;
        size_t count = 0;
        uint64_t rows = 0;
        MUST(motte_freeze(realm, (void **)&frozen));
        motte_class item = motte_class_named(realm, "Item");
        STATUS(MOTTE_E_OUT_OF_MEMORY, motte_class_count(frozen, item, &rows));
        CHECK(motte_freeze(all, (void **)&alone) < 0 || motte_coll_count(alone, &count) < 0);
        motte_release(alone);
        MUST(motte_realm_close(frozen));
        motte_release(frozen);
        CHECK(count_of(all) == 50);
        MUST(motte_realm_begin_write(realm, -1));
        MUST(motte_coll_delete_objects(all, NULL));
        MUST(motte_realm_commit(realm, 0, NULL));
        CHECK(count_of(all) == 0);
        motte_release(all);
        MUST(motte_realm_close(realm));
        motte_release(realm);
        _exit(check_summary());
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void) {
    /* Before this process has one. */
    test_a_process_without_keys_of_threads();
    motte_realm *realm = open_realm();
    test_each_is_closed_by_itself(realm);
    test_shared_realm_has_the_limits_of_its_time(realm);
    test_sections_are_frozen_with_their_keys(realm);
    test_not_closed_in_a_function_that_its_sections_call(realm);
    test_closed_while_threads_read(realm);
    test_the_version_goes_with_the_last_who_may_use_it(realm);
    test_texts_outlive_the_thread_that_read_them(realm);
    test_a_thread_that_goes_on_gives_back_what_was_closed(realm);
    test_a_child_reads_what_is_frozen_whatever_was_closed_at_its_fork(realm);
    MUST(motte_realm_close(realm));
    motte_release(realm);
    return check_summary();
}
