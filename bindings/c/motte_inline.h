/* SPDX-License-Identifier: Apache-2.0
 *
 * motte_inline.h: conveniences for programs in C and C++ on top of motte.h. Header only; nothing here adds to the ABI.
 *
 *   values     motte_int(36), motte_string("Ada"), motte_null(), ... make a motte_value on the spot
 *   literals   MOTTE_LIT("name") stands for the two arguments (text, length) of a literal
 *   handles    MOTTE_OWNED before a variable releases its handle at the end of the block; typed clone and freeze
 *   lookups    motte_class_named(), motte_prop_named()
 *   loops      motte_coll_each() over the objects of a collection, from a snapshot
 *   errors     motte_print_error()
 */
#ifndef MOTTE_INLINE_H
#define MOTTE_INLINE_H

#include "motte.h"

#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A string literal as text and length: motte_class_find(realm, MOTTE_LIT("Person"), &person). */
#define MOTTE_LIT(literal) "" literal, sizeof(literal) - 1

/* ---------------------------------------------------------------------------------------------------- values */

static inline motte_value motte_null(void) {
    motte_value value;
    memset(&value, 0, sizeof value);
    return value;
}

static inline motte_value motte_bool(int boolean) {
    motte_value value = motte_null();
    value.type = MOTTE_TYPE_BOOL;
    value.as.boolean = boolean ? 1 : 0;
    return value;
}

static inline motte_value motte_int(int64_t integer) {
    motte_value value = motte_null();
    value.type = MOTTE_TYPE_INT;
    value.as.integer = integer;
    return value;
}

static inline motte_value motte_float(float single) {
    motte_value value = motte_null();
    value.type = MOTTE_TYPE_FLOAT;
    value.as.single = single;
    return value;
}

static inline motte_value motte_double(double real) {
    motte_value value = motte_null();
    value.type = MOTTE_TYPE_DOUBLE;
    value.as.real = real;
    return value;
}

/* The text is not copied: it must live until the call that takes the value returns. */
static inline motte_value motte_string_of(const char *text, size_t size) {
    motte_value value = motte_null();
    value.type = MOTTE_TYPE_STRING;
    value.as.string.data = text;
    value.as.string.size = size;
    return value;
}

/* A terminated text; NULL makes a null. */
static inline motte_value motte_string(const char *text) {
    return text ? motte_string_of(text, strlen(text)) : motte_null();
}

/* Not copied, as above. */
static inline motte_value motte_data(const void *bytes, size_t size) {
    motte_value value = motte_null();
    value.type = MOTTE_TYPE_DATA;
    value.as.data.data = bytes;
    value.as.data.size = size;
    return value;
}

static inline motte_value motte_timestamp_value(int64_t seconds, uint32_t nanoseconds) {
    motte_value value = motte_null();
    value.type = MOTTE_TYPE_TIMESTAMP;
    value.aux = nanoseconds;
    value.as.seconds = seconds;
    return value;
}

static inline motte_value motte_decimal_value(motte_decimal decimal) {
    motte_value value = motte_null();
    value.type = MOTTE_TYPE_DECIMAL;
    value.as.decimal = decimal;
    return value;
}

/* A decimal from terminated text, "3.75"; a null if it is none. */
static inline motte_value motte_decimal_text(const char *text) {
    motte_decimal decimal;
    if (motte_decimal_parse(text, MOTTE_NTS, &decimal) != MOTTE_OK) return motte_null();
    return motte_decimal_value(decimal);
}

static inline motte_value motte_object_id_value(motte_object_id id) {
    motte_value value = motte_null();
    value.type = MOTTE_TYPE_OBJECT_ID;
    value.as.object_id = id;
    return value;
}

static inline motte_value motte_uuid_value(motte_uuid uuid) {
    motte_value value = motte_null();
    value.type = MOTTE_TYPE_UUID;
    value.as.uuid = uuid;
    return value;
}

/* The document of motte_nested_list() or motte_nested_map() as a value; it must live until the call that takes the
 * value returns. `type` is MOTTE_TYPE_LIST or MOTTE_TYPE_MAP. */
static inline motte_value motte_nested(motte_type type, const motte_buf *document) {
    motte_value value = motte_null();
    value.type = type;
    value.as.nested.data = document->data;
    value.as.nested.size = document->size;
    return value;
}

/* cls may be 0: the class that the property links to. */
static inline motte_value motte_link(motte_class cls, motte_key key) {
    motte_value value = motte_null();
    value.type = MOTTE_TYPE_LINK;
    value.aux = cls;
    value.as.key = key;
    return value;
}

/* A link to an object, or a null for NULL and for a handle that cannot be used. */
static inline motte_value motte_link_to(const motte_object *object) {
    motte_class cls = 0;
    motte_key key = 0;
    if (!object || motte_object_row(object, &cls, &key) != MOTTE_OK) return motte_null();
    return motte_link(cls, key);
}

/* 1 if a text view has exactly these bytes. */
static inline int motte_str_equal(motte_str view, const char *text) {
    size_t size = strlen(text);
    return view.data != NULL && view.size == size && memcmp(view.data, text, size) == 0;
}

/* ---------------------------------------------------------------------------------------------------- handles */

/* MOTTE_OWNED motte_realm *realm = NULL;  is released when its block is left, in gcc and clang. */
#ifdef __GNUC__
static inline void motte_release_variable(void *variable) {
    void *handle;
    memcpy(&handle, variable, sizeof handle);
    (void)motte_release(handle);
}
#define MOTTE_OWNED __attribute__((cleanup(motte_release_variable)))
#endif

/* motte_x_clone() and motte_x_freeze() save the casts. */
#define MOTTE_TYPED_HANDLE(type)                                                                                       \
    static inline motte_status type##_clone(const type *handle, type **out_handle) {                                   \
        void *clone = NULL;                                                                                            \
        motte_status status = motte_clone(handle, &clone);                                                             \
        *out_handle = (type *)clone;                                                                                   \
        return status;                                                                                                 \
    }

#define MOTTE_FREEZABLE_HANDLE(type)                                                                                   \
    MOTTE_TYPED_HANDLE(type)                                                                                           \
    static inline motte_status type##_freeze(const type *handle, type **out_handle) {                                  \
        void *frozen = NULL;                                                                                           \
        motte_status status = motte_freeze(handle, &frozen);                                                           \
        *out_handle = (type *)frozen;                                                                                  \
        return status;                                                                                                 \
    }

MOTTE_TYPED_HANDLE(motte_error)
MOTTE_TYPED_HANDLE(motte_config)
MOTTE_TYPED_HANDLE(motte_schema)
MOTTE_FREEZABLE_HANDLE(motte_realm)
MOTTE_FREEZABLE_HANDLE(motte_object)
MOTTE_FREEZABLE_HANDLE(motte_coll)
MOTTE_TYPED_HANDLE(motte_query)
MOTTE_TYPED_HANDLE(motte_insert)
MOTTE_TYPED_HANDLE(motte_queue)
MOTTE_TYPED_HANDLE(motte_token)
MOTTE_TYPED_HANDLE(motte_changes)
MOTTE_TYPED_HANDLE(motte_report)
MOTTE_TYPED_HANDLE(motte_migration)
MOTTE_TYPED_HANDLE(motte_sections)
MOTTE_TYPED_HANDLE(motte_reference)

#undef MOTTE_TYPED_HANDLE
#undef MOTTE_FREEZABLE_HANDLE

/* ---------------------------------------------------------------------------------------------------- lookups */

/* Class by terminated name; 0 if there is none. */
static inline motte_class motte_class_named(const motte_realm *realm, const char *name) {
    motte_class cls = 0;
    return motte_class_find(realm, name, MOTTE_NTS, &cls) == MOTTE_OK ? cls : 0;
}

/* Property by terminated names; 0 if there is none. */
static inline motte_prop motte_prop_named(const motte_realm *realm, motte_class cls, const char *name) {
    motte_prop prop = 0;
    return motte_prop_find(realm, cls, name, MOTTE_NTS, &prop) == MOTTE_OK ? prop : 0;
}

/* Opens a file with a schema in text form; schema may be NULL to take the file's own. */
static inline motte_status motte_open(const char *path, const char *schema, motte_realm **out_realm) {
    motte_config *config = NULL;
    motte_schema *classes = NULL;
    motte_status status = motte_config_new(&config);
    *out_realm = NULL;
    if (status == MOTTE_OK) status = motte_config_set_path(config, path, MOTTE_NTS);
    if (status == MOTTE_OK && schema) {
        status = motte_schema_parse(schema, MOTTE_NTS, &classes);
        if (status == MOTTE_OK) status = motte_config_set_schema(config, classes, 0);
    }
    if (status == MOTTE_OK) status = motte_realm_open(config, out_realm);
    motte_release(classes);
    motte_release(config);
    return status;
}

/* ---------------------------------------------------------------------------------------------------- loops */

typedef motte_status (*motte_each_fn)(void *userdata, motte_object *object);

/* Calls `body` with each object of a collection as it is now; body may write and delete. The handle is released after
 * each call. Stops at the first status that is not MOTTE_OK and returns it. */
static inline motte_status motte_coll_each(const motte_coll *coll, motte_each_fn body, void *userdata) {
    motte_coll *fixed = NULL;
    size_t index, count = 0;
    motte_status status = motte_coll_snapshot(coll, &fixed);
    if (status == MOTTE_OK) status = motte_coll_count(fixed, &count);
    for (index = 0; status == MOTTE_OK && index < count; index++) {
        motte_object *object = NULL;
        status = motte_coll_get_object(fixed, index, &object);
        if (status == MOTTE_NULL) {
            status = MOTTE_OK; /* deleted meanwhile */
        } else if (status == MOTTE_OK) {
            status = body(userdata, object);
        }
        motte_release(object);
    }
    motte_release(fixed);
    return status;
}

/* ---------------------------------------------------------------------------------------------------- errors */

/* Prints what went wrong: call it right after a negative status. */
static inline void motte_print_error(FILE *stream, const char *what, motte_status status) {
    motte_error_details details;
    memset(&details, 0, sizeof details);
    details.struct_size = sizeof details;
    if (status < 0 && motte_last_error(&details) == MOTTE_OK && details.code == status) {
        fprintf(stream, "%s: %s (%s)\n", what, details.message, motte_status_name(status));
    } else {
        fprintf(stream, "%s: %s (%s)\n", what, motte_status_message(status), motte_status_name(status));
    }
}

#ifdef __cplusplus
}
#endif

#endif
