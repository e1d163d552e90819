/* Every value of the ten kept Realm files as a program in C reads it after a conversion, beside the JSON that
 * describes them (Tests/RealmFiles). Numbers, texts and collections are compared where the JSON stands: nothing is
 * built of it. */
#define _GNU_SOURCE
#include "check.h"

#include <inttypes.h>

enum {
    MOST_CLASSES = 64
};

typedef struct {
    char *name;
    int is_embedded;
    motte_class id;
    motte_coll *all;
    size_t count;
    int64_t *keys;
    const char **values; /* of each object, in the JSON */
} described_class;

static described_class classes[MOST_CLASSES];
static size_t class_count, compared;
static motte_realm *realm;
static uint8_t file_key[64];
static int has_key;

/* ---------------------------------------------------------------------------------------------------- JSON */

static const char *space(const char *at) {
    while (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r') at++;
    return at;
}

static void stop(const char *what, const char *at) {
    fprintf(stderr, "%s at '%.40s'\n", what, at);
    exit(2);
}

static const char *past(const char *at, char expected) {
    at = space(at);
    if (*at != expected) stop("the description is not as expected", at);
    return space(at + 1);
}

/* Behind the text; what it says goes to `out`, which has room for it. */
static const char *read_text(const char *at, char *out, size_t *size) {
    size_t count = 0;
    at = space(at);
    if (*at++ != '"') stop("no text", at);
    while (*at != '"') {
        if (*at != '\\') {
            out[count++] = *at++;
            continue;
        }
        at++;
        if (*at != 'u') {
            out[count++] = *at == 'n' ? '\n' : *at == 't' ? '\t' : *at;
            at++;
            continue;
        }
        unsigned code;
        if (sscanf(at + 1, "%4x", &code) != 1 || code >= 0x80) stop("not a control character", at);
        out[count++] = (char)code;
        at += 5;
    }
    out[count] = 0;
    *size = count;
    return at + 1;
}

static const char *end_of_text(const char *at) {
    for (at++; *at != '"'; at++)
        if (*at == '\\') at++;
    return at + 1;
}

static const char *end_of(const char *at) {
    int depth = 0;
    at = space(at);
    if (*at == '"') return end_of_text(at);
    if (*at != '[' && *at != '{') return at + strcspn(at, ",]} \n");
    do {
        if (*at == 0) stop("the description ends early", at);
        if (*at == '"') {
            at = end_of_text(at);
            continue;
        }
        if (*at == '[' || *at == '{') depth++;
        if (*at == ']' || *at == '}') depth--;
        at++;
    } while (depth > 0);
    return at;
}

/* The value of a member of the object at `at`, or NULL. */
static const char *member(const char *at, const char *name) {
    at = past(at, '{');
    while (*at != '}') {
        size_t length = strlen(name);
        int is_it = strncmp(at + 1, name, length) == 0 && at[1 + length] == '"';
        at = past(end_of(at), ':');
        if (is_it) return at;
        at = space(end_of(at));
        if (*at == ',') at = space(at + 1);
    }
    return NULL;
}

static char *text_of(const char *at) {
    size_t size;
    char *text = malloc((size_t)(end_of(at) - at) + 1);
    read_text(at, text, &size);
    return text;
}

static size_t element_count(const char *at) {
    size_t count = 0;
    for (at = past(at, '['); *at != ']'; count++) {
        at = space(end_of(at));
        if (*at == ',') at = space(at + 1);
    }
    return count;
}

static const char *next(const char *at) {
    at = space(end_of(at));
    return *at == ',' ? space(at + 1) : at;
}

/* ---------------------------------------------------------------------------------------------------- comparing */

/* Where a value was read, for the list or map in it. */
typedef struct {
    const motte_object *object;
    motte_prop prop;
    const motte_coll *coll;
    size_t index;
    motte_str key;
} place;

static int same(place from, const motte_value *actual, const char *at);
static int same_object(const motte_object *object, const described_class *type, const char *values);

static motte_coll *nested_in(place from) {
    motte_coll *coll;
    if (from.object) MUST(motte_object_get_coll(from.object, from.prop, &coll));
    else if (from.key.data) MUST(motte_map_get_coll(from.coll, from.key.data, from.key.size, &coll));
    else MUST(motte_coll_get_coll(from.coll, from.index, &coll));
    return coll;
}

static int same_list(const motte_coll *list, const char *at) {
    size_t count;
    motte_value value;
    MUST(motte_coll_count(list, &count));
    if (count != element_count(at)) return 0;
    at = past(at, '[');
    for (size_t i = 0; i < count; i++, at = next(at)) {
        MUST(motte_coll_get(list, i, &value));
        if (!same((place){.coll = list, .index = i}, &value, at)) return 0;
    }
    return 1;
}

/* Times before the first that there is have become that one; a note says so. */
static int is_before_time(const char *at) {
    static const char beginning[] = "{\"date\":[-9223372036854775808,-";
    return strncmp(at, beginning, sizeof beginning - 1) == 0;
}

static int has_first_time(const char *set) {
    const char *found = strstr(set, "{\"date\":[-9223372036854775808,0]}");
    return found && found < end_of(set);
}

/* Each element of the one is one of the other. */
static int same_set(const motte_coll *set, const char *at) {
    size_t count, wanted = element_count(at), early = 0;
    motte_value value;
    MUST(motte_coll_count(set, &count));
    char *is_taken = calloc(wanted + 1, 1);
    const char *each = past(at, '[');
    for (size_t j = 0; j < wanted; j++, each = next(each))
        early += (size_t)(is_taken[j] = (char)(is_before_time(each) && has_first_time(at)));
    int is_same = count + early == wanted;
    for (size_t i = 0; i < count && is_same; i++) {
        const char *element = past(at, '[');
        size_t j = 0;
        MUST(motte_coll_get(set, i, &value));
        for (; j < wanted; j++, element = next(element))
            if (!is_taken[j] && same((place){.coll = set, .index = i}, &value, element)) break;
        is_same = j < wanted;
        is_taken[j] = 1;
    }
    free(is_taken);
    return is_same;
}

static int same_map(const motte_coll *map, const char *at) {
    size_t count, size;
    motte_value value;
    motte_str key;
    MUST(motte_coll_count(map, &count));
    if (count != element_count(at)) return 0;
    at = past(at, '[');
    for (size_t i = 0; i < count; i++, at = next(at)) {
        const char *entry = past(at, '[');
        char *wanted = malloc((size_t)(end_of(entry) - entry) + 1);
        read_text(entry, wanted, &size);
        MUST(motte_map_entry(map, i, &key, &value));
        int is_key = key.size == size && memcmp(key.data, wanted, size) == 0;
        free(wanted);
        if (!is_key || !same((place){.coll = map, .key = key}, &value, next(entry))) return 0;
    }
    return 1;
}

static int same_link(const motte_value *actual, const char *at) {
    char *name = text_of(past(at, '['));
    int64_t key = strtoll(next(past(at, '[')), NULL, 10);
    described_class *type = classes;
    while (strcmp(type->name, name) != 0) type++;
    free(name);
    size_t position = 0;
    while (type->keys[position] != key) position++;
    motte_object *object;
    int is_same;
    if (actual->aux != type->id) return 0;
    if (type->is_embedded) {
        MUST(motte_object_at(realm, type->id, actual->as.key, &object));
        is_same = same_object(object, type, type->values[position]);
    } else {
        motte_key found;
        MUST(motte_coll_get_object(type->all, position, &object));
        MUST(motte_object_row(object, NULL, &found));
        is_same = found == actual->as.key;
    }
    motte_release(object);
    return is_same;
}

static int is_hex(const char *at, const void *bytes, size_t size) {
    const uint8_t *each = bytes;
    char digits[3];
    at = space(at) + 1;
    for (size_t i = 0; i < size; i++) {
        snprintf(digits, sizeof digits, "%02x", each[i]);
        if (strncmp(at + 2 * i, digits, 2) != 0) return 0;
    }
    return at[2 * size] == '"';
}

static uint64_t number_of(const char *at, size_t digits) {
    char text[17] = {0};
    memcpy(text, space(at) + 1, digits);
    return strtoull(text, NULL, 16);
}

static int is_long(const void *data, size_t size, const char *at) {
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001B3);
    at = past(at, '[');
    return strtoull(at, NULL, 10) == size && number_of(next(at), 16) == hash;
}

static int is_date(const motte_value *actual, const char *at) {
    at = past(at, '[');
    int64_t seconds = strtoll(at, NULL, 10), nanoseconds = strtoll(next(at), NULL, 10);
    /* The first time there is; nothing lies before it. */
    if (nanoseconds < 0 && seconds == INT64_MIN) nanoseconds = 0;
    if (nanoseconds < 0) seconds--, nanoseconds += 1000000000;
    return actual->as.seconds == seconds && actual->aux == nanoseconds;
}

static int is_nan_pair(int left, int right) { return left && right; }

/* A value that JSON has in an object with one member, which names its type. */
static int same_typed(place from, const motte_value *actual, const char *at) {
    const char *content;
    if ((content = member(at, "link"))) return actual->type == MOTTE_TYPE_LINK && same_link(actual, content);
    if ((content = member(at, "date"))) return actual->type == MOTTE_TYPE_TIMESTAMP && is_date(actual, content);
    if ((content = member(at, "data")))
        return actual->type == MOTTE_TYPE_DATA && is_hex(content, actual->as.data.data, actual->as.data.size);
    if ((content = member(at, "long_data")))
        return actual->type == MOTTE_TYPE_DATA && is_long(actual->as.data.data, actual->as.data.size, content);
    if ((content = member(at, "long_string")))
        return actual->type == MOTTE_TYPE_STRING && is_long(actual->as.string.data, actual->as.string.size, content);
    if ((content = member(at, "objectId")))
        return actual->type == MOTTE_TYPE_OBJECT_ID && is_hex(content, actual->as.object_id.bytes, 12);
    if ((content = member(at, "uuid")))
        return actual->type == MOTTE_TYPE_UUID && is_hex(content, actual->as.uuid.bytes, 16);
    if ((content = member(at, "float"))) {
        uint32_t bits = (uint32_t)number_of(content, 8);
        float wanted;
        memcpy(&wanted, &bits, sizeof wanted);
        return actual->type == MOTTE_TYPE_FLOAT &&
               (memcmp(&wanted, &actual->as.single, sizeof wanted) == 0 ||
                is_nan_pair(wanted != wanted, actual->as.single != actual->as.single));
    }
    if ((content = member(at, "double"))) {
        uint64_t bits = number_of(content, 16);
        double wanted;
        memcpy(&wanted, &bits, sizeof wanted);
        return actual->type == MOTTE_TYPE_DOUBLE && (memcmp(&wanted, &actual->as.real, sizeof wanted) == 0 ||
                                                     is_nan_pair(wanted != wanted, actual->as.real != actual->as.real));
    }
    if ((content = member(at, "decimal"))) {
        uint64_t high = number_of(content, 16), low = number_of(space(content) + 16, 16);
        uint64_t nan = UINT64_C(0x7C00000000000000);
        return actual->type == MOTTE_TYPE_DECIMAL &&
               ((actual->as.decimal.high == high && actual->as.decimal.low == low) ||
                is_nan_pair((high & nan) == nan, (actual->as.decimal.high & nan) == nan));
    }
    if ((content = member(at, "map")) && actual->type == MOTTE_TYPE_MAP) {
        motte_coll *map = nested_in(from);
        int is_same = same_map(map, content);
        motte_release(map);
        return is_same;
    }
    return 0;
}

static int same(place from, const motte_value *actual, const char *at) {
    at = space(at);
    compared++;
    if (*at == '{') return same_typed(from, actual, at);
    if (strncmp(at, "null", 4) == 0) return actual->type == MOTTE_TYPE_NULL;
    if (*at == 't' || *at == 'f') return actual->type == MOTTE_TYPE_BOOL && actual->as.boolean == (*at == 't');
    if (*at == '"') {
        size_t size;
        char *wanted = malloc((size_t)(end_of(at) - at) + 1);
        read_text(at, wanted, &size);
        int is_same = actual->type == MOTTE_TYPE_STRING && actual->as.string.size == size &&
                      memcmp(actual->as.string.data, wanted, size) == 0;
        free(wanted);
        return is_same;
    }
    if (*at == '[') {
        if (actual->type != MOTTE_TYPE_LIST) return 0;
        motte_coll *list = nested_in(from);
        int is_same = same_list(list, at);
        motte_release(list);
        return is_same;
    }
    return actual->type == MOTTE_TYPE_INT && actual->as.integer == strtoll(at, NULL, 10);
}

static int same_property(const motte_object *object, motte_prop prop, const char *at) {
    motte_value value;
    motte_status status = motte_object_get(object, prop, &value);
    if (status != MOTTE_E_WRONG_TYPE) {
        MUST(status);
        return same((place){.object = object, .prop = prop}, &value, at);
    }
    motte_coll *coll;
    const char *content;
    MUST(motte_object_get_coll(object, prop, &coll));
    int is_same = *space(at) == '['               ? same_list(coll, at)
                  : (content = member(at, "set")) ? same_set(coll, content)
                                                  : same_map(coll, member(at, "map"));
    motte_release(coll);
    return is_same;
}

static int same_object(const motte_object *object, const described_class *type, const char *values) {
    const char *at = past(values, '{');
    while (*at != '}') {
        char *name = text_of(at);
        motte_prop prop;
        MUST(motte_prop_find(realm, type->id, name, MOTTE_NTS, &prop));
        at = past(end_of(at), ':');
        int is_same = same_property(object, prop, at);
        if (!is_same) fprintf(stderr, "%s.%s is not %.*s\n", type->name, name, (int)(end_of(at) - at), at);
        free(name);
        if (!is_same) return 0;
        at = next(at);
    }
    return 1;
}

/* ---------------------------------------------------------------------------------------------------- files */

static char *contents(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) stop("cannot be read", path);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(size + 1);
    if (fread(text, 1, size, file) != size) exit(2);
    text[size] = 0;
    fclose(file);
    return text;
}

static void read_classes(const char *text) {
    const char *at = past(member(text, "classes"), '[');
    for (class_count = 0; *at != ']'; class_count++, at = next(at)) {
        described_class *type = &classes[class_count];
        const char *objects = member(at, "objects");
        char *kind = text_of(member(at, "kind"));
        type->name = text_of(member(at, "name"));
        type->is_embedded = strcmp(kind, "embedded") == 0;
        free(kind);
        type->count = element_count(objects);
        type->keys = calloc(type->count + 1, sizeof *type->keys);
        type->values = calloc(type->count + 1, sizeof *type->values);
        objects = past(objects, '[');
        for (size_t i = 0; i < type->count; i++, objects = next(objects)) {
            type->keys[i] = strtoll(member(objects, "key"), NULL, 10);
            type->values[i] = member(objects, "values");
        }
    }
    const char *key = member(text, "key");
    has_key = key != NULL;
    for (size_t i = 0; key && i < sizeof file_key; i++) file_key[i] = (uint8_t)number_of(space(key) + 2 * i, 2);
}

static void open_converted(const char *source, const char *path) {
    motte_realm_file_options options = {.struct_size = sizeof options, .path = source, .path_size = MOTTE_NTS};
    motte_config *config;
    if (has_key) options.key = file_key, options.key_size = sizeof file_key;
    remove(path);
    MUST(motte_convert_realm_file(&options, path, MOTTE_NTS, NULL, 0, NULL, NULL, NULL, NULL, NULL));
    MUST(motte_config_new(&config));
    MUST(motte_config_set_path(config, path, MOTTE_NTS));
    MUST(motte_realm_open(config, &realm));
    motte_release(config);
}

static void check_file(const char *name) {
    char source[4096], description[4096];
    char path[] = "/tmp/motte-realm-values-XXXXXX";
    if (!mkdtemp(path)) exit(2);
    char file[64];
    snprintf(file, sizeof file, "%s/new.motte", path);
    snprintf(source, sizeof source, "%s/%s.realm", MOTTE_REALM_FILES, name);
    snprintf(description, sizeof description, "%s/%s.json", MOTTE_REALM_FILES, name);
    char *text = contents(description);
    read_classes(text);
    open_converted(source, file);
    for (size_t i = 0; i < class_count; i++) {
        described_class *type = &classes[i];
        MUST(motte_class_find(realm, type->name, MOTTE_NTS, &type->id));
        if (type->is_embedded) continue;
        size_t count;
        MUST(motte_class_all(realm, type->id, &type->all));
        MUST(motte_coll_count(type->all, &count));
        CHECK(count == type->count);
    }
    for (size_t i = 0; i < class_count; i++) {
        for (size_t j = 0; j < classes[i].count && !classes[i].is_embedded; j++) {
            motte_object *object;
            MUST(motte_coll_get_object(classes[i].all, j, &object));
            CHECK(same_object(object, &classes[i], classes[i].values[j]));
            motte_release(object);
        }
    }
    for (size_t i = 0; i < class_count; i++) {
        if (!classes[i].is_embedded) motte_release(classes[i].all);
        free(classes[i].name);
        free(classes[i].keys);
        free(classes[i].values);
    }
    MUST(motte_realm_close(realm));
    motte_release(realm);
    free(text);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", path);
    if (system(command) != 0) exit(2);
}

int main(void) {
    static const char *const names[] = {"tiny",   "scalars", "collections",      "mixed",     "renamed", "encrypted",
                                        "copied", "sizes",   "copied-encrypted", "enumerated"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        check_file(names[i]);
        printf("%s: %zu values so far\n", names[i], compared);
    }
    /* As many as the description of the ten has, at least. */
    CHECK(compared > 30000);
    return check_summary();
}
