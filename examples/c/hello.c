/* SPDX-License-Identifier: Apache-2.0
 * Three linked objects stored, found and read:  cc hello.c $(pkg-config --cflags --libs motte) && ./a.out
 */
#include "example.h"

static const char schema[] = "Person { name: string key, age: int indexed, boss: link<Person> }";

int main(int argc, char **argv) {
    MOTTE_OWNED motte_realm *realm = NULL;
    MOTTE_OWNED motte_object *ada = NULL, *grace = NULL, *person = NULL;
    MOTTE_OWNED motte_coll *adults = NULL;
    motte_value age = motte_int(18);
    motte_status status;
    size_t index = 0;

    DO(motte_open(argc > 1 ? argv[1] : "hello.motte", schema, &realm));

    /* Everything between begin and commit becomes visible at once, or not at all. */
    DO(motte_realm_begin_write(realm, 10000));
    DO(motte_realm_add(realm, "Person", MOTTE_FIELDS({"name", motte_string("Ada")}, {"age", motte_int(36)}), &ada));
    DO(motte_realm_add(
        realm, "Person",
        MOTTE_FIELDS({"name", motte_string("Grace")}, {"age", motte_int(85)}, {"boss", motte_link_to(ada)}), &grace));
    DO(motte_realm_add(
        realm, "Person",
        MOTTE_FIELDS({"name", motte_string("Tim")}, {"age", motte_int(7)}, {"boss", motte_link_to(grace)}), NULL));
    DO(motte_realm_commit(realm, 0, NULL));

    DO(motte_realm_query(realm, "Person", "age >= $0 SORT(age DESC)", &age, 1, &adults));
    while ((status = DO(motte_coll_next(adults, &index, &person))) == MOTTE_OK) {
        motte_str name;
        int64_t years;
        DO(motte_object_get_string(person, "name", &name));
        DO(motte_object_get_int(person, "age", &years));
        printf("%.*s is %" PRId64 "\n", (int)name.size, name.data, years);
    }
    DO(motte_realm_close(realm));
    return status == MOTTE_END ? 0 : 1;
}
