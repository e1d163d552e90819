/* SPDX-License-Identifier: Apache-2.0
 *
 * motte_inline.h: conveniences for programs in C and C++ on top of motte.h. Header only; nothing here adds to the ABI.
 *
 *   values     motte_int(36), motte_string("Ada"), motte_null(), ... make a motte_value on the spot
 *   literals   MOTTE_LIT("name") stands for the two arguments (text, length) of a literal
 *   handles    MOTTE_OWNED before a variable releases its handle at the end of the block; typed clone, freeze
 *   lookups    motte_class_named(), motte_prop_named()
 *   names      motte_object_set_int(person, "age", 36): in C11 and C++, functions for properties of an object take
 *              names where they take ids
 *   objects    motte_realm_add(realm, "Person", MOTTE_FIELDS({"age", motte_int(36)}), NULL), motte_realm_query()
 *   loops      motte_coll_next() over the objects of a collection; motte_coll_each() with a function, from a snapshot
 *   errors     motte_print_error(), motte_error_text()
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

/* An object of the file that the value is used with. cls may be 0: the class that the property links to. */
static inline motte_value motte_link(motte_class cls, motte_key key) {
    motte_value value = motte_null();
    value.type = MOTTE_TYPE_LINK;
    value.aux = cls;
    value.as.key = key;
    return value;
}

/* A link to an object as motte_object_link() makes it, or a null for NULL and for a handle that cannot be used. */
static inline motte_value motte_link_to(const motte_object *object) {
    motte_value value = motte_null();
    if (object) (void)motte_object_link(object, &value);
    return value;
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

/* motte_x_clone() and motte_x_freeze() save the casts. A NULL output is the error of the function behind them. */
#define MOTTE_CAST_RESULT(type, name, function)                                                                        \
    static inline motte_status type##_##name(const type *handle, type **out_handle) {                                  \
        void *made = NULL;                                                                                             \
        motte_status status = function(handle, out_handle ? &made : NULL);                                             \
        if (out_handle) *out_handle = (type *)made;                                                                    \
        return status;                                                                                                 \
    }
#define MOTTE_TYPED_HANDLE(type) MOTTE_CAST_RESULT(type, clone, motte_clone)
#define MOTTE_FREEZABLE_HANDLE(type)                                                                                   \
    MOTTE_TYPED_HANDLE(type)                                                                                           \
    MOTTE_CAST_RESULT(type, freeze, motte_freeze)

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
MOTTE_TYPED_HANDLE(motte_groups)
MOTTE_TYPED_HANDLE(motte_reference)

#undef MOTTE_CAST_RESULT
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
    if (out_realm) *out_realm = NULL;
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

/* ---------------------------------------------------------------------------------------------------- names
 *
 * The functions for a property of an object, by name: motte_object_set_int_named(person, "age", 36), and where the
 * language can choose by the type of an argument, C11 and C++, under the name that ids have. A name that the class does
 * not have is UNKNOWN_PROPERTY; the message names the nearest one. */

/* Outputs are zero after a failure. */
#define MOTTE_GETTER(function, type)                                                                                   \
    static inline motte_status function##_named(const motte_object *object, const char *name, type *out_value) {       \
        motte_prop prop = 0;                                                                                           \
        motte_status status = motte_object_prop(object, name, MOTTE_NTS, &prop);                                       \
        if (status == MOTTE_OK) return function(object, prop, out_value);                                              \
        if (out_value) memset(out_value, 0, sizeof *out_value);                                                        \
        return status;                                                                                                 \
    }

MOTTE_GETTER(motte_object_get, motte_value)
MOTTE_GETTER(motte_object_get_int, int64_t)
MOTTE_GETTER(motte_object_get_bool, bool)
MOTTE_GETTER(motte_object_get_double, double)
MOTTE_GETTER(motte_object_get_string, motte_str)
MOTTE_GETTER(motte_object_copy_string, motte_buf)
MOTTE_GETTER(motte_object_get_data, motte_bytes)
MOTTE_GETTER(motte_object_get_timestamp, motte_timestamp)
MOTTE_GETTER(motte_object_get_object, motte_object *)
MOTTE_GETTER(motte_object_get_coll, motte_coll *)

static inline motte_status motte_object_get_fixed_named(const motte_object *object, const char *name, size_t width,
                                                        void *out_bytes) {
    motte_prop prop = 0;
    motte_status status = motte_object_prop(object, name, MOTTE_NTS, &prop);
    if (status == MOTTE_OK) return motte_object_get_fixed(object, prop, width, out_bytes);
    if (out_bytes) memset(out_bytes, 0, width);
    return status;
}

#define MOTTE_SETTER(function, parameters, arguments)                                                                  \
    static inline motte_status function##_named parameters {                                                           \
        motte_prop prop = 0;                                                                                           \
        motte_status status = motte_object_prop(object, name, MOTTE_NTS, &prop);                                       \
        return status == MOTTE_OK ? function arguments : status;                                                       \
    }

MOTTE_SETTER(motte_object_set, (motte_object * object, const char *name, const motte_value *value),
             (object, prop, value))
MOTTE_SETTER(motte_object_set_int, (motte_object * object, const char *name, int64_t value), (object, prop, value))
MOTTE_SETTER(motte_object_set_bool, (motte_object * object, const char *name, uint32_t value), (object, prop, value))
MOTTE_SETTER(motte_object_set_double, (motte_object * object, const char *name, double value), (object, prop, value))
MOTTE_SETTER(motte_object_set_string, (motte_object * object, const char *name, const char *text, size_t text_size),
             (object, prop, text, text_size))
MOTTE_SETTER(motte_object_set_data, (motte_object * object, const char *name, const void *bytes, size_t byte_count),
             (object, prop, bytes, byte_count))
MOTTE_SETTER(motte_object_set_timestamp, (motte_object * object, const char *name, const motte_timestamp *value),
             (object, prop, value))
MOTTE_SETTER(motte_object_set_fixed, (motte_object * object, const char *name, const void *bytes, size_t width),
             (object, prop, bytes, width))
MOTTE_SETTER(motte_object_set_null, (motte_object * object, const char *name), (object, prop))
MOTTE_SETTER(motte_object_set_object, (motte_object * object, const char *name, const motte_object *target),
             (object, prop, target))

static inline motte_status motte_object_add_int_named(motte_object *object, const char *name, int64_t delta,
                                                      int64_t *out_value) {
    motte_prop prop = 0;
    motte_status status = motte_object_prop(object, name, MOTTE_NTS, &prop);
    if (status == MOTTE_OK) return motte_object_add_int(object, prop, delta, out_value);
    if (out_value) *out_value = 0;
    return status;
}

#undef MOTTE_GETTER
#undef MOTTE_SETTER

/* ---------------------------------------------------------------------------------------------------- objects */

/* A value for a property by its name. */
typedef struct motte_field {
    const char *name;
    motte_value value;
} motte_field;

/* MOTTE_FIELDS({"name", motte_string("Ada")}, {"age", motte_int(36)}) stands for the two arguments (fields, count). In
 * C++ there is motte.hpp. */
#ifndef __cplusplus
#define MOTTE_FIELDS(...)                                                                                              \
    (const motte_field[]){__VA_ARGS__}, sizeof((const motte_field[]){__VA_ARGS__}) / sizeof(motte_field)
#endif

/* The most fields of one call of motte_realm_add(). */
enum {
    MOTTE_MOST_FIELDS = 64
};

/* A new object with these values, the primary key among them, in the open write; all or nothing. out_object may be
 * NULL. UNKNOWN_CLASS and UNKNOWN_PROPERTY for names that are not there, otherwise as motte_object_create_with(). */
static inline motte_status motte_realm_add(motte_realm *realm, const char *class_name, const motte_field *fields,
                                           size_t count, motte_object **out_object) {
    motte_prop props[MOTTE_MOST_FIELDS];
    motte_value values[MOTTE_MOST_FIELDS];
    motte_class cls = 0;
    size_t index;
    motte_status status = motte_class_require(realm, class_name, MOTTE_NTS, &cls);
    if (out_object) *out_object = NULL;
    if (count > MOTTE_MOST_FIELDS) return MOTTE_E_INVALID_ARGUMENT;
    for (index = 0; status == MOTTE_OK && index < count; index++) {
        status = motte_prop_require(realm, cls, fields[index].name, MOTTE_NTS, &props[index]);
        values[index] = fields[index].value;
    }
    if (status != MOTTE_OK) return status;
    if (!out_object) return motte_row_create(realm, cls, props, values, count, MOTTE_CREATE_NEW, NULL, NULL);
    return motte_object_create_with(realm, cls, props, values, count, MOTTE_CREATE_NEW, out_object, NULL);
}

/* Live results of query text over a class by name: motte_realm_query(realm, "Person", "age >= $0", args, 1, &adults).
 * UNKNOWN_CLASS without such a class, otherwise as motte_coll_filter(). */
static inline motte_status motte_realm_query(const motte_realm *realm, const char *class_name, const char *text,
                                             const motte_value *args, size_t arg_count, motte_coll **out_coll) {
    motte_class cls = 0;
    motte_query *query = NULL;
    motte_status status = motte_class_require(realm, class_name, MOTTE_NTS, &cls);
    if (out_coll) *out_coll = NULL;
    if (status == MOTTE_OK) status = motte_query_parse(realm, cls, text, MOTTE_NTS, args, arg_count, &query);
    if (status == MOTTE_OK) status = motte_query_run(query, out_coll);
    motte_release(query);
    return status;
}

/* A list of values as an argument of a query, `name IN $0`: motte_buf_dispose(document) when the query is made. */
static inline motte_status motte_list_argument(const motte_value *values, size_t count, motte_buf *document,
                                               motte_value *out_argument) {
    motte_status status;
    if (document) memset(document, 0, sizeof *document);
    status = motte_nested_list(values, count, out_argument ? document : NULL);
    if (out_argument) *out_argument = status == MOTTE_OK ? motte_nested(MOTTE_TYPE_LIST, document) : motte_null();
    return status;
}

/* Appends an object to a list of links. INVALID_ARGUMENT: it is an object of another file. */
static inline motte_status motte_list_append_object(motte_coll *list, const motte_object *object) {
    motte_value link;
    motte_status status = motte_object_link(object, &link);
    if (status != MOTTE_OK) return status;
    return motte_list_append(list, &link, 1);
}

/* ---------------------------------------------------------------------------------------------------- loops */

/* The next object of a collection, for a loop that does not change which objects are in it:
 *
 *     size_t index = 0;
 *     motte_object *person = NULL;
 *     while ((status = motte_coll_next(adults, &index, &person)) == MOTTE_OK) { ... }
 *
 * The object is released by the next call, and by the last one, which returns MOTTE_END; who leaves the loop before
 * releases it. Objects of a snapshot that were deleted are passed over. */
static inline motte_status motte_coll_next(const motte_coll *coll, size_t *index, motte_object **object) {
    motte_status status;
    if (!index || !object) return motte_coll_get_object(coll, 0, NULL);
    (void)motte_release(*object);
    do {
        size_t count = 0;
        *object = NULL;
        status = motte_coll_count(coll, &count);
        if (status != MOTTE_OK) return status;
        if (*index >= count) return MOTTE_END;
        status = motte_coll_get_object(coll, (*index)++, object);
    } while (status == MOTTE_NULL);
    return status;
}

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

/* What went wrong, for messages of one's own: right after a negative status, until the next failure of the thread. */
static inline const char *motte_error_text(motte_status status) {
    motte_error_details details;
    memset(&details, 0, sizeof details);
    details.struct_size = sizeof details;
    if (status < 0 && motte_last_error(&details) == MOTTE_OK && details.code == status) return details.message;
    return motte_status_message(status);
}

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

#define MOTTE_BY_NAME(function, parameters, arguments)                                                                 \
    inline motte_status function parameters { return function##_named arguments; }

MOTTE_BY_NAME(motte_object_get, (const motte_object *object, const char *name, motte_value *out), (object, name, out))
MOTTE_BY_NAME(motte_object_get_int, (const motte_object *object, const char *name, int64_t *out), (object, name, out))
MOTTE_BY_NAME(motte_object_get_bool, (const motte_object *object, const char *name, bool *out), (object, name, out))
MOTTE_BY_NAME(motte_object_get_double, (const motte_object *object, const char *name, double *out), (object, name, out))
MOTTE_BY_NAME(motte_object_get_string, (const motte_object *object, const char *name, motte_str *out),
              (object, name, out))
MOTTE_BY_NAME(motte_object_copy_string, (const motte_object *object, const char *name, motte_buf *out),
              (object, name, out))
MOTTE_BY_NAME(motte_object_get_data, (const motte_object *object, const char *name, motte_bytes *out),
              (object, name, out))
MOTTE_BY_NAME(motte_object_get_timestamp, (const motte_object *object, const char *name, motte_timestamp *out),
              (object, name, out))
MOTTE_BY_NAME(motte_object_get_fixed, (const motte_object *object, const char *name, size_t width, void *out),
              (object, name, width, out))
MOTTE_BY_NAME(motte_object_get_object, (const motte_object *object, const char *name, motte_object **out),
              (object, name, out))
MOTTE_BY_NAME(motte_object_get_coll, (const motte_object *object, const char *name, motte_coll **out),
              (object, name, out))
MOTTE_BY_NAME(motte_object_set, (motte_object * object, const char *name, const motte_value *value),
              (object, name, value))
MOTTE_BY_NAME(motte_object_set_int, (motte_object * object, const char *name, int64_t value), (object, name, value))
MOTTE_BY_NAME(motte_object_add_int, (motte_object * object, const char *name, int64_t delta, int64_t *out),
              (object, name, delta, out))
MOTTE_BY_NAME(motte_object_set_bool, (motte_object * object, const char *name, uint32_t value), (object, name, value))
MOTTE_BY_NAME(motte_object_set_double, (motte_object * object, const char *name, double value), (object, name, value))
MOTTE_BY_NAME(motte_object_set_string, (motte_object * object, const char *name, const char *text, size_t size),
              (object, name, text, size))
MOTTE_BY_NAME(motte_object_set_data, (motte_object * object, const char *name, const void *bytes, size_t size),
              (object, name, bytes, size))
MOTTE_BY_NAME(motte_object_set_timestamp, (motte_object * object, const char *name, const motte_timestamp *value),
              (object, name, value))
MOTTE_BY_NAME(motte_object_set_fixed, (motte_object * object, const char *name, const void *bytes, size_t width),
              (object, name, bytes, width))
MOTTE_BY_NAME(motte_object_set_null, (motte_object * object, const char *name), (object, name))
MOTTE_BY_NAME(motte_object_set_object, (motte_object * object, const char *name, const motte_object *target),
              (object, name, target))
#undef MOTTE_BY_NAME

#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
/* The C language expands a macro inside its own replacement only once: the inner name is the function. */
#define MOTTE_FIRST(first, ...) first
#define MOTTE_BY_ID_OR_NAME(function, object, ...)                                                                     \
    _Generic((MOTTE_FIRST(__VA_ARGS__, 0)),                                                                            \
        char *: function##_named,                                                                                      \
        const char *: function##_named,                                                                                \
        default: function)(object, __VA_ARGS__)
#define motte_object_get(object, ...) MOTTE_BY_ID_OR_NAME(motte_object_get, object, __VA_ARGS__)
#define motte_object_get_int(object, ...) MOTTE_BY_ID_OR_NAME(motte_object_get_int, object, __VA_ARGS__)
#define motte_object_get_bool(object, ...) MOTTE_BY_ID_OR_NAME(motte_object_get_bool, object, __VA_ARGS__)
#define motte_object_get_double(object, ...) MOTTE_BY_ID_OR_NAME(motte_object_get_double, object, __VA_ARGS__)
#define motte_object_get_string(object, ...) MOTTE_BY_ID_OR_NAME(motte_object_get_string, object, __VA_ARGS__)
#define motte_object_copy_string(object, ...) MOTTE_BY_ID_OR_NAME(motte_object_copy_string, object, __VA_ARGS__)
#define motte_object_get_data(object, ...) MOTTE_BY_ID_OR_NAME(motte_object_get_data, object, __VA_ARGS__)
#define motte_object_get_timestamp(object, ...) MOTTE_BY_ID_OR_NAME(motte_object_get_timestamp, object, __VA_ARGS__)
#define motte_object_get_fixed(object, ...) MOTTE_BY_ID_OR_NAME(motte_object_get_fixed, object, __VA_ARGS__)
#define motte_object_get_object(object, ...) MOTTE_BY_ID_OR_NAME(motte_object_get_object, object, __VA_ARGS__)
#define motte_object_get_coll(object, ...) MOTTE_BY_ID_OR_NAME(motte_object_get_coll, object, __VA_ARGS__)
#define motte_object_set(object, ...) MOTTE_BY_ID_OR_NAME(motte_object_set, object, __VA_ARGS__)
#define motte_object_set_int(object, ...) MOTTE_BY_ID_OR_NAME(motte_object_set_int, object, __VA_ARGS__)
#define motte_object_add_int(object, ...) MOTTE_BY_ID_OR_NAME(motte_object_add_int, object, __VA_ARGS__)
#define motte_object_set_bool(object, ...) MOTTE_BY_ID_OR_NAME(motte_object_set_bool, object, __VA_ARGS__)
#define motte_object_set_double(object, ...) MOTTE_BY_ID_OR_NAME(motte_object_set_double, object, __VA_ARGS__)
#define motte_object_set_string(object, ...) MOTTE_BY_ID_OR_NAME(motte_object_set_string, object, __VA_ARGS__)
#define motte_object_set_data(object, ...) MOTTE_BY_ID_OR_NAME(motte_object_set_data, object, __VA_ARGS__)
#define motte_object_set_timestamp(object, ...) MOTTE_BY_ID_OR_NAME(motte_object_set_timestamp, object, __VA_ARGS__)
#define motte_object_set_fixed(object, ...) MOTTE_BY_ID_OR_NAME(motte_object_set_fixed, object, __VA_ARGS__)
#define motte_object_set_null(object, ...) MOTTE_BY_ID_OR_NAME(motte_object_set_null, object, __VA_ARGS__)
#define motte_object_set_object(object, ...) MOTTE_BY_ID_OR_NAME(motte_object_set_object, object, __VA_ARGS__)
#endif

#endif
