/* Functions that change rows, given values that are borrowed from those very rows. The cases are generated from the
 * header; this is what they run on. */
#include "own_views.h"

static const char schema_text[] =
    "Item { id: int key, name: string?, other: string? indexed, any: mixed, blob: data?, uuid: uuid?,"
    " texts: list<string>, anys: list<mixed>, set: set<string>, map: map<string>, anyMap: map<mixed>,"
    " parts: map<Part> }"
    " Copy { id: string key, name: string?, other: string?, any: mixed }"
    " embedded Part { name: string }";

enum {
    PROPERTIES,
    LIST,
    MIXED_LIST,
    SET,
    MAP_VALUES,
    MAP_KEYS,
    SOURCES
};

static unsigned serial;

/* Another text each time, long enough to have memory of its own. */
static motte_str fresh(void) {
    static char text[160];
    motte_str made = {text, 0};
    serial++;
    made.size = (size_t)snprintf(text, sizeof text, "text number %u, %0*d", serial, (int)(20 + serial % 90), 7);
    return made;
}

static motte_value text_value(motte_str text) {
    motte_value value;
    memset(&value, 0, sizeof value);
    value.type = MOTTE_TYPE_STRING;
    value.as.string = text;
    return value;
}

/* Good until the next one. */
static motte_value fresh_value(void) { return text_value(fresh()); }

static motte_coll *coll_of(world *w, const char *name) {
    motte_coll *coll = NULL;
    MUST(motte_object_get_coll(w->object, motte_prop_named(w->realm, w->items, name), &coll));
    return coll;
}

static void change_everything(world *w) {
    motte_value value;
    size_t count;
    value = fresh_value();
    MUST(motte_object_set(w->object, w->name, &value));
    value = fresh_value();
    MUST(motte_object_set(w->object, w->other, &value));
    value = fresh_value();
    MUST(motte_object_set(w->object, w->any, &value));
    for (int round = 0; round < 5; round++) {
        motte_str key;
        char kept[200];
        value = fresh_value();
        MUST(motte_list_append(w->texts, &value, 1));
        value = fresh_value();
        MUST(motte_list_append(w->anys, &value, 1));
        value = fresh_value();
        MUST(motte_set_insert(w->set, &value));
        key = fresh();
        memcpy(kept, key.data, key.size);
        value = fresh_value();
        MUST(motte_map_put(w->map, kept, key.size, &value, NULL));
    }
    MUST(motte_coll_count(w->texts, &count));
    CHECK(count >= 5);
}

/* Borrows four texts from one place; nothing is changed from here to the call. */
static void borrow(world *w, int source) {
    size_t first = 0, got = 0;
    for (int index = 0; index < 4; index++) {
        motte_prop props[] = {w->name, w->other, w->any};
        switch (source) {
        case PROPERTIES: MUST(motte_object_get(w->object, props[index % 3], &w->values[index])); break;
        case LIST: MUST(motte_coll_get(w->texts, first + (size_t)index, &w->values[index])); break;
        case MIXED_LIST: MUST(motte_coll_get(w->anys, first + (size_t)index, &w->values[index])); break;
        case SET: MUST(motte_coll_get(w->set, first + (size_t)index, &w->values[index])); break;
        case MAP_VALUES: MUST(motte_coll_get(w->map, first + (size_t)index, &w->values[index])); break;
        default: break;
        }
    }
    if (source == MAP_KEYS) {
        MUST(motte_map_keys(w->map, 0, 4, w->keys, &got));
        for (int index = 0; index < 4; index++) w->values[index] = text_value(w->keys[index]);
    }
    for (int index = 0; index < 4; index++) {
        w->keys[index] = w->values[index].as.string;
        w->columns[index].type = index == 3 ? MOTTE_TYPE_MIXED : MOTTE_TYPE_STRING;
        w->columns[index].values = index == 3 ? (const void *)&w->values[0] : (const void *)&w->keys[0];
    }
    w->fixed = w->keys[0].data;
    w->said = calloc(w->keys[0].size + 1, 1);
    if (!w->said) abort();
    memcpy(w->said, w->keys[0].data, w->keys[0].size);
}

static int says(motte_value value, const char *text, size_t size) {
    return (value.type == MOTTE_TYPE_STRING || value.type == MOTTE_TYPE_DATA) && value.as.string.size == size &&
           memcmp(value.as.string.data, text, size) == 0;
}

static int coll_says(motte_coll *coll, const char *text, size_t size) {
    size_t count = 0;
    motte_value value;
    MUST(motte_coll_count(coll, &count));
    for (size_t index = 0; index < count; index++) {
        MUST(motte_coll_get(coll, index, &value));
        if (says(value, text, size)) return 1;
    }
    return 0;
}

/* Whether the text is in some property, element or key. The first 16 bytes are what a UUID takes. */
static int is_somewhere(world *w, const char *text) {
    motte_prop props[] = {w->name, w->other, w->any, w->blob};
    motte_coll *colls[] = {w->texts, w->anys, w->set, w->map, w->any_map};
    motte_coll *maps[] = {w->map, w->any_map, w->parts}, *copies = NULL;
    size_t size = strlen(text), count = 0;
    motte_value value;
    int found = 0;
    for (size_t index = 0; index < 4; index++) {
        MUST(motte_object_get(w->object, props[index], &value));
        found += says(value, text, size);
    }
    MUST(motte_object_get(w->object, w->uuid, &value));
    found += value.type == MOTTE_TYPE_UUID && memcmp(&value.as, text, 16) == 0;
    for (size_t index = 0; index < 5; index++) found += coll_says(colls[index], text, size);
    for (size_t index = 0; index < 3; index++) { found += motte_map_has(maps[index], text, size) == MOTTE_OK; }
    MUST(motte_class_all(w->realm, w->copies, &copies));
    MUST(motte_coll_count(copies, &count));
    for (size_t index = 0; index < count; index++) {
        motte_object *copy = NULL;
        MUST(motte_coll_get_object(copies, index, &copy));
        for (size_t prop = 0; prop < 4; prop++) {
            MUST(motte_object_get(copy, w->copy_props[prop], &value));
            found += says(value, text, size);
        }
        motte_release(copy);
    }
    motte_release(copies);
    return found > 0;
}

static void open_world(world *w) {
    static const char *const names[] = {"name", "other", "any"}, *const all[] = {"id", "name", "other", "any"};
    motte_value key = motte_int(1);
    memset(w, 0, sizeof *w);
    w->realm = check_realm("own views", schema_text);
    w->items = motte_class_named(w->realm, "Item");
    w->copies = motte_class_named(w->realm, "Copy");
    for (int index = 0; index < 3; index++) w->item_props[index] = motte_prop_named(w->realm, w->items, names[index]);
    for (int index = 0; index < 4; index++) w->copy_props[index] = motte_prop_named(w->realm, w->copies, all[index]);
    w->name = w->item_props[0];
    w->other = w->item_props[1];
    w->any = w->item_props[2];
    w->blob = motte_prop_named(w->realm, w->items, "blob");
    w->uuid = motte_prop_named(w->realm, w->items, "uuid");
    MUST(motte_realm_begin_write(w->realm, -1));
    MUST(motte_object_create(w->realm, w->items, &key, 0, &w->object, NULL));
    MUST(motte_object_row(w->object, &w->items, &w->item));
    w->texts = coll_of(w, "texts");
    w->anys = coll_of(w, "anys");
    w->set = coll_of(w, "set");
    w->map = coll_of(w, "map");
    w->any_map = coll_of(w, "anyMap");
    w->parts = coll_of(w, "parts");
    MUST(motte_insert_new(w->realm, w->copies, w->copy_props, 4, MOTTE_CREATE_NEW, &w->insert));
    MUST(motte_insert_new(w->realm, w->copies, w->copy_props, 4, MOTTE_CREATE_MODIFIED, &w->merge));
}

static void close_world(world *w) {
    motte_coll *colls[] = {w->texts, w->anys, w->set, w->map, w->any_map, w->parts};
    for (size_t index = 0; index < 6; index++) motte_release(colls[index]);
    motte_release(w->insert);
    motte_release(w->merge);
    motte_release(w->object);
    MUST(motte_realm_commit(w->realm, 0, NULL));
    STATUS(MOTTE_OK, motte_realm_close(w->realm));
    motte_release(w->realm);
}

void own_views_run(motte_status (*body)(world *), const char *text, int stays, int makes) {
    for (int source = 0; source < SOURCES; source++) {
        world w;
        motte_status status;
        open_world(&w);
        /* Twice, the second time with rows that are there. */
        for (int round = 0; round < 2; round++) {
            change_everything(&w);
            borrow(&w, source);
            status = body(&w);
            /* What was there in the first round is there in the second. */
            if (status < 0 && status != MOTTE_E_DUPLICATE_PRIMARY_KEY) motte_print_error(stderr, text, status);
            CHECK(status >= 0 || status == MOTTE_E_DUPLICATE_PRIMARY_KEY);
            if (makes && status >= 0) motte_release(w.room[0]);
            if (stays && !is_somewhere(&w, w.said)) {
                fprintf(stderr, "%s: '%s' of source %d is nowhere\n", text, w.said, source);
                check_failed++;
            }
            free(w.said);
        }
        close_world(&w);
    }
}

int main(void) {
    own_views_cases();
    return check_summary();
}
