// The same overloads in C++: names where there are ids.
#include "motte_inline.h"

#include <initializer_list>

int main() {
    motte_realm *realm = nullptr;
    motte_schema *schema = nullptr;
    motte_config *config = nullptr;
    motte_object *object = nullptr;
    motte_value key = motte_int(1);
    int64_t age = 0;
    int failed = 0;
    failed += motte_config_new(&config) != MOTTE_OK;
    failed += motte_config_set_in_memory(config, "cxx", MOTTE_NTS) != MOTTE_OK;
    failed += motte_schema_parse("Person { id: int key, age: int }", MOTTE_NTS, &schema) != MOTTE_OK;
    failed += motte_config_set_schema(config, schema, 0) != MOTTE_OK;
    failed += motte_realm_open(config, &realm) != MOTTE_OK;
    failed += motte_realm_begin_write(realm, -1) != MOTTE_OK;
    const motte_class person = motte_class_named(realm, "Person");
    failed += motte_object_create(realm, person, &key, MOTTE_CREATE_NEW, &object, nullptr) != MOTTE_OK;
    failed += motte_object_set_int(object, "age", 36) != MOTTE_OK;
    failed += motte_object_get_int(object, motte_prop_named(realm, person, "age"), &age) != MOTTE_OK;
    failed += motte_object_add_int(object, "age", 6, &age) != MOTTE_OK;
    failed += motte_object_set_int(object, "aged", 36) != MOTTE_E_UNKNOWN_PROPERTY;
    failed += age != 42;
    failed += motte_realm_close(realm) != MOTTE_OK;
    for (const void *handle : {static_cast<const void *>(object), static_cast<const void *>(realm),
                               static_cast<const void *>(schema), static_cast<const void *>(config)}) {
        failed += motte_release(handle) != MOTTE_OK;
    }
    return failed;
}
