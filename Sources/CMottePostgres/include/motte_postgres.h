/* The few functions of libpq that feeding a PostgreSQL database takes. libpq is loaded when one of them is first asked
 * for and not before, so that nobody needs it who feeds none. */
#ifndef MOTTE_POSTGRES_H
#define MOTTE_POSTGRES_H
#include <stddef.h>

typedef struct motte_postgres motte_postgres;
typedef struct motte_postgres_result motte_postgres_result;

/* Loads libpq, once. 0, or -1: `motte_postgres_problem` says why. The environment variable MOTTE_LIBPQ names
 * another file than libpq.so.5. Everything below is for afterwards. */
int motte_postgres_load(void);
const char *motte_postgres_problem(void);

/* By a connection string or an address. NULL without memory; else it is closed in any case. */
motte_postgres *motte_postgres_open(const char *address);
void motte_postgres_close(motte_postgres *connection);
/* Whether it stands; false also after the server has gone. */
int motte_postgres_is_open(motte_postgres *connection);
/* 150004 is 15.4. */
int motte_postgres_version(motte_postgres *connection);
/* Of what failed last; borrowed until the next call. */
const char *motte_postgres_message(motte_postgres *connection);

/* Runs a statement with parameters as texts, NULL for null. NULL without memory. */
motte_postgres_result *motte_postgres_run(motte_postgres *connection, const char *sql, int count,
                                          const char *const *parameters);
/* 0 where it failed, 1 where it is done, 2 where rows came, 3 where the server waits for copied rows. */
int motte_postgres_status(motte_postgres_result *result);
/* SQLSTATE of an error, or "". */
const char *motte_postgres_code(motte_postgres_result *result);
int motte_postgres_rows(motte_postgres_result *result);
int motte_postgres_columns(motte_postgres_result *result);
/* NULL for null; borrowed as long as the result is there. */
const char *motte_postgres_value(motte_postgres_result *result, int row, int column);
void motte_postgres_free(motte_postgres_result *result);

/* Rows of COPY FROM STDIN in its text format, in pieces of any length; 0, or -1. */
int motte_postgres_copy(motte_postgres *connection, const char *bytes, size_t size);
/* Ends them; with a reason, they are taken back. The outcome, as of a statement. */
motte_postgres_result *motte_postgres_end_copy(motte_postgres *connection, const char *reason);
#endif
