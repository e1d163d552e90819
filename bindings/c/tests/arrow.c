/* Arrow columns: what a stream shows and for how long, who releases what, what comes in again, and that structs which
 * contradict themselves are refused. */
#include "check.h"

#include <pthread.h>

static const char schema_text[] =
    "P { id: int key, name: string?, age: int8, when: timestamp?, friend: link<P>, tags: list<string>, mixed: mixed }"
    " Q { id: int key, name: string?, age: int8, when: timestamp? } R { home: link<E>, a: int }"
    " embedded E { inner: list<E>, no: int }";

static const motte_str id_and_name[] = {{"id", 2}, {"name", 4}};

static motte_realm *realm;
static motte_class class_p, class_q, class_r;

static motte_prop prop_of(motte_class cls, const char *name) {
    motte_prop prop = 0;
    MUST(motte_prop_find(realm, cls, name, MOTTE_NTS, &prop));
    return prop;
}

static motte_coll *all_of(motte_class cls) {
    motte_coll *coll = NULL;
    MUST(motte_class_all(realm, cls, &coll));
    return coll;
}

/* `count` objects P. */
static void fill(size_t count) {
    motte_prop props[2] = {prop_of(class_p, "id"), prop_of(class_p, "name")};
    MUST(motte_realm_begin_write(realm, -1));
    for (size_t i = 0; i < count; i++) {
        char name[32];
        motte_value values[2] = {{.type = MOTTE_TYPE_INT, .as = {.integer = (int64_t)i}}, {.type = MOTTE_TYPE_STRING}};
        motte_key key;
        snprintf(name, sizeof name, "name %zu", i);
        values[1].as.string.data = name;
        values[1].as.string.size = strlen(name);
        MUST(motte_row_create(realm, class_p, props, values, 2, 0, &key, NULL));
    }
    MUST(motte_realm_commit(realm, 0, NULL));
}

/* ------------------------------------------------------------------------------------------------ out */

static struct ArrowArrayStream shared;
static size_t rows_elsewhere;

static void *read_elsewhere(void *unused) {
    struct ArrowArray batch;
    (void)unused;
    while (shared.get_next(&shared, &batch) == 0 && batch.release) {
        rows_elsewhere += (size_t)batch.length;
        batch.release(&batch);
    }
    shared.release(&shared);
    return NULL;
}

static void test_streams(void) {
    motte_arrow_options options = {
        .struct_size = sizeof options, .columns = id_and_name, .column_count = 2, .batch_rows = 10};
    struct ArrowSchema schema;
    struct ArrowArray batch, moved;
    motte_coll *coll = all_of(class_p);
    motte_prop name = prop_of(class_p, "name");
    pthread_t thread;
    (void)name;

    STATUS(MOTTE_OK, motte_arrow_read(coll, &options, &shared));
    CHECK(shared.get_schema(&shared, &schema) == 0);
    CHECK(strcmp(schema.format, "+s") == 0 && schema.n_children == 2);
    CHECK(strcmp(schema.children[1]->format, "u") == 0 && strcmp(schema.children[1]->name, "name") == 0);
    CHECK(schema.children[0]->flags == 0 && schema.children[1]->flags == ARROW_FLAG_NULLABLE);
    schema.release(&schema);
    CHECK(schema.release == NULL);

    /* A child that is moved elsewhere outlives its batch. */
    CHECK(shared.get_next(&shared, &batch) == 0 && batch.length == 10 && batch.n_children == 2);
    moved = *batch.children[1];
    batch.children[1]->release = NULL;
    batch.release(&batch);
    CHECK(moved.length == 10 && moved.n_buffers == 3);
    CHECK(memcmp(moved.buffers[2], "name 0name 1", 12) == 0 && ((const int32_t *)moved.buffers[1])[10] == 60);
    moved.release(&moved);

    /* What is written meanwhile, and that the realm is gone, matters to nobody. */
    MUST(motte_realm_begin_write(realm, -1));
    uint64_t deleted;
    MUST(motte_coll_delete_objects(coll, &deleted));
    MUST(motte_realm_commit(realm, 0, NULL));
    motte_release(coll);
    pthread_create(&thread, NULL, read_elsewhere, NULL);
    pthread_join(thread, NULL);
    CHECK(rows_elsewhere == 90 && shared.release == NULL);
}

static void test_refusals_of_reading(void) {
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    static const motte_str wrong = {"nme", 3}, behind = {"name.x", 6}, twice[] = {{"id", 2}, {"id", 2}};
    static const motte_str when = {"when", 4};
    static const motte_str titles[] = {{"number", 6}, {"last, first", 11}}, broken[] = {{"id", 2}, {NULL, 0}};
    motte_arrow_options options = {.struct_size = sizeof options, .column_count = 1};
    motte_coll *coll = all_of(class_p), *embedded = all_of(class_r), *tags = NULL, *snapshot = NULL;
    motte_prop props[1] = {prop_of(class_p, "id")};
    motte_value value = {.type = MOTTE_TYPE_INT, .as = {.integer = 1}};
    motte_key key;

    STATUS(MOTTE_E_NULL_ARGUMENT, motte_arrow_read(coll, &options, &stream));
    options.columns = &wrong;
    STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_arrow_read(coll, &options, &stream));
    STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_arrow_schema(coll, &options, &schema));
    options.columns = &behind;
    STATUS(MOTTE_E_WRONG_TYPE, motte_arrow_read(coll, &options, &stream));
    STATUS(MOTTE_E_WRONG_TYPE, motte_arrow_schema(coll, &options, &schema));
    options.column_count = 0;
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_arrow_read(coll, &options, &stream));
    options.column_count = 2;
    options.columns = twice;
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_arrow_read(coll, &options, &stream));
    options.columns = broken;
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_arrow_read(coll, &options, &stream));
    options.columns = id_and_name;
    options.titles = titles;
    options.title_count = 1;
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_arrow_read(coll, &options, &stream));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_arrow_schema(coll, &options, &schema));
    options.title_count = 2;
    STATUS(MOTTE_OK, motte_arrow_schema(coll, &options, &schema));
    CHECK(schema.n_children == 2 && strcmp(schema.children[1]->name, "last, first") == 0);
    schema.release(&schema);
    STATUS(MOTTE_E_UNSUPPORTED, motte_arrow_read(embedded, NULL, &stream));
    STATUS(MOTTE_E_UNSUPPORTED, motte_arrow_schema(embedded, NULL, &schema));
    CHECK(stream.release == NULL && schema.release == NULL);

    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_row_create(realm, class_p, props, &value, 1, 0, &key, NULL));
    motte_value far_away = {.type = MOTTE_TYPE_TIMESTAMP, .as = {.integer = INT64_MAX / 4}};
    props[0] = prop_of(class_p, "when");
    MUST(motte_row_set_many(realm, class_p, key, props, &far_away, 1));
    options.columns = &when;
    options.column_count = 1;
    options.titles = NULL;
    options.title_count = 0;
    options.flags = MOTTE_ARROW_UNIT;
    options.unit = MOTTE_UNIT_NANOSECONDS;
    STATUS(MOTTE_E_OVERFLOW, motte_arrow_read(coll, &options, &stream));
    CHECK(strcmp(check_error().property_name, "when") == 0);
    options.unit = MOTTE_UNIT_SECONDS;
    STATUS(MOTTE_OK, motte_arrow_read(coll, &options, &stream));
    stream.release(&stream);
    options.unit = 99;
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_arrow_read(coll, &options, &stream));

    MUST(motte_row_get_coll(realm, class_p, key, prop_of(class_p, "tags"), &tags));
    MUST(motte_coll_snapshot(coll, &snapshot));
    uint64_t deleted;
    MUST(motte_coll_delete_objects(coll, &deleted));
    STATUS(MOTTE_E_OBJECT_DELETED, motte_arrow_read(tags, NULL, &stream));
    STATUS(MOTTE_E_OBJECT_DELETED, motte_arrow_schema(tags, NULL, &schema));
    STATUS(MOTTE_E_OBJECT_DELETED, motte_arrow_read(snapshot, NULL, &stream));
    MUST(motte_realm_cancel(realm));
    const void *handles[] = {coll, embedded, tags, snapshot};
    motte_release_many(handles, 4);
}

/* ------------------------------------------------------------------------------------------------ in */

/* A stream that is made by hand, of one column of each of these; what a test wants changed it changes. */
static int64_t ids[4];
static int32_t offsets[5];
static uint8_t present[1];
static int releases;
/* Since the last stream was made. */
static int schemas_given, schemas_released, arrays_given;

static const void *id_buffers[2], *name_buffers[3], *row_buffers[1];
static struct ArrowArray id_array, name_array, row_array;
static struct ArrowArray *row_children[2];
static struct ArrowSchema id_schema, name_schema, row_schema;
static struct ArrowSchema *row_schemas[2];
static int batches_left, failure;

static void release_schema(struct ArrowSchema *schema) {
    schemas_released++;
    schema->release = NULL;
}
static void release_array(struct ArrowArray *array) {
    releases++;
    array->release = NULL;
}
static int give_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    (void)stream;
    if (failure == 1) return 5;
    *out = row_schema;
    schemas_given++;
    return 0;
}
static int give_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    (void)stream;
    if (failure == 2 && batches_left == 0) return 5;
    if (failure == 3 && batches_left == 0) {
        MUST(motte_realm_cancel(realm));
        MUST(motte_realm_begin_write(realm, -1));
    }
    if (batches_left-- > 0) {
        *out = row_array;
        arrays_given++;
    } else {
        out->release = NULL;
    }
    return 0;
}
static const char *give_error(struct ArrowArrayStream *stream) {
    (void)stream;
    return "the cable is cut";
}
static void release_stream(struct ArrowArrayStream *stream) {
    releases += 100;
    stream->release = NULL;
}

static struct ArrowArrayStream made_by_hand(void) {
    static const int32_t plain_offsets[5] = {0, 1, 3, 3, 6};
    releases = failure = schemas_given = schemas_released = arrays_given = 0;
    batches_left = 1;
    for (int i = 0; i < 4; i++) ids[i] = 100 + i;
    memcpy(offsets, plain_offsets, sizeof offsets);
    present[0] = 0x0B;
    id_buffers[0] = NULL;
    id_buffers[1] = ids;
    name_buffers[0] = present;
    name_buffers[1] = offsets;
    name_buffers[2] = "abbccc";
    row_buffers[0] = NULL;
    id_array = (struct ArrowArray){4, 0, 0, 2, 0, id_buffers, NULL, NULL, release_array, NULL};
    name_array = (struct ArrowArray){4, 1, 0, 3, 0, name_buffers, NULL, NULL, release_array, NULL};
    row_children[0] = &id_array;
    row_children[1] = &name_array;
    row_array = (struct ArrowArray){4, 0, 0, 1, 2, row_buffers, row_children, NULL, release_array, NULL};
    id_schema = (struct ArrowSchema){"l", "id", NULL, 0, 0, NULL, NULL, release_schema, NULL};
    name_schema = (struct ArrowSchema){"u", "name", NULL, 2, 0, NULL, NULL, release_schema, NULL};
    row_schemas[0] = &id_schema;
    row_schemas[1] = &name_schema;
    row_schema = (struct ArrowSchema){"+s", "", NULL, 0, 2, row_schemas, NULL, release_schema, NULL};
    return (struct ArrowArrayStream){give_schema, give_next, give_error, release_stream, NULL};
}

/* The stream, and everything that it gave, once each. */
static int all_released_once(void) { return releases == 100 + arrays_given && schemas_released == schemas_given; }

static void test_insertion(void) {
    struct ArrowArrayStream stream = made_by_hand();
    motte_import_counts counts = {.struct_size = sizeof counts};
    motte_import_options options = {.struct_size = sizeof options, .policy = MOTTE_CREATE_EXISTING};
    motte_coll *coll = all_of(class_q);
    size_t count;
    int batches;

    STATUS(MOTTE_E_NOT_IN_WRITE, motte_arrow_insert(realm, class_q, &stream, NULL, &counts));
    CHECK(stream.release == NULL && releases == 100);
    MUST(motte_realm_begin_write(realm, -1));
    stream = made_by_hand();
    STATUS(MOTTE_OK, motte_arrow_insert(realm, class_q, &stream, NULL, &counts));
    CHECK(counts.created == 4 && counts.updated == 0 && releases == 101 && stream.release == NULL);
    stream = made_by_hand();
    batches_left = 3;
    STATUS(MOTTE_OK, motte_arrow_insert(realm, class_q, &stream, &options, &counts));
    CHECK(counts.created == 0 && counts.updated == 12 && releases == 103);
    motte_str texts[4];
    MUST(motte_read_strings(coll, prop_of(class_q, "name"), 0, 4, texts, &count));
    CHECK(count == 4 && texts[0].size == 1 && texts[1].size == 2 && texts[2].data == NULL && texts[3].size == 3);

    /* The second batch is refused and the first is gone again. */
    stream = made_by_hand();
    batches_left = 2;
    STATUS(MOTTE_E_DUPLICATE_PRIMARY_KEY, motte_arrow_insert(realm, class_q, &stream, NULL, &counts));
    MUST(motte_realm_cancel(realm));
    MUST(motte_realm_begin_write(realm, -1));
    stream = made_by_hand();
    batches_left = 2;
    STATUS(MOTTE_E_DUPLICATE_PRIMARY_KEY, motte_arrow_insert(realm, class_q, &stream, NULL, &counts));
    CHECK(check_error().row_index == 4);
    CHECK(arrays_given == 2 && all_released_once());
    MUST(motte_coll_count(coll, &count));
    CHECK(count == 0);
    for (failure = 1; failure <= 2; failure++) {
        int now = failure;
        stream = made_by_hand();
        failure = now;
        STATUS(MOTTE_E_CALLBACK, motte_arrow_insert(realm, class_q, &stream, NULL, &counts));
        CHECK(strstr(check_error().message, "the cable is cut") != NULL && stream.release == NULL);
        CHECK(all_released_once());
        failure = now;
    }
    for (batches = 1; batches <= 2; batches++) {
        /* Of the first batch nothing is left, and of the others nothing comes. */
        stream = made_by_hand();
        failure = 3;
        batches_left = batches;
        STATUS(MOTTE_E_REENTRANT, motte_arrow_insert(realm, class_q, &stream, &options, &counts));
        CHECK(all_released_once());
    }
    failure = 0;
    MUST(motte_coll_count(coll, &count));
    CHECK(count == 0);
    MUST(motte_realm_cancel(realm));
    motte_release(coll);
}

/* Four times, of which the third is null, into a write of its own. */
static motte_status insert_times(const char *format, const void *times, uint32_t flags) {
    struct ArrowArrayStream stream = made_by_hand();
    motte_import_options options = {.struct_size = sizeof options, .flags = flags};
    name_schema.format = format;
    name_schema.name = "when";
    name_array.n_buffers = 2;
    name_buffers[1] = times;
    MUST(motte_realm_begin_write(realm, -1));
    motte_status status = motte_arrow_insert(realm, class_q, &stream, &options, NULL);
    MUST(motte_realm_cancel(realm));
    return status;
}

static void test_years(void) {
    const int64_t first = -62135596800, last = 253402300799;
    static const struct {
        const char *format;
        int64_t units;
    } kinds[] = {{"tss:", 1}, {"tsm:UTC", 1000}, {"tsu:Europe/Berlin", 1000000}, {"tdm", 1000}};
    const uint32_t flag = MOTTE_IMPORT_YEARS_1_TO_9999;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const int64_t units = kinds[i].units;
        int64_t times[4] = {first * units, 0, INT64_MAX, (last + 1) * units - 1};
        STATUS(MOTTE_OK, insert_times(kinds[i].format, times, flag));
        times[3]++;
        STATUS(MOTTE_OK, insert_times(kinds[i].format, times, 0));
        STATUS(MOTTE_E_OVERFLOW, insert_times(kinds[i].format, times, flag));
        CHECK(check_error().row_index == 3 && strcmp(check_error().property_name, "when") == 0);
        times[0]--;
        STATUS(MOTTE_E_OVERFLOW, insert_times(kinds[i].format, times, flag));
        CHECK(check_error().row_index == 0 && all_released_once());
    }
    int32_t days[4] = {-719162, 0, INT32_MAX, 2932896};
    STATUS(MOTTE_OK, insert_times("tdD", days, flag));
    days[3]++;
    STATUS(MOTTE_OK, insert_times("tdD", days, 0));
    STATUS(MOTTE_E_OVERFLOW, insert_times("tdD", days, flag));
    STATUS(MOTTE_E_UNKNOWN_FLAG, insert_times("tdD", days, 0x4));
}

static motte_status insert_changed(motte_class cls) {
    struct ArrowArrayStream stream = {give_schema, give_next, give_error, release_stream, NULL};
    motte_status status = motte_arrow_insert(realm, cls, &stream, NULL, NULL);
    CHECK(stream.release == NULL && all_released_once());
    return status;
}

static void test_refusals_of_insertion(void) {
    static const int16_t wide[4] = {1, 2, 300, 4};
    static const int32_t negative = -1;
    motte_import_counts wrong = {.struct_size = 1};
    struct ArrowArrayStream stream;
    MUST(motte_realm_begin_write(realm, -1));
    made_by_hand();
    STATUS(MOTTE_E_UNKNOWN_CLASS, insert_changed(4000));
    made_by_hand();
    id_schema.name = "nme";
    STATUS(MOTTE_E_UNKNOWN_PROPERTY, insert_changed(class_q));
    made_by_hand();
    id_schema.name = "friend";
    STATUS(MOTTE_E_NO_PRIMARY_KEY, insert_changed(class_p));
    made_by_hand();
    name_schema.name = "when";
    STATUS(MOTTE_E_WRONG_TYPE, insert_changed(class_q));
    CHECK(strcmp(check_error().property_name, "when") == 0);
    made_by_hand();
    present[0] = 0;
    name_array.null_count = 4;
    name_schema.name = "age";
    STATUS(MOTTE_E_NULL_NOT_ALLOWED, insert_changed(class_q));
    made_by_hand();
    name_buffers[2] = "a\xC0\x80"
                      "ccc";
    STATUS(MOTTE_E_INVALID_UTF8, insert_changed(class_q));
    made_by_hand();
    name_schema.format = "s";
    name_schema.name = "age";
    name_array.n_buffers = 2;
    name_array.null_count = 0;
    name_buffers[1] = wide;
    STATUS(MOTTE_E_OVERFLOW, insert_changed(class_q));
    CHECK(check_error().row_index == 2);
    made_by_hand();
    offsets[4] = 17 << 20;
    char *large = calloc(18, 1 << 20);
    name_buffers[2] = large;
    STATUS(MOTTE_E_VALUE_TOO_LARGE, insert_changed(class_q));
    free(large);

    /* Structs that contradict themselves. */
    made_by_hand();
    row_array.length = -1;
    STATUS(MOTTE_E_INVALID_ARGUMENT, insert_changed(class_q));
    made_by_hand();
    row_array.length = 5;
    STATUS(MOTTE_E_INVALID_ARGUMENT, insert_changed(class_q));
    made_by_hand();
    row_array.offset = INT64_MAX;
    STATUS(MOTTE_E_INVALID_ARGUMENT, insert_changed(class_q));
    made_by_hand();
    row_array.n_children = 1;
    STATUS(MOTTE_E_INVALID_ARGUMENT, insert_changed(class_q));
    made_by_hand();
    row_children[1] = NULL;
    STATUS(MOTTE_E_INVALID_ARGUMENT, insert_changed(class_q));
    made_by_hand();
    id_buffers[1] = NULL;
    STATUS(MOTTE_E_INVALID_ARGUMENT, insert_changed(class_q));
    made_by_hand();
    id_array.n_buffers = 3;
    STATUS(MOTTE_E_INVALID_ARGUMENT, insert_changed(class_q));
    made_by_hand();
    offsets[2] = -1;
    STATUS(MOTTE_E_INVALID_ARGUMENT, insert_changed(class_q));
    made_by_hand();
    name_buffers[0] = NULL;
    STATUS(MOTTE_E_INVALID_ARGUMENT, insert_changed(class_q));
    made_by_hand();
    row_schema.children = NULL;
    STATUS(MOTTE_E_INVALID_ARGUMENT, insert_changed(class_q));
    made_by_hand();
    row_schemas[0] = &row_schema; /* endlessly deep */
    STATUS(MOTTE_E_INVALID_ARGUMENT, insert_changed(class_q));
    made_by_hand();
    row_schemas[0] = row_schemas[1] = &row_schema; /* and wide */
    STATUS(MOTTE_E_INVALID_ARGUMENT, insert_changed(class_q));
    made_by_hand();
    row_schema.metadata = (const char *)&negative;
    STATUS(MOTTE_E_INVALID_ARGUMENT, insert_changed(class_q));
    made_by_hand();
    name_schema.format = "d:1,-9223372036854775808";
    STATUS(MOTTE_E_WRONG_TYPE, insert_changed(class_q));
    made_by_hand();
    name_schema.dictionary = &id_schema;
    name_schema.format = "s";
    struct ArrowArray moved = id_array;
    moved.release = NULL;
    name_array.dictionary = &moved;
    name_array.n_buffers = 2;
    STATUS(MOTTE_E_INVALID_ARGUMENT, insert_changed(class_q));
    CHECK(strstr(check_error().message, "the dictionary of the Arrow column 'name' has been released") != NULL);
    made_by_hand();
    id_schema.format = NULL;
    STATUS(MOTTE_E_INVALID_ARGUMENT, insert_changed(class_q));

    STATUS(MOTTE_E_NULL_ARGUMENT, motte_arrow_insert(realm, class_q, NULL, NULL, NULL));
    memset(&stream, 0, sizeof stream);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_arrow_insert(realm, class_q, &stream, NULL, NULL));
    stream = made_by_hand();
    STATUS(MOTTE_E_BAD_STRUCT_SIZE, motte_arrow_insert(realm, class_q, &stream, NULL, &wrong));
    CHECK(releases == 100);
    motte_coll *coll = all_of(class_q);
    size_t count;
    MUST(motte_coll_count(coll, &count));
    CHECK(count == 0);
    motte_release(coll);
    MUST(motte_realm_cancel(realm));
}

static void test_single_batches(void) {
    struct ArrowArrayStream stream;
    MUST(motte_realm_begin_write(realm, -1));
    made_by_hand();
    struct ArrowSchema schema = row_schema;
    struct ArrowArray batch = row_array;
    STATUS(MOTTE_OK, motte_arrow_stream_of(&schema, &batch, &stream));
    CHECK(schema.release == NULL && batch.release == NULL);
    STATUS(MOTTE_OK, motte_arrow_insert(realm, class_q, &stream, NULL, NULL));
    CHECK(releases == 1);
    made_by_hand();
    schema = row_schema;
    batch = row_array;
    STATUS(MOTTE_OK, motte_arrow_stream_of(&schema, &batch, &stream));
    stream.release(&stream);
    CHECK(releases == 1 && stream.release == NULL);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_arrow_stream_of(&schema, &batch, &stream));
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_arrow_stream_of(NULL, &batch, &stream));
    MUST(motte_realm_cancel(realm));
}

int main(void) {
    realm = check_realm("arrow", schema_text);
    MUST(motte_class_find(realm, "P", MOTTE_NTS, &class_p));
    MUST(motte_class_find(realm, "Q", MOTTE_NTS, &class_q));
    MUST(motte_class_find(realm, "R", MOTTE_NTS, &class_r));
    fill(100);
    test_streams();
    test_refusals_of_reading();
    test_insertion();
    test_years();
    test_refusals_of_insertion();
    test_single_batches();
    motte_release(realm);
    return check_summary();
}
