/* A realm whose views end with the next call, and a budget that is far smaller than what a write reads: what was just
 * read is handed to the very next call, as the header allows, in texts and bytes of every length, from properties,
 * lists and maps, in plain and in encrypted files. Each value says where it comes from, so foreign bytes show. */
#define _GNU_SOURCE
#include "check.h"

#include <unistd.h>

enum {
    ROWS = 160,
    STEPS = 1200,
    MOST = 4000
};

typedef struct world {
    motte_realm *realm;
    motte_object *objects[ROWS];
    motte_coll *lists[ROWS], *bytes[ROWS], *maps[ROWS], *sets[ROWS];
    motte_prop text, data;
} world;

static size_t content_of(int row, char *buffer) {
    size_t size = 20 + (size_t)(row * 37) % 3000, at = (size_t)sprintf(buffer, "row%d:", row);
    for (; at < size; at++) buffer[at] = (char)('a' + ((size_t)row * 7 + at) % 26);
    return size;
}

static int is_whole(motte_value value) {
    char expected[MOST];
    int row = -1;
    if (value.type != MOTTE_TYPE_STRING && value.type != MOTTE_TYPE_DATA) return 0;
    if (value.as.string.size < 5 || sscanf(value.as.string.data, "row%d:", &row) != 1 || row < 0 || row >= ROWS)
        return 0;
    return value.as.string.size == content_of(row, expected) &&
           memcmp(value.as.string.data, expected, value.as.string.size) == 0;
}

static void open_world(world *w, const char *path, int64_t memory, const uint8_t *key) {
    motte_config *config = NULL;
    motte_schema *schema = NULL;
    motte_value budget = motte_int(memory), yes = motte_bool(1);
    motte_class class_id;
    memset(w, 0, sizeof *w);
    unlink(path);
    MUST(motte_config_new(&config));
    MUST(motte_config_set_path(config, path, MOTTE_NTS));
    MUST(motte_schema_parse(
        "Row { id: int key, text: string, data: data, list: list<string>, bytes: list<data>, map: map<string>,"
        " set: set<string> }",
        MOTTE_NTS, &schema));
    MUST(motte_config_set_schema(config, schema, 0));
    if (key) MUST(motte_config_set_encryption_key(config, key, 64));
    MUST(motte_config_set_option(config, MOTTE_LIT("memory"), &budget));
    MUST(motte_config_set_option(config, MOTTE_LIT("short_views"), &yes));
    MUST(motte_realm_open(config, &w->realm));
    motte_release(config);
    motte_release(schema);
    MUST(motte_class_find(w->realm, MOTTE_LIT("Row"), &class_id));
    w->text = motte_prop_named(w->realm, class_id, "text");
    w->data = motte_prop_named(w->realm, class_id, "data");
    MUST(motte_realm_begin_write(w->realm, -1));
    for (int row = 0; row < ROWS; row++) {
        char content[MOST];
        size_t size = content_of(row, content);
        motte_value text = motte_string_of(content, size), data = motte_data(content, size);
        motte_object *object = NULL;
        MUST(motte_realm_add(w->realm, "Row", MOTTE_FIELDS({"id", motte_int(row)}, {"text", text}, {"data", data}),
                             &object));
        MUST(motte_object_get_coll(object, motte_prop_named(w->realm, class_id, "list"), &w->lists[row]));
        MUST(motte_object_get_coll(object, motte_prop_named(w->realm, class_id, "bytes"), &w->bytes[row]));
        MUST(motte_object_get_coll(object, motte_prop_named(w->realm, class_id, "map"), &w->maps[row]));
        MUST(motte_object_get_coll(object, motte_prop_named(w->realm, class_id, "set"), &w->sets[row]));
        MUST(motte_list_append(w->lists[row], &text, 1));
        MUST(motte_list_append(w->bytes[row], &data, 1));
        MUST(motte_map_put(w->maps[row], "first", 5, &text, NULL));
        w->objects[row] = object;
    }
    MUST(motte_realm_commit(w->realm, 0, NULL));
}

/* Borrows a value of one row and gives it to a call that changes another one. */
static motte_status step(world *w, unsigned number, int from, int to) {
    motte_value value;
    switch (number % 5) {
    case 0: MUST(motte_coll_get(w->lists[from], 0, &value)); break;
    case 1: MUST(motte_object_get(w->objects[from], w->text, &value)); break;
    case 2: MUST(motte_map_get(w->maps[from], "first", 5, &value)); break;
    case 3: MUST(motte_coll_get(w->bytes[from], 0, &value)); break;
    default: MUST(motte_object_get(w->objects[from], w->data, &value)); break;
    }
    if (value.type == MOTTE_TYPE_DATA) {
        return number % 2 ? motte_list_append(w->bytes[to], &value, 1)
                          : motte_object_set(w->objects[to], w->data, &value);
    }
    switch (number / 5 % 5) {
    case 0: return motte_list_append(w->lists[to], &value, 1);
    case 1: return motte_object_set(w->objects[to], w->text, &value);
    case 2: return motte_map_put(w->maps[to], "other", 5, &value, NULL);
    case 3: return motte_set_insert(w->sets[to], &value);
    default: {
        size_t size = value.as.string.size < 60 ? value.as.string.size : 60;
        return motte_map_put(w->maps[to], value.as.string.data, size, &value, NULL);
    }
    }
}

static void check_coll(motte_coll *coll) {
    size_t count = 0, wrong = 0;
    motte_value value;
    MUST(motte_coll_count(coll, &count));
    for (size_t index = 0; index < count; index++) {
        MUST(motte_coll_get(coll, index, &value));
        wrong += !is_whole(value);
    }
    CHECK(wrong == 0);
}

static void run(int64_t memory, const uint8_t *key) {
    static world w;
    unsigned state = 5;
    open_world(&w, "short_views.motte", memory, key);
    MUST(motte_realm_begin_write(w.realm, -1));
    for (int count = 0; count < STEPS; count++) {
        if (count % 50 == 49) {
            MUST(motte_realm_commit(w.realm, 0, NULL));
            MUST(motte_realm_begin_write(w.realm, -1));
        }
        state = state * 1664525u + 1013904223u;
        int from = (int)(state >> 16) % (ROWS / 2), to = ROWS / 2 + (int)(state >> 8) % (ROWS / 2);
        CHECK(step(&w, state >> 12, from, to) >= 0); /* a set may have the value already */
    }
    MUST(motte_realm_commit(w.realm, 0, NULL));
    for (int row = 0; row < ROWS; row++) {
        motte_value value;
        MUST(motte_object_get(w.objects[row], w.text, &value));
        CHECK(is_whole(value));
        MUST(motte_object_get(w.objects[row], w.data, &value));
        CHECK(is_whole(value));
        motte_coll *colls[] = {w.lists[row], w.bytes[row], w.maps[row], w.sets[row]};
        for (size_t index = 0; index < 4; index++) {
            check_coll(colls[index]);
            motte_release(colls[index]);
        }
        motte_release(w.objects[row]);
    }
    STATUS(MOTTE_OK, motte_realm_close(w.realm));
    motte_release(w.realm);
}

int main(void) {
    char folder[] = "/tmp/motte-short-views-XXXXXX";
    uint8_t key[64];
    if (!mkdtemp(folder) || chdir(folder) != 0) return 2;
    for (size_t index = 0; index < sizeof key; index++) key[index] = (uint8_t)(index * 31 + 7);
    for (int64_t memory = 64 << 10; memory <= 4 << 20; memory *= 4) {
        run(memory, NULL);
        run(memory, key);
    }
    unlink("short_views.motte");
    unlink("short_views.motte-shared");
    if (chdir("/") == 0) rmdir(folder);
    return check_summary();
}
