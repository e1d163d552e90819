/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "motte.h"
#include "motte_trace.h"
#include "case_text.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct block {
    struct block *next;
    max_align_t bytes[];
} block;

static block *blocks;

void *case_alloc(size_t size) {
    block *made = calloc(1, sizeof(block) + size + 1);
    if (!made) abort();
    made->next = blocks;
    blocks = made;
    return made->bytes;
}

void case_free_all(void) {
    while (blocks) {
        block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
}

char *case_format(const char *format, ...) {
    va_list arguments;
    char *text = NULL, *kept;
    va_start(arguments, format);
    int size = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (size < 0) abort();
    kept = case_alloc((size_t)size + 1);
    memcpy(kept, text, (size_t)size + 1);
    free(text);
    return kept;
}

/* ------------------------------------------------------------------------------------------------ words */

static int is_name_byte(char byte) { return isalnum((unsigned char)byte) || byte == '_' || (byte & 0x80); }

void skip_blanks(cursor *in) {
    while (*in->at == ' ') in->at++;
}

int at_end(cursor *in) {
    skip_blanks(in);
    return *in->at == 0 || *in->at == '#';
}

int accept(cursor *in, const char *text) {
    size_t size = strlen(text);
    skip_blanks(in);
    if (strncmp(in->at, text, size) != 0) return 0;
    char last = text[size - 1], next = in->at[size];
    if (is_name_byte(last) && (is_name_byte(next) || next == '-')) return 0;
    in->at += size;
    return 1;
}

void need(cursor *in, const char *text) {
    if (!accept(in, text)) case_fail("expected '%s' at '%s'", text, in->at);
}

char *accept_name(cursor *in) {
    skip_blanks(in);
    const char *start = in->at;
    if (isdigit((unsigned char)*start)) return NULL;
    while (is_name_byte(*in->at) || (*in->at == '-' && in->at > start)) in->at++;
    return in->at == start ? NULL : case_format("%.*s", (int)(in->at - start), start);
}

char *need_name(cursor *in) {
    char *name = accept_name(in);
    if (!name) case_fail("expected a name at '%s'", in->at);
    return name;
}

long long need_integer(cursor *in) {
    char *end;
    skip_blanks(in);
    long long number = strtoll(in->at, &end, 10);
    if (end == in->at) case_fail("expected a whole number at '%s'", in->at);
    in->at = end;
    return number;
}

char *need_text(cursor *in) {
    need(in, "`");
    const char *end = strchr(in->at, '`');
    if (!end) case_fail("text without its closing backquote");
    char *text = case_format("%.*s", (int)(end - in->at), in->at);
    in->at = end + 1;
    return text;
}

void need_end(cursor *in) {
    if (!at_end(in)) case_fail("unexpected '%s'", in->at);
}

/* ------------------------------------------------------------------------------------------------ literals */

static int hex_digit(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    case_fail("'%c' is no hexadecimal digit in lower case", digit);
}

/* "..." with \" \\ \n \t and \xNN for a byte; "..."*n repeats it. */
static motte_value string_value(cursor *in) {
    char *bytes = case_alloc(strlen(in->at) + 1);
    size_t size = 0;
    need(in, "\"");
    while (*in->at != '"') {
        char byte = *in->at++;
        if (byte == 0) case_fail("a string without its closing quote");
        if (byte == '\\') {
            byte = *in->at++;
            if (byte == 'n') byte = '\n';
            else if (byte == 't') byte = '\t';
            else if (byte == 'x') {
                byte = (char)(hex_digit(in->at[0]) * 16 + hex_digit(in->at[1]));
                in->at += 2;
            } else if (byte != '"' && byte != '\\') case_fail("unknown escape '\\%c'", byte);
        }
        bytes[size++] = byte;
    }
    in->at++;
    if (accept(in, "*")) {
        size_t count = (size_t)need_integer(in);
        char *repeated = case_alloc(size * count);
        for (size_t i = 0; i < count; i++) memcpy(repeated + i * size, bytes, size);
        bytes = repeated;
        size *= count;
    }
    motte_value value = {MOTTE_TYPE_STRING, 0, {.string = {bytes, size}}};
    return value;
}

static motte_value data_value(cursor *in) {
    unsigned char *bytes = case_alloc(strlen(in->at) + 1);
    size_t size = 0;
    for (; *in->at != '"'; in->at += 2) {
        bytes[size++] = (unsigned char)(hex_digit(in->at[0]) * 16 + hex_digit(in->at[1]));
    }
    in->at++;
    motte_value value = {MOTTE_TYPE_DATA, 0, {.data = {bytes, size}}};
    return value;
}

static motte_value number_value(cursor *in) {
    char *end;
    motte_value value = {MOTTE_TYPE_INT, 0, {.integer = 0}};
    double real = strtod(in->at, &end);
    size_t size = (size_t)(end - in->at);
    if (size == 0) case_fail("expected a value at '%s'", in->at);
    if (*end == 'f') {
        value.type = MOTTE_TYPE_FLOAT;
        value.as.words[0] = 0;
        value.as.single = (float)real;
        end++;
    } else if (memchr(in->at, '.', size) || memchr(in->at, 'e', size) || !isfinite(real)) {
        value.type = MOTTE_TYPE_DOUBLE;
        value.as.real = real;
    } else {
        value.as.integer = strtoll(in->at, &end, 10);
    }
    in->at = end;
    return value;
}

/* A buffer of the library, kept as long as the case. */
static motte_value document(motte_type type, motte_buf *buffer) {
    char *bytes = case_alloc(buffer->size);
    if (buffer->size) memcpy(bytes, buffer->data, buffer->size);
    motte_value value = {type, 0, {.nested = {bytes, buffer->size}}};
    motte_buf_dispose(buffer);
    return value;
}

motte_value nested_list(const motte_value *items, size_t count) {
    motte_buf buffer = {NULL, 0};
    if (motte_nested_list(items, count, &buffer) != MOTTE_OK) case_fail("the values make no list");
    return document(MOTTE_TYPE_LIST, &buffer);
}

motte_value nested_map(const motte_str *keys, const motte_value *values, size_t count) {
    motte_buf buffer = {NULL, 0};
    if (motte_nested_map(keys, values, count, &buffer) != MOTTE_OK) case_fail("the values make no map");
    return document(MOTTE_TYPE_MAP, &buffer);
}

motte_value one_value(const literal *value) {
    return value->is_list ? nested_list(value->items, value->count) : value->value;
}

/* { "key": value, ... } */
static motte_value map_value(cursor *in, resolve_fn resolve) {
    size_t room = strlen(in->at), count = 0;
    motte_str *keys = case_alloc(room * sizeof *keys);
    motte_value *values = case_alloc(room * sizeof *values);
    need(in, "{");
    while (!accept(in, "}")) {
        if (count > 0) need(in, ",");
        skip_blanks(in);
        keys[count] = string_value(in).as.string;
        need(in, ":");
        values[count++] = need_value(in, resolve);
    }
    return nested_map(keys, values, count);
}

/* dec"3.75", objectId"24 digits", uuid"36 characters" */
static int accept_named(cursor *in, motte_value *value) {
    static const char *const names[] = {"dec", "objectId", "uuid"};
    for (int i = 0; i < 3; i++) {
        size_t size = strlen(names[i]);
        if (strncmp(in->at, names[i], size) != 0 || in->at[size] != '"') continue;
        in->at += size;
        motte_str text = string_value(in).as.string;
        motte_status status;
        if (i == 0) {
            value->type = MOTTE_TYPE_DECIMAL;
            status = motte_decimal_parse(text.data, text.size, &value->as.decimal);
        } else if (i == 1) {
            value->type = MOTTE_TYPE_OBJECT_ID;
            status = motte_object_id_parse(text.data, text.size, &value->as.object_id);
        } else {
            value->type = MOTTE_TYPE_UUID;
            status = motte_uuid_parse(text.data, text.size, &value->as.uuid);
        }
        if (status != MOTTE_OK) case_fail("'%.*s' is no %s", (int)text.size, text.data, names[i]);
        return 1;
    }
    return 0;
}

motte_value need_value(cursor *in, resolve_fn resolve) {
    motte_value value = {MOTTE_TYPE_NULL, 0, {.words = {0, 0}}};
    skip_blanks(in);
    if (*in->at == '[') {
        literal list = need_literal(in, resolve);
        return one_value(&list);
    }
    if (*in->at == '{') return map_value(in, resolve);
    if (accept_named(in, &value)) return value;
    if (accept(in, "null")) return value;
    if (accept(in, "true")) {
        value.type = MOTTE_TYPE_BOOL;
        value.as.boolean = 1;
        return value;
    }
    if (accept(in, "false")) {
        value.type = MOTTE_TYPE_BOOL;
        return value;
    }
    if (accept(in, "ts(")) {
        value.type = MOTTE_TYPE_TIMESTAMP;
        value.as.seconds = need_integer(in);
        need(in, ",");
        value.aux = (uint32_t)need_integer(in);
        need(in, ")");
        return value;
    }
    if (*in->at == '"') return string_value(in);
    if (strncmp(in->at, "x\"", 2) == 0) {
        in->at += 2;
        return data_value(in);
    }
    if (strncmp(in->at, "nan", 3) == 0 || strncmp(in->at, "inf", 3) == 0) return number_value(in);
    if (*in->at == '@' || isalpha((unsigned char)*in->at)) {
        resolve(in, &value);
        return value;
    }
    return number_value(in);
}

static literal values_until(cursor *in, const char *close, resolve_fn resolve) {
    literal list = {1, {0}, 0, case_alloc((strlen(in->at) + 1) * sizeof(motte_value))};
    while (!accept(in, close)) {
        if (list.count > 0) need(in, ",");
        list.items[list.count++] = need_value(in, resolve);
    }
    return list;
}

literal need_literal(cursor *in, resolve_fn resolve) {
    if (accept(in, "[")) return values_until(in, "]", resolve);
    literal single = {0, {0}, 0, NULL};
    single.value = need_value(in, resolve);
    return single;
}

literal accept_arguments(cursor *in, resolve_fn resolve) {
    literal none = {1, {0}, 0, NULL};
    return accept(in, "(") ? values_until(in, ")", resolve) : none;
}

/* ------------------------------------------------------------------------------------------------ values */

static int same_number(double left, double right) { return left == right || (isnan(left) && isnan(right)); }

int same_value(const motte_value *left, const motte_value *right) {
    if (left->type != right->type) return 0;
    switch (left->type) {
    case MOTTE_TYPE_NULL: return 1;
    case MOTTE_TYPE_FLOAT: return same_number(left->as.single, right->as.single);
    case MOTTE_TYPE_DOUBLE: return same_number(left->as.real, right->as.real);
    case MOTTE_TYPE_DECIMAL:
    case MOTTE_TYPE_OBJECT_ID:
    case MOTTE_TYPE_UUID: {
        int32_t order = 1, decimals = 0;
        if (motte_value_compare(left, right, &order) != MOTTE_OK) return 0;
        if (left->type == MOTTE_TYPE_DECIMAL) motte_decimal_compare(&left->as.decimal, &right->as.decimal, &decimals);
        return order == 0 && decimals == 0;
    }
    case MOTTE_TYPE_STRING:
    case MOTTE_TYPE_DATA:
    case MOTTE_TYPE_LIST:
    case MOTTE_TYPE_MAP:
        return left->as.string.size == right->as.string.size &&
               (left->as.string.size == 0 ||
                memcmp(left->as.string.data, right->as.string.data, left->as.string.size) == 0);
    default: return left->aux == right->aux && left->as.words[0] == right->as.words[0];
    }
}

static char *nested_text(const motte_value *value) {
    size_t count = 0, got = 0;
    int is_map = value->type == MOTTE_TYPE_MAP;
    if (motte_nested_count(value, &count) != MOTTE_OK) return case_format("(no document)");
    motte_str *keys = case_alloc((count + 1) * sizeof *keys);
    motte_value *values = case_alloc((count + 1) * sizeof *values);
    motte_nested_read(value, 0, count, keys, values, &got);
    char *text = case_format(is_map ? "{" : "[");
    for (size_t i = 0; i < got; i++) {
        text = case_format("%s%s", text, i ? ", " : "");
        if (is_map) text = case_format("%s\"%.*s\": ", text, (int)keys[i].size, keys[i].data);
        text = case_format("%s%s", text, value_text(&values[i]));
    }
    return case_format("%s%s", text, is_map ? "}" : "]");
}

/* What one of the formatting functions writes. */
static char *formatted(const motte_value *value) {
    char text[64];
    size_t size = 0;
    motte_status status = value->type == MOTTE_TYPE_DECIMAL
                              ? motte_decimal_format(&value->as.decimal, text, sizeof text, &size)
                              : motte_bytes_format(value->type, &value->as, text, sizeof text, &size);
    if (status != MOTTE_OK) return case_format("(no text)");
    const char *name = value->type == MOTTE_TYPE_DECIMAL ? "dec" : value->type == MOTTE_TYPE_UUID ? "uuid" : "objectId";
    return case_format("%s\"%.*s\"", name, (int)size, text);
}

char *value_text(const motte_value *value) {
    switch (value->type) {
    case MOTTE_TYPE_NULL: return case_format("null");
    case MOTTE_TYPE_BOOL: return case_format(value->as.boolean ? "true" : "false");
    case MOTTE_TYPE_INT: return case_format("%lld", (long long)value->as.integer);
    case MOTTE_TYPE_FLOAT: return case_format("%.9gf", (double)value->as.single);
    case MOTTE_TYPE_DOUBLE: return case_format("%.17g (double)", value->as.real);
    case MOTTE_TYPE_STRING: return case_format("\"%.*s\"", (int)value->as.string.size, value->as.string.data);
    case MOTTE_TYPE_TIMESTAMP: return case_format("ts(%lld,%u)", (long long)value->as.seconds, value->aux);
    case MOTTE_TYPE_DECIMAL:
    case MOTTE_TYPE_OBJECT_ID:
    case MOTTE_TYPE_UUID: return formatted(value);
    case MOTTE_TYPE_LIST:
    case MOTTE_TYPE_MAP: return nested_text(value);
    case MOTTE_TYPE_LINK: return case_format("class %u key %lld", value->aux, (long long)value->as.key);
    case MOTTE_TYPE_DATA: {
        char *text = case_format("x\"");
        for (size_t i = 0; i < value->as.data.size; i++) {
            text = case_format("%s%02x", text, ((const unsigned char *)value->as.data.data)[i]);
        }
        return case_format("%s\"", text);
    }
    default: return case_format("type %u", value->type);
    }
}

char *literal_text(const literal *value) {
    if (!value->is_list) return value_text(&value->value);
    char *text = case_format("[");
    for (size_t i = 0; i < value->count; i++) {
        text = case_format("%s%s%s", text, i ? ", " : "", value_text(&value->items[i]));
    }
    return case_format("%s]", text);
}
