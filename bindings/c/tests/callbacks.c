/* Callbacks, tokens and queues: where callbacks run, that userdata is freed exactly once on every path, that a stopped
 * token is silent, what a refusing callback does to the call that ran it, and that a descriptor wakes for others. */
#define _GNU_SOURCE
#include "check.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

static const char schema_text[] = "Item { id: int key, n: int?, name: string? }";

typedef struct listener {
    int calls, freed, fail_with, release_itself, running;
    motte_token *token;
    motte_realm *realm;
    motte_changes *kept;
    motte_changes_details last;
} listener;

static void freed(void *userdata) {
    listener *l = (listener *)userdata;
    CHECK(!l->running);
    l->freed++;
}

static motte_status receive(void *userdata, const motte_changes *changes) {
    listener *l = (listener *)userdata;
    l->calls++;
    l->running = 1;
    l->last.struct_size = sizeof l->last;
    MUST(motte_changes_info(changes, &l->last));
    if (l->realm) {
        bool advanced;
        STATUS(MOTTE_E_REENTRANT, motte_realm_refresh(l->realm, &advanced));
        STATUS(MOTTE_E_REENTRANT, motte_realm_close(l->realm));
    }
    if (l->release_itself) {
        motte_release(l->token);
        CHECK(l->freed == 0);
    }
    if (l->kept == NULL) MUST(motte_changes_clone(changes, &l->kept));
    l->running = 0;
    if (l->fail_with) {
        MUST(motte_callback_fail("the listener is unhappy", MOTTE_NTS, l, NULL));
        return l->fail_with;
    }
    return 0;
}

typedef struct world {
    motte_realm *realm;
    motte_class item;
    motte_prop id, n, name;
    motte_coll *all;
} world;

static world open_world(const char *identifier) {
    world w;
    w.realm = check_realm(identifier, schema_text);
    w.item = motte_class_named(w.realm, "Item");
    w.id = motte_prop_named(w.realm, w.item, "id");
    w.n = motte_prop_named(w.realm, w.item, "n");
    w.name = motte_prop_named(w.realm, w.item, "name");
    MUST(motte_class_all(w.realm, w.item, &w.all));
    return w;
}

static void close_world(world *w) {
    motte_release(w->all);
    motte_release(w->realm);
}

static motte_key add(motte_realm *realm, motte_class item, motte_prop id, int64_t number) {
    motte_value value = motte_int(number);
    motte_key key;
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_row_create(realm, item, &id, &value, 1, 0, &key, NULL));
    MUST(motte_realm_commit(realm, 0, NULL));
    return key;
}

static void pulling(void) {
    world w = open_world("pulling");
    motte_token *token, *realm_token, *object_token, *late;
    motte_changes *changes;
    motte_changes_details details;
    motte_object *object;
    motte_value number = motte_int(5), old, now, text = motte_string("a name");
    motte_prop props[4];
    size_t indexes[8], others[8], count;
    motte_key key;
    details.struct_size = sizeof details;

    MUST(motte_observe_coll(w.all, 0, NULL, NULL, NULL, &token));
    STATUS(MOTTE_OK, motte_token_next(token, &changes));
    MUST(motte_changes_info(changes, &details));
    CHECK(details.flags == MOTTE_CHANGES_INITIAL && details.kind == MOTTE_CHANGES_COLL);
    motte_release(changes);
    STATUS(MOTTE_PENDING, motte_token_next(token, &changes));
    CHECK(changes == NULL);

    MUST(motte_observe_realm(w.realm, 0, NULL, NULL, NULL, &realm_token));
    key = add(w.realm, w.item, w.id, 1);
    add(w.realm, w.item, w.id, 2);
    MUST(motte_object_at(w.realm, w.item, key, &object));
    MUST(motte_observe_object(object, 0, NULL, NULL, NULL, &object_token));
    STATUS(MOTTE_OK, motte_token_next(token, &changes));
    STATUS(MOTTE_OK, motte_changes_insertions(changes, NULL, 0, &count));
    CHECK(count == 2);
    STATUS(MOTTE_TRUNCATED, motte_changes_insertions(changes, indexes, 1, &count));
    CHECK(count == 2 && indexes[0] == 0);
    STATUS(MOTTE_OK, motte_changes_insertions(changes, indexes, 8, &count));
    CHECK(indexes[1] == 1);
    STATUS(MOTTE_OK, motte_changes_deletions(changes, indexes, 8, &count));
    CHECK(count == 0);
    motte_release(changes);
    STATUS(MOTTE_OK, motte_token_next(realm_token, &changes));
    MUST(motte_changes_info(changes, &details));
    CHECK(details.kind == MOTTE_CHANGES_REALM && details.to_version == details.from_version + 2);
    motte_release(changes);

    MUST(motte_realm_begin_write(w.realm, -1));
    MUST(motte_object_set(object, w.n, &number));
    MUST(motte_object_set(object, w.name, &text));
    MUST(motte_realm_commit(w.realm, 0, NULL));
    STATUS(MOTTE_OK, motte_token_next(object_token, &changes));
    MUST(motte_changes_props(changes, props, 4, &count));
    CHECK(count == 2 && props[0] == w.n && props[1] == w.name);
    STATUS(MOTTE_OK, motte_changes_values(changes, w.n, &old, &now));
    CHECK(old.type == MOTTE_TYPE_NULL && now.as.integer == 5);
    STATUS(MOTTE_OK, motte_changes_values(changes, w.name, NULL, &now));
    CHECK(motte_str_equal(now.as.string, "a name"));
    STATUS(MOTTE_NOT_FOUND, motte_changes_values(changes, w.id, &old, &now));
    motte_release(changes);
    STATUS(MOTTE_OK, motte_token_next(token, &changes));
    STATUS(MOTTE_OK, motte_changes_modifications(changes, indexes, others, 8, &count));
    CHECK(count == 1 && indexes[0] == 0 && others[0] == 0);
    STATUS(MOTTE_OK, motte_changes_modifications(changes, NULL, others, 8, &count));
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_changes_modifications(changes, NULL, NULL, 8, &count));
    motte_release(changes);

    MUST(motte_realm_begin_write(w.realm, -1));
    STATUS(MOTTE_E_ALREADY_IN_WRITE, motte_observe_coll(w.all, 0, NULL, NULL, NULL, &late));
    MUST(motte_object_delete(object));
    MUST(motte_realm_commit(w.realm, 0, NULL));
    CHECK(late == NULL);
    STATUS(MOTTE_OK, motte_token_next(object_token, &changes));
    MUST(motte_changes_info(changes, &details));
    CHECK((details.flags & MOTTE_CHANGES_DELETED) != 0);
    motte_release(changes);
    STATUS(MOTTE_END, motte_token_next(object_token, &changes));
    STATUS(MOTTE_OK, motte_token_stop(token));
    STATUS(MOTTE_UNCHANGED, motte_token_stop(token));
    STATUS(MOTTE_END, motte_token_next(token, &changes));
    motte_release(token);
    motte_release(realm_token);
    motte_release(object_token);
    motte_release(object);
    close_world(&w);
}

static void commit_elsewhere(const char *identifier, int64_t number);

static void calling(void) {
    world w = open_world("calling");
    listener l, silent;
    motte_error_details error;
    motte_error *kept;
    motte_changes *none;
    bool advanced;
    size_t count;
    memset(&l, 0, sizeof l);
    memset(&silent, 0, sizeof silent);
    l.realm = w.realm;
    MUST(motte_observe_coll(w.all, 0, receive, &l, freed, &l.token));
    MUST(motte_observe_coll(w.all, 0, receive, &silent, freed, &silent.token));
    CHECK(l.calls == 0);
    MUST(motte_realm_refresh(w.realm, &advanced));
    CHECK(l.calls == 1 && l.last.flags == MOTTE_CHANGES_INITIAL);
    STATUS(MOTTE_OK, motte_token_stop(silent.token));
    CHECK(silent.freed == 1);
    add(w.realm, w.item, w.id, 1);
    CHECK(l.calls == 2 && l.last.insertion_count == 1 && silent.calls == 1);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_token_next(l.token, &none));
    CHECK(none == NULL);
    motte_release(silent.token);
    CHECK(silent.freed == 1);

    /* A clone outlives the callback and is as immutable as the original. */
    STATUS(MOTTE_OK, motte_changes_deletions(l.kept, NULL, 0, &count));
    motte_release(l.kept);

    /* A refusal is the error of a call that is there to notify; a commit is durable and does not fail for it. */
    l.realm = NULL;
    l.fail_with = 42;
    {
        motte_value number = motte_int(9);
        uint64_t version = 1, items;
        MUST(motte_realm_begin_write(w.realm, -1));
        MUST(motte_row_create(w.realm, w.item, &w.id, &number, 1, 0, NULL, NULL));
        STATUS(MOTTE_OK, motte_realm_commit(w.realm, 0, &version));
        CHECK(version > 1 && motte_realm_in_write(w.realm) == 0);
        MUST(motte_class_count(w.realm, w.item, &items));
        CHECK(items == 2);
        commit_elsewhere("calling", 10);
        STATUS(MOTTE_E_CALLBACK, motte_realm_refresh(w.realm, NULL));
        error = check_error();
        CHECK(error.user_code == 42 && error.user_pointer == &l && error.category == MOTTE_CATEGORY_CALLBACK);
        CHECK(strcmp(error.message, "the listener is unhappy") == 0);
        MUST(motte_class_count(w.realm, w.item, &items));
        CHECK(items == 3);
    }
    STATUS(MOTTE_OK, motte_error_capture(&kept));
    memset(&error, 0, sizeof error);
    error.struct_size = sizeof error;
    STATUS(MOTTE_OK, motte_error_info(kept, &error));
    CHECK(error.user_code == 42);
    motte_release(kept);
    l.fail_with = 0;
    motte_release(l.kept);

    /* Released inside its own callback: freed when it returns, then silent. */
    l.release_itself = 1;
    add(w.realm, w.item, w.id, 3);
    CHECK(l.freed == 1);
    STATUS(MOTTE_UNCHANGED, motte_release(l.token));
    count = (size_t)l.calls;
    add(w.realm, w.item, w.id, 4);
    CHECK((size_t)l.calls == count);
    motte_release(l.kept);
    motte_release(silent.kept);
    close_world(&w);
}

typedef struct adopter {
    world *w;
    motte_coll *results;
    motte_token *inner;
    int calls, inner_calls, inner_initial;
} adopter;

static motte_status receive_inside(void *userdata, const motte_changes *changes) {
    adopter *a = userdata;
    motte_changes_details details = {.struct_size = sizeof details};
    MUST(motte_changes_info(changes, &details));
    a->inner_calls++;
    if (details.flags & MOTTE_CHANGES_INITIAL) a->inner_initial++;
    return MOTTE_OK;
}

/* Observes and writes, once. */
static motte_status adopt(void *userdata, const motte_changes *changes) {
    adopter *a = userdata;
    (void)changes;
    if (a->calls++ != 1) return MOTTE_OK;
    MUST(motte_observe_coll(a->results, 0, receive_inside, a, NULL, &a->inner));
    CHECK(a->inner_calls == 0);
    add(a->w->realm, a->w->item, a->w->id, 2);
    CHECK(a->calls == 2);
    return MOTTE_OK;
}

/* A callback that writes leads to another round, one that observes is not called in this one for the new token. */
static void writing_inside(void) {
    world w = open_world("writing inside");
    adopter a = {&w, w.all, NULL, 0, 0, 0};
    motte_token *token;
    bool advanced;
    MUST(motte_observe_coll(w.all, 0, adopt, &a, NULL, &token));
    MUST(motte_realm_refresh(w.realm, &advanced));
    CHECK(a.calls == 1);
    add(w.realm, w.item, w.id, 1);
    CHECK(a.calls == 3);
    MUST(motte_realm_refresh(w.realm, &advanced));
    CHECK(a.inner_initial == 1);
    add(w.realm, w.item, w.id, 3);
    CHECK(a.calls == 4 && a.inner_calls == 2);
    motte_release(token);
    motte_release(a.inner);
    close_world(&w);
}

static void freeing(void) {
    world w = open_world("freeing");
    listener l;
    motte_token *token;
    motte_object *object;
    void *frozen;
    motte_key key = add(w.realm, w.item, w.id, 1);
    memset(&l, 0, sizeof l);

    /* Registration that fails frees as well. */
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_observe_coll(w.all, 0, receive, &l, freed, NULL));
    CHECK(l.freed == 1);
    STATUS(MOTTE_E_UNKNOWN_FLAG, motte_observe_coll(w.all, 1, receive, &l, freed, &token));
    CHECK(l.freed == 2);
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_observe_realm(NULL, 0, receive, &l, freed, &token));
    CHECK(l.freed == 3);
    MUST(motte_freeze(w.all, &frozen));
    STATUS(MOTTE_E_FROZEN, motte_observe_coll((motte_coll *)frozen, 0, receive, &l, freed, &token));
    CHECK(l.freed == 4);
    motte_release(frozen);
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_handle_dump(NULL, &l, freed));
    CHECK(l.freed == 5);
    /* An announcement too: once, whether it is refused, replaced or taken back. */
    STATUS(MOTTE_E_INVALID_UTF8, motte_callback_fail("caf\xe9", 4, &l, freed));
    CHECK(l.freed == 6);
    STATUS(MOTTE_OK, motte_callback_fail("coffee", MOTTE_NTS, &l, freed));
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_callback_fail(NULL, 5, &l, freed));
    CHECK(l.freed == 7);
    STATUS(MOTTE_OK, motte_callback_fail(NULL, 0, NULL, NULL));
    CHECK(l.freed == 8);

    /* After close the userdata goes with the token. */
    MUST(motte_object_at(w.realm, w.item, key, &object));
    MUST(motte_observe_object(object, 0, receive, &l, freed, &token));
    STATUS(MOTTE_OK, motte_realm_close(w.realm));
    motte_release(token);
    CHECK(l.freed == 9 && l.calls == 0);
    motte_release(token);
    CHECK(l.freed == 9);
    motte_release(object);
    close_world(&w);
}

/* ---------------------------------------------------------------------------------------------------- others */

typedef struct writer {
    const char *identifier;
    int64_t number;
} writer;

static void *write_elsewhere(void *argument) {
    writer *job = (writer *)argument;
    motte_realm *realm = check_realm(job->identifier, schema_text);
    motte_class item = motte_class_named(realm, "Item");
    add(realm, item, motte_prop_named(realm, item, "id"), job->number);
    motte_release(realm);
    return NULL;
}

static void commit_elsewhere(const char *identifier, int64_t number) {
    pthread_t thread;
    writer job;
    job.identifier = identifier;
    job.number = number;
    if (pthread_create(&thread, NULL, write_elsewhere, &job) != 0) exit(2);
    pthread_join(thread, NULL);
}

static int readable(int fd, int timeout_ms) {
    struct pollfd poller;
    poller.fd = fd;
    poller.events = POLLIN;
    poller.revents = 0;
    return poll(&poller, 1, timeout_ms) == 1;
}

static void queueing(void) {
    motte_config *config;
    motte_schema *schema;
    motte_queue *queue;
    motte_realm *realm;
    motte_class item;
    motte_coll *all;
    listener l;
    int32_t fd;
    int64_t timeout;
    size_t ran;
    uint64_t items;
    memset(&l, 0, sizeof l);
    MUST(motte_queue_new(0, &queue));
    MUST(motte_queue_fd(queue, &fd));
    CHECK(!readable(fd, 0));
    STATUS(MOTTE_OK, motte_queue_timeout(queue, &timeout));
    CHECK(timeout == -1);
    STATUS(MOTTE_PENDING, motte_queue_wait(queue, 1));
    STATUS(MOTTE_OK, motte_queue_dispatch(queue, 0, &ran));
    CHECK(ran == 0);

    MUST(motte_config_new(&config));
    MUST(motte_schema_parse(schema_text, MOTTE_NTS, &schema));
    MUST(motte_config_set_in_memory(config, "queueing", MOTTE_NTS));
    MUST(motte_config_set_schema(config, schema, 0));
    MUST(motte_config_set_queue(config, queue));
    MUST(motte_realm_open(config, &realm));
    motte_release(schema);
    motte_release(config);
    item = motte_class_named(realm, "Item");
    MUST(motte_class_all(realm, item, &all));
    MUST(motte_observe_coll(all, 0, receive, &l, freed, &l.token));
    /* The initial state is work for the queue. */
    CHECK(readable(fd, 2000));
    STATUS(MOTTE_OK, motte_queue_dispatch(queue, 0, &ran));
    CHECK(ran == 1 && l.calls == 1 && l.last.flags == MOTTE_CHANGES_INITIAL);

    commit_elsewhere("queueing", 1);
    CHECK(readable(fd, 2000));
    MUST(motte_class_count(realm, item, &items));
    CHECK(items == 0); /* nothing moves before dispatch */
    STATUS(MOTTE_OK, motte_queue_timeout(queue, &timeout));
    CHECK(timeout == 0);
    STATUS(MOTTE_OK, motte_queue_dispatch(queue, 0, &ran));
    CHECK(ran == 1 && l.calls == 2 && l.last.insertion_count == 1);
    CHECK(!readable(fd, 0));
    MUST(motte_class_count(realm, item, &items));
    CHECK(items == 1);

    commit_elsewhere("queueing", 2);
    STATUS(MOTTE_OK, motte_queue_wait(queue, 2000));
    l.fail_with = 7;
    STATUS(MOTTE_E_CALLBACK, motte_queue_dispatch(queue, 0, &ran));
    CHECK(check_error().user_code == 7);
    l.fail_with = 0;
    motte_release(l.kept);
    motte_release(l.token);
    CHECK(l.freed == 1);
    motte_release(all);
    /* The queue's handle may go first. */
    motte_release(queue);
    commit_elsewhere("queueing", 3);
    MUST(motte_realm_refresh(realm, NULL));
    motte_release(realm);
}

/* A finalizer thread gives up tokens while their realm is busy on its own. */
static void *release_elsewhere(void *argument) {
    motte_release(argument);
    return NULL;
}

static void finalizing(void) {
    world w = open_world("finalizing");
    int round;
    for (round = 0; round < 50; round++) {
        listener l;
        pthread_t thread;
        memset(&l, 0, sizeof l);
        MUST(motte_observe_coll(w.all, 0, receive, &l, freed, &l.token));
        if (pthread_create(&thread, NULL, release_elsewhere, l.token) != 0) exit(2);
        add(w.realm, w.item, w.id, 1000 + round);
        pthread_join(thread, NULL);
        CHECK(l.freed == 1);
        STATUS(MOTTE_E_STALE_HANDLE, motte_token_stop(l.token));
        motte_release(l.kept);
    }
    close_world(&w);
}

static void *stop_elsewhere(void *token) { return (void *)(intptr_t)motte_token_stop(token); }

/* Observations are ended from every thread, also while the owner commits. */
static void stopping(void) {
    world w = open_world("stopping");
    int round;
    for (round = 0; round < 50; round++) {
        listener l;
        pthread_t thread;
        void *outcome = NULL;
        int calls;
        memset(&l, 0, sizeof l);
        MUST(motte_observe_coll(w.all, 0, receive, &l, freed, &l.token));
        if (pthread_create(&thread, NULL, stop_elsewhere, l.token) != 0) exit(2);
        add(w.realm, w.item, w.id, 1000 + 2 * round);
        pthread_join(thread, &outcome);
        CHECK((intptr_t)outcome == MOTTE_OK && l.freed == 1);
        calls = l.calls;
        add(w.realm, w.item, w.id, 1001 + 2 * round);
        CHECK(l.calls == calls);
        STATUS(MOTTE_UNCHANGED, motte_token_stop(l.token));
        motte_release(l.kept);
        motte_release(l.token);
    }
    close_world(&w);
}

static motte_status end_the_write(void *userdata, const motte_changes *changes) {
    listener *l = (listener *)userdata;
    (void)changes;
    if (motte_realm_in_write(l->realm)) {
        STATUS(MOTTE_E_REENTRANT, motte_realm_commit(l->realm, 0, NULL));
        STATUS(MOTTE_E_REENTRANT, motte_realm_cancel(l->realm));
        STATUS(MOTTE_E_REENTRANT, motte_realm_close(l->realm));
        l->calls++;
    }
    return l->fail_with;
}

/* A write is open after begin_write, or it is not: whatever the callbacks do that run meanwhile. */
static void beginning(void) {
    world w = open_world("beginning");
    motte_realm *other = check_realm("beginning", schema_text);
    motte_class item = motte_class_named(other, "Item");
    motte_prop id = motte_prop_named(other, item, "id");
    listener l, quiet;
    memset(&l, 0, sizeof l);
    memset(&quiet, 0, sizeof quiet);
    l.realm = w.realm;
    MUST(motte_observe_coll(w.all, 0, end_the_write, &l, freed, &l.token));
    MUST(motte_observe_coll(w.all, 0, receive, &quiet, freed, &quiet.token));
    MUST(motte_realm_refresh(w.realm, NULL));
    add(other, item, id, 1);
    STATUS(MOTTE_OK, motte_realm_begin_write(w.realm, 0));
    CHECK(l.calls == 1 && motte_realm_in_write(w.realm) == 1);
    MUST(motte_realm_cancel(w.realm));
    add(other, item, id, 2);
    l.fail_with = 7;
    /* It has changed nothing, and so the write begins. */
    STATUS(MOTTE_OK, motte_realm_begin_write(w.realm, 0));
    CHECK(l.calls == 2 && motte_realm_in_write(w.realm) == 1);
    MUST(motte_realm_cancel(w.realm));
    /* The one behind it was called all the same. */
    CHECK(quiet.calls == 3);
    add(other, item, id, 3);
    STATUS(MOTTE_E_CALLBACK, motte_realm_refresh(w.realm, NULL));
    CHECK(quiet.calls == 4);
    motte_release(quiet.kept);
    motte_release(l.token);
    motte_release(quiet.token);
    motte_release(other);
    close_world(&w);
}

static motte_status close_the_realm(void *userdata, uint64_t done, uint64_t total) {
    (void)done;
    (void)total;
    STATUS(MOTTE_OK, motte_realm_close((motte_realm *)userdata));
    return 0;
}

static motte_status end_and_begin(void *userdata, uint64_t done, uint64_t total) {
    (void)done;
    (void)total;
    MUST(motte_realm_cancel((motte_realm *)userdata));
    MUST(motte_realm_begin_write((motte_realm *)userdata, 0));
    return 0;
}

static motte_status create_inside(void *userdata, uint64_t done, uint64_t total) {
    const world *w = (const world *)userdata;
    bool advanced;
    (void)done;
    (void)total;
    STATUS(MOTTE_E_REENTRANT, motte_realm_begin_write(w->realm, -1));
    STATUS(MOTTE_E_REENTRANT, motte_realm_refresh(w->realm, &advanced));
    return 0;
}

/* What is written is of one state of the database. */
static void exporting(void) {
    motte_export_options out = {.struct_size = sizeof out};
    motte_buf text = {0};
    size_t count;
    world w = open_world("exporting");
    add(w.realm, w.item, w.id, 1);
    STATUS(MOTTE_OK, motte_export_coll(w.all, &out, create_inside, &w, NULL, &text));
    CHECK(text.size > 0);
    motte_buf_dispose(&text);
    STATUS(MOTTE_OK, motte_export_realm(w.realm, &out, create_inside, &w, NULL, &text));
    CHECK(text.size > 0);
    motte_buf_dispose(&text);
    MUST(motte_coll_count(w.all, &count));
    CHECK(count == 1);
    close_world(&w);
}

typedef struct before_import {
    motte_realm *realm;
    uint64_t savepoint;
    int calls;
} before_import;

static motte_status go_back(void *userdata, uint64_t done, uint64_t total) {
    before_import *b = (before_import *)userdata;
    (void)done;
    (void)total;
    b->calls++;
    STATUS(MOTTE_E_REENTRANT, motte_realm_roll_back(b->realm, b->savepoint));
    STATUS(MOTTE_E_REENTRANT, motte_realm_release_savepoint(b->realm, b->savepoint));
    return 0;
}

/* Rows that went with their write were not imported. */
static void importing(void) {
    motte_import_options in = {.struct_size = sizeof in, .text = "[{\"id\": 1}, {\"id\": 2}]", .text_size = MOTTE_NTS};
    motte_import_counts counts = {.struct_size = sizeof counts};
    size_t count;
    world w = open_world("importing");
    MUST(motte_realm_begin_write(w.realm, 0));
    STATUS(MOTTE_E_REENTRANT, motte_import(w.realm, w.item, &in, end_and_begin, w.realm, NULL, &counts));
    MUST(motte_coll_count(w.all, &count));
    CHECK(count == 0);
    /* A row that does not fit takes the others with it. */
    in.text = "[{\"id\": 1}, {\"id\": 2}, {\"id\": 1}]";
    STATUS(MOTTE_E_DUPLICATE_PRIMARY_KEY, motte_import(w.realm, w.item, &in, NULL, NULL, NULL, &counts));
    MUST(motte_coll_count(w.all, &count));
    CHECK(count == 0);
    {
        /* Nor can a savepoint from before the call be ended in it. */
        before_import b = {w.realm, 0, 0};
        in.batch_rows = 1;
        MUST(motte_realm_savepoint(w.realm, &b.savepoint));
        STATUS(MOTTE_E_DUPLICATE_PRIMARY_KEY, motte_import(w.realm, w.item, &in, go_back, &b, NULL, &counts));
        MUST(motte_coll_count(w.all, &count));
        CHECK(count == 0 && b.calls > 0);
        in.text = "[{\"id\": 1}, {\"id\": 2}]";
        STATUS(MOTTE_OK, motte_import(w.realm, w.item, &in, go_back, &b, NULL, &counts));
        MUST(motte_coll_count(w.all, &count));
        CHECK(count == 2 && counts.created == 2);
        STATUS(MOTTE_OK, motte_realm_roll_back(w.realm, b.savepoint));
        MUST(motte_coll_count(w.all, &count));
        CHECK(count == 0);
    }
    motte_release(w.all);
    in.text = "[{\"id\": 1}, {\"id\": 2}]";
    STATUS(MOTTE_E_REENTRANT, motte_import(w.realm, w.item, &in, close_the_realm, w.realm, NULL, &counts));
    motte_release(w.realm);
}

int main(void) {
    beginning();
    importing();
    exporting();
    pulling();
    calling();
    writing_inside();
    freeing();
    queueing();
    finalizing();
    stopping();
    return check_summary();
}
