/* SPDX-License-Identifier: Apache-2.0
 * Motte in C, from an empty file to live results:  cc hello.c $(pkg-config --cflags --libs motte) && ./a.out
 */
#include <motte_inline.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char schema[] = "Person { name: string key, age: int indexed, dogs: list<Dog> }\n"
                             "Dog { name: string, owners: inverse<Person.dogs> }\n";

/* Ends the program with what went wrong. Statuses from 0 up are fine: success, or an outcome like MOTTE_NOT_FOUND. */
static void check(motte_status status, const char *what) {
    if (status >= 0) return;
    motte_print_error(stderr, what, status);
    exit(1);
}

/* One new person in the open write. */
static motte_object *add_person(motte_realm *realm, motte_class person, const char *name, int64_t age) {
    motte_prop props[2] = {motte_prop_named(realm, person, "name"), motte_prop_named(realm, person, "age")};
    motte_value values[2];
    motte_object *object;
    values[0] = motte_string(name);
    values[1] = motte_int(age);
    check(motte_object_create_with(realm, person, props, values, 2, MOTTE_CREATE_EXISTING, &object, NULL), "create");
    return object;
}

/* Called for each person that the query finds. */
static motte_status print_person(void *userdata, motte_object *object) {
    const motte_prop *props = (const motte_prop *)userdata; /* name, age */
    motte_str name;
    int64_t age;
    check(motte_object_get_string(object, props[0], &name), "name");
    check(motte_object_get_int(object, props[1], &age), "age");
    printf("  %.*s, %" PRId64 "\n", (int)name.size, name.data, age);
    return MOTTE_OK;
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "hello.motte";
    motte_realm *realm;
    motte_object *ada, *grace, *dog;
    motte_coll *dogs, *adults;
    motte_query *query;
    motte_token *token;
    motte_changes *changes;
    motte_changes_details details;
    motte_class person, dog_class;
    motte_prop shown[2];
    motte_value bound = motte_int(18), fido = motte_string("Fido"), link;
    size_t count;

    check(motte_check_abi(MOTTE_ABI_VERSION, MOTTE_ABI_LAYOUT), "library");
    check(motte_open(path, schema, &realm), "open");
    person = motte_class_named(realm, "Person");
    dog_class = motte_class_named(realm, "Dog");
    shown[0] = motte_prop_named(realm, person, "name");
    shown[1] = motte_prop_named(realm, person, "age");

    /* A compiled query, its live results, and a token that is notified of how they change. */
    check(motte_query_parse(realm, person, MOTTE_LIT("age >= $0 SORT(age DESC)"), &bound, 1, &query), "query");
    check(motte_query_run(query, &adults), "run");
    check(motte_observe_coll(adults, 0, NULL, NULL, NULL, &token), "observe");
    check(motte_token_next(token, &changes), "initial state");
    motte_release(changes);

    /* Everything between begin and commit becomes visible at once, or not at all. */
    check(motte_realm_begin_write(realm, 10000), "begin");
    ada = add_person(realm, person, "Ada", 36);
    grace = add_person(realm, person, "Grace", 85);
    check(motte_object_create(realm, dog_class, NULL, MOTTE_CREATE_NEW, &dog, NULL), "dog");
    check(motte_object_set(dog, motte_prop_named(realm, dog_class, "name"), &fido), "dog's name");
    check(motte_object_get_coll(ada, motte_prop_named(realm, person, "dogs"), &dogs), "dogs");
    link = motte_link_to(dog);
    check(motte_list_append(dogs, &link, 1), "append");
    check(motte_realm_commit(realm, 0, NULL), "commit");

    if (motte_token_next(token, &changes) == MOTTE_OK) {
        details.struct_size = sizeof details;
        check(motte_changes_info(changes, &details), "changes");
        printf("adults: %" PRIu64 " came, %" PRIu64 " went, %" PRIu64 " changed\n", details.insertion_count,
               details.deletion_count, details.modification_count);
        motte_release(changes);
    }

    check(motte_coll_count(adults, &count), "count");
    printf("%zu adults, oldest first:\n", count);
    check(motte_coll_each(adults, print_person, shown), "each");

    check(motte_coll_count(dogs, &count), "count dogs");
    printf("Ada has %zu dog%s\n", count, count == 1 ? "" : "s");

    /* Handles go in any order. */
    motte_realm_close(realm);
    motte_release(realm);
    motte_release(ada);
    motte_release(grace);
    motte_release(dog);
    motte_release(dogs);
    motte_release(adults);
    motte_release(query);
    motte_release(token);
    printf("%" PRIu64 " handles left\n", motte_handle_count(MOTTE_HANDLE_NONE));
    return 0;
}
