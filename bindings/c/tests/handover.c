/* Between threads: references, and writes that are queued from anywhere and run on the realm's own thread. */
#include "check.h"

#include <poll.h>
#include <pthread.h>

static const char schema[] = "Item { id: int key, n: int, others: list<Item> }";

/* A realm with a queue on the calling thread. */
static motte_realm *open_realm(motte_queue **queue) {
    motte_config *config;
    motte_schema *parsed;
    motte_realm *realm = NULL;
    MUST(motte_config_new(&config));
    MUST(motte_schema_parse(schema, MOTTE_NTS, &parsed));
    MUST(motte_config_set_in_memory(config, "handover", MOTTE_NTS));
    MUST(motte_config_set_schema(config, parsed, 0));
    if (queue) {
        MUST(motte_queue_new(0, queue));
        MUST(motte_config_set_queue(config, *queue));
    }
    MUST(motte_realm_open(config, &realm));
    motte_release(config);
    motte_release(parsed);
    return realm;
}

static void add_item(motte_realm *realm, int64_t id) {
    motte_class item = motte_class_named(realm, "Item");
    motte_prop prop = motte_prop_named(realm, item, "id");
    motte_value value = motte_int(id);
    motte_key key;
    MUST(motte_row_create(realm, item, &prop, &value, 1, 0, &key, NULL));
}

static uint64_t item_count(const motte_realm *realm) {
    uint64_t count = 0;
    MUST(motte_class_count(realm, motte_class_named(realm, "Item"), &count));
    return count;
}

/* ------------------------------------------------------------------------------------------------ references */

typedef struct carried {
    motte_reference *object, *list, *results, *query, *gone, *open;
} carried;

static void *resolve_elsewhere(void *argument) {
    carried *c = (carried *)argument;
    motte_realm *realm = open_realm(NULL), *other;
    motte_object *object = NULL;
    motte_coll *coll = NULL;
    motte_query *query = NULL;
    void *none = &none;
    motte_value value;
    size_t count;

    MUST(motte_reference_resolve(c->object, realm, (void **)&object));
    MUST(motte_object_get(object, motte_prop_named(realm, motte_class_named(realm, "Item"), "id"), &value));
    CHECK(value.as.integer == 1);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_reference_resolve(c->object, realm, &none));
    CHECK(none == NULL);
    MUST(motte_reference_resolve(c->list, realm, (void **)&coll));
    MUST(motte_coll_count(coll, &count));
    CHECK(count == 2);
    motte_release(coll);
    MUST(motte_reference_resolve(c->results, realm, (void **)&coll));
    MUST(motte_coll_count(coll, &count));
    CHECK(count == 2 && motte_handle_kind(coll) == MOTTE_HANDLE_COLL);
    motte_release(coll);
    MUST(motte_reference_resolve(c->query, realm, (void **)&query));
    MUST(motte_query_count(query, &count));
    CHECK(count == 1);
    motte_release(query);
    STATUS(MOTTE_NOT_FOUND, motte_reference_resolve(c->gone, realm, &none));
    STATUS(MOTTE_NOT_FOUND, motte_reference_resolve(c->open, realm, &none));
    other = check_realm("another file", schema);
    STATUS(MOTTE_NOT_FOUND, motte_reference_resolve(c->open, other, &none));
    motte_release(other);
    motte_release(object);
    motte_release(realm);
    return NULL;
}

static void references(void) {
    motte_realm *realm = open_realm(NULL);
    motte_class item = motte_class_named(realm, "Item");
    motte_prop others = motte_prop_named(realm, item, "others");
    motte_object *first, *second;
    motte_coll *list, *all, *some;
    motte_query *query;
    motte_value key, links[2];
    motte_object *again;
    carried c;
    pthread_t thread;

    MUST(motte_realm_begin_write(realm, -1));
    for (int i = 1; i <= 3; i++) add_item(realm, i);
    key = motte_int(1);
    MUST(motte_object_find(realm, item, &key, &first));
    key = motte_int(2);
    MUST(motte_object_find(realm, item, &key, &second));
    MUST(motte_object_get_coll(first, others, &list));
    links[0] = motte_link_to(first);
    links[1] = motte_link_to(second);
    MUST(motte_list_append(list, links, 2));
    MUST(motte_realm_commit(realm, 0, NULL));
    MUST(motte_class_all(realm, item, &all));
    MUST(motte_coll_filter(all, "id < 3", MOTTE_NTS, NULL, 0, &some));
    key = motte_int(1);
    MUST(motte_query_parse(realm, item, "id == $0", MOTTE_NTS, &key, 1, &query));

    MUST(motte_reference_new(first, &c.object));
    MUST(motte_reference_new(list, &c.list));
    MUST(motte_reference_new(some, &c.results));
    MUST(motte_reference_new(query, &c.query));
    MUST(motte_reference_new(second, &c.gone));
    STATUS(MOTTE_E_WRONG_KIND, motte_reference_new(realm, &c.open));
    CHECK(c.open == NULL);
    /* The list and the results lose what is gone. */
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_object_delete(second));
    add_item(realm, 2);
    key = motte_int(3);
    links[0] = motte_link_to(first);
    MUST(motte_list_append(list, links, 1));
    MUST(motte_realm_commit(realm, 0, NULL));
    STATUS(MOTTE_E_OBJECT_DELETED, motte_reference_new(second, &c.open));

    /* Of a write that is open: not before its commit. */
    MUST(motte_realm_begin_write(realm, -1));
    add_item(realm, 4);
    key = motte_int(4);
    motte_release(second);
    MUST(motte_object_find(realm, item, &key, &second));
    MUST(motte_reference_new(second, &c.open));
    CHECK(pthread_create(&thread, NULL, resolve_elsewhere, &c) == 0);
    pthread_join(thread, NULL);
    MUST(motte_realm_commit(realm, 0, NULL));
    MUST(motte_reference_resolve(c.open, realm, (void **)&again));
    CHECK(motte_equal(again, second));

    /* What holds on to a reference holds on to nothing of the realm's thread. */
    motte_release(again);
    motte_release(first);
    motte_release(second);
    motte_release(list);
    motte_release(all);
    motte_release(some);
    motte_release(query);
    MUST(motte_realm_close(realm));
    motte_release(realm);
    motte_release(c.object);
    motte_release(c.list);
    motte_release(c.results);
    motte_release(c.query);
    motte_release(c.gone);
    motte_release(c.open);
}

/* ------------------------------------------------------------------------------------------------ queued writes */

typedef struct job {
    int64_t id;
    motte_status answer; /* of the work */
    motte_realm *realm;  /* where more is to be queued when it is done */
    int worked, done, freed;
    motte_status status;
    uint64_t version;
    int32_t code;
    pthread_t thread; /* that worked */
    char message[64];
} job;

static motte_status work(void *userdata, motte_realm *realm) {
    job *j = (job *)userdata;
    j->worked++;
    j->thread = pthread_self();
    CHECK(motte_realm_in_write(realm) && j->freed == 0);
    add_item(realm, j->id);
    if (j->answer != 0) motte_callback_fail("no more", MOTTE_NTS, NULL, NULL);
    return j->answer;
}

static motte_status done(void *userdata, motte_status status, uint64_t version) {
    job *j = (job *)userdata;
    j->done++;
    j->status = status;
    j->version = version;
    CHECK(j->freed == 0);
    if (status < 0) j->code = check_error().user_code;
    if (status < 0) snprintf(j->message, sizeof j->message, "%s", check_error().message);
    if (j->realm) {
        static job next;
        next.id = 100;
        MUST(motte_realm_queue_write(j->realm, work, NULL, &next, NULL, NULL));
    }
    return 0;
}

static void freed(void *userdata) { ((job *)userdata)->freed++; }

typedef struct worker {
    motte_realm *realm;
    job *jobs;
    int count;
} worker;

static void *queue_elsewhere(void *argument) {
    worker *w = (worker *)argument;
    uint64_t ticket;
    for (int i = 0; i < w->count; i++) {
        w->jobs[i].id = 10 + i;
        MUST(motte_realm_queue_write(w->realm, work, done, &w->jobs[i], freed, &ticket));
        CHECK(ticket != 0);
    }
    return NULL;
}

static void queued_writes(void) {
    motte_queue *queue;
    motte_realm *realm = open_realm(&queue), *other, *frozen;
    job jobs[4] = {{0}}, failing = {.id = 20, .answer = 5}, silent = failing, late = {.id = 21}, last = {.id = 22};
    job more = {.id = 23, .realm = realm};
    worker w = {realm, jobs, 4};
    pthread_t thread;
    uint64_t version, latest, ticket;
    int64_t timeout;
    size_t count;
    struct pollfd poll_set;
    int32_t fd;

    CHECK(item_count(realm) == 0);
    CHECK(pthread_create(&thread, NULL, queue_elsewhere, &w) == 0);
    pthread_join(thread, NULL);
    MUST(motte_queue_fd(queue, &fd));
    poll_set.fd = fd;
    poll_set.events = POLLIN;
    CHECK(poll(&poll_set, 1, 0) == 1);
    MUST(motte_queue_timeout(queue, &timeout));
    CHECK(timeout == 0 && jobs[0].worked == 0);
    /* One is enough for now: the descriptor says that there is more. */
    MUST(motte_queue_dispatch(queue, 1, &count));
    CHECK(count == 1 && jobs[0].done == 1 && jobs[1].worked == 0 && poll(&poll_set, 1, 0) == 1);
    MUST(motte_queue_dispatch(queue, 0, &count));
    CHECK(count == 3 && item_count(realm) == 4);
    MUST(motte_realm_version(realm, &version, &latest));
    for (int i = 0; i < 4; i++) {
        CHECK(jobs[i].worked == 1 && jobs[i].done == 1 && jobs[i].freed == 1 && jobs[i].status == MOTTE_OK);
        CHECK(jobs[i].version == version - 3 + (uint64_t)i && pthread_equal(jobs[i].thread, pthread_self()));
    }

    /* Work that fails undoes itself alone. */
    MUST(motte_realm_queue_write(realm, work, done, &failing, freed, NULL));
    MUST(motte_realm_queue_write(realm, work, done, &late, freed, NULL));
    MUST(motte_realm_queue_write(realm, work, done, &last, freed, &ticket));
    MUST(motte_realm_cancel_queued(realm, ticket));
    CHECK(last.freed == 1 && last.worked == 0 && last.done == 0);
    STATUS(MOTTE_UNCHANGED, motte_realm_cancel_queued(realm, ticket));
    MUST(motte_queue_dispatch(queue, 0, &count));
    CHECK(count == 2 && failing.status == MOTTE_E_CALLBACK && strcmp(failing.message, "no more") == 0);
    CHECK(failing.done == 1 && failing.freed == 1 && failing.version == 0 && late.status == MOTTE_OK);
    CHECK(item_count(realm) == 5 && failing.code == 5);
    /* Each is notified of its own failure, though both have worked before. */
    job twice[2] = {{.id = 40, .answer = 6}, {.id = 41, .answer = 7}};
    for (int i = 0; i < 2; i++) MUST(motte_realm_queue_write(realm, work, done, &twice[i], freed, NULL));
    MUST(motte_queue_dispatch(queue, 0, &count));
    CHECK(count == 2 && twice[0].code == 6 && twice[1].code == 7 && item_count(realm) == 5);
    MUST(motte_realm_queue_write(realm, work, NULL, &silent, freed, NULL));
    STATUS(MOTTE_E_CALLBACK, motte_queue_dispatch(queue, 0, &count));
    CHECK(check_error().user_code == 5 && silent.freed == 1 && item_count(realm) == 5);
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_realm_queue_write(realm, NULL, done, &silent, freed, NULL));
    CHECK(silent.freed == 2);

    /* While somebody else writes it waits, without holding up the loop. */
    other = open_realm(NULL);
    MUST(motte_realm_begin_write(other, -1));
    last.freed = 0;
    MUST(motte_realm_queue_write(realm, work, done, &last, freed, NULL));
    /* Late news of the commits before are work too, but come to an end. */
    for (int i = 0; i < 100 && (i == 0 || timeout == 0); i++) {
        MUST(motte_queue_dispatch(queue, 0, &count));
        MUST(motte_queue_timeout(queue, &timeout));
    }
    CHECK(last.worked == 0 && timeout > 0 && timeout < 100);
    STATUS(MOTTE_OK, motte_queue_wait(queue, -1));
    MUST(motte_realm_cancel(other));
    while (last.done == 0) {
        MUST(motte_queue_wait(queue, -1));
        MUST(motte_queue_dispatch(queue, 0, &count));
    }
    CHECK(last.status == MOTTE_OK && last.freed == 1 && item_count(realm) == 6);
    /* Nor is it begun inside a write of the realm's own. */
    late.worked = late.done = late.freed = 0;
    late.id = 30;
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_realm_queue_write(realm, work, done, &late, freed, NULL));
    MUST(motte_queue_dispatch(queue, 0, &count));
    CHECK(count == 0 && late.worked == 0);
    MUST(motte_realm_commit(realm, 0, NULL));
    MUST(motte_queue_wait(queue, -1));
    MUST(motte_queue_dispatch(queue, 0, &count));
    CHECK(late.done == 1);
    /* Queued by what was queued: its turn comes with the next dispatch. */
    MUST(motte_realm_queue_write(realm, work, done, &more, freed, NULL));
    MUST(motte_queue_dispatch(queue, 0, &count));
    CHECK(count == 1 && more.freed == 1 && item_count(realm) == 8 && poll(&poll_set, 1, 0) == 1);
    MUST(motte_queue_dispatch(queue, 0, &count));
    CHECK(count == 1 && item_count(realm) == 9);

    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_realm_queue_write(other, work, done, &silent, freed, NULL));
    MUST(motte_freeze(realm, (void **)&frozen));
    STATUS(MOTTE_E_FROZEN, motte_realm_queue_write(frozen, work, done, &silent, freed, NULL));
    CHECK(silent.freed == 4);
    motte_release(frozen);

    /* What the end of the realm finds waiting is let go of, whichever way it ends. */
    late.worked = late.done = late.freed = 0;
    MUST(motte_realm_queue_write(realm, work, done, &late, freed, NULL));
    MUST(motte_realm_close(realm));
    CHECK(late.worked == 0 && late.done == 0 && late.freed == 1);
    STATUS(MOTTE_E_CLOSED, motte_realm_queue_write(realm, work, done, &silent, freed, NULL));
    MUST(motte_queue_dispatch(queue, 0, &count));
    CHECK(count == 0);
    motte_release(realm);
    motte_release(queue);
    realm = open_realm(&queue);
    late.freed = 0;
    MUST(motte_realm_queue_write(realm, work, done, &late, freed, NULL));
    motte_release(realm);
    CHECK(late.freed == 1);
    motte_release(queue);
    motte_release(other);
}

/* The work gives up the program's only handle to the realm: what it has done is committed all the same. */
static motte_status releasing_work(void *userdata, motte_realm *realm) {
    motte_realm **own = (motte_realm **)userdata;
    add_item(realm, 1);
    MUST(motte_release(*own));
    *own = NULL;
    return 0;
}

static uint64_t version_of_write;

static motte_status note_version(void *userdata, motte_status status, uint64_t version) {
    (void)userdata;
    CHECK(status == MOTTE_OK);
    version_of_write = version;
    return 0;
}

static void released_within_a_queued_write(void) {
    for (int had_write = 0; had_write < 3; had_write++) {
        motte_queue *queue = NULL;
        motte_coll *all = NULL;
        uint64_t before;
        size_t count;
        motte_realm *realm = open_realm(&queue), *other;
        MUST(motte_class_all(realm, motte_class_named(realm, "Item"), &all));
        if (had_write > 0) {
            MUST(motte_realm_begin_write(realm, -1));
            if (had_write == 1) MUST(motte_realm_commit(realm, 0, NULL));
            if (had_write == 2) MUST(motte_realm_cancel(realm));
        }
        MUST(motte_realm_version(realm, &before, NULL));
        MUST(motte_realm_queue_write(realm, releasing_work, note_version, &realm, NULL, NULL));
        MUST(motte_queue_dispatch(queue, 0, &count));
        CHECK(count == 1 && realm == NULL && version_of_write == before + 1);
        MUST(motte_coll_count(all, &count));
        CHECK(count == 1);
        other = open_realm(NULL);
        CHECK(item_count(other) == 1);
        motte_release(all);
        motte_release(other);
        motte_release(queue);
    }
}

/* What has not begun when all handles to the realm are released never runs: it is freed, and no `done` says OK. */
typedef struct turn {
    int number, ran, done, freed;
    motte_realm **released; /* by the work */
    motte_status status;
    int32_t code;
    void *pointer;
    char message[64];
    motte_realm *again; /* where `done` queues the same once more */
} turn;

static motte_status turn_work(void *userdata, motte_realm *realm) {
    turn *t = (turn *)userdata;
    t->ran++;
    add_item(realm, t->number * 1000 + t->ran);
    if (t->released) MUST(motte_release(*t->released));
    return 0;
}

static motte_status turn_done(void *userdata, motte_status status, uint64_t version) {
    turn *t = (turn *)userdata;
    (void)version;
    t->done++;
    t->status = status;
    if (status < 0) {
        t->code = check_error().user_code;
        t->pointer = check_error().user_pointer;
        snprintf(t->message, sizeof t->message, "%s", check_error().message);
    }
    if (t->again && t->done < 5) MUST(motte_realm_queue_write(t->again, turn_work, turn_done, t, NULL, NULL));
    return 0;
}

static void turn_freed(void *userdata) { ((turn *)userdata)->freed++; }

static void released_before_another_queued_write(void) {
    motte_queue *queue = NULL;
    motte_realm *realm = open_realm(&queue), *other;
    size_t count;
    turn one = {.number = 1, .released = &realm}, two = {.number = 2};
    other = open_realm(NULL);
    MUST(motte_realm_queue_write(realm, turn_work, turn_done, &one, turn_freed, NULL));
    MUST(motte_realm_queue_write(realm, turn_work, turn_done, &two, turn_freed, NULL));
    MUST(motte_queue_dispatch(queue, 0, &count));
    CHECK(one.ran == 1 && one.done == 1 && one.status == MOTTE_OK && one.freed == 1);
    MUST(motte_queue_dispatch(queue, 0, &count));
    CHECK(two.ran == 0 && two.done == 0 && two.freed == 1);
    bool advanced;
    MUST(motte_realm_refresh(other, &advanced));
    CHECK(item_count(other) == 1);
    motte_release(other);
    motte_release(queue);
}

/* Each failure has its own code and pointer, whatever fails beside it. */
static turn *refused[3];
static int refusals;

static motte_status refuse_commit(void *userdata, const uint8_t *data, size_t size) {
    (void)userdata;
    (void)data;
    (void)size;
    char text[32];
    snprintf(text, sizeof text, "refusal %d", refusals);
    motte_callback_fail(text, MOTTE_NTS, refused[refusals], NULL);
    return 100 + refusals++;
}

static motte_status failing_observer(void *userdata, const motte_changes *changes) {
    (void)changes;
    if (!*(bool *)userdata) return 0;
    motte_callback_fail("observer", MOTTE_NTS, userdata, NULL);
    return 7;
}

static motte_status calling_observer(void *userdata, const motte_changes *changes) {
    motte_class none;
    (void)changes;
    STATUS(MOTTE_E_UNKNOWN_CLASS, motte_class_require((motte_realm *)userdata, "Nobody", MOTTE_NTS, &none));
    return 0;
}

static void failures_have_their_own_details(void) {
    motte_queue *queue = NULL;
    motte_realm *realm = open_realm(&queue), *other = open_realm(NULL);
    motte_coll *all = NULL;
    motte_token *first = NULL, *second = NULL;
    size_t count;
    bool is_failing = false;
    turn turns[3] = {{.number = 1}, {.number = 2}, {.number = 3}};
    MUST(motte_realm_on_commit(realm, 0, refuse_commit, NULL, NULL));
    for (int i = 0; i < 3; i++) {
        refused[i] = &turns[i];
        MUST(motte_realm_queue_write(realm, turn_work, turn_done, &turns[i], NULL, NULL));
    }
    MUST(motte_queue_dispatch(queue, 0, &count));
    CHECK(count == 3);
    for (int i = 0; i < 3; i++) {
        char text[32];
        snprintf(text, sizeof text, "refusal %d", i);
        CHECK(turns[i].status == MOTTE_E_CALLBACK && turns[i].code == 100 + i && turns[i].pointer == &turns[i]);
        CHECK(strcmp(turns[i].message, text) == 0);
    }
    MUST(motte_realm_on_commit(realm, 0, NULL, NULL, NULL));

    MUST(motte_class_all(realm, motte_class_named(realm, "Item"), &all));
    MUST(motte_observe_coll(all, 0, failing_observer, &is_failing, NULL, &first));
    MUST(motte_observe_coll(all, 0, calling_observer, realm, NULL, &second));
    MUST(motte_queue_dispatch(queue, 0, &count));
    is_failing = true;
    MUST(motte_realm_begin_write(other, -1));
    add_item(other, 1);
    MUST(motte_realm_commit(other, 0, NULL));
    for (int i = 0; i < 100; i++) {
        motte_status status = motte_queue_dispatch(queue, 0, &count);
        if (status == MOTTE_OK) {
            motte_queue_wait(queue, 100);
            continue;
        }
        CHECK(status == MOTTE_E_CALLBACK && check_error().user_code == 7 && check_error().user_pointer == &is_failing);
        CHECK(strcmp(check_error().message, "observer") == 0);
        break;
    }
    motte_release(first);
    motte_release(second);
    motte_release(all);
    motte_release(realm);
    motte_release(other);
    motte_release(queue);
}

/* What is queued while writes run waits for the next dispatch, and each realm of a queue has its turn. */
static void a_dispatch_ends_and_all_have_their_turn(void) {
    motte_queue *queue = NULL;
    motte_realm *realm = open_realm(&queue);
    size_t count;
    turn endless = {.number = 1, .again = realm};
    MUST(motte_realm_queue_write(realm, turn_work, turn_done, &endless, NULL, NULL));
    for (int i = 1; i <= 5; i++) {
        MUST(motte_queue_dispatch(queue, 0, &count));
        CHECK(count == 1 && endless.done == i);
    }
    motte_release(realm);
    motte_release(queue);
}

int main(void) {
    references();
    queued_writes();
    released_within_a_queued_write();
    released_before_another_queued_write();
    failures_have_their_own_details();
    a_dispatch_ends_and_all_have_their_turn();
    return check_summary();
}
