/* The handle table: tokens are found stale for ever, threads may take and give up handles at once, releases come in any
 * order, and nobody's handle is disturbed by another's. Also the cost of a lookup, printed. */
#define _GNU_SOURCE
#include "check.h"

#include <inttypes.h>
#include <pthread.h>
#include <time.h>

static double nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void staleness(void) {
    enum {
        N = 100000
    };
    static motte_schema *handles[N];
    size_t i, wrong = 0;
    for (i = 0; i < N; i++) MUST(motte_schema_new(&handles[i]));
    CHECK(motte_handle_count(MOTTE_HANDLE_SCHEMA) == N);
    for (i = 0; i < N; i++) {
        uint64_t bits = (uint64_t)(uintptr_t)handles[i];
        wrong += (bits & 15) != 0 || bits >> 48 != 0 || motte_handle_kind(handles[i]) != MOTTE_HANDLE_SCHEMA;
    }
    CHECK(wrong == 0);
    for (i = 0; i < N; i += 2) motte_release(handles[i]);
    for (i = wrong = 0; i < N; i++) {
        motte_status expected = i % 2 == 0 ? MOTTE_E_STALE_HANDLE : MOTTE_OK;
        wrong += motte_handle_check(handles[i]) != expected;
    }
    CHECK(wrong == 0);
    for (i = 0; i < N / 2; i++) {
        motte_schema *other;
        MUST(motte_schema_new(&other));
        handles[i * 2] = other;
    }
    STATUS(MOTTE_OK, motte_release_many((const void *const *)handles, N));
    STATUS(MOTTE_UNCHANGED, motte_release_many((const void *const *)handles, N));
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_release_many(NULL, 3));
    STATUS(MOTTE_OK, motte_release_many(NULL, 0));
    CHECK(motte_handle_count(MOTTE_HANDLE_SCHEMA) == 0);
}

/* What releasing says of handles, of what was one and of what is none; the address of a variable above all. */
static void releases(void) {
    motte_schema *one, *two;
    const void *three[3];
    MUST(motte_schema_new(&one));
    MUST(motte_schema_new(&two));
    STATUS(MOTTE_OK, motte_release(NULL));
    STATUS(MOTTE_E_BAD_HANDLE, motte_release((void *)(uintptr_t)0x1234560));
    STATUS(MOTTE_E_BAD_HANDLE, motte_release((void *)(uintptr_t)8));
    STATUS(MOTTE_E_BAD_HANDLE, motte_release((void *)&one));
    CHECK(strstr(check_error().message, "not the address of its variable") != NULL);
    CHECK(motte_handle_count(MOTTE_HANDLE_SCHEMA) == 2);
    STATUS(MOTTE_OK, motte_release(one));
    STATUS(MOTTE_UNCHANGED, motte_release(one));
    three[0] = one, three[1] = &one, three[2] = two;
    STATUS(MOTTE_E_BAD_HANDLE, motte_release_many(three, 3));
    CHECK(motte_handle_count(MOTTE_HANDLE_SCHEMA) == 0);
    {
        MOTTE_OWNED motte_schema *owned = NULL;
        MOTTE_OWNED motte_schema *never = NULL;
        MUST(motte_schema_new(&owned));
        CHECK(never == NULL && motte_handle_count(MOTTE_HANDLE_SCHEMA) == 1);
    }
    CHECK(motte_handle_count(MOTTE_HANDLE_SCHEMA) == 0);
}

/* One slot through all its generations: a token never comes twice. */
static void generations(void) {
    motte_schema *first, *next;
    uint32_t i;
    MUST(motte_schema_new(&first));
    motte_release(first);
    for (i = 0; i < 300000; i++) {
        MUST(motte_schema_new(&next));
        if (next == first) break;
        motte_release(next);
    }
    CHECK(i == 300000);
    STATUS(MOTTE_E_STALE_HANDLE, motte_handle_check(first));
}

/* A full table is a status, and everything works again once there is room. */
static void exhaustion(void) {
    enum {
        MOST = 1 << 21
    };
    motte_schema **handles = (motte_schema **)calloc(MOST + 1, sizeof *handles), *one;
    size_t count = 0;
    motte_status status = MOTTE_OK;
    if (!handles) exit(2);
    while (count <= MOST && (status = motte_schema_new(&handles[count])) == MOTTE_OK) count++;
    CHECK(status == MOTTE_E_OUT_OF_HANDLES && count > MOST - 1000 && count <= MOST);
    CHECK(handles[count] == NULL);
    motte_release(handles[count / 2]);
    STATUS(MOTTE_OK, motte_schema_new(&one));
    STATUS(MOTTE_E_STALE_HANDLE, motte_handle_check(handles[count / 2]));
    motte_release(one);
    motte_release_many((const void *const *)handles, count);
    CHECK(motte_handle_count(MOTTE_HANDLE_NONE) == 0);
    free(handles);
}

static motte_status tally(void *userdata, const void *handle, motte_handle_type kind) {
    int *seen = (int *)userdata;
    seen[0]++;
    if (kind == MOTTE_HANDLE_REALM) seen[1] = motte_handle_check(handle) == MOTTE_OK;
    return seen[0] == seen[2] ? 5 : 0;
}

static void dumping(void) {
    motte_realm *realm = check_realm("dumping", "A { a: int }"), *same;
    int seen[3] = {0, 0, 0};
    STATUS(MOTTE_OK, motte_realm_clone(realm, &same));
    CHECK(motte_equal(realm, same) == 1 && realm != same);
    STATUS(MOTTE_OK, motte_handle_dump(tally, seen, NULL));
    CHECK(seen[0] == 2 && seen[1]);
    seen[0] = 0;
    seen[2] = 1;
    STATUS(MOTTE_E_CALLBACK, motte_handle_dump(tally, seen, NULL));
    CHECK(check_error().user_code == 5 && seen[0] == 1);
    /* Either may go first; the other works on. */
    motte_release(realm);
    STATUS(MOTTE_OK, motte_realm_begin_write(same, -1));
    STATUS(MOTTE_OK, motte_realm_cancel(same));
    motte_release(same);
}

static void errors(void) {
    motte_error_details details;
    motte_error *kept;
    memset(&details, 0, sizeof details);
    details.struct_size = sizeof details;
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_schema_validate(NULL));
    STATUS(MOTTE_OK, motte_last_error(&details));
    CHECK(details.code == MOTTE_E_NULL_ARGUMENT && details.query_offset == -1 && details.row_index == -1);
    CHECK(details.message != NULL && details.path == NULL && details.category == MOTTE_CATEGORY_MISUSE);
    MUST(motte_error_capture(&kept));
    /* A size that was not set, or a newer caller's: nothing is written. */
    {
        struct {
            motte_error_details known;
            uint64_t behind;
        } larger;
        uint32_t wrong[] = {0, 4, sizeof details - 1, sizeof details + 1, sizeof larger, 4096, UINT32_MAX};
        size_t i;
        for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            memset(&larger, 0xAB, sizeof larger);
            larger.known.struct_size = wrong[i];
            STATUS(MOTTE_E_BAD_STRUCT_SIZE, motte_error_info(kept, &larger.known));
            CHECK(larger.behind == UINT64_C(0xABABABABABABABAB) && (uint32_t)larger.known.code == 0xABABABAB);
        }
    }
    motte_release(kept);
}

/* Handles of kinds other than realm, object and collection are never equal. */
static void equality(void) {
    motte_realm *realm = check_realm("equality", "A { x: int }");
    motte_schema *one_schema = NULL;
    motte_config *config = NULL;
    motte_query *query = NULL;
    motte_queue *queue = NULL;
    motte_error *error = NULL;
    motte_object *object = NULL;
    motte_coll *all = NULL;
    const void *handles[8];
    size_t i;
    MUST(motte_realm_schema(realm, &one_schema));
    MUST(motte_config_new(&config));
    MUST(motte_queue_new(0, &queue));
    MUST(motte_query_parse(realm, motte_class_named(realm, "A"), "x == 1", MOTTE_NTS, NULL, 0, &query));
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_schema_validate(NULL));
    MUST(motte_error_capture(&error));
    MUST(motte_realm_query(realm, "A", "x == 1", NULL, 0, &all));
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_realm_add(realm, "A", NULL, 0, &object));
    MUST(motte_realm_commit(realm, 0, NULL));
    handles[0] = realm, handles[1] = object, handles[2] = all, handles[3] = one_schema;
    handles[4] = config, handles[5] = query, handles[6] = queue, handles[7] = error;
    for (i = 0; i < 8; i++) {
        void *clone = NULL;
        MUST(motte_clone(handles[i], &clone));
        CHECK(motte_equal(handles[i], clone) == (i < 3));
        CHECK(motte_equal(handles[i], handles[(i + 1) % 8]) == 0);
        motte_release(clone);
    }
    MUST(motte_release_many(handles, 8));
}

/* The last handle to a realm ends its write, so that nobody waits for a lock that nothing can release. */
static void *write_elsewhere(void *identifier) {
    motte_realm *realm = check_realm(identifier, "A { x: int }");
    motte_status status = motte_realm_begin_write(realm, 200);
    if (status == MOTTE_OK) MUST(motte_realm_cancel(realm));
    motte_release(realm);
    return (void *)(intptr_t)status;
}

static void *release_here(void *handle) {
    motte_release(handle);
    return NULL;
}

static motte_status written_elsewhere(const char *identifier) {
    pthread_t thread;
    void *status = NULL;
    if (pthread_create(&thread, NULL, write_elsewhere, (void *)(uintptr_t)identifier)) return MOTTE_E_INTERNAL;
    pthread_join(thread, &status);
    return (motte_status)(intptr_t)status;
}

static void releasing_in_writes(void) {
    motte_realm *realm = check_realm("write", "A { x: int }");
    void *clone = NULL;
    motte_object *object = NULL;
    pthread_t thread;
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_realm_add(realm, "A", NULL, 0, &object));
    MUST(motte_clone(realm, &clone));
    motte_release(realm);
    /* The clone can still end it. */
    STATUS(MOTTE_E_TIMEOUT, written_elsewhere("write"));
    motte_release(clone);
    STATUS(MOTTE_OK, written_elsewhere("write"));
    STATUS(MOTTE_E_OBJECT_DELETED, motte_handle_check(object));
    motte_release(object);
    /* Released on another thread, it is open until the other handles are gone. */
    realm = check_realm("write", "A { x: int }");
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_realm_add(realm, "A", NULL, 0, &object));
    CHECK(pthread_create(&thread, NULL, release_here, realm) == 0);
    pthread_join(thread, NULL);
    STATUS(MOTTE_E_TIMEOUT, written_elsewhere("write"));
    motte_release(object);
    STATUS(MOTTE_OK, written_elsewhere("write"));
}

/* ---------------------------------------------------------------------------------------------------- threads */

static motte_schema *shared[64];
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;

/* Exchanges handles with the other threads through `shared`: makes, uses and releases those of others. */
static void *trade(void *argument) {
    unsigned seed = (unsigned)(uintptr_t)argument;
    int i, wrong = 0;
    for (i = 0; i < 40000; i++) {
        motte_schema *mine, *theirs;
        motte_status status;
        size_t place = (size_t)rand_r(&seed) % 64;
        if (motte_schema_new(&mine) != MOTTE_OK) return argument;
        pthread_mutex_lock(&shared_lock);
        theirs = shared[place];
        shared[place] = mine;
        pthread_mutex_unlock(&shared_lock);
        /* Another thread may release it at any moment. */
        status = motte_schema_validate(mine);
        wrong += status != MOTTE_OK && status != MOTTE_E_STALE_HANDLE;
        motte_release(theirs);
        wrong += theirs && motte_handle_check(theirs) != MOTTE_E_STALE_HANDLE;
    }
    return wrong ? argument : NULL;
}

static void threads(void) {
    pthread_t all[4];
    size_t i;
    for (i = 0; i < 4; i++) {
        if (pthread_create(&all[i], NULL, trade, (void *)(uintptr_t)(i + 1)) != 0) exit(2);
    }
    for (i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(all[i], &wrong);
        CHECK(wrong == NULL);
    }
    for (i = 0; i < 64; i++) motte_release(shared[i]);
    CHECK(motte_handle_count(MOTTE_HANDLE_SCHEMA) == 0);
}

/* A frozen collection read by many threads while its handle goes. */
static void *read_frozen(void *argument) {
    int i;
    for (i = 0; i < 2000; i++) {
        size_t count;
        motte_status status = motte_coll_count((motte_coll *)argument, &count);
        if (status == MOTTE_E_STALE_HANDLE) return NULL;
        if (status != MOTTE_OK || count != 0) return argument;
    }
    return NULL;
}

static void frozen_threads(void) {
    int round;
    for (round = 0; round < 20; round++) {
        motte_realm *realm = check_realm("frozen", "A { a: int }");
        motte_coll *all, *frozen;
        pthread_t readers[3];
        int i;
        MUST(motte_class_all(realm, motte_class_named(realm, "A"), &all));
        MUST(motte_coll_freeze(all, &frozen));
        for (i = 0; i < 3; i++) {
            if (pthread_create(&readers[i], NULL, read_frozen, frozen) != 0) exit(2);
        }
        motte_release(all);
        motte_release(realm);
        motte_release(frozen);
        for (i = 0; i < 3; i++) {
            void *wrong;
            pthread_join(readers[i], &wrong);
            CHECK(wrong == NULL);
        }
    }
}

static void costs(void) {
    enum {
        N = 2000000
    };
    motte_realm *realm = check_realm("costs", "A { a: int }");
    motte_class cls = motte_class_named(realm, "A");
    motte_prop prop = motte_prop_named(realm, cls, "a");
    motte_object *object;
    uint64_t epoch;
    int64_t number = 0;
    double start;
    int i;
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_object_create(realm, cls, NULL, 0, &object, NULL));
    MUST(motte_realm_commit(realm, 0, NULL));
    start = nanoseconds();
    for (i = 0; i < N; i++) motte_realm_view_epoch(realm, &epoch);
    printf("handle lookup with thread check, and one number out: %.1f ns\n", (nanoseconds() - start) / N);
    start = nanoseconds();
    for (i = 0; i < N; i++) motte_object_get_int(object, prop, &number);
    printf("one int property: %.1f ns\n", (nanoseconds() - start) / N);
    motte_release(object);
    motte_release(realm);
}

int main(void) {
    staleness();
    releases();
    generations();
    exhaustion();
    dumping();
    errors();
    equality();
    releasing_in_writes();
    threads();
    frozen_threads();
    costs();
    return check_summary();
}
