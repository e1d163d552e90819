/* See motte_postgres.h. Types of libpq stay opaque and its constants are written here, so its header is not
 * needed; only functions are named that every libpq.so.5 has. */
#define _GNU_SOURCE
#include "motte_postgres.h"
#include "motte_shim_library.h"
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of libpq-fe.h and postgres_ext.h, which are fixed for good. */
enum {
    CONNECTION_OK = 0,
    COMMAND_OK = 1,
    TUPLES_OK = 2,
    COPY_IN = 4,
    DIAG_SQLSTATE = 'C'
};

typedef struct motte_postgres connection;
typedef struct motte_postgres_result result;

static struct {
    connection *(*connectdb)(const char *);
    void (*finish)(connection *);
    int (*status)(const connection *);
    int (*serverVersion)(const connection *);
    char *(*errorMessage)(const connection *);
    result *(*execParams)(connection *, const char *, int, const unsigned *, const char *const *, const int *,
                          const int *, int);
    result *(*getResult)(connection *);
    int (*resultStatus)(const result *);
    char *(*resultErrorField)(const result *, int);
    int (*ntuples)(const result *);
    int (*nfields)(const result *);
    int (*getisnull)(const result *, int, int);
    char *(*getvalue)(const result *, int, int);
    void (*clear)(result *);
    int (*putCopyData)(connection *, const char *, int);
    int (*putCopyEnd)(connection *, const char *);
    void *(*setNoticeProcessor)(connection *, void (*)(void *, const char *), void *);
    int is_loaded;
} library;

static const motte_shim_symbol functions[] = {
    {"PQconnectdb", &library.connectdb},
    {"PQfinish", &library.finish},
    {"PQstatus", &library.status},
    {"PQserverVersion", &library.serverVersion},
    {"PQerrorMessage", &library.errorMessage},
    {"PQexecParams", &library.execParams},
    {"PQgetResult", &library.getResult},
    {"PQresultStatus", &library.resultStatus},
    {"PQresultErrorField", &library.resultErrorField},
    {"PQntuples", &library.ntuples},
    {"PQnfields", &library.nfields},
    {"PQgetisnull", &library.getisnull},
    {"PQgetvalue", &library.getvalue},
    {"PQclear", &library.clear},
    {"PQputCopyData", &library.putCopyData},
    {"PQputCopyEnd", &library.putCopyEnd},
    {"PQsetNoticeProcessor", &library.setNoticeProcessor},
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char problem[MOTTE_SHIM_PROBLEM_SIZE];

static void load(void) {
    static const char *const names[] = {"libpq.so.5", NULL};
    library.is_loaded =
        !motte_shim_library_load("MOTTE_LIBPQ", names, functions, sizeof functions / sizeof functions[0], problem);
}

int motte_postgres_load(void) {
    pthread_once(&once, load);
    return library.is_loaded ? 0 : -1;
}

const char *motte_postgres_problem(void) { return problem; }

/* Such as which views went with a column. */
static void print(void *nothing, const char *message) {
    (void)nothing;
    fprintf(stderr, "motte: PostgreSQL says: %s", message);
}

connection *motte_postgres_open(const char *address) {
    connection *made = library.connectdb(address);
    if (made) library.setNoticeProcessor(made, print, NULL);
    return made;
}

void motte_postgres_close(connection *connection) { library.finish(connection); }
int motte_postgres_is_open(connection *connection) { return library.status(connection) == CONNECTION_OK; }
int motte_postgres_version(connection *connection) { return library.serverVersion(connection); }
const char *motte_postgres_message(connection *connection) { return library.errorMessage(connection); }

result *motte_postgres_run(connection *connection, const char *sql, int count, const char *const *parameters) {
    return library.execParams(connection, sql, count, NULL, parameters, NULL, NULL, 0);
}

int motte_postgres_status(result *result) {
    switch (result ? library.resultStatus(result) : -1) {
    case COMMAND_OK: return 1;
    case TUPLES_OK: return 2;
    case COPY_IN: return 3;
    default: return 0;
    }
}

const char *motte_postgres_code(result *result) {
    const char *code = result ? library.resultErrorField(result, DIAG_SQLSTATE) : NULL;
    return code ? code : "";
}

int motte_postgres_rows(result *result) { return library.ntuples(result); }
int motte_postgres_columns(result *result) { return library.nfields(result); }

const char *motte_postgres_value(result *result, int row, int column) {
    return library.getisnull(result, row, column) ? NULL : library.getvalue(result, row, column);
}

void motte_postgres_free(result *result) { library.clear(result); }

int motte_postgres_copy(connection *connection, const char *bytes, size_t size) {
    while (size > 0) {
        int piece = size > INT_MAX ? INT_MAX : (int)size;
        if (library.putCopyData(connection, bytes, piece) != 1) return -1;
        bytes += piece;
        size -= (size_t)piece;
    }
    return 0;
}

result *motte_postgres_end_copy(connection *connection, const char *reason) {
    /* Where the end cannot be sent there is no outcome, and the connection is of no more use. */
    if (library.putCopyEnd(connection, reason) != 1) return NULL;
    result *outcome = library.getResult(connection);
    for (result *more; outcome && (more = library.getResult(connection));) library.clear(more);
    return outcome;
}
