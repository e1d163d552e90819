/* SPDX-License-Identifier: Apache-2.0
 * A sensor that writes a reading at a time into a file that another process reads (monitor.py):
 *     cc sensor.c $(pkg-config --cflags --libs motte) -o sensor && ./sensor sensors.motte cellar 100
 * Readings older than the last thousand of a sensor are deleted in the same transaction, so the file does not grow.
 */
#define _POSIX_C_SOURCE 200809L
#include <motte_inline.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char schema[] =
    "Reading { sensor: string indexed, sequence: int indexed, celsius: double, time: timestamp }";
enum {
    KEPT = 1000
};

static void check(motte_status status, const char *what) {
    if (status >= 0) return;
    motte_print_error(stderr, what, status);
    exit(1);
}

/* Deletes what the sensor wrote more than KEPT readings ago. Within a write. */
static void forget(motte_realm *realm, motte_class reading, motte_value sensor, int64_t sequence) {
    motte_value bound[2];
    motte_query *query;
    motte_coll *old;
    bound[0] = sensor;
    bound[1] = motte_int(sequence - KEPT);
    check(motte_query_parse(realm, reading, MOTTE_LIT("sensor == $0 AND sequence <= $1"), bound, 2, &query), "query");
    check(motte_query_run(query, &old), "run");
    check(motte_coll_delete_objects(old, NULL), "delete");
    motte_release(old);
    motte_release(query);
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "sensors.motte";
    const char *name = argc > 2 ? argv[2] : "cellar";
    const int64_t count = argc > 3 ? strtoll(argv[3], NULL, 10) : 10;
    const struct timespec pause = {0, argc > 4 ? strtol(argv[4], NULL, 10) * 1000000L : 10000000L};
    motte_realm *realm;
    motte_class reading;
    motte_prop props[4];
    motte_value values[4], last = motte_null(), sensor = motte_string(name);
    motte_query *query;
    motte_coll *mine;
    int64_t sequence;

    check(motte_check_abi(MOTTE_ABI_VERSION, MOTTE_ABI_LAYOUT), "library");
    check(motte_open(path, schema, &realm), "open");
    reading = motte_class_named(realm, "Reading");
    props[0] = motte_prop_named(realm, reading, "sensor");
    props[1] = motte_prop_named(realm, reading, "sequence");
    props[2] = motte_prop_named(realm, reading, "celsius");
    props[3] = motte_prop_named(realm, reading, "time");

    /* Goes on behind what the sensor wrote before it was switched off. */
    check(motte_query_parse(realm, reading, MOTTE_LIT("sensor == $0"), &sensor, 1, &query), "query");
    check(motte_query_run(query, &mine), "run");
    check(motte_coll_aggregate(mine, MOTTE_AGGREGATE_MAX, props[1], &last), "last");
    sequence = last.type == MOTTE_TYPE_INT ? last.as.integer : 0;
    motte_release(mine);
    motte_release(query);

    for (int64_t done = 0; done < count; done++) {
        motte_object *object;
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        sequence++;
        values[0] = sensor;
        values[1] = motte_int(sequence);
        values[2] = motte_double(12 + 3 * sin((double)sequence / 20));
        values[3] = motte_timestamp_value(now.tv_sec, (uint32_t)now.tv_nsec);
        check(motte_realm_begin_write(realm, 10000), "begin");
        check(motte_object_create_with(realm, reading, props, values, 4, MOTTE_CREATE_NEW, &object, NULL), "create");
        motte_release(object);
        forget(realm, reading, sensor, sequence);
        check(motte_realm_commit(realm, 0, NULL), "commit");
        nanosleep(&pause, NULL);
    }
    printf("%s: %" PRId64 " readings, the last is %" PRId64 "\n", name, count, sequence);
    motte_realm_close(realm);
    motte_release(realm);
    return 0;
}
