/* SPDX-License-Identifier: Apache-2.0
 * What a program of somebody else does first: open, write one object, read it back. Argument: the file.
 */
#include <motte.h>
#include <stdio.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if ((call) < 0) return fail(#call);                                                                            \
    } while (0)

static int fail(const char *call) {
    motte_error_details details = {.struct_size = sizeof details};
    motte_last_error(&details);
    fprintf(stderr, "%s: %s\n", call, details.message);
    return 1;
}

int main(int count, char **arguments) {
    motte_config *config;
    motte_schema *schema;
    motte_realm *realm;
    motte_class person;
    motte_prop id, name;
    motte_object *ada;
    motte_str text;
    if (count != 2) return 64;
    CHECK(motte_schema_parse("Person { id: int key, name: string? }", MOTTE_NTS, &schema));
    CHECK(motte_config_new(&config));
    CHECK(motte_config_set_path(config, arguments[1], MOTTE_NTS));
    CHECK(motte_config_set_schema(config, schema, 0));
    CHECK(motte_realm_open(config, &realm));
    CHECK(motte_class_find(realm, "Person", MOTTE_NTS, &person));
    CHECK(motte_prop_find(realm, person, "id", MOTTE_NTS, &id));
    CHECK(motte_prop_find(realm, person, "name", MOTTE_NTS, &name));
    CHECK(motte_realm_begin_write(realm, 1000));
    motte_value key = {MOTTE_TYPE_INT, 0, {.integer = 1}};
    CHECK(motte_object_create(realm, person, &key, MOTTE_CREATE_EXISTING, &ada, NULL));
    CHECK(motte_object_set_string(ada, name, "Ada", MOTTE_NTS));
    CHECK(motte_realm_commit(realm, 0, NULL));
    CHECK(motte_object_get_string(ada, name, &text));
    printf("motte %s: %.*s\n", motte_version_string(), (int)text.size, text.data);
    motte_release(ada);
    motte_release(config);
    motte_release(schema);
    CHECK(motte_realm_close(realm));
    motte_release(realm);
    return motte_handle_count(MOTTE_HANDLE_NONE) == 0 ? 0 : 1;
}
