/* Functions for properties of objects take names where they take ids: every one of them, with both. */
#include "check.h"

static const char schema[] = "Thing { id: int key, flag: bool, n: int, real: double, name: string?, blob: data, "
                             "at: timestamp, code: uuid, other: link<Thing>, marks: list<int> }";

int main(void) {
    motte_realm *realm = check_realm("named", schema);
    motte_object *thing, *other = NULL, *target;
    motte_coll *marks;
    motte_value value = motte_int(7);
    motte_timestamp at = {5, 6, 0}, found_at;
    motte_uuid code = {{1, 2, 3}}, found_code;
    motte_str text;
    motte_bytes bytes;
    motte_buf copy;
    int64_t n;
    double real;
    bool flag;
    const char *variable = "n";
    char array[] = "n";
    MUST(motte_realm_begin_write(realm, -1));
    MUST(motte_realm_add(realm, "Thing", MOTTE_FIELDS({"id", motte_int(1)}), &thing));
    STATUS(MOTTE_OK, motte_realm_add(realm, "Thing", MOTTE_FIELDS({"id", motte_int(2)}, {"n", motte_int(3)}), &other));
    STATUS(MOTTE_E_DUPLICATE_PRIMARY_KEY, motte_realm_add(realm, "Thing", MOTTE_FIELDS({"id", motte_int(2)}), NULL));
    STATUS(MOTTE_E_UNKNOWN_CLASS, motte_realm_add(realm, "Thin", MOTTE_FIELDS({"id", motte_int(2)}), NULL));
    CHECK(strstr(motte_error_text(MOTTE_E_UNKNOWN_CLASS), "did you mean 'Thing'?") != NULL);
    STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_realm_add(realm, "Thing", MOTTE_FIELDS({"ids", motte_int(2)}), NULL));
    motte_prop id = motte_prop_named(realm, motte_class_named(realm, "Thing"), "n");

    STATUS(MOTTE_OK, motte_object_set_int(thing, "n", 36));
    STATUS(MOTTE_OK, motte_object_get_int(thing, id, &n));
    CHECK(n == 36);
    STATUS(MOTTE_OK, motte_object_set_int(thing, id, 37));
    STATUS(MOTTE_OK, motte_object_get_int(thing, variable, &n));
    CHECK(n == 37);
    STATUS(MOTTE_OK, motte_object_add_int(thing, array, 3, &n));
    CHECK(n == 40);
    STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_object_get_int(thing, "m", &n));
    CHECK(n == 0);
    STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_object_set_int(thing, "m", 1));
    STATUS(MOTTE_OK, motte_object_set_bool(thing, "flag", 1));
    STATUS(MOTTE_OK, motte_object_get_bool(thing, "flag", &flag));
    CHECK(flag);
    STATUS(MOTTE_OK, motte_object_set_double(thing, "real", 1.5));
    STATUS(MOTTE_OK, motte_object_get_double(thing, "real", &real));
    CHECK(real == 1.5);
    STATUS(MOTTE_OK, motte_object_set_string(thing, "name", "Ada", MOTTE_NTS));
    STATUS(MOTTE_OK, motte_object_get_string(thing, "name", &text));
    CHECK(motte_str_equal(text, "Ada"));
    STATUS(MOTTE_OK, motte_object_copy_string(thing, "name", &copy));
    CHECK(strcmp(copy.data, "Ada") == 0);
    motte_buf_dispose(&copy);
    STATUS(MOTTE_OK, motte_object_set_null(thing, "name"));
    STATUS(MOTTE_NULL, motte_object_get_string(thing, "name", &text));
    STATUS(MOTTE_OK, motte_object_set_data(thing, "blob", "ab", 2));
    STATUS(MOTTE_OK, motte_object_get_data(thing, "blob", &bytes));
    CHECK(bytes.size == 2);
    STATUS(MOTTE_OK, motte_object_set_timestamp(thing, "at", &at));
    STATUS(MOTTE_OK, motte_object_get_timestamp(thing, "at", &found_at));
    CHECK(found_at.seconds == 5 && found_at.nanoseconds == 6);
    STATUS(MOTTE_OK, motte_object_set_fixed(thing, "code", &code, sizeof code));
    STATUS(MOTTE_OK, motte_object_get_fixed(thing, "code", sizeof found_code, &found_code));
    CHECK(memcmp(&code, &found_code, sizeof code) == 0);
    STATUS(MOTTE_OK, motte_object_set_object(thing, "other", other));
    STATUS(MOTTE_OK, motte_object_get_object(thing, "other", &target));
    CHECK(motte_equal(target, other) == 1);
    motte_release(target);
    STATUS(MOTTE_OK, motte_object_get_coll(thing, "marks", &marks));
    STATUS(MOTTE_OK, motte_list_append(marks, &value, 1));
    STATUS(MOTTE_OK, motte_object_set(thing, "n", &value));
    STATUS(MOTTE_OK, motte_object_get(thing, "n", &value));
    CHECK(value.as.integer == 7);
    motte_coll *none = marks;
    STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_object_get_coll(thing, "mark", &none));
    CHECK(none == NULL);

    /* A list as an argument, and a loop. */
    motte_value wanted[2] = {motte_int(1), motte_int(2)}, list;
    motte_buf document;
    motte_coll *found;
    motte_object *each = NULL;
    size_t index = 0, seen = 0;
    MUST(motte_list_argument(wanted, 2, &document, &list));
    STATUS(MOTTE_OK, motte_realm_query(realm, "Thing", "id IN $0", &list, 1, &found));
    motte_buf_dispose(&document);
    while (motte_coll_next(found, &index, &each) == MOTTE_OK) seen++;
    CHECK(seen == 2 && each == NULL);
    motte_release(found);
    STATUS(MOTTE_E_UNKNOWN_CLASS, motte_realm_query(realm, "Nothing", "id IN $0", &list, 1, &found));
    STATUS(MOTTE_E_QUERY_SYNTAX, motte_realm_query(realm, "Thing", "id id", NULL, 0, &found));
    CHECK(found == NULL);

    /* An output that is NULL is an error, and none is left as it was. */
    motte_coll *unset = marks;
    motte_buf left = {NULL, 7};
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_realm_query(realm, "Thing", "id == 1", NULL, 0, NULL));
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_realm_query(NULL, "Thing", "id == 1", NULL, 0, &unset));
    CHECK(unset == NULL);
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_open("nowhere.motte", schema, NULL));
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_coll_clone(marks, NULL));
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_realm_freeze(realm, NULL));
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_list_argument(wanted, 2, &left, NULL));
    CHECK(left.size == 0);
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_list_argument(wanted, 2, NULL, &list));
    CHECK(list.type == MOTTE_TYPE_NULL);
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_coll_next(marks, NULL, &each));
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_coll_next(marks, &index, NULL));
    STATUS(MOTTE_E_NULL_ARGUMENT, motte_object_get_int(thing, "n", NULL));
    STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_object_get_coll(thing, "mark", NULL));
    motte_release(marks);
    MUST(motte_realm_cancel(realm));
    motte_release(thing);
    motte_release(other);
    MUST(motte_realm_close(realm));
    motte_release(realm);
    return check_summary();
}
