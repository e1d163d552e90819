/* Change batches: read from one realm, applied to another, and everything that is refused. */
#define _GNU_SOURCE
#include "check.h"

#define PEOPLE "Person { id: int key, name: string }"

static motte_realm *empty_realm(const char *identifier) {
    motte_config *config;
    motte_realm *realm;
    MUST(motte_config_new(&config));
    MUST(motte_config_set_in_memory(config, identifier, MOTTE_NTS));
    MUST(motte_realm_open(config, &realm));
    motte_release(config);
    return realm;
}

static void add_person(motte_realm *realm, int64_t id) {
    motte_object *object;
    motte_value key = motte_int(id);
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_object_create(realm, motte_class_named(realm, "Person"), &key, MOTTE_CREATE_NEW, &object, NULL));
    motte_release(object);
    MUST(motte_realm_commit(realm, 0, NULL));
}

static uint64_t version_of(motte_realm *realm) {
    uint64_t version;
    MUST(motte_realm_version(realm, &version, NULL));
    return version;
}

static motte_buf read_batch(motte_realm *realm, uint64_t version) {
    motte_buf batch;
    MUST(motte_changes_batch_read(realm, version, &batch));
    return batch;
}

static motte_status apply(motte_realm *realm, motte_buf batch) {
    return motte_changes_batch_apply(realm, (const uint8_t *)batch.data, batch.size, -1);
}

static void give_up(motte_realm *realm) {
    MUST(motte_realm_close(realm));
    motte_release(realm);
}

static void consumers(void) {
    motte_realm *realm = check_realm("consumers", PEOPLE);
    motte_changes_consumer found[2];
    char name[16];
    size_t count = 7;
    STATUS(MOTTE_NOT_FOUND, motte_changes_batch_keep_for(realm, "nobody", MOTTE_NTS, UINT64_MAX));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_changes_batch_keep_for(realm, "a\0b", 3, 0));
    for (int i = 0; i < 64; i++) {
        snprintf(name, sizeof name, "consumer %02d", i);
        MUST(motte_changes_batch_keep_for(realm, name, MOTTE_NTS, version_of(realm)));
    }
    STATUS(MOTTE_E_OUT_OF_BOUNDS, motte_changes_batch_keep_for(realm, "one more", MOTTE_NTS, version_of(realm)));
    MUST(motte_changes_batch_consumers(realm, NULL, 0, &count));
    CHECK(count >= 64);
    for (int i = 1; i < 64; i++) {
        snprintf(name, sizeof name, "consumer %02d", i);
        MUST(motte_changes_batch_keep_for(realm, name, MOTTE_NTS, UINT64_MAX));
    }
    MUST(motte_changes_batch_keep(realm, UINT64_MAX));
    MUST(motte_changes_batch_consumers(realm, found, 2, &count));
    CHECK(count == 1 && strcmp(found[0].name, "consumer 00") == 0 && found[0].is_kept && found[0].commits == 0);
    MUST(motte_changes_batch_keep_for(realm, "consumer 00", MOTTE_NTS, UINT64_MAX));
    give_up(realm);
}

static void in_sequence(void) {
    motte_realm *origin = check_realm("origin", PEOPLE), *other = empty_realm("other");
    motte_changes_batch_details details = {.struct_size = sizeof details};
    uint64_t high, low, position = 7;
    MUST(motte_changes_batch_keep(origin, version_of(origin)));
    add_person(origin, 1);
    uint64_t start = version_of(origin);
    motte_buf everything = read_batch(origin, 0);
    add_person(origin, 2);
    uint64_t middle = version_of(origin);
    add_person(origin, 3);
    motte_buf first = read_batch(origin, start), second = read_batch(origin, middle);
    MUST(motte_changes_batch_origin(origin, &high, &low));
    STATUS(MOTTE_OK, motte_changes_batch_info((const uint8_t *)everything.data, everything.size, &details));
    CHECK(details.flags == MOTTE_CHANGES_BATCH_WHOLE && details.from_version == 0 && details.to_version == start);
    CHECK(details.origin_high == high && details.origin_low == low && details.wall_time_ns > 0);
    STATUS(MOTTE_NOT_FOUND, motte_changes_batch_position(other, high, low, &position));
    CHECK(position == 0);
    STATUS(MOTTE_E_OUT_OF_SEQUENCE, apply(other, first));
    STATUS(MOTTE_OK, apply(other, everything));
    STATUS(MOTTE_E_OUT_OF_SEQUENCE, apply(other, second));
    STATUS(MOTTE_OK, apply(other, first));
    STATUS(MOTTE_UNCHANGED, apply(other, everything));
    STATUS(MOTTE_UNCHANGED, apply(other, second));
    STATUS(MOTTE_OK, motte_changes_batch_position(other, high, low, &position));
    CHECK(position == version_of(origin));
    motte_buf nothing = read_batch(origin, position);
    STATUS(MOTTE_OK, motte_changes_batch_info((const uint8_t *)nothing.data, nothing.size, &details));
    CHECK(details.flags == (MOTTE_CHANGES_BATCH_EMPTY | MOTTE_CHANGES_BATCH_REVERSIBLE));
    motte_buf_dispose(&nothing), motte_buf_dispose(&everything);
    motte_buf_dispose(&first), motte_buf_dispose(&second);
    give_up(origin), give_up(other);
}

static void refusals(void) {
    motte_realm *origin = check_realm("origin", PEOPLE), *other = empty_realm("other");
    motte_realm *otherwise = check_realm("otherwise", "Person { id: string key, name: string }");
    motte_realm *frozen;
    motte_changes_batch_details details = {.struct_size = sizeof details};
    motte_buf none;
    add_person(origin, 1);
    motte_buf everything = read_batch(origin, 0);
    uint8_t *bytes = (uint8_t *)everything.data;
    STATUS(MOTTE_E_HISTORY_UNAVAILABLE, motte_changes_batch_read(origin, 1000, &none));
    CHECK(none.data == NULL && none.size == 0);
    STATUS(MOTTE_E_INVALID_ARGUMENT, apply(origin, everything));
    STATUS(MOTTE_E_SCHEMA_MISMATCH, apply(otherwise, everything));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_changes_batch_apply(other, (const uint8_t *)"text", 4, -1));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_changes_batch_info((const uint8_t *)"text", 4, &details));
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_changes_batch_apply(other, NULL, 4, -1));
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_changes_batch_info(bytes, everything.size, NULL));
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_changes_batch_read(origin, 0, NULL));
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_changes_batch_origin(origin, NULL, NULL));
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_changes_batch_position(origin, 0, 0, NULL));
    bytes[everything.size - 1] ^= 1;
    STATUS(MOTTE_E_CORRUPTED, apply(other, everything));
    STATUS(MOTTE_E_CORRUPTED, motte_changes_batch_info(bytes, everything.size, &details));
    bytes[everything.size - 1] ^= 1;
    bytes[8] = 9;
    STATUS(MOTTE_E_UNSUPPORTED_FORMAT, apply(other, everything));
    STATUS(MOTTE_E_UNSUPPORTED_FORMAT, motte_changes_batch_info(bytes, everything.size, &details));
    bytes[8] = 1;
    MUST(motte_realm_begin_write(other, -1));
    STATUS(MOTTE_E_ALREADY_IN_WRITE, apply(other, everything));
    STATUS(MOTTE_E_ALREADY_IN_WRITE, motte_changes_batch_keep(other, 0));
    STATUS(MOTTE_E_ALREADY_IN_WRITE, motte_changes_batch_keep_for(other, "feed", MOTTE_NTS, 0));
    MUST(motte_realm_cancel(other));
    motte_realm *same = empty_realm("other");
    MUST(motte_realm_begin_write(same, -1));
    STATUS(MOTTE_E_REENTRANT, motte_changes_batch_apply(other, bytes, everything.size, -1));
    STATUS(MOTTE_E_TIMEOUT, motte_changes_batch_apply(other, bytes, everything.size, 0));
    MUST(motte_realm_cancel(same));
    give_up(same);
    void *place;
    MUST(motte_freeze(other, &place));
    frozen = place;
    STATUS(MOTTE_E_FROZEN, apply(frozen, everything));
    STATUS(MOTTE_E_FROZEN, motte_changes_batch_keep(frozen, 0));
    STATUS(MOTTE_E_FROZEN, motte_changes_batch_keep_for(frozen, "feed", MOTTE_NTS, 0));
    motte_release(frozen);
    /* What somebody else has changed here. */
    uint64_t start = version_of(origin);
    MUST(motte_changes_batch_keep(origin, start));
    STATUS(MOTTE_OK, apply(other, everything));
    MUST(motte_realm_begin_write(other, -1));
    MUST(motte_realm_delete_all(other, NULL));
    MUST(motte_realm_commit(other, 0, NULL));
    motte_object *object;
    motte_value key = motte_int(1), name = motte_string("Eve");
    MUST(motte_realm_begin_write(origin, -1));
    MUST(motte_object_find(origin, motte_class_named(origin, "Person"), &key, &object));
    MUST(motte_object_set(object, motte_prop_named(origin, motte_class_named(origin, "Person"), "name"), &name));
    MUST(motte_realm_commit(origin, 0, NULL));
    motte_release(object);
    motte_buf later = read_batch(origin, start);
    STATUS(MOTTE_E_HISTORY_FORKED, apply(other, later));
    motte_buf_dispose(&everything), motte_buf_dispose(&later);
    give_up(origin), give_up(other), give_up(otherwise);
}

int main(void) {
    in_sequence();
    consumers();
    refusals();
    return check_summary();
}
