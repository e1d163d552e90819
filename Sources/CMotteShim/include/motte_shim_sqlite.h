/* The few functions of SQLite that an export to its files and an import from them take, from libsqlite3, which is
 * loaded when one of them is first asked for and not before, so that the library needs it only then. */
#ifndef MOTTE_SHIM_SQLITE_H
#define MOTTE_SHIM_SQLITE_H
#include <stddef.h>
#include <stdint.h>

/* Codes and types of sqlite3.h, which are fixed for good. */
enum {
    MOTTE_SHIM_SQLITE_PERMISSION = 3,
    MOTTE_SHIM_SQLITE_BUSY = 5,
    MOTTE_SHIM_SQLITE_LOCKED = 6,
    MOTTE_SHIM_SQLITE_NO_MEMORY = 7,
    MOTTE_SHIM_SQLITE_READ_ONLY = 8,
    MOTTE_SHIM_SQLITE_IO_ERROR = 10,
    MOTTE_SHIM_SQLITE_CORRUPT = 11,
    MOTTE_SHIM_SQLITE_FULL = 13,
    MOTTE_SHIM_SQLITE_CANNOT_OPEN = 14,
    MOTTE_SHIM_SQLITE_TOO_BIG = 18,
    MOTTE_SHIM_SQLITE_NOT_A_DATABASE = 26,
    MOTTE_SHIM_SQLITE_ROW = 100,
    MOTTE_SHIM_SQLITE_DONE = 101,

    MOTTE_SHIM_SQLITE_INTEGER = 1,
    MOTTE_SHIM_SQLITE_REAL = 2,
    MOTTE_SHIM_SQLITE_TEXT = 3,
    MOTTE_SHIM_SQLITE_BLOB = 4,
    MOTTE_SHIM_SQLITE_NULL = 5
};

typedef struct motte_shim_sqlite motte_shim_sqlite;
typedef struct motte_shim_sqlite_statement motte_shim_sqlite_statement;

/* Loads libsqlite3, once. 0, or -1: `motte_shim_sqlite_problem` says why. The environment variable MOTTE_LIBSQLITE3
 * names another file than libsqlite3.so.0. Everything below is for afterwards. */
int motte_shim_sqlite_load(void);
const char *motte_shim_sqlite_problem(void);
/* 3040001 is 3.40.1. */
int motte_shim_sqlite_version(void);

/* A file to read, or a new one. One thread at a time uses it and its statements. There may be a connection also where
 * this fails, for its message; it is closed in any case. */
int motte_shim_sqlite_open(const char *path, int is_new, motte_shim_sqlite **out_connection);
void motte_shim_sqlite_close(motte_shim_sqlite *connection);
int motte_shim_sqlite_execute(motte_shim_sqlite *connection, const char *sql);
/* Of the last call that failed; borrowed until the next one. */
const char *motte_shim_sqlite_message(motte_shim_sqlite *connection);
/* errno of the last failure, or 0. */
int motte_shim_sqlite_errno(motte_shim_sqlite *connection);

int motte_shim_sqlite_prepare(motte_shim_sqlite *connection, const char *sql, size_t size,
                              motte_shim_sqlite_statement **out_statement);
void motte_shim_sqlite_finalize(motte_shim_sqlite_statement *statement);
int motte_shim_sqlite_step(motte_shim_sqlite_statement *statement);
void motte_shim_sqlite_reset(motte_shim_sqlite_statement *statement);

/* Parameters count from 1. Bytes stay where they are until the statement is reset or bound again, unless `copies`. */
int motte_shim_sqlite_bind_null(motte_shim_sqlite_statement *statement, int index);
int motte_shim_sqlite_bind_int(motte_shim_sqlite_statement *statement, int index, int64_t value);
int motte_shim_sqlite_bind_double(motte_shim_sqlite_statement *statement, int index, double value);
int motte_shim_sqlite_bind_text(motte_shim_sqlite_statement *statement, int index, const void *bytes, size_t size,
                                int copies);
int motte_shim_sqlite_bind_blob(motte_shim_sqlite_statement *statement, int index, const void *bytes, size_t size,
                                int copies);
/* A column of another statement's row. */
int motte_shim_sqlite_bind_column(motte_shim_sqlite_statement *statement, int index, motte_shim_sqlite_statement *row,
                                  int column);

/* Columns count from 0; bytes are borrowed until the next step or reset. */
int motte_shim_sqlite_type(motte_shim_sqlite_statement *row, int column);
int64_t motte_shim_sqlite_int(motte_shim_sqlite_statement *row, int column);
double motte_shim_sqlite_double(motte_shim_sqlite_statement *row, int column);
/* Of a text as UTF-8 or of a blob. NULL when there are none, or no memory. */
const void *motte_shim_sqlite_bytes(motte_shim_sqlite_statement *row, int column, size_t *out_size);
#endif
