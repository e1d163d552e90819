/* Batches that lead back, and being asked before commits: what is shown, what refusing leaves, what may not be done
 * meanwhile, and that userdata is freed once. */
#define _GNU_SOURCE
#include "check.h"

#define PEOPLE "Person { id: int key, name: string }"

typedef struct asked {
    motte_realm *realm;
    motte_realm *copy;
    int answer;
    int calls;
} asked;

static int freed_count;

static void freed(void *userdata) {
    (void)userdata;
    freed_count++;
}

static motte_realm *empty_realm(const char *identifier) {
    motte_config *config;
    motte_realm *realm;
    MUST(motte_config_new(&config));
    MUST(motte_config_set_in_memory(config, identifier, MOTTE_NTS));
    MUST(motte_realm_open(config, &realm));
    motte_release(config);
    return realm;
}

static motte_status add_person(motte_realm *realm, int64_t id) {
    motte_object *object;
    motte_value key = motte_int(id);
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_object_create(realm, motte_class_named(realm, "Person"), &key, MOTTE_CREATE_NEW, &object, NULL));
    motte_release(object);
    return motte_realm_commit(realm, 0, NULL);
}

static size_t people(motte_realm *realm) {
    motte_coll *all;
    size_t count;
    MUST(motte_class_all(realm, motte_class_named(realm, "Person"), &all));
    MUST(motte_coll_count(all, &count));
    motte_release(all);
    return count;
}

static void give_up(motte_realm *realm) {
    MUST(motte_realm_close(realm));
    motte_release(realm);
}

static motte_status before_commit(void *userdata, const uint8_t *bytes, size_t size) {
    asked *a = userdata;
    motte_changes_batch_details details = {.struct_size = sizeof details};
    a->calls++;
    STATUS(MOTTE_OK, motte_changes_batch_info(bytes, size, &details));
    CHECK(details.flags == MOTTE_CHANGES_BATCH_REVERSIBLE && details.to_version == details.from_version + 1);
    STATUS(MOTTE_E_REENTRANT, motte_realm_refresh(a->realm, NULL));
    STATUS(MOTTE_E_REENTRANT, motte_realm_commit(a->realm, 0, NULL));
    STATUS(MOTTE_E_REENTRANT, motte_realm_cancel(a->realm));
    STATUS(MOTTE_E_REENTRANT, motte_realm_close(a->realm));
    STATUS(MOTTE_E_REENTRANT, motte_realm_on_commit(a->realm, 0, NULL, NULL, NULL));
    if (a->answer) {
        MUST(motte_callback_fail("not today", MOTTE_NTS, NULL, NULL));
        return a->answer;
    }
    STATUS(MOTTE_OK, motte_changes_batch_apply(a->copy, bytes, size, -1));
    return 0;
}

static void asked_before_commits(void) {
    motte_realm *realm = check_realm("origin", PEOPLE), *copy = empty_realm("copy"), *frozen;
    motte_buf everything;
    motte_error_details details = {.struct_size = sizeof details};
    void *place;
    asked a = {realm, copy, 0, 0};
    MUST(motte_changes_batch_read(realm, 0, &everything));
    MUST(motte_changes_batch_apply(copy, (const uint8_t *)everything.data, everything.size, -1));
    motte_buf_dispose(&everything);
    STATUS(MOTTE_E_UNKNOWN_FLAG, motte_realm_on_commit(realm, 2, before_commit, &a, freed));
    CHECK(freed_count == 1);
    MUST(motte_realm_begin_write(realm, -1));
    STATUS(MOTTE_E_ALREADY_IN_WRITE, motte_realm_on_commit(realm, 0, before_commit, &a, freed));
    MUST(motte_realm_cancel(realm));
    CHECK(freed_count == 2);
    MUST(motte_freeze(realm, &place));
    frozen = place;
    STATUS(MOTTE_E_FROZEN, motte_realm_on_commit(frozen, 0, before_commit, &a, freed));
    motte_release(frozen);
    CHECK(freed_count == 3);
    STATUS(MOTTE_OK, motte_realm_on_commit(realm, MOTTE_ON_COMMIT_REVERSIBLE, before_commit, &a, freed));
    STATUS(MOTTE_OK, add_person(realm, 1));
    CHECK(a.calls == 1 && people(realm) == 1 && people(copy) == 1);
    a.answer = 7;
    STATUS(MOTTE_E_CALLBACK, add_person(realm, 2));
    MUST(motte_last_error(&details));
    CHECK(details.user_code == 7 && strcmp(details.message, "not today") == 0);
    CHECK(a.calls == 2 && people(realm) == 1 && people(copy) == 1 && !motte_realm_in_write(realm));
    a.answer = 0;
    STATUS(MOTTE_OK, add_person(realm, 2));
    CHECK(people(copy) == 2);
    /* Nothing changed, nothing asked. */
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_realm_commit(realm, 0, NULL));
    CHECK(a.calls == 3 && freed_count == 3);
    STATUS(MOTTE_OK, motte_realm_on_commit(realm, 0, NULL, NULL, NULL));
    CHECK(freed_count == 4);
    STATUS(MOTTE_OK, add_person(realm, 3));
    CHECK(a.calls == 3);
    STATUS(MOTTE_OK, motte_realm_on_commit(realm, 0, before_commit, &a, freed));
    give_up(realm), give_up(copy);
    CHECK(freed_count == 5);
}

static void turned_round(void) {
    motte_realm *realm = check_realm("turned", PEOPLE), *other = check_realm("elsewhere", PEOPLE), *before, *after;
    motte_changes_batch_details details = {.struct_size = sizeof details};
    motte_buf forth, back, again, plain;
    void *place;
    MUST(motte_changes_batch_keep(realm, 1));
    MUST(add_person(realm, 1));
    MUST(motte_freeze(realm, &place));
    before = place;
    MUST(add_person(realm, 2));
    MUST(motte_freeze(realm, &place));
    after = place;
    STATUS(MOTTE_OK, motte_changes_batch_between(realm, before, &forth));
    STATUS(MOTTE_OK, motte_changes_batch_inverse((const uint8_t *)forth.data, forth.size, &back));
    STATUS(MOTTE_OK, motte_changes_batch_info((const uint8_t *)back.data, back.size, &details));
    CHECK(details.flags == (MOTTE_CHANGES_BATCH_PATCH | MOTTE_CHANGES_BATCH_REVERSIBLE));
    STATUS(MOTTE_OK, motte_changes_batch_apply(realm, (const uint8_t *)back.data, back.size, -1));
    CHECK(people(realm) == 1);
    STATUS(MOTTE_OK, motte_changes_batch_inverse((const uint8_t *)back.data, back.size, &again));
    STATUS(MOTTE_OK, motte_changes_batch_apply(realm, (const uint8_t *)again.data, again.size, -1));
    CHECK(people(realm) == 2);
    STATUS(MOTTE_E_HISTORY_FORKED, motte_changes_batch_apply(realm, (const uint8_t *)again.data, again.size, -1));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_changes_batch_between(before, after, &plain));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_changes_batch_between(realm, other, &plain));
    MUST(motte_changes_batch_read(realm, details.to_version, &plain));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_changes_batch_inverse((const uint8_t *)plain.data, plain.size, &again));
    ((uint8_t *)forth.data)[forth.size - 1] ^= 1;
    STATUS(MOTTE_E_CORRUPTED, motte_changes_batch_inverse((const uint8_t *)forth.data, forth.size, &again));
    ((uint8_t *)forth.data)[8] = 9;
    STATUS(MOTTE_E_UNSUPPORTED_FORMAT, motte_changes_batch_inverse((const uint8_t *)forth.data, forth.size, &again));
    motte_buf difference;
    STATUS(MOTTE_OK, motte_changes_batch_difference(other, realm, &difference));
    STATUS(MOTTE_OK, motte_changes_batch_info((const uint8_t *)difference.data, difference.size, &details));
    CHECK(details.flags == (MOTTE_CHANGES_BATCH_DIFFERENCE | MOTTE_CHANGES_BATCH_REVERSIBLE));
    STATUS(MOTTE_OK, motte_changes_batch_apply(other, (const uint8_t *)difference.data, difference.size, -1));
    CHECK(people(other) == people(realm));
    motte_schema *more;
    MUST(motte_schema_parse("More { a: int }", MOTTE_NTS, &more));
    MUST(motte_realm_add_schema(realm, more));
    motte_release(more);
    STATUS(MOTTE_E_SCHEMA_MISMATCH, motte_changes_batch_between(realm, before, &again));
    STATUS(MOTTE_E_SCHEMA_MISMATCH, motte_changes_batch_difference(realm, other, &again));
    motte_release(before), motte_release(after);
    give_up(realm), give_up(other);
}

int main(void) {
    asked_before_commits();
    turned_round();
    return check_summary();
}
