/* What every generated misuse case starts from: one handle of each kind over a small realm in memory. */
#ifndef MISUSE_FIXTURE_H
#define MISUSE_FIXTURE_H

#include "motte.h"

typedef struct fixture {
    motte_error *error;
    motte_config *config;
    motte_schema *schema;
    motte_realm *realm, *frozen_realm;
    motte_object *object, *frozen_object;
    motte_coll *coll, *frozen_coll; /* a list of objects */
    motte_coll *set, *map;          /* of ints */
    motte_coll *mixed, *mixed_map;  /* a list and a map of mixed values, the first of them a list */
    motte_coll *places, *homes;     /* a list and a map of embedded objects */
    void *frozen_other;             /* what frozen_of() made */
    motte_query *query;
    motte_insert *insert;
    motte_queue *queue;
    motte_token *token;
    motte_changes *changes;
    motte_report *report;
    motte_config *file_config; /* of a file that nobody has open */
    motte_sections *sections;
    motte_groups *groups;
    motte_reference *reference;       /* to `object` */
    const motte_migration *migration; /* inside one */

    /* Good arguments. */
    motte_class cls;
    motte_prop id, name, n, flag, real, single, data, time, friend_, names, friends, owners, price, home;
    motte_key key;
    motte_prop assigned_props[2], created_props[2], read_props[2];
    motte_value assigned_values[2], created_values[2], rows[4], links[2], ints[2], int_value, name_value;
    motte_value link_value, map_size;
    int64_t column_ids[2];
    motte_str column_names[2];
    motte_str paths[2];
    motte_column columns[2];
    motte_sort_key sort_key;
    motte_prop_spec spec;
    motte_prop_rule rule;
    motte_timestamp instant;
    motte_decimal decimal;
    motte_value nested;
    motte_buf document;
    motte_key keys[2];
    const char *new_path; /* where nothing is */
    motte_export_options export_options;
    motte_import_options import_options, csv_options;
    motte_realm_file_options realm_file_options;
    motte_arrow_options arrow_options;
    motte_import_options arrow_import_options;

    /* Room for array outputs. */
    unsigned char room[4096], more_room[4096], validity[64];

    int freed; /* calls of count_free() */
} fixture;

enum {
    IN_WRITE = 1,
    OBJECT_IS_DELETED = 2,
    IS_CLOSED = 4,
    WITH_FILE = 8,
    WITH_QUEUE = 16
};

void fixture_make(fixture *f, int state);
void fixture_end(fixture *f, const char *name);

/* The frozen counterpart of a handle, released with the fixture. */
void *frozen_of(fixture *f, const void *handle);

/* The handle after it was released, of the kind that the argument has. */
void fixture_release(fixture *f, const void *handle);

void count_free(void *freed);
/* Of the write that may be open. */
void name_argument(fixture *f); /* its query has the argument $name */
uint64_t made_savepoint(fixture *f);
/* Objects that are there already; without release where they cannot be read now. */
struct ArrowArrayStream *made_stream(fixture *f);
struct ArrowSchema *made_arrow_schema(fixture *f);
struct ArrowArray *made_arrow_batch(fixture *f);
motte_status section_key_callback(void *userdata, const motte_coll *coll, size_t index, motte_value *out_key);
motte_status changes_callback(void *userdata, const motte_changes *changes);
motte_status handle_callback(void *userdata, const void *handle, motte_handle_type kind);
motte_status progress_callback(void *userdata, uint64_t done, uint64_t total);
motte_status compact_callback(void *userdata, uint64_t total, uint64_t used, int32_t *out_compact);
motte_status realm_callback(void *userdata, motte_realm *realm);
motte_status done_callback(void *userdata, motte_status status, uint64_t version);
motte_status migrate_callback(void *userdata, const motte_migration *migration, const motte_realm *old_realm,
                              motte_realm *new_realm);
motte_status pair_callback(void *userdata, const motte_object *old_object, motte_object *new_object);

/* Compares statuses and reports; returns 1 if they agree. */
int expect_status(const char *name, motte_status expected, motte_status found);
/* Reports if an output of a failed call is not all zero. */
void expect_zero(const char *name, const char *output, const void *bytes, size_t size);
void expect_freed_once(const char *name, const fixture *f);

/* Takes all handles that are left, and gives them back. */
void fill_handles(void);
void release_filling(void);

/* Runs a case inside a migration: there, on another thread meanwhile, or in a child forked there. */
void in_a_migration(void (*body)(fixture *), fixture *f);
void in_a_migration_elsewhere(void (*body)(fixture *), fixture *f);
void in_a_migration_child(const char *name, void (*body)(fixture *), fixture *f);

/* Runs a case on another thread, or in a forked child. */
void on_another_thread(void (*body)(fixture *), fixture *f);
void in_a_child(const char *name, void (*body)(fixture *), fixture *f);

#endif
