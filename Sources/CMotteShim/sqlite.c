/* See motte_shim_sqlite.h. Types of SQLite stay opaque and its constants are written here, so its header is not
 * needed; only functions are named that every version since 3.12 (of 2016) has. */
#define _GNU_SOURCE
#include "motte_shim_sqlite.h"
#include "motte_shim_library.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPEN_READ_ONLY = 0x1,
    OPEN_READ_WRITE = 0x2,
    OPEN_CREATE = 0x4,
    OPEN_NO_MUTEX = 0x8000,
    UTF8 = 1
};

typedef struct motte_shim_sqlite sqlite;
typedef struct motte_shim_sqlite_statement statement;
typedef void (*destructor)(void *);

/* SQLITE_STATIC and SQLITE_TRANSIENT. */
#define STAYS ((destructor)0)
#define IS_COPIED ((destructor) - 1)

static struct {
    int (*libversion_number)(void);
    int (*open_v2)(const char *, sqlite **, int, const char *);
    int (*close)(sqlite *);
    int (*exec)(sqlite *, const char *, void *, void *, char **);
    const char *(*errmsg)(sqlite *);
    int (*system_errno)(sqlite *);
    int (*extended_result_codes)(sqlite *, int);
    int (*busy_timeout)(sqlite *, int);
    int (*prepare_v2)(sqlite *, const char *, int, statement **, const char **);
    int (*finalize)(statement *);
    int (*step)(statement *);
    int (*reset)(statement *);
    int (*bind_null)(statement *, int);
    int (*bind_int64)(statement *, int, int64_t);
    int (*bind_double)(statement *, int, double);
    int (*bind_text64)(statement *, int, const char *, uint64_t, destructor, unsigned char);
    int (*bind_blob64)(statement *, int, const void *, uint64_t, destructor);
    int (*bind_value)(statement *, int, const void *);
    void *(*column_value)(statement *, int);
    int (*column_type)(statement *, int);
    int64_t (*column_int64)(statement *, int);
    double (*column_double)(statement *, int);
    const unsigned char *(*column_text)(statement *, int);
    const void *(*column_blob)(statement *, int);
    int (*column_bytes)(statement *, int);
    int is_loaded;
} library;

static const motte_shim_symbol functions[] = {
    {"sqlite3_libversion_number", &library.libversion_number},
    {"sqlite3_open_v2", &library.open_v2},
    {"sqlite3_close", &library.close},
    {"sqlite3_exec", &library.exec},
    {"sqlite3_errmsg", &library.errmsg},
    {"sqlite3_system_errno", &library.system_errno},
    {"sqlite3_extended_result_codes", &library.extended_result_codes},
    {"sqlite3_busy_timeout", &library.busy_timeout},
    {"sqlite3_prepare_v2", &library.prepare_v2},
    {"sqlite3_finalize", &library.finalize},
    {"sqlite3_step", &library.step},
    {"sqlite3_reset", &library.reset},
    {"sqlite3_bind_null", &library.bind_null},
    {"sqlite3_bind_int64", &library.bind_int64},
    {"sqlite3_bind_double", &library.bind_double},
    {"sqlite3_bind_text64", &library.bind_text64},
    {"sqlite3_bind_blob64", &library.bind_blob64},
    {"sqlite3_bind_value", &library.bind_value},
    {"sqlite3_column_value", &library.column_value},
    {"sqlite3_column_type", &library.column_type},
    {"sqlite3_column_int64", &library.column_int64},
    {"sqlite3_column_double", &library.column_double},
    {"sqlite3_column_text", &library.column_text},
    {"sqlite3_column_blob", &library.column_blob},
    {"sqlite3_column_bytes", &library.column_bytes},
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char problem[MOTTE_SHIM_PROBLEM_SIZE];

static void load(void) {
    static const char *const names[] = {"libsqlite3.so.0", NULL};
    library.is_loaded =
        !motte_shim_library_load("MOTTE_LIBSQLITE3", names, functions, sizeof functions / sizeof functions[0], problem);
}

int motte_shim_sqlite_load(void) {
    pthread_once(&once, load);
    return library.is_loaded ? 0 : -1;
}

const char *motte_shim_sqlite_problem(void) { return problem; }
int motte_shim_sqlite_version(void) { return library.libversion_number(); }

int motte_shim_sqlite_open(const char *path, int is_new, sqlite **out_connection) {
    int flags = is_new ? OPEN_READ_WRITE | OPEN_CREATE : OPEN_READ_ONLY;
    int code = library.open_v2(path, out_connection, flags | OPEN_NO_MUTEX, NULL);
    if (*out_connection) {
        library.extended_result_codes(*out_connection, 1);
        library.busy_timeout(*out_connection, 5000);
    }
    return code;
}

void motte_shim_sqlite_close(sqlite *connection) {
    if (connection) library.close(connection);
}

/* SQLite keeps no errno of a commit that fails, so that it is kept here. */
static _Thread_local int last_errno;

static int with_errno(int code) {
    last_errno = errno;
    return code;
}

int motte_shim_sqlite_execute(sqlite *connection, const char *sql) {
    errno = 0;
    return with_errno(library.exec(connection, sql, NULL, NULL, NULL));
}

const char *motte_shim_sqlite_message(sqlite *connection) { return library.errmsg(connection); }

int motte_shim_sqlite_errno(sqlite *connection) {
    int number = library.system_errno(connection);
    return number ? number : last_errno;
}

int motte_shim_sqlite_prepare(sqlite *connection, const char *sql, size_t size, statement **out_statement) {
    return library.prepare_v2(connection, sql, (int)size, out_statement, NULL);
}

void motte_shim_sqlite_finalize(statement *statement) { library.finalize(statement); }

int motte_shim_sqlite_step(statement *statement) {
    errno = 0;
    int code = library.step(statement);
    return code == MOTTE_SHIM_SQLITE_ROW || code == MOTTE_SHIM_SQLITE_DONE ? code : with_errno(code);
}

void motte_shim_sqlite_reset(statement *statement) { library.reset(statement); }
int motte_shim_sqlite_bind_null(statement *statement, int index) { return library.bind_null(statement, index); }

int motte_shim_sqlite_bind_int(statement *statement, int index, int64_t value) {
    return library.bind_int64(statement, index, value);
}

int motte_shim_sqlite_bind_double(statement *statement, int index, double value) {
    return library.bind_double(statement, index, value);
}

/* NULL would be bound as NULL, however many bytes it has. */
int motte_shim_sqlite_bind_text(statement *statement, int index, const void *bytes, size_t size, int copies) {
    return library.bind_text64(statement, index, bytes ? bytes : "", size, copies ? IS_COPIED : STAYS, UTF8);
}

int motte_shim_sqlite_bind_blob(statement *statement, int index, const void *bytes, size_t size, int copies) {
    return library.bind_blob64(statement, index, bytes ? bytes : "", size, copies ? IS_COPIED : STAYS);
}

int motte_shim_sqlite_bind_column(statement *statement, int index, struct motte_shim_sqlite_statement *row,
                                  int column) {
    return library.bind_value(statement, index, library.column_value(row, column));
}

int motte_shim_sqlite_type(statement *row, int column) { return library.column_type(row, column); }
int64_t motte_shim_sqlite_int(statement *row, int column) { return library.column_int64(row, column); }
double motte_shim_sqlite_double(statement *row, int column) { return library.column_double(row, column); }

const void *motte_shim_sqlite_bytes(statement *row, int column, size_t *out_size) {
    /* A text first becomes UTF-8, then has that many bytes. */
    int is_text = library.column_type(row, column) == MOTTE_SHIM_SQLITE_TEXT;
    const void *bytes = is_text ? (const void *)library.column_text(row, column) : library.column_blob(row, column);
    *out_size = bytes ? (size_t)library.column_bytes(row, column) : 0;
    return bytes;
}
