/* Decimals, object ids, UUIDs, timestamps and nested lists and maps: as text, as bytes, in properties, in batches. */
#include "check.h"

static const char *decimal_text(motte_decimal decimal, char *room) {
    size_t size = 0;
    MUST(motte_decimal_format(&decimal, room, 63, &size));
    room[size] = 0;
    return room;
}

static motte_decimal decimal_of(const char *text) {
    motte_decimal decimal;
    MUST(motte_decimal_parse(text, MOTTE_NTS, &decimal));
    return decimal;
}

static motte_decimal decimal_of_sized(const char *text, size_t size) {
    motte_decimal decimal;
    MUST(motte_decimal_parse(text, size, &decimal));
    return decimal;
}

static void decimals(void) {
    static const char *const texts[][2] = {
        {"3.75", "3.75"}, {"-0.3", "-3E-1"}, {"123E4", "1.23E6"}, {"nan", "NaN"}, {"-Infinity", "-Inf"},
    };
    static const char *const kept[] = {
        "1234567890123456789012345678901234",
        "9.999999999999999999999999999999999E6144",
        "1E-6176",
        "1E6144",
        "-0",
        "0E9999",
        "1.00000000000000000000000000000000000000000000",
        "-Inf",
    };
    static const char *const refused[] = {
        "12345678901234567890123456789012345",
        "0.12345678901234567890123456789012345",
        "1E6145",
        "-1E6145",
        "1E-6177",
        "1.5E-6176",
        "1E99999999",
        "1E-99999999",
        "1.000000000000000000000000000000000000000000001",
    };
    motte_decimal one, other;
    char room[64];
    double real = 0;
    int32_t order = 7;
    size_t i, size;
    for (i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK(strcmp(decimal_text(decimal_of(texts[i][0]), room), texts[i][1]) == 0);
    }
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_decimal_parse("three", MOTTE_NTS, &one));
    CHECK(one.low == 0 && one.high == 0);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_decimal_parse("", 0, &one));
    /* Kept or refused, never rounded. */
    for (i = 0; i < sizeof kept / sizeof *kept; i++) {
        int32_t same = 1;
        STATUS(MOTTE_OK, motte_decimal_parse(kept[i], MOTTE_NTS, &one));
        STATUS(MOTTE_OK, motte_decimal_format(&one, room, sizeof room, &size));
        other = decimal_of_sized(room, size);
        STATUS(MOTTE_OK, motte_decimal_compare(&one, &other, &same));
        CHECK(same == 0);
    }
    for (i = 0; i < sizeof refused / sizeof *refused; i++) {
        STATUS(MOTTE_E_OVERFLOW, motte_decimal_parse(refused[i], MOTTE_NTS, &one));
        CHECK(one.low == 0 && one.high == 0);
    }
    /* Asking for the size, and a room that is too small. */
    one = decimal_of("3.75");
    STATUS(MOTTE_OK, motte_decimal_format(&one, NULL, 0, &size));
    CHECK(size == 4);
    memset(room, '?', sizeof room);
    STATUS(MOTTE_TRUNCATED, motte_decimal_format(&one, room, 2, &size));
    CHECK(size == 4 && memcmp(room, "3.??", 4) == 0);
    /* Equal numbers of different forms. */
    other = decimal_of("3.750");
    STATUS(MOTTE_OK, motte_decimal_compare(&one, &other, &order));
    CHECK(order == 0);
    other = decimal_of("NaN");
    STATUS(MOTTE_OK, motte_decimal_compare(&other, &one, &order));
    CHECK(order == -1);
    STATUS(MOTTE_OK, motte_decimal_from_double(0.1, &other));
    CHECK(strcmp(decimal_text(other, room), "1E-1") == 0);
    STATUS(MOTTE_OK, motte_decimal_to_double(&one, &real));
    CHECK(real == 3.75);
}

static void identifiers(void) {
    motte_object_id id, next;
    motte_uuid uuid;
    char room[40];
    size_t size;
    STATUS(MOTTE_OK, motte_object_id_parse("507F1f77bcf86cd799439011", MOTTE_NTS, &id));
    CHECK(id.bytes[0] == 0x50 && id.bytes[11] == 0x11);
    STATUS(MOTTE_OK, motte_bytes_format(MOTTE_TYPE_OBJECT_ID, id.bytes, room, sizeof room, &size));
    CHECK(size == 24 && memcmp(room, "507f1f77bcf86cd799439011", 24) == 0);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_object_id_parse("507f1f77bcf86cd79943901", MOTTE_NTS, &id));
    STATUS(MOTTE_OK, motte_object_id_new(&id));
    STATUS(MOTTE_OK, motte_object_id_new(&next));
    CHECK(memcmp(id.bytes, next.bytes, 12) < 0);
    STATUS(MOTTE_OK, motte_uuid_parse("00112233-4455-6677-8899-aabbccddeeff", MOTTE_NTS, &uuid));
    CHECK(uuid.bytes[0] == 0 && uuid.bytes[1] == 0x11 && uuid.bytes[15] == 0xff);
    STATUS(MOTTE_OK, motte_bytes_format(MOTTE_TYPE_UUID, uuid.bytes, room, sizeof room, &size));
    CHECK(size == 36 && memcmp(room, "00112233-4455-6677-8899-aabbccddeeff", 36) == 0);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_uuid_parse("00112233445566778899aabbccddeeff", MOTTE_NTS, &uuid));
    STATUS(MOTTE_OK, motte_uuid_new(&uuid));
    CHECK((uuid.bytes[6] & 0xF0) == 0x40 && (uuid.bytes[8] & 0xC0) == 0x80);
    STATUS(MOTTE_E_WRONG_TYPE, motte_bytes_format(MOTTE_TYPE_DECIMAL, uuid.bytes, room, sizeof room, &size));
}

static void timestamps(void) {
    motte_timestamp time;
    char room[40];
    size_t size;
    STATUS(MOTTE_OK, motte_timestamp_parse("1969-12-31T23:59:59.5Z", MOTTE_NTS, &time));
    CHECK(time.seconds == -1 && time.nanoseconds == 500000000);
    STATUS(MOTTE_OK, motte_timestamp_format(&time, room, sizeof room, &size));
    CHECK(size == 22 && memcmp(room, "1969-12-31T23:59:59.5Z", 22) == 0);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_timestamp_parse("2013-01-01T10:00:00", MOTTE_NTS, &time));
    time.seconds = INT64_MIN;
    time.nanoseconds = 1;
    STATUS(MOTTE_OK, motte_timestamp_format(&time, room, sizeof room, &size));
    memset(&time, 0, sizeof time);
    STATUS(MOTTE_OK, motte_timestamp_parse(room, size, &time));
    CHECK(time.seconds == INT64_MIN && time.nanoseconds == 1);
    time.nanoseconds = 1000000000;
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_timestamp_format(&time, room, sizeof room, &size));
}

static void order(void) {
    motte_value ascending[9], nan = motte_double(0.0);
    motte_object_id id;
    motte_uuid uuid;
    int32_t result;
    int i, j;
    memset(&id, 0, sizeof id);
    memset(&uuid, 0, sizeof uuid);
    nan.as.words[0] = 0x7FF8000000000000u;
    ascending[0] = motte_null();
    ascending[1] = motte_bool(1);
    ascending[2] = nan;
    ascending[3] = motte_decimal_text("2.5");
    ascending[4] = motte_int(3);
    ascending[5] = motte_string("");
    ascending[6] = motte_timestamp_value(0, 0);
    ascending[7] = motte_object_id_value(id);
    ascending[8] = motte_uuid_value(uuid);
    for (i = 0; i < 9; i++) {
        for (j = 0; j < 9; j++) {
            MUST(motte_value_compare(&ascending[i], &ascending[j], &result));
            CHECK(result == (i > j) - (i < j));
        }
    }
}

static void nested(void) {
    motte_value values[3], list, map, read[3];
    motte_str keys[2], names[3];
    motte_buf inner, outer, deep;
    size_t count, i;
    values[0] = motte_int(1);
    values[1] = motte_string("two");
    values[2] = motte_null();
    MUST(motte_nested_list(values, 3, &inner));
    list = motte_nested(MOTTE_TYPE_LIST, &inner);
    keys[0].data = "b";
    keys[0].size = 1;
    keys[1].data = "a";
    keys[1].size = 1;
    values[0] = motte_bool(1);
    values[1] = list;
    MUST(motte_nested_map(keys, values, 2, &outer));
    map = motte_nested(MOTTE_TYPE_MAP, &outer);
    STATUS(MOTTE_OK, motte_nested_count(&map, &count));
    CHECK(count == 2);
    STATUS(MOTTE_OK, motte_nested_read(&map, 0, 3, names, read, &count));
    CHECK(count == 2 && motte_str_equal(names[0], "a") && motte_str_equal(names[1], "b"));
    CHECK(read[0].type == MOTTE_TYPE_LIST && read[1].type == MOTTE_TYPE_BOOL);
    STATUS(MOTTE_OK, motte_nested_read(&read[0], 1, 5, NULL, read, &count));
    CHECK(count == 2 && motte_str_equal(read[0].as.string, "two") && read[1].type == MOTTE_TYPE_NULL);
    STATUS(MOTTE_END, motte_nested_read(&map, 2, 1, NULL, read, &count));
    CHECK(count == 0);
    STATUS(MOTTE_E_WRONG_TYPE, motte_nested_count(&values[0], &count));

    /* Bytes from elsewhere are looked through before they are believed. */
    for (i = 0; i < outer.size; i++) {
        motte_buf damaged;
        motte_status status;
        damaged.data = (char *)malloc(outer.size);
        damaged.size = outer.size;
        memcpy(damaged.data, outer.data, outer.size);
        damaged.data[i] = (char)(damaged.data[i] ^ 0x55);
        map = motte_nested(MOTTE_TYPE_MAP, &damaged);
        status = motte_nested_read(&map, 0, 3, names, read, &count);
        CHECK(status == MOTTE_OK || status == MOTTE_END || status == MOTTE_E_INVALID_ARGUMENT);
        free(damaged.data);
    }
    outer.size -= 1;
    map = motte_nested(MOTTE_TYPE_MAP, &outer);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_nested_count(&map, &count));
    outer.size += 1;
    map = motte_nested(MOTTE_TYPE_LIST, &outer);
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_nested_count(&map, &count));
    motte_buf_dispose(&outer);

    /* A hundred levels and no more. */
    for (i = 1; i < 100; i++) {
        list = motte_nested(MOTTE_TYPE_LIST, &inner);
        MUST(motte_nested_list(&list, 1, &deep));
        motte_buf_dispose(&inner);
        inner = deep;
    }
    list = motte_nested(MOTTE_TYPE_LIST, &inner);
    STATUS(MOTTE_OK, motte_nested_count(&list, &count));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_nested_list(&list, 1, &deep));
    CHECK(deep.data == NULL && deep.size == 0);
    motte_buf_dispose(&inner);
}

static void properties(void) {
    motte_realm *realm = check_realm("values", "M { id: int key, d: decimal?, o: objectId, u: uuid, v: mixed }");
    motte_class cls = motte_class_named(realm, "M");
    motte_prop id = motte_prop_named(realm, cls, "id"), d = motte_prop_named(realm, cls, "d");
    motte_prop o = motte_prop_named(realm, cls, "o"), u = motte_prop_named(realm, cls, "u");
    motte_prop v = motte_prop_named(realm, cls, "v"), props[2];
    motte_prop_details details;
    motte_object *object;
    motte_decimal decimal = decimal_of("3.75"), back;
    motte_object_id oid, oid_back;
    motte_uuid uuid;
    motte_value key = motte_int(1), value, values[2];
    int64_t number = 0;
    motte_str text;
    MUST(motte_object_id_new(&oid));
    MUST(motte_uuid_new(&uuid));
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_object_create(realm, cls, &key, 0, &object, NULL));
    STATUS(MOTTE_NULL, motte_object_get_fixed(object, d, sizeof back, &back));
    STATUS(MOTTE_OK, motte_object_set_fixed(object, d, &decimal, sizeof decimal));
    STATUS(MOTTE_OK, motte_object_set_fixed(object, o, oid.bytes, sizeof oid));
    STATUS(MOTTE_OK, motte_object_set_fixed(object, u, uuid.bytes, sizeof uuid));
    STATUS(MOTTE_OK, motte_object_get_fixed(object, d, sizeof back, &back));
    CHECK(back.low == decimal.low && back.high == decimal.high);
    STATUS(MOTTE_OK, motte_object_get_fixed(object, o, sizeof oid_back, &oid_back));
    CHECK(memcmp(&oid, &oid_back, sizeof oid) == 0);
    STATUS(MOTTE_E_WRONG_TYPE, motte_object_get_fixed(object, o, 16, &back));
    STATUS(MOTTE_E_WRONG_TYPE, motte_object_get_fixed(object, id, 16, &back));
    STATUS(MOTTE_E_WRONG_TYPE, motte_object_get_fixed(object, o, 3, &back));
    STATUS(MOTTE_E_WRONG_TYPE, motte_object_set_fixed(object, u, oid.bytes, sizeof oid));
    STATUS(MOTTE_E_WRONG_TYPE, motte_object_set_fixed(object, v, oid.bytes, sizeof oid));
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_object_set_fixed(object, u, NULL, 16));
    value = motte_object_id_value(oid);
    value.as.words[1] |= (uint64_t)1 << 40;
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_object_set(object, o, &value));

    /* Typed setters and getters of a mixed property go by what it holds. */
    STATUS(MOTTE_OK, motte_object_set_int(object, v, 7));
    STATUS(MOTTE_OK, motte_object_get_int(object, v, &number));
    CHECK(number == 7);
    STATUS(MOTTE_E_WRONG_TYPE, motte_object_get_string(object, v, &text));
    STATUS(MOTTE_OK, motte_object_set_string(object, v, "seven", MOTTE_NTS));
    STATUS(MOTTE_E_WRONG_TYPE, motte_object_get_int(object, v, &number));
    STATUS(MOTTE_OK, motte_object_set_null(object, v));
    STATUS(MOTTE_NULL, motte_object_get_int(object, v, &number));
    memset(&details, 0, sizeof details);
    details.struct_size = sizeof details;
    STATUS(MOTTE_OK, motte_prop_info(realm, v, &details));
    CHECK(details.type == MOTTE_TYPE_MIXED && (details.flags & MOTTE_PROP_NULLABLE));

    /* Creating by policy. */
    props[0] = id;
    props[1] = v;
    values[0] = key;
    values[1] = motte_string("again");
    motte_release(object);
    STATUS(MOTTE_E_DUPLICATE_PRIMARY_KEY, motte_object_create_with(realm, cls, props, values, 2, 0, &object, NULL));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_object_create_with(realm, cls, props, values, 2, 3, &object, NULL));
    STATUS(MOTTE_E_UNKNOWN_FLAG, motte_object_create_with(realm, cls, props, values, 2, 4, &object, NULL));
    bool created = true;
    STATUS(MOTTE_OK, motte_object_create_with(realm, cls, props, values, 2, MOTTE_CREATE_MODIFIED, &object, &created));
    CHECK(!created);
    STATUS(MOTTE_OK, motte_object_get_string(object, v, &text));
    CHECK(motte_str_equal(text, "again"));
    motte_release(object);
    MUST(motte_realm_cancel(realm));
    MUST(motte_realm_close(realm));
    motte_release(realm);
}

static void batches(void) {
    motte_realm *realm = check_realm("batches", "M { id: uuid key, d: decimal?, o: objectId, v: mixed }");
    motte_class cls = motte_class_named(realm, "M");
    motte_prop props[4];
    motte_column columns[4];
    motte_insert *insert;
    motte_coll *all;
    motte_uuid ids[3], ids_back[3];
    motte_decimal prices[3], prices_back[3];
    motte_object_id oids[3];
    motte_value mixed[3], read[3];
    motte_key keys[3];
    uint8_t validity = 0x5, present = 0;
    size_t count, i;
    props[0] = motte_prop_named(realm, cls, "id");
    props[1] = motte_prop_named(realm, cls, "d");
    props[2] = motte_prop_named(realm, cls, "o");
    props[3] = motte_prop_named(realm, cls, "v");
    for (i = 0; i < 3; i++) {
        MUST(motte_uuid_new(&ids[i]));
        MUST(motte_object_id_new(&oids[i]));
        MUST(motte_decimal_from_double((double)i / 4, &prices[i]));
    }
    mixed[0] = motte_int(1);
    mixed[1] = motte_string("two");
    mixed[2] = motte_decimal_value(prices[2]);
    memset(columns, 0, sizeof columns);
    columns[0].type = MOTTE_TYPE_UUID;
    columns[0].values = ids;
    columns[1].type = MOTTE_TYPE_DECIMAL;
    columns[1].values = prices;
    columns[1].validity = &validity;
    columns[2].type = MOTTE_TYPE_OBJECT_ID;
    columns[2].values = oids;
    columns[3].type = MOTTE_TYPE_MIXED;
    columns[3].values = mixed;
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_insert_new(realm, cls, props, 4, MOTTE_CREATE_MODIFIED, &insert));
    STATUS(MOTTE_OK, motte_insert_columns(insert, columns, 3, keys));
    /* Once more: the same objects. */
    STATUS(MOTTE_OK, motte_insert_columns(insert, columns, 3, keys));
    CHECK(keys[0] == 0 && keys[2] == 2);
    columns[3].type = MOTTE_TYPE_LIST;
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_insert_columns(insert, columns, 3, NULL));
    MUST(motte_realm_commit(realm, 0, NULL));
    MUST(motte_class_all(realm, cls, &all));
    STATUS(MOTTE_OK, motte_coll_count(all, &count));
    CHECK(count == 3);
    STATUS(MOTTE_OK, motte_read_fixed(all, props[0], 16, 0, 3, ids_back, NULL, &count));
    CHECK(count == 3 && memcmp(ids, ids_back, sizeof ids) == 0);
    STATUS(MOTTE_OK, motte_read_fixed(all, props[1], 16, 0, 3, prices_back, &present, &count));
    CHECK(present == 0x5 && prices_back[1].high == 0 && memcmp(&prices[2], &prices_back[2], 16) == 0);
    STATUS(MOTTE_E_WRONG_TYPE, motte_read_fixed(all, props[2], 16, 0, 3, ids_back, NULL, &count));
    STATUS(MOTTE_E_WRONG_TYPE, motte_read_fixed(all, props[3], 16, 0, 3, ids_back, NULL, &count));
    STATUS(MOTTE_OK, motte_read_values(all, &props[3], 1, 0, 3, MOTTE_LAYOUT_ROWS, read, &count));
    CHECK(read[0].type == MOTTE_TYPE_INT && motte_str_equal(read[1].as.string, "two"));
    CHECK(read[2].type == MOTTE_TYPE_DECIMAL && memcmp(&read[2].as, &prices[2], 16) == 0);
    motte_release(all);
    motte_release(insert);
    MUST(motte_realm_close(realm));
    motte_release(realm);
}

/* What is read in place says of mixed links of which class they are, and nothing is written behind what there is. */
static void reads(void) {
    motte_realm *realm = check_realm("reads", "A { m: mixed, b: link<B> } B { n: int? } C { n: int }");
    motte_class a = motte_class_named(realm, "A"), b = motte_class_named(realm, "B"), c = motte_class_named(realm, "C");
    motte_prop props[2], n = motte_prop_named(realm, b, "n");
    motte_value values[6];
    motte_object *targets[2];
    motte_coll *all;
    uint8_t validity[64];
    int64_t ints[400];
    size_t count, i;
    props[0] = motte_prop_named(realm, a, "m");
    props[1] = motte_prop_named(realm, a, "b");
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_object_create(realm, b, NULL, 0, &targets[0], NULL));
    MUST(motte_object_create(realm, c, NULL, 0, &targets[1], NULL));
    for (i = 0; i < 3; i++) {
        values[0] = i < 2 ? motte_link_to(targets[i]) : motte_int(7);
        values[1] = motte_link_to(targets[0]);
        MUST(motte_row_create(realm, a, props, values, 2, 0, NULL, NULL));
    }
    MUST(motte_class_all(realm, a, &all));
    for (i = 0; i < 4; i++) {
        /* Within the write and behind it, by rows and by columns. */
        size_t row = i & 1 ? 1 : 2, column = i & 1 ? 3 : 1;
        if (i == 2) MUST(motte_realm_commit(realm, 0, NULL));
        STATUS(MOTTE_OK, motte_read_values(all, props, 2, 0, 3, i & 1 ? MOTTE_LAYOUT_COLUMNS : MOTTE_LAYOUT_ROWS,
                                           values, &count));
        CHECK(count == 3 && values[0].type == MOTTE_TYPE_LINK && values[0].aux == b);
        CHECK(values[row].type == MOTTE_TYPE_LINK && values[row].aux == c);
        CHECK(values[2 * row].type == MOTTE_TYPE_INT && values[2 * row].as.integer == 7);
        CHECK(values[column].type == MOTTE_TYPE_LINK && values[column].aux == b);
    }
    motte_release(all);
    MUST(motte_class_all(realm, b, &all));
    memset(validity, 0xAA, sizeof validity);
    STATUS(MOTTE_OK, motte_read_ints(all, n, 0, 400, ints, validity, &count));
    CHECK(count == 1 && validity[0] == 0 && validity[1] == 0xAA && validity[63] == 0xAA);
    memset(validity, 0xAA, sizeof validity);
    STATUS(MOTTE_END, motte_read_ints(all, n, 1, 400, ints, validity, &count));
    CHECK(count == 0 && validity[0] == 0xAA);
    motte_release(all);
    motte_release(targets[0]);
    motte_release(targets[1]);
    MUST(motte_realm_close(realm));
    motte_release(realm);
}

/* One call gives a free pair, or a value that another row of it gives up. */
static void unique_at_once(void) {
    motte_realm *realm = check_realm(
        "at once", "Seat { id: int key, line: int, seat: int, unique(line, seat) } A { id: int key, u: int? unique }");
    motte_class seat = motte_class_named(realm, "Seat"), cls = motte_class_named(realm, "A");
    motte_prop props[3], pairs[2];
    motte_value values[6];
    motte_insert *insert;
    motte_key key;
    size_t i;
    props[0] = motte_prop_named(realm, seat, "id");
    pairs[0] = props[1] = motte_prop_named(realm, seat, "line");
    pairs[1] = props[2] = motte_prop_named(realm, seat, "seat");
    MUST(motte_realm_begin_write(realm, -1));
    for (i = 1; i < 3; i++) {
        values[0] = values[1] = motte_int((int64_t)i);
        values[2] = motte_int(1);
        MUST(motte_row_create(realm, seat, props, values, 3, 0, &key, NULL));
    }
    values[0] = values[1] = motte_int(2);
    STATUS(MOTTE_OK, motte_row_set_many(realm, seat, 0, pairs, values, 2));
    values[1] = motte_int(1);
    STATUS(MOTTE_E_DUPLICATE_VALUE, motte_row_set_many(realm, seat, 0, pairs, values, 2));
    props[0] = motte_prop_named(realm, cls, "id");
    props[1] = motte_prop_named(realm, cls, "u");
    for (i = 0; i < 2; i++) {
        values[0] = motte_int(i ? 3 : 1);
        values[1] = motte_int(i ? 35 : 34);
        MUST(motte_row_create(realm, cls, props, values, 2, 0, NULL, NULL));
    }
    MUST(motte_insert_new(realm, cls, props, 2, MOTTE_CREATE_EXISTING, &insert));
    values[0] = motte_int(1);
    values[1] = motte_int(60);
    values[2] = motte_int(2);
    values[3] = motte_int(34);
    STATUS(MOTTE_OK, motte_insert_rows(insert, values, 2, NULL));
    values[3] = motte_int(35);
    STATUS(MOTTE_E_DUPLICATE_VALUE, motte_insert_rows(insert, values, 2, NULL));
    motte_release(insert);
    MUST(motte_realm_commit(realm, 0, NULL));
    MUST(motte_realm_close(realm));
    motte_release(realm);
}

enum {
    ROWS = 1200,
    TEXT = 100
};

/* Names as the library lends them, of rows that this write has changed, go to the row before; with unique values that
 * are exchanged too, what the call tries first is undone. */
static void lent_and_exchanged(int exchanges) {
    motte_realm *realm = check_realm("exchanged", "Item { id: int key, name: string, u: int unique }");
    motte_class items = motte_class_named(realm, "Item");
    motte_prop props[3] = {motte_prop_named(realm, items, "id"), motte_prop_named(realm, items, "name"),
                           motte_prop_named(realm, items, "u")};
    motte_value *values = calloc((size_t)ROWS * 3, sizeof *values);
    motte_insert *insert;
    motte_key keys[ROWS], next;
    char text[TEXT + 1];
    int i, wrong = 0;
    MUST(motte_insert_new(realm, items, props, 3, MOTTE_CREATE_EXISTING, &insert));
    MUST(motte_realm_begin_write(realm, -1));
    for (i = 0; i < ROWS; i++) {
        values[0] = values[2] = motte_int(i);
        values[1] = motte_string("before");
        MUST(motte_insert_rows(insert, values, 1, &keys[i]));
    }
    MUST(motte_realm_commit(realm, 0, NULL));
    MUST(motte_realm_begin_write(realm, -1));
    for (i = 0; i < ROWS; i++) {
        memset(text, 'A' + i % 26, TEXT);
        text[TEXT] = 0;
        values[0] = motte_string(text);
        MUST(motte_row_set_many(realm, items, keys[i], &props[1], values, 1));
    }
    for (i = 0; i < ROWS; i++) {
        next = keys[(i + 1) % ROWS];
        values[3 * i] = motte_int(i);
        MUST(motte_row_get_many(realm, items, next, &props[1], 1, &values[3 * i + 1]));
        values[3 * i + 2] = motte_int(exchanges ? (i + 1) % ROWS : i);
    }
    STATUS(MOTTE_OK, motte_insert_rows(insert, values, ROWS, NULL));
    for (i = 0; i < ROWS; i++) {
        MUST(motte_row_get_many(realm, items, keys[i], &props[1], 1, values));
        memset(text, 'A' + (i + 1) % ROWS % 26, TEXT);
        wrong += !motte_str_equal(values[0].as.string, text);
    }
    CHECK(wrong == 0);
    /* What is refused in the end gives no keys. */
    values[0] = motte_int(0);
    values[1] = values[4] = motte_string("again");
    values[2] = values[5] = motte_int(ROWS + 1);
    values[3] = motte_int(ROWS + 7);
    STATUS(MOTTE_E_DUPLICATE_VALUE, motte_insert_rows(insert, values, 2, keys));
    CHECK(keys[0] == 0 && keys[1] == 0);
    free(values);
    motte_release(insert);
    MUST(motte_realm_commit(realm, 0, NULL));
    MUST(motte_realm_close(realm));
    motte_release(realm);
}

int main(void) {
    lent_and_exchanged(0);
    lent_and_exchanged(1);
    decimals();
    reads();
    unique_at_once();
    identifiers();
    timestamps();
    order();
    nested();
    properties();
    batches();
    return check_summary();
}
