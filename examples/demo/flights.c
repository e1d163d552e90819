/* The file of the demo from C: one query through links with arguments, an aggregate, a bulk read, all read-only.
 *
 *     flights_c build/demo/flights.motte
 *
 * Each number stands on a line of its own, "name: number", where flights.py picks it up. */
#include <inttypes.h>
#include <motte.h>
#include <stdio.h>
#include <stdlib.h>

static motte_status checked(motte_status status) {
    if (status < 0) {
        motte_error_details details = {.struct_size = sizeof details};
        motte_last_error(&details);
        fprintf(stderr, "%s: %s\n", motte_status_name(status), details.message);
        exit(1);
    }
    return status;
}

static motte_prop property(const motte_realm *realm, motte_class cls, const char *name) {
    motte_prop prop;
    if (checked(motte_prop_find(realm, cls, name, MOTTE_NTS, &prop)) != MOTTE_OK) {
        fprintf(stderr, "there is no property %s\n", name);
        exit(1);
    }
    return prop;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s flights.motte\n", argv[0]);
        return 2;
    }
    motte_config *config;
    motte_realm *realm;
    checked(motte_config_new(&config));
    checked(motte_config_set_path(config, argv[1], MOTTE_NTS));
    checked(motte_config_set_flags(config, MOTTE_CONFIG_READ_ONLY, MOTTE_CONFIG_READ_ONLY));
    checked(motte_realm_open(config, &realm));

    motte_class flight;
    if (checked(motte_class_find(realm, "Flight", MOTTE_NTS, &flight)) != MOTTE_OK) return 1;

    /* Flights that left Kennedy more than an hour late. */
    motte_value arguments[2] = {{.type = MOTTE_TYPE_STRING, .as.string = {"kennedy", 7}},
                                {.type = MOTTE_TYPE_INT, .as.integer = 60}};
    motte_query *query;
    motte_coll *late;
    size_t count;
    checked(motte_query_parse(realm, flight, "origin.name CONTAINS[c] $0 AND dep_delay > $1", MOTTE_NTS, arguments, 2,
                              &query));
    checked(motte_query_run(query, &late));
    checked(motte_coll_count(late, &count));
    printf("late from Kennedy: %zu\n", count);

    /* An aggregate over them. */
    motte_value miles;
    checked(motte_coll_aggregate(late, MOTTE_AGGREGATE_SUM, property(realm, flight, "distance"), &miles));
    printf("their miles: %" PRId64 "\n", miles.as.integer);

    /* The same query with another argument, and a column in bulk. */
    arguments[1].as.integer = 300;
    motte_coll *later;
    size_t read = 0;
    checked(motte_query_bind(query, 1, &arguments[1]));
    checked(motte_query_run(query, &later));
    checked(motte_coll_count(later, &count));
    int64_t *delays = calloc(count + 1, sizeof *delays);
    if (delays == NULL) return 1;
    if (count > 0) {
        checked(motte_read_ints(later, property(realm, flight, "dep_delay"), 0, count, delays, NULL, &read));
    }
    int64_t minutes = 0;
    for (size_t index = 0; index < read; index++) minutes += delays[index];
    printf("more than five hours late: %zu\n", read);
    printf("their minutes: %" PRId64 "\n", minutes);
    free(delays);

    checked(motte_realm_close(realm));
    const void *handles[] = {late, later, query, realm, config};
    motte_release_many(handles, sizeof handles / sizeof *handles);
    return motte_handle_count(MOTTE_HANDLE_NONE) == 0 ? 0 : 1;
}
