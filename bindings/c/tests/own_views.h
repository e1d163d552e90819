/* What the generated cases of own_views.py use: an object whose every text was changed in the open write, and views of
 * some of them as the library lends them. */
#ifndef OWN_VIEWS_H
#define OWN_VIEWS_H

#include "check.h"

typedef struct world {
    motte_realm *realm;
    motte_class items, copies;
    motte_key item;
    motte_object *object;
    motte_coll *texts, *anys, *set, *map, *any_map, *parts;
    motte_insert *insert, *merge;
    motte_prop name, other, any, blob, uuid, item_props[3], copy_props[4];
    /* Borrowed. */
    motte_value values[4];
    motte_str keys[4];
    const void *fixed;
    motte_column columns[4];
    /* What they said. */
    char *said;
    void *room[16];
} world;

/* Runs a case once for each place that views come from. `stays`: its first text is somewhere afterwards; `makes`: the
 * first output is an object. */
void own_views_run(motte_status (*body)(world *), const char *text, int stays, int makes);
void own_views_cases(void);

#endif
