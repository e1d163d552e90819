/* A few lines of test harness: CHECK counts, MUST stops. Each test is one program and ends with check_summary(). */
#ifndef MOTTE_CHECK_H
#define MOTTE_CHECK_H

#include "motte_inline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_passed, check_failed;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (condition) {                                                                                               \
            check_passed++;                                                                                            \
        } else {                                                                                                       \
            check_failed++;                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
        }                                                                                                              \
    } while (0)

/* Checks an exact status. */
#define STATUS(expected, call)                                                                                         \
    do {                                                                                                               \
        motte_status found_ = (call);                                                                                  \
        if (found_ == (expected)) {                                                                                    \
            check_passed++;                                                                                            \
        } else {                                                                                                       \
            check_failed++;                                                                                            \
            fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                                            \
            motte_print_error(stderr, #call, found_);                                                                  \
        }                                                                                                              \
    } while (0)

/* What the rest depends on. */
#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        motte_status found_ = (call);                                                                                  \
        if (found_ < 0) {                                                                                              \
            fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                                            \
            motte_print_error(stderr, #call, found_);                                                                  \
            exit(2);                                                                                                   \
        }                                                                                                              \
    } while (0)

static motte_status check_report_handle(void *userdata, const void *handle, motte_handle_type kind) {
    (void)userdata;
    fprintf(stderr, "left: handle %p of kind %d\n", (void *)(uintptr_t)handle, (int)kind);
    return 0;
}

static inline int check_summary(void) {
    motte_handle_dump(check_report_handle, NULL, NULL);
    CHECK(motte_handle_count(MOTTE_HANDLE_NONE) == 0);
    printf("%d passed, %d failed\n", check_passed, check_failed);
    return check_failed == 0 ? 0 : 1;
}

/* A realm in memory of its own. */
static inline motte_realm *check_realm(const char *identifier, const char *schema_text) {
    motte_config *config;
    motte_schema *schema;
    motte_realm *realm = NULL;
    MUST(motte_config_new(&config));
    MUST(motte_schema_parse(schema_text, MOTTE_NTS, &schema));
    MUST(motte_config_set_in_memory(config, identifier, MOTTE_NTS));
    MUST(motte_config_set_schema(config, schema, 0));
    MUST(motte_realm_open(config, &realm));
    motte_release(config);
    motte_release(schema);
    return realm;
}

static inline motte_error_details check_error(void) {
    motte_error_details details;
    memset(&details, 0, sizeof details);
    details.struct_size = sizeof details;
    motte_last_error(&details);
    return details;
}

#endif
