/* SPDX-License-Identifier: Apache-2.0
 *
 * motte.h: the C interface of Motte, an embedded object database.
 *
 * Conventions
 *
 *   1. A function that can fail returns motte_status: 0 is success, negative is an error, positive is an expected
 *      outcome without error detail (MOTTE_NOT_FOUND, MOTTE_NULL, MOTTE_PENDING, ...). Results are written to the
 *      last pointers, named out_*. After an error out_* are NULL or zero, and motte_last_error() describes the failure
 *      of this thread. Outputs are required unless the comment says "Optional".
 *   2. Handles (motte_realm *, motte_object *, ...) are opaque numbers, not addresses: do not dereference them. Using a
 *      released, wrong or closed handle returns an error, never undefined behaviour. NULL is MOTTE_E_NULL_ARGUMENT.
 *   3. Every handle that an out_* pointer returns belongs to the caller, who releases it with motte_release(): from any
 *      thread, in any order, at any time, also after its realm was closed. Only MOTTE_OK brings a handle: after any
 *      other status, positive ones included, out_* handles are NULL and there is nothing to release.
 *   4. Text is passed as UTF-8 with a length in bytes; MOTTE_NTS as length means "up to the terminating NUL". Data may
 *      contain NUL bytes. NULL, with length 0 or MOTTE_NTS, stands for an absent text where the comment allows one.
 *   5. Lifetime of a result, one letter in each comment:
 *        S  static, for ever                      H  as long as the handle it came from
 *        O  owned by the caller                   V  until motte_realm_view_epoch() changes; of snapshots of values
 *                                                    and of groups also only as long as the handle
 *      "Result: -" means plain numbers or no result at all.
 *   6. Threads, one word in each comment:
 *        any     callable from every thread
 *        owner   only on the thread that opened the realm or made the queue, otherwise MOTTE_E_WRONG_THREAD; handles
 *                of a frozen realm may be used from every thread
 *   7. A callback comes as (function, userdata, free). userdata is the callback's first argument. free(userdata) is
 *      called exactly once, also when registration fails, never while the callback runs. A callback returns 0, or
 *      a code of its own to stop: the call that ran it then fails with MOTTE_E_CALLBACK. It returns: neither longjmp()
 *      nor an exception may leave it (those of motte.hpp catch what is thrown). Of a callback that observes
 *      only motte_realm_refresh() and motte_queue_dispatch() fail so; elsewhere its failure is a message of level
 *      MOTTE_LOG_ERROR. No callback is ever required.
 *   8. Callbacks run only inside motte_queue_dispatch(), motte_realm_refresh(), motte_realm_commit() and
 *      motte_realm_commit_skipping(), a motte_realm_begin_write() that advances, motte_realm_open(), the functions that
 *      take a callback themselves and, for free functions, motte_release(), motte_token_stop() and functions that
 *      replace a callback.
 *   9. Output arrays follow one protocol (array, capacity, out_count): min(capacity, total) elements are written and
 *      out_count is the total; MOTTE_TRUNCATED if they did not all fit. NULL with capacity 0 asks for the total: OK.
 *  10. Structs that may grow begin with struct_size, which the caller sets to sizeof; of a struct that is written to,
 *      more than this library's size is BAD_STRUCT_SIZE. The others never change.
 *      Flags reject unknown bits with MOTTE_E_UNKNOWN_FLAG. Timeouts are milliseconds; negative waits for ever.
 *  11. In a child of fork() every inherited handle returns MOTTE_E_FORKED; the child opens its own.
 *  12. Nothing here aborts the process or throws. The one exception is failure to allocate memory. A file that grows
 *      beyond RLIMIT_FSIZE is DISK_FULL where the process ignores SIGXFSZ, which the system sends for it.
 *
 * Besides the errors named in its comment, every function may return those of its arguments: NULL_ARGUMENT,
 * BAD_HANDLE, STALE_HANDLE, WRONG_KIND, WRONG_THREAD, CLOSED, FORKED, INVALID_UTF8, INVALID_ARGUMENT, UNKNOWN_FLAG,
 * BAD_STRUCT_SIZE; TRUNCATED by convention 9; FROZEN if it changes something that is frozen; DUPLICATE_VALUE if it
 * writes values or the schema; REENTRANT if it changes, moves or closes a realm in a function of the program that may
 * only read, or calls one that lets go of the last handle to a realm in a write; CORRUPTED and INPUT_OUTPUT if it reads
 * from the file; and INTERRUPTED, or CALLBACK of motte_realm_on_query_progress(), if it runs a query. All functions are
 * there since 0.1.0.
 *
 * Contents: library, errors, handles, config, schema, realm, migration, maintenance, change batches, object, row,
 * object fields, embedded, collection, list, set, map, nested, query, bulk read, batch insert, import and export,
 * Arrow, Realm files, queue, reference, sections, groups, observe, changes, values as text. Helpers for C (literals,
 * typed release) are in motte_inline.h.
 *
 * Between the two DECLARATIONS marks there are only typedefs, enums with explicit numbers, plain defines and
 * prototypes, so that cffi and other generators can read them as they are.
 */
#ifndef MOTTE_H
#define MOTTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As a length: the text ends at its NUL. */
#define MOTTE_NTS ((size_t)-1)

/* Handles, addresses and lengths are 64 bits wide. */
typedef char motte_requires_a_64_bit_platform[sizeof(void *) == 8 && sizeof(size_t) == 8 ? 1 : -1];

#ifdef __cplusplus
extern "C" {
#endif

/* The Arrow C data and stream interfaces, in the words of their specification: any other copy of them is the same. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

#endif

/* MOTTE_DECLARATIONS_BEGIN */

/* Version of this header: major * 1000000 + minor * 1000 + patch. */
#define MOTTE_VERSION 1000
/* Grows when something declared here changes its meaning; MOTTE_ABI_LAYOUT is a checksum over all struct layouts. */
#define MOTTE_ABI_VERSION 1
#define MOTTE_ABI_LAYOUT 0x7E299E47

/* ---------------------------------------------------------------------------------------------------- types */

typedef int32_t motte_status;

/* Expected outcomes (0 and up) and errors (below 0, grouped by hundreds). Numbers never change. */
enum {
    MOTTE_OK = 0,
    MOTTE_NOT_FOUND = 1,
    MOTTE_NULL = 2,
    MOTTE_END = 3,
    MOTTE_UNCHANGED = 4,
    MOTTE_TRUNCATED = 5,
    MOTTE_PENDING = 6,

    /* Misuse: the call itself was wrong. */
    MOTTE_E_NULL_ARGUMENT = -101,
    MOTTE_E_BAD_HANDLE = -102,
    MOTTE_E_STALE_HANDLE = -103,
    MOTTE_E_WRONG_KIND = -104,
    MOTTE_E_WRONG_THREAD = -105,
    MOTTE_E_CLOSED = -106,
    MOTTE_E_REENTRANT = -107,
    MOTTE_E_FORKED = -108,
    MOTTE_E_INVALID_UTF8 = -109,
    MOTTE_E_BAD_STRUCT_SIZE = -110,
    MOTTE_E_INVALID_ARGUMENT = -111,
    MOTTE_E_UNKNOWN_FLAG = -112,
    MOTTE_E_OUT_OF_BOUNDS = -113,

    /* State: right call, wrong moment. */
    MOTTE_E_NOT_IN_WRITE = -201,
    MOTTE_E_ALREADY_IN_WRITE = -202,
    MOTTE_E_FROZEN = -203,
    MOTTE_E_READ_ONLY = -204,
    MOTTE_E_OBJECT_DELETED = -205,
    MOTTE_E_TIMEOUT = -206,
    MOTTE_E_BUSY = -207,
    MOTTE_E_SCHEMA_CHANGED = -208,
    MOTTE_E_HISTORY_UNAVAILABLE = -209,
    MOTTE_E_OUT_OF_SEQUENCE = -210,
    MOTTE_E_HISTORY_FORKED = -211,
    MOTTE_E_INTERRUPTED = -212,
    MOTTE_E_OUTCOME_UNKNOWN = -213, /* it may be done, or be done later: look before doing it again */

    /* Data: the value does not fit. */
    MOTTE_E_WRONG_TYPE = -301,
    MOTTE_E_NULL_NOT_ALLOWED = -302,
    MOTTE_E_DUPLICATE_PRIMARY_KEY = -303,
    MOTTE_E_VALUE_TOO_LARGE = -304,
    MOTTE_E_PRIMARY_KEY_IS_FIXED = -305,
    MOTTE_E_OVERFLOW = -306,
    MOTTE_E_DUPLICATE_VALUE = -307,

    /* Schema. */
    MOTTE_E_UNKNOWN_CLASS = -401,
    MOTTE_E_UNKNOWN_PROPERTY = -402,
    MOTTE_E_SCHEMA_INVALID = -403,
    MOTTE_E_SCHEMA_MISMATCH = -404,
    MOTTE_E_NO_PRIMARY_KEY = -405,

    /* Queries. */
    MOTTE_E_QUERY_SYNTAX = -501,
    MOTTE_E_QUERY_INVALID = -502,
    MOTTE_E_QUERY_ARGUMENT = -503,

    /* Storage. */
    MOTTE_E_FILE_NOT_FOUND = -601,
    MOTTE_E_PERMISSION_DENIED = -602,
    MOTTE_E_NOT_A_MOTTE_FILE = -603,
    MOTTE_E_CORRUPTED = -604,
    MOTTE_E_UNSUPPORTED_FORMAT = -605,
    MOTTE_E_INPUT_OUTPUT = -606,
    MOTTE_E_DISK_FULL = -607,
    MOTTE_E_MAP_FULL = -608,
    MOTTE_E_SECOND_COPY = -609,
    MOTTE_E_LOCK_FAILED = -610,
    MOTTE_E_WRONG_KEY = -611,
    MOTTE_E_FILE_MOVED = -612,

    /* Resources, callbacks, the rest. */
    MOTTE_E_OUT_OF_HANDLES = -701,
    MOTTE_E_OUT_OF_MEMORY = -702,
    MOTTE_E_CALLBACK = -801,
    MOTTE_E_UNSUPPORTED = -901,
    MOTTE_E_INTERNAL = -1001
};

/* Kind of failure, to branch on. */
typedef int32_t motte_category;
enum {
    MOTTE_CATEGORY_NONE = 0,
    MOTTE_CATEGORY_MISUSE = 1,
    MOTTE_CATEGORY_STATE = 2,
    MOTTE_CATEGORY_DATA = 3,
    MOTTE_CATEGORY_SCHEMA = 4,
    MOTTE_CATEGORY_QUERY = 5,
    MOTTE_CATEGORY_STORAGE = 6,
    MOTTE_CATEGORY_RESOURCE = 7,
    MOTTE_CATEGORY_CALLBACK = 8,
    MOTTE_CATEGORY_UNSUPPORTED = 9,
    MOTTE_CATEGORY_INTERNAL = 10
};

/* The handles. */
typedef struct motte_error motte_error;
typedef struct motte_config motte_config;
typedef struct motte_schema motte_schema;
typedef struct motte_realm motte_realm;
typedef struct motte_object motte_object;
typedef struct motte_coll motte_coll;
typedef struct motte_query motte_query;
typedef struct motte_insert motte_insert;
typedef struct motte_queue motte_queue;
typedef struct motte_token motte_token;
typedef struct motte_changes motte_changes;
typedef struct motte_sections motte_sections;
typedef struct motte_groups motte_groups;
typedef struct motte_reference motte_reference;
typedef struct motte_report motte_report;
typedef struct motte_migration motte_migration;

typedef int32_t motte_handle_type;
enum {
    MOTTE_HANDLE_NONE = 0,
    MOTTE_HANDLE_ERROR = 1,
    MOTTE_HANDLE_CONFIG = 2,
    MOTTE_HANDLE_SCHEMA = 3,
    MOTTE_HANDLE_REALM = 4,
    MOTTE_HANDLE_OBJECT = 5,
    MOTTE_HANDLE_COLL = 6,
    MOTTE_HANDLE_QUERY = 7,
    MOTTE_HANDLE_INSERT = 8,
    MOTTE_HANDLE_QUEUE = 9,
    MOTTE_HANDLE_TOKEN = 10,
    MOTTE_HANDLE_CHANGES = 11,
    MOTTE_HANDLE_REPORT = 12,
    MOTTE_HANDLE_MIGRATION = 13,
    MOTTE_HANDLE_SECTIONS = 14,
    MOTTE_HANDLE_REFERENCE = 15,
    MOTTE_HANDLE_GROUPS = 16
};

/* Identifiers of stored things. A class keeps its id for the life of the file. A property id names its class too and
 * works in every realm of that file; 0 is no property. Object keys count up from 0 per class and are never used again:
 * a key whose object was deleted names no object for ever. The same holds for a key whose object did not come to be,
 * because its write was cancelled or refused or went back to a savepoint, as long as this process has the file open;
 * another process, which cannot know of such a key, may give it to an object of its own. motte_object handles of such
 * objects stay invalid in any case. */
typedef uint32_t motte_class;
typedef uint64_t motte_prop;
typedef int64_t motte_key;

/* As a property: the elements themselves, for collections of values. */
#define MOTTE_PROP_SELF 0

/* As a class: the one that the text names, for imports. */
#define MOTTE_CLASS_ANY 0xFFFFFFFF

/* What a value or property is. */
typedef uint32_t motte_type;
enum {
    MOTTE_TYPE_NULL = 0,
    MOTTE_TYPE_BOOL = 1,
    MOTTE_TYPE_INT = 2,
    MOTTE_TYPE_FLOAT = 3,
    MOTTE_TYPE_DOUBLE = 4,
    MOTTE_TYPE_STRING = 5,
    MOTTE_TYPE_DATA = 6,
    MOTTE_TYPE_TIMESTAMP = 7,
    MOTTE_TYPE_LINK = 8,
    MOTTE_TYPE_DECIMAL = 9,
    MOTTE_TYPE_OBJECT_ID = 10,
    MOTTE_TYPE_UUID = 11,
    /* Only of values: collections nested in a mixed property. */
    MOTTE_TYPE_LIST = 12,
    MOTTE_TYPE_MAP = 13,
    /* Only of properties: values of any type, and null. */
    MOTTE_TYPE_MIXED = 14,
    /* Only of properties: the objects that link here, computed. */
    MOTTE_TYPE_INVERSE = 100
};

/* Borrowed text, not terminated. A null has data == NULL, the empty text does not. */
typedef struct motte_str {
    const char *data;
    size_t size;
} motte_str;

/* Borrowed bytes. */
typedef struct motte_bytes {
    const void *data;
    size_t size;
} motte_bytes;

/* Bytes owned by the caller, who frees them with motte_buf_dispose(). A NUL that size does not count follows. */
typedef struct motte_buf {
    char *data;
    size_t size;
} motte_buf;

/* A point in time: seconds since 1970-01-01T00:00:00Z and 0 to 999999999 nanoseconds after it, also before 1970. */
typedef struct motte_timestamp {
    int64_t seconds;
    uint32_t nanoseconds;
    uint32_t reserved;
} motte_timestamp;

/* A decimal floating-point number of 34 digits: IEEE 754-2008 decimal128 in binary integer form, as BSON has it. */
typedef struct motte_decimal {
    uint64_t low;
    uint64_t high; /* the sign is the top bit */
} motte_decimal;

/* Twelve bytes that ascend with time: seconds since 1970, random bytes of the process, a counter; big-endian. */
typedef struct motte_object_id {
    uint8_t bytes[12];
} motte_object_id;

/* Sixteen bytes, in the order in which they are printed. */
typedef struct motte_uuid {
    uint8_t bytes[16];
} motte_uuid;

/* The payload of a value, named by its type. */
typedef union motte_payload {
    uint64_t boolean;
    int64_t integer;
    float single;
    double real;
    motte_str string;
    motte_bytes data;
    int64_t seconds;
    motte_key key;
    motte_decimal decimal;
    motte_object_id object_id;
    motte_uuid uuid;
    motte_bytes nested;
    uint64_t words[2];
} motte_payload;

/* A value of any type: 24 bytes, little-endian, with this layout for ever.
 *
 *   offset  0  type   u32   MOTTE_TYPE_*
 *           4  aux    u32   timestamp: nanoseconds; link: class of the target; otherwise 0
 *           8  as     u64   boolean 0 or 1, integer, bits of a float (low half) or double, seconds of a timestamp,
 *                           key of a link, address of a string, data, list or map
 *          16         u64   string, data, list, map: size in bytes; link: 0, or the database, from motte_object_link()
 *
 * A decimal, UUID or object id is the 16 or 12 bytes from offset 8; the rest is zero. A list or map is a document of
 * bytes that motte_nested_list(), motte_nested_map() or a read made: see "nested".
 *
 * A string has at most 16,777,199 bytes and data 16,777,200, also in collections, lists and maps; larger ones are
 * VALUE_TOO_LARGE. Keep them in files of their own and their paths here, or as a list of pieces.
 */
typedef struct motte_value {
    uint32_t type;
    uint32_t aux;
    motte_payload as;
} motte_value;

/* Frees the userdata of a callback. */
typedef void (*motte_free_fn)(void *userdata);

/* Progress of a long operation. total is 0 while it is unknown, and an estimate until done equals it. A code other than
 * 0 stops the operation, which then fails with MOTTE_E_CALLBACK and leaves nothing behind. */
typedef motte_status (*motte_progress_fn)(void *userdata, uint64_t done, uint64_t total);

/* ---------------------------------------------------------------------------------------------------- library
 *
 * Nothing has to be initialised. The library is never unloaded once loaded. */

/** Release of the loaded library, for humans: "0.1.0".
 *  Thread: any. Result: S. */
const char *motte_version_string(void);

/** Release of the loaded library, in the form of MOTTE_VERSION.
 *  Thread: any. Result: -. */
uint32_t motte_version_number(void);

/** Compares header and library: pass MOTTE_ABI_VERSION and MOTTE_ABI_LAYOUT once, at load time.
 *  Thread: any. Result: -. Errors: UNSUPPORTED. */
motte_status motte_check_abi(uint32_t abi_version, uint32_t abi_layout);

/** 1 if a named option is compiled in, 0 if not or unknown. There are no options yet.
 *  Thread: any. Result: -. */
int32_t motte_has_feature(const char *name, size_t name_size);

/* How much is logged: each level has those before it. */
typedef int32_t motte_log_level;
enum {
    MOTTE_LOG_OFF = 0,
    MOTTE_LOG_ERROR = 1, /* a file cannot be read or written */
    MOTTE_LOG_WARN = 2,  /* something was wrong with a file that was opened */
    MOTTE_LOG_INFO = 3,  /* a schema was changed, a file migrated or compacted */
    MOTTE_LOG_DEBUG = 4, /* opening, closing, commits, and calls that fail for another reason */
    MOTTE_LOG_TRACE = 5  /* queries with their plans */
};

/* Receives a message; `category` is "storage", "schema", "write", "query" or "call". Both texts are terminated and
 * valid during the call. It runs on the thread that does what the message says, so on several at once. What it calls
 * itself is not logged. */
typedef void (*motte_log_fn)(void *userdata, motte_log_level level, const char *category, const char *message);

/** Passes messages up to a level to a function, for the whole process; it replaces the one before. NULL or
 *  MOTTE_LOG_OFF: none, as at first. The userdata is freed when the function is replaced and no longer runs.
 *  Thread: any. Result: -. */
motte_status motte_log_set(motte_log_level level, motte_log_fn callback, void *userdata, motte_free_fn free_userdata);

/** Frees the contents of an owned buffer and zeroes it; NULL and an already zeroed buffer are fine.
 *  Thread: any. Result: -. */
void motte_buf_dispose(motte_buf *buf);

/* ---------------------------------------------------------------------------------------------------- errors
 *
 * Details are kept per thread and only for negative statuses. They are never needed for control flow. A later success
 * does not erase them, so read them right after the failure. */

typedef struct motte_error_details {
    uint32_t struct_size;
    motte_status code;
    motte_category category;
    int32_t system_error;      /* errno of the failed system call, or 0 */
    const char *message;       /* a sentence that says what to do; terminated, never NULL */
    const char *path;          /* of the file, or NULL */
    const char *class_name;    /* or NULL */
    const char *property_name; /* or NULL */
    int64_t query_offset;      /* byte offset into the query or schema text, or -1 */
    int64_t row_index;         /* element of a batch, or -1 */
    int32_t user_code;         /* what the callback returned, with MOTTE_E_CALLBACK */
    uint32_t reserved;
    void *user_pointer; /* from motte_callback_fail(), or NULL */
} motte_error_details;

/** Symbolic name of a status: "MOTTE_E_WRONG_THREAD"; of an unknown number "MOTTE_UNKNOWN_STATUS".
 *  Thread: any. Result: S. */
const char *motte_status_name(motte_status status);

/** What a status means in general, in one sentence.
 *  Thread: any. Result: S. */
const char *motte_status_message(motte_status status);

/** The last failure on this thread. Texts live until the next failure on this thread. NOT_FOUND before the first one.
 *  Thread: any. Result: see text. */
motte_status motte_last_error(motte_error_details *out_details);

/** Stores the last failure of this thread in a handle that any thread may read. NOT_FOUND before the first one.
 *  Thread: any. Result: O. Errors: OUT_OF_HANDLES. */
motte_status motte_error_capture(motte_error **out_error);

/** Reads a stored failure.
 *  Thread: any. Result: H. */
motte_status motte_error_info(const motte_error *error, motte_error_details *out_details);

/** Inside a callback, before it returns non-zero: the text and pointer that the failing call will report. message may
 *  be absent. free_pointer (or NULL) is called once with user_pointer when nobody can read it any longer, or before
 *  this call returns if it fails.
 *  Thread: any. Result: -. */
motte_status motte_callback_fail(const char *message, size_t message_size, void *user_pointer,
                                 motte_free_fn free_pointer);

/* ---------------------------------------------------------------------------------------------------- handles
 *
 * Functions for handles of every kind. The handles of a closed realm return MOTTE_E_CLOSED until they are released. */

typedef motte_status (*motte_handle_fn)(void *userdata, const void *handle, motte_handle_type kind);

/** Releases a handle: motte_release(realm). NULL is OK; UNCHANGED if it had been released. BAD_HANDLE for what is no
 *  handle, such as the address of the variable that holds one, motte_release(&realm), which C11 and C++ refuse to
 *  compile. Never waits for other threads. The last handle to a realm, released on its thread, cancels an open write:
 *  other handles, which could not end it, would keep its lock. Released on another thread, it leaves the write open
 *  until the realm's other handles are released.
 *  Thread: any. Result: -. */
motte_status motte_release(const void *handle);

/** The same for `count` handles. All of them are released, whatever the first failure is that it returns; UNCHANGED if
 *  some had been released.
 *  Thread: any. Result: -. */
motte_status motte_release_many(const void *const *handles, size_t count);

/** A second, independent handle to the same thing, to be released on its own.
 *  Thread: any. Result: O. Errors: OUT_OF_HANDLES. */
motte_status motte_clone(const void *handle, void **out_handle);

/** The immutable counterpart of a realm, object, collection, sections or groups at the current version: it never
 *  changes and may be used from every thread. Its version stays in the file until it is closed or all its handles are
 *  released, so do not keep many; each other thread that has read from it keeps the version, and the file open, after
 *  it was closed until the next call of that thread has returned, or the thread ends. Within a write it shows the state
 *  that the write began with; something the write created is INVALID_ARGUMENT. Queued writes that wait for their flush
 *  are flushed. REENTRANT in a migration, of both its realms. CALLBACK: a function that gives the keys of sections.
 *  A realm is frozen anew by each call, also a frozen one, and each is closed by itself. All else belongs to one frozen
 *  realm, that of motte_realm_freeze_shared(); of what belongs to it already: another handle to it.
 *  Thread: owner. Result: O. Errors: INVALID_ARGUMENT, REENTRANT, CALLBACK, OBJECT_DELETED, OUT_OF_HANDLES. */
motte_status motte_freeze(const void *handle, void **out_handle);

/** 1 if both are live handles to the same realm, the same object, or the same collection, else 0: handles of other
 *  kinds are never equal, not even to their clones.
 *  Thread: any. Result: -. */
int32_t motte_equal(const void *left, const void *right);

/** Kind of a live handle, MOTTE_HANDLE_NONE for anything else.
 *  Thread: any. Result: -. */
motte_handle_type motte_handle_kind(const void *handle);

/** Whether a handle can be used on this thread now: OK, or the status its next use would fail with (STALE_HANDLE,
 *  CLOSED, WRONG_THREAD, OBJECT_DELETED, FORKED, ...). Leaves the last error alone.
 *  Thread: any. Result: -. */
motte_status motte_handle_check(const void *handle);

/** 1 for a frozen realm and for handles of one, else 0.
 *  Thread: any. Result: -. */
int32_t motte_handle_is_frozen(const void *handle);

/** Number of live handles of a kind, of all kinds for MOTTE_HANDLE_NONE. Tests end with 0.
 *  Thread: any. Result: -. */
uint64_t motte_handle_count(motte_handle_type kind);

/** Calls `visit` for every live handle, oldest slot first.
 *  Thread: any. Result: -. Errors: CALLBACK. */
motte_status motte_handle_dump(motte_handle_fn visit, void *userdata, motte_free_fn free_userdata);

/* ---------------------------------------------------------------------------------------------------- config
 *
 * How to open a realm. A config is copied by motte_realm_open() and can be reused and changed afterwards. Used by one
 * thread at a time. */

enum {
    MOTTE_CONFIG_READ_ONLY = 0x1, /* no writes, no schema changes; the file must exist */
    MOTTE_CONFIG_NO_CREATE = 0x2  /* FILE_NOT_FOUND instead of a new file */
};

/** A config with the defaults: no path, no schema, read and write, create the file if it is missing.
 *  Thread: any. Result: O. Errors: OUT_OF_HANDLES. */
motte_status motte_config_new(motte_config **out_config);

/** The file to open. The directory must exist.
 *  Thread: any. Result: -. */
motte_status motte_config_set_path(motte_config *config, const char *path, size_t path_size);

/** Instead of a file: a database in memory, shared by all realms of this process with the same identifier and gone
 *  with the last of them.
 *  Thread: any. Result: -. */
motte_status motte_config_set_in_memory(motte_config *config, const char *identifier, size_t identifier_size);

/** Encrypts a new file with AES-256, or opens one that is encrypted. `key` is 64 bytes, which are copied;
 *  size 0: none. A key is changed by copying the file. Needs libcrypto of OpenSSL 3 or 1.1 on the system, else opening
 *  is UNSUPPORTED. Opening with another key than the file's, an encrypted file without a key, or a plain file with one,
 *  is WRONG_KEY.
 *  Thread: any. Result: -. */
motte_status motte_config_set_encryption_key(motte_config *config, const uint8_t *key, size_t key_size);

/** Sets the MOTTE_CONFIG_* bits in `mask` to those in `flags`.
 *  Thread: any. Result: -. Errors: UNKNOWN_FLAG. */
motte_status motte_config_set_flags(motte_config *config, uint32_t flags, uint32_t mask);

/** The declared classes. They are copied and checked; opening adds what the file lacks and refuses what would lose
 *  data. NULL: use the schema of the file. `flags` is 0.
 *  Thread: any. Result: -. Errors: SCHEMA_INVALID. */
motte_status motte_config_set_schema(motte_config *config, const motte_schema *schema, uint32_t flags);

/** The queue that is notified of changes to realms opened with this config. NULL: none.
 *  Thread: any. Result: -. */
motte_status motte_config_set_queue(motte_config *config, motte_queue *queue);

/** Sets an option by name. Unknown names are INVALID_ARGUMENT and the message lists the known ones.
 *    "memory"            int     bytes that the file's pages may take in this process, 65536 or more. What is in use
 *                                may take more for a while. Unless set, the environment variable MOTTE_MEMORY (bytes,
 *                                or with K, M or G), or an eighth of what the machine or the process has. Who opens the
 *                                file first says it for the process
 *    "auto_compact"      bool    commits also move up to 1 MB from the end of the file to free pages before it, as
 *                                motte_realm_compact_online() does, while more than half of the file, and 4 MB, are
 *                                free. Who opens the file first says it for the process. Unless set, they do not
 *    "short_views"       bool    borrowed views (V) of the realm, of what is frozen from it and of the two sides of its
 *                                migration are used until the end of the next call on it only, which may have them as
 *                                arguments, so that the memory behind them can be given back then: for programs that
 *                                read more of a file than "memory" in one version, one write or one migration
 *    "max_file_size"     int     the most bytes the file may grow to by what this process adds; MAP_FULL beyond that.
 *                                Commits that make it no fuller, deletions above all, may make it longer for a while:
 *                                what they change needs other pages before its own are free. Who opened the file first
 *                                says it for the process. Unless set, 16 TiB
 *    "durability"        string  "full" (default): a commit that returned survives a power cut;
 *                                "relaxed": a power cut may lose the last commits, the file stays whole;
 *                                "none": nothing is flushed, for scratch data. Those that may write a file in one
 *                                process name the same: another is INVALID_ARGUMENT as long as one has the file open
 *    "row_group_size"    int     rows per row group of a new file, 1 to 65536; 1904 unless set. Smaller row groups make
 *                                the file larger, and changing one of many values cheaper. Classes with wide values get
 *                                480 if this is more
 *    "schema_version"    int     higher than the file's: the file is migrated; lower: SCHEMA_MISMATCH
 *    "delete_if_migration_needed"  bool  delete all objects where a migration would be needed
 *    "max_live_versions" int     beginning a write is BUSY while more versions than this are shown. The realm may show
 *                                the newest version afterwards, as after motte_realm_refresh()
 *    "open_timeout"      int     milliseconds that opening waits for others: for a process that opens, compacts or
 *                                deletes the file, and for a writer if the schema has to be changed; -1: for ever.
 *                                Unless set, 30000
 *    "query_threads"     int     how many threads a query that goes through many rows may use, the one that asks among
 *                                them; 1: no other. Unless set, as many as there are processors, and at most 4
 *    "seed_path"         string  a database that is copied to the path if there is no file yet
 *    "lock_directory"    string  directory for the sidecar; the same for everybody
 *    "immutable"         bool    nothing can change the file while it is open: only reads, no sidecar
 *    "convert_realm_files"  bool  a Realm file at the path is converted on the first opening, as by
 *                                motte_convert_realm_file(), to a file beside it whose name ends in ".motte" instead of
 *                                ".realm"; that is opened then and later, the Realm file stays. INVALID_ARGUMENT: the
 *                                Realm file was changed after it was converted
 *  Thread: any. Result: -. Errors: WRONG_TYPE. */
motte_status motte_config_set_option(motte_config *config, const char *name, size_t name_size,
                                     const motte_value *value);

/* Called while a realm is opened; the handles are valid during the call. */
typedef motte_status (*motte_realm_fn)(void *userdata, motte_realm *realm);
typedef motte_status (*motte_compact_fn)(void *userdata, uint64_t total_bytes, uint64_t used_bytes,
                                         int32_t *out_compact);
typedef motte_status (*motte_migrate_fn)(void *userdata, const motte_migration *migration, const motte_realm *old_realm,
                                         motte_realm *new_realm);

/** Called when the file is opened and nobody else has it open, with its size and the bytes in use. Setting out_compact
 *  to a number other than 0 compacts it. NULL: never.
 *  Thread: any. Result: -. */
motte_status motte_config_on_compact(motte_config *config, motte_compact_fn callback, void *userdata,
                                     motte_free_fn free_userdata);

/** Fills a new database, in the write that gives it its schema; the callback must not end that write. NULL: it stays
 *  empty.
 *  Thread: any. Result: -. */
motte_status motte_config_on_first_open(motte_config *config, motte_realm_fn callback, void *userdata,
                                        motte_free_fn free_userdata);

/** Called when "schema_version" is higher than the file's, see "migration". A code other than 0 leaves the file as it
 *  was. NULL: properties that change their type get defaults.
 *  Thread: any. Result: -. */
motte_status motte_config_on_migrate(motte_config *config, motte_migrate_fn callback, void *userdata,
                                     motte_free_fn free_userdata);

/** Progress of a migration during opening: objects of a class, then indexes. NULL: none.
 *  Thread: any. Result: -. */
motte_status motte_config_on_progress(motte_config *config, motte_progress_fn callback, void *userdata,
                                      motte_free_fn free_userdata);

/** A migration keeps the objects of class `from` under the name `to`.
 *  Thread: any. Result: -. */
motte_status motte_config_rename_class(motte_config *config, const char *from, size_t from_size, const char *to,
                                       size_t to_size);

/** A migration keeps the values of property `from` under the name `to`. The class goes by its new name.
 *  Thread: any. Result: -. */
motte_status motte_config_rename_prop(motte_config *config, const char *class_name, size_t class_name_size,
                                      const char *from, size_t from_size, const char *to, size_t to_size);

/** A migration deletes this class with its objects if the schema does not have it; others stay in the file.
 *  Thread: any. Result: -. */
motte_status motte_config_delete_class(motte_config *config, const char *name, size_t name_size);

/** A name by which the program calls a property, or with prop_name NULL a class, that has another name in the file.
 *  Nothing of it is stored. It stands beside the stored name in look-ups, queries, paths to sort, group and observe by;
 *  schemas, migrations, exports and queries as text have stored names. `class_name` and `prop_name` are stored ones. It
 *  takes the place of an earlier one; INVALID_ARGUMENT if it is the public name of something else.
 *  Thread: any. Result: -. */
motte_status motte_config_set_public_name(motte_config *config, const char *class_name, size_t class_name_size,
                                          const char *prop_name, size_t prop_name_size, const char *name,
                                          size_t name_size);

/** Reads an option back, also "path", "in_memory" and "flags". MOTTE_NULL while not set. Texts until it is set again.
 *  Thread: any. Result: H. */
motte_status motte_config_get_option(const motte_config *config, const char *name, size_t name_size,
                                     motte_value *out_value);

/* ---------------------------------------------------------------------------------------------------- schema
 *
 * A schema handle is a builder: classes and properties by position. The schema of an open realm is read with class and
 * property ids. The text form:  Person { id: int key, name: string?, age: int8 indexed, mail: string? unique,
 * tags: list<string>, friend: link<Person>, dogs: list<Dog>, langs: set<string>, scores: map<int>, home: link<Address>,
 * extra: mixed, indexed(name, age desc), indexed(mail [c]) }  embedded Address { city: string }
 * Dog { owners: inverse<Person.dogs> } */

/* What kind of collection a property or a handle is. */
typedef uint32_t motte_collection;
enum {
    MOTTE_COLLECTION_NONE = 0, /* a single value */
    MOTTE_COLLECTION_LIST = 1,
    MOTTE_COLLECTION_SET = 2,
    MOTTE_COLLECTION_MAP = 3,
    /* Only of handles. */
    MOTTE_COLLECTION_RESULTS = 4,
    MOTTE_COLLECTION_BACKLINKS = 5
};

enum {
    MOTTE_CLASS_EMBEDDED = 0x1 /* its objects belong to one place of one parent and are deleted with it */
};

enum {
    MOTTE_PROP_NULLABLE = 0x1, /* of a collection: its elements; single links, maps of links and mixed are without it */
    MOTTE_PROP_PRIMARY_KEY = 0x2,
    MOTTE_PROP_INDEXED = 0x4,
    MOTTE_PROP_INT8 = 0x8,   /* ints, alone or in a collection: what is written must fit in 8 bits, else OVERFLOW */
    MOTTE_PROP_INT16 = 0x10, /* in 16 */
    MOTTE_PROP_INT32 = 0x20, /* in 32; at most one of these, and none is 64 */
    MOTTE_PROP_UNIQUE = 0x40 /* no two objects have the same value, else DUPLICATE_VALUE; any number may have null */
};

enum {
    MOTTE_INDEX_UNIQUE = 0x1 /* no two objects have the same values, else DUPLICATE_VALUE; null is equal to nothing */
};

/* A property to declare. */
typedef struct motte_prop_spec {
    uint32_t struct_size;
    motte_type type;
    motte_collection collection;
    uint32_t flags; /* MOTTE_PROP_* */
    const char *name;
    size_t name_size;
    const char *target; /* link and inverse: name of the other class */
    size_t target_size;
    const char *origin; /* inverse: name of the linking property in the other class */
    size_t origin_size;
} motte_prop_spec;

/* A class as it is stored. */
typedef struct motte_class_details {
    uint32_t struct_size;
    motte_class id;
    const char *name;
    uint64_t object_count;
    motte_prop primary_key; /* 0 if none */
    uint32_t stored_count;  /* properties with values */
    uint32_t inverse_count; /* computed ones */
    uint32_t flags;         /* MOTTE_CLASS_* */
    uint32_t reserved;
    const char *public_name; /* of motte_config_set_public_name(), or the name itself */
} motte_class_details;

/* A property as it is stored. */
typedef struct motte_prop_details {
    uint32_t struct_size;
    motte_type type;
    motte_prop id;
    const char *name;
    motte_collection collection;
    uint32_t flags;          /* MOTTE_PROP_* */
    motte_class owner;       /* class it belongs to */
    motte_class target;      /* link, inverse: the other class */
    const char *target_name; /* or NULL */
    motte_prop origin;       /* inverse: the linking property, else 0 */
    const char *origin_name; /* or NULL */
    const char *public_name; /* of motte_config_set_public_name(), or the name itself */
} motte_prop_details;

/** An empty schema.
 *  Thread: any. Result: O. Errors: OUT_OF_HANDLES. */
motte_status motte_schema_new(motte_schema **out_schema);

/** Reads the text form. The error detail has the byte offset.
 *  Thread: any. Result: O. Errors: SCHEMA_INVALID, OUT_OF_HANDLES. */
motte_status motte_schema_parse(const char *text, size_t text_size, motte_schema **out_schema);

/** Adds a class without properties and returns its position. `flags` are MOTTE_CLASS_*.
 *  Thread: any. Result: -. Optional: out_index. Errors: SCHEMA_INVALID. */
motte_status motte_schema_add_class(motte_schema *schema, const char *name, size_t name_size, uint32_t flags,
                                    size_t *out_index);

/** Adds a property to the class at a position and returns the property's position in it.
 *  Thread: any. Result: -. Optional: out_index. Errors: OUT_OF_BOUNDS, SCHEMA_INVALID. */
motte_status motte_schema_add_prop(motte_schema *schema, size_t class_index, const motte_prop_spec *spec,
                                   size_t *out_index);

enum {
    MOTTE_RULE_REQUIRED = 0x1, /* an object that is made without a value is NULL_NOT_ALLOWED */
    MOTTE_RULE_DEFAULT = 0x2,  /* it gets `value` */
    MOTTE_RULE_RANGE = 0x4,    /* it, or an element of it, is null or from `least` to `most`, both included */
    MOTTE_RULE_MIDNIGHT = 0x8  /* it, or an element of it, is null or a timestamp that begins a day in UTC: a date */
};

/* Writes values for `count` new objects to `out_values`, each of which is zeroed; they are copied when it returns. It
 * must not change the database. */
typedef motte_status (*motte_default_fn)(void *userdata, size_t count, motte_value *out_values);

/* Gives values to objects that have none in the property: new ones of an import that does not name it, or those that
 * were there when it was added. `realm` is theirs, in the open write, which the callback must not end; it is valid
 * during the call, as the keys are. */
typedef motte_status (*motte_fill_fn)(void *userdata, motte_realm *realm, motte_class cls, motte_prop prop,
                                      const motte_key *keys, size_t count);

/* Rules of a property for whoever opens a file with the schema. They are not stored. */
typedef struct motte_prop_rule {
    uint32_t struct_size;
    uint32_t flags;        /* MOTTE_RULE_*; not required, no default, no function: 0, "", null and so on */
    motte_value value;     /* with MOTTE_RULE_DEFAULT */
    motte_default_fn make; /* or NULL; not with REQUIRED or DEFAULT */
    motte_fill_fn fill;    /* for collections and links, or NULL */
    void *userdata;        /* of the functions; freed with the last schema, config and realm that have the rule */
    motte_free_fn free_userdata;
    const motte_value *allowed; /* what it, or an element of it, may be beside null; not with RANGE or MIDNIGHT */
    size_t allowed_count;       /* 0: any value of its type */
    motte_value least, most;    /* of one type, with MOTTE_RULE_RANGE */
} motte_prop_rule;

/** Says which value objects get in a property that whoever makes them does not name, and which values the property
 *  takes. It holds in realms that are opened with the schema, for everything that their writes and imports make; when
 *  the property is added to a class that has objects, for these too: a required one without a value is then
 *  SCHEMA_MISMATCH, unless a migration is there to set it. Other values than allowed ones are WRONG_TYPE. Collections
 *  have no default but what `fill` puts into them. Batches of changes, and motte_realm_add_schema(), know no rules.
 *  Thread: any. Result: -. Errors: OUT_OF_BOUNDS, SCHEMA_INVALID, UNKNOWN_FLAG. */
motte_status motte_schema_set_rule(motte_schema *schema, size_t class_index, size_t prop_index,
                                   const motte_prop_rule *rule);

/** Adds an ordered index to the class at a position, of one property or several: their names in its order, "desc"
 *  behind those whose values descend, "[c]", "[d]" or "[cd]" behind texts that are kept without their case or
 *  diacritics, as in "city [c], age desc". `flags` are MOTTE_INDEX_*.
 *  Thread: any. Result: -. Errors: OUT_OF_BOUNDS, SCHEMA_INVALID. */
motte_status motte_schema_add_index(motte_schema *schema, size_t class_index, const char *props, size_t props_size,
                                    uint32_t flags);

/** Checks the whole schema; the error detail names the first problem. Opening a realm checks again.
 *  Thread: any. Result: -. Errors: SCHEMA_INVALID. */
motte_status motte_schema_validate(const motte_schema *schema);

/** The text form, one class a line, readable by motte_schema_parse().
 *  Thread: any. Result: O. */
motte_status motte_schema_text(const motte_schema *schema, motte_buf *out_text);

/** A copy of the realm's schema.
 *  Thread: owner. Result: O. Errors: OUT_OF_HANDLES. */
motte_status motte_realm_schema(const motte_realm *realm, motte_schema **out_schema);

/** Adds the declared classes, properties and indexes that the file lacks, in a commit of its own, and shows it. What
 *  would need a migration is SCHEMA_MISMATCH. Other realms take it over when they advance. UNCHANGED: all is there.
 *  Thread: owner. Result: -. Errors: SCHEMA_INVALID, SCHEMA_MISMATCH, ALREADY_IN_WRITE, READ_ONLY, FROZEN, REENTRANT,
 *  DISK_FULL, MAP_FULL. */
motte_status motte_realm_add_schema(motte_realm *realm, const motte_schema *schema);

/** Deletes a class with all its objects, in a commit of its own; NOT_FOUND if there is none. SCHEMA_INVALID while
 *  another class has a property for it. Links to its objects in mixed properties become null. Realms elsewhere that
 *  were opened with the class in their schema, or with the file's, are SCHEMA_CHANGED when they advance.
 *  Thread: owner. Result: -. Errors: SCHEMA_INVALID, ALREADY_IN_WRITE, READ_ONLY, FROZEN, REENTRANT, DISK_FULL,
 *  MAP_FULL. */
motte_status motte_realm_delete_class(motte_realm *realm, const char *name, size_t name_size);

/** Class by name, or NOT_FOUND.
 *  Thread: owner. Result: -. */
motte_status motte_class_find(const motte_realm *realm, const char *name, size_t name_size, motte_class *out_class);

/** Class by name; the message of UNKNOWN_CLASS names the nearest one.
 *  Thread: owner. Result: -. Errors: UNKNOWN_CLASS. */
motte_status motte_class_require(const motte_realm *realm, const char *name, size_t name_size, motte_class *out_class);

/** Description of a class. Its texts live as long as the realm handle.
 *  Thread: owner. Result: H. Errors: UNKNOWN_CLASS. */
motte_status motte_class_info(const motte_realm *realm, motte_class cls, motte_class_details *out_details);

/** An index of the class by its position, as motte_schema_add_index() takes it; NOT_FOUND behind the last. Those that
 *  properties have by their flags are not among them.
 *  Thread: owner. Result: O. Optional: out_flags. Errors: UNKNOWN_CLASS. */
motte_status motte_class_index(const motte_realm *realm, motte_class cls, size_t position, motte_buf *out_props,
                               uint32_t *out_flags);

/** All classes, in the order of their ids.
 *  Thread: owner. Result: -. Optional: out_classes. */
motte_status motte_class_list(const motte_realm *realm, motte_class *out_classes, size_t capacity, size_t *out_count);

/** Property by name, or NOT_FOUND.
 *  Thread: owner. Result: -. Errors: UNKNOWN_CLASS. */
motte_status motte_prop_find(const motte_realm *realm, motte_class cls, const char *name, size_t name_size,
                             motte_prop *out_prop);

/** Property by name; the message of UNKNOWN_PROPERTY names the nearest one.
 *  Thread: owner. Result: -. Errors: UNKNOWN_CLASS, UNKNOWN_PROPERTY. */
motte_status motte_prop_require(const motte_realm *realm, motte_class cls, const char *name, size_t name_size,
                                motte_prop *out_prop);

/** Description of a property. Its texts live as long as the realm handle.
 *  Thread: owner. Result: H. Errors: UNKNOWN_PROPERTY. */
motte_status motte_prop_info(const motte_realm *realm, motte_prop prop, motte_prop_details *out_details);

/** Properties of a class in the order they were declared, inverse ones included.
 *  Thread: owner. Result: -. Optional: out_props. Errors: UNKNOWN_CLASS. */
motte_status motte_prop_list(const motte_realm *realm, motte_class cls, motte_prop *out_props, size_t capacity,
                             size_t *out_count);

/* ---------------------------------------------------------------------------------------------------- realm
 *
 * A realm is one thread's view of a database: it shows one version until it is refreshed or writes. Writers take turns,
 * across threads and processes; inside a write the realm shows its own changes. */

/* State bits of motte_realm_details.flags. */
enum {
    MOTTE_REALM_READ_ONLY = 0x1,
    MOTTE_REALM_IN_MEMORY = 0x2,
    MOTTE_REALM_FROZEN = 0x4,
    MOTTE_REALM_IN_WRITE = 0x8,
    MOTTE_REALM_DAMAGED = 0x10 /* `warning` is about damage, not only a power cut: commits may be lost */
};

typedef struct motte_realm_details {
    uint32_t struct_size;
    uint32_t flags;
    const char *path;        /* of the file, or the identifier of a database in memory */
    uint64_t version;        /* shown */
    uint64_t latest_version; /* committed by anybody */
    uint64_t file_size;      /* bytes; 0 in memory */
    uint32_t class_count;
    uint32_t reserved;
    uint64_t schema_version;  /* of the stored schema */
    const char *warning;      /* what was wrong with the file when it was opened, such as a newer version that is
                                incomplete, or NULL. The same as long as this process has the file open. */
    uint64_t database_number; /* the same for all realms of this process that have this file, or database in memory,
                                 open, whatever paths they were opened by. Another one after all were closed, and after
                                 motte_realm_compact() */
} motte_realm_details;

/* What the engine has done since the file was opened in this process, summed over its realms. */
typedef struct motte_counters {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t chunks_decoded;   /* column chunks opened */
    uint64_t rows_evaluated;   /* rows a query looked at */
    uint64_t full_reruns;      /* observed results re-evaluated instead of patched */
    uint64_t log_records_read; /* commits read back for change sets */
    uint64_t index_lookups;
} motte_counters;

/** Opens or creates a database in a file or in memory and applies the schema. The calling thread becomes the owner.
 *  Thread: any. Result: O. Errors: FILE_NOT_FOUND, PERMISSION_DENIED, NOT_A_MOTTE_FILE, CORRUPTED, UNSUPPORTED_FORMAT,
 *  SCHEMA_INVALID, SCHEMA_MISMATCH, READ_ONLY, SECOND_COPY, LOCK_FAILED, MAP_FULL, DISK_FULL, OUT_OF_HANDLES,
 *  WRONG_KEY, UNSUPPORTED, CALLBACK; DUPLICATE_PRIMARY_KEY when a new primary key is not unique; WRONG_TYPE when older
 *  objects would get a default that the rule of its property does not allow; BUSY and TIMEOUT when others held it
 *  longer than the option "open_timeout" says; when the schema has to be changed and the calling thread is in a write
 *  of that file, TIMEOUT at once, or REENTRANT where "open_timeout" is -1; FILE_MOVED when the file that was there
 *  before is still open somewhere, or its users do not share its sidecar. */
motte_status motte_realm_open(const motte_config *config, motte_realm **out_realm);

/** Closes the realm; an open write is rolled back. All its handles return MOTTE_E_CLOSED from now on; its tokens are
 *  stopped. Frozen counterparts stay valid. UNCHANGED if it was closed already. A frozen realm may be closed while
 *  other threads are in calls that read from it: these are answered, or CLOSED, and what they have lent can be used
 *  until the next call of their thread has returned, or all handles of the realm are released.
 *  Thread: owner. Result: -. Errors: REENTRANT. */
motte_status motte_realm_close(motte_realm *realm);

/** The frozen realm that objects, collections, sections and groups belong to which are frozen by themselves now: one
 *  for all of a version, as long as the limits of queries stay. It goes with the last handle of it and of them;
 *  motte_realm_close() does nothing and is UNCHANGED. Of such a realm: another handle to it. Otherwise as
 *  motte_freeze().
 *  Thread: owner. Result: O. Errors: REENTRANT, OUT_OF_HANDLES. */
motte_status motte_realm_freeze_shared(const motte_realm *realm, motte_realm **out_realm);

/** Description of the realm.
 *  Thread: owner. Result: H. */
motte_status motte_realm_info(const motte_realm *realm, motte_realm_details *out_details);

/** Waits for the write lock, advances to the newest version, delivers pending changes and begins a write. A negative
 *  timeout waits for ever. If the write it would wait for belongs to another realm of the same thread, it returns at
 *  once: REENTRANT without a timeout, else TIMEOUT. FILE_MOVED: the file or its sidecar was deleted, renamed or
 *  replaced while it was open; close it everywhere, then open what is there. Callbacks that run meanwhile may change
 *  objects; commit, cancel and close are REENTRANT in them. CALLBACK: one of them failed, and something was changed in
 *  the write; one that fails without that keeps no write from beginning. After any error no write is open, and changes
 *  that callbacks made in it are undone. A refusal leaves the realm where it was; after BUSY it may have advanced, and
 *  its observers are notified.
 *  Thread: owner. Result: -. Errors: TIMEOUT, ALREADY_IN_WRITE, READ_ONLY, FROZEN, REENTRANT, SCHEMA_CHANGED,
 *  LOCK_FAILED, FILE_MOVED, CALLBACK, BUSY. */
motte_status motte_realm_begin_write(motte_realm *realm, int64_t timeout_ms);

/** Makes the changes durable and visible to others, and notifies this realm's own tokens. `flags` is 0. After a
 *  failure of the disk the write is still open: retry or cancel. CALLBACK: that of motte_realm_on_commit() refused;
 *  nothing is committed, and no write is open. A token's callback that fails takes nothing from a commit, which is
 *  durable before it runs.
 *  Thread: owner. Result: -. Optional: out_version. Errors: NOT_IN_WRITE, DISK_FULL, MAP_FULL, CALLBACK, REENTRANT. */
motte_status motte_realm_commit(motte_realm *realm, uint32_t flags, uint64_t *out_version);

/** The same without notifying some tokens of this realm, whose program shows the changes already: they are never
 *  notified of them, and later change sets count positions as if they had been. One of sections that has changes of
 *  others waiting gets an initial state in their place. INVALID_ARGUMENT for a token of another realm; the write is
 *  then still open. `flags` is 0.
 *  Thread: owner. Result: -. Optional: out_version. Errors: NOT_IN_WRITE, DISK_FULL, MAP_FULL, CALLBACK, REENTRANT. */
motte_status motte_realm_commit_skipping(motte_realm *realm, motte_token *const *tokens, size_t token_count,
                                         uint32_t flags, uint64_t *out_version);

/** Drops all changes of the open write.
 *  Thread: owner. Result: -. Errors: NOT_IN_WRITE, REENTRANT. */
motte_status motte_realm_cancel(motte_realm *realm);

/** A point in the open write that it can be rolled back to, as a number. Savepoints nest; a commit keeps what was done
 *  in those that are open, a cancel drops it, and both end them, as does a commit that fails.
 *
 *  A call that fails half-way, because the file cannot be read or the disk is full in the middle of it, leaves the
 *  write open but not to be committed: the commit fails with the same error until the write is rolled back to a
 *  savepoint from before that call, or cancelled.
 *  Thread: owner. Result: -. Errors: NOT_IN_WRITE. */
motte_status motte_realm_savepoint(motte_realm *realm, uint64_t *out_savepoint);

/** Ends a savepoint, and those that were made after it, and keeps what was done since. INVALID_ARGUMENT if it has
 *  ended; REENTRANT in a callback of a call that changes objects and began after it.
 *  Thread: owner. Result: -. Errors: NOT_IN_WRITE, INVALID_ARGUMENT, REENTRANT. */
motte_status motte_realm_release_savepoint(motte_realm *realm, uint64_t savepoint);

/** Undoes what was done since a savepoint, and ends it and those that were made after it. Objects created since
 *  return OBJECT_DELETED, as those of a cancelled write do; borrowed views end. INVALID_ARGUMENT if it has
 *  ended; REENTRANT in a callback of a call that changes objects and began after it.
 *  Thread: owner. Result: -. Errors: NOT_IN_WRITE, INVALID_ARGUMENT, REENTRANT. */
motte_status motte_realm_roll_back(motte_realm *realm, uint64_t savepoint);

/** 1 between begin_write and commit or cancel, else 0, also for a handle that is not an open realm of this thread.
 *  Thread: any. Result: -. */
int32_t motte_realm_in_write(const motte_realm *realm);

/** Advances to the newest version and delivers changes; tells whether there was one.
 *  Thread: owner. Result: -. Optional: out_advanced. Errors: ALREADY_IN_WRITE, FROZEN, REENTRANT, SCHEMA_CHANGED,
 *  CALLBACK. */
motte_status motte_realm_refresh(motte_realm *realm, bool *out_advanced);

/** Waits until somebody else has committed a newer version than the one shown; PENDING after the timeout.
 *  Thread: owner. Result: -. Errors: ALREADY_IN_WRITE, FROZEN. */
motte_status motte_realm_wait_for_change(motte_realm *realm, int64_t timeout_ms);

/** Ends the queries of this realm that are running, in whatever calls they are: those fail with INTERRUPTED, and the
 *  realm, also in a write, is as it was before them. Queries that begin later are not concerned. Queries look whether
 *  they are to end between row groups; those of observers run to their end. A frozen realm is interrupted by itself.
 *  May be called on every thread, but not in a handler of a signal.
 *  Thread: any. Result: -. */
motte_status motte_realm_interrupt(motte_realm *realm);

/** How long each query of this realm may take from now on; what takes longer fails with INTERRUPTED. Negative: as long
 *  as it needs, which holds unless set. A query counts from when a call has to look at rows to when it has what it
 *  looked for; its result is kept, and read without a limit. Frozen counterparts made later have the same limit.
 *  Thread: owner. Result: -. */
motte_status motte_realm_set_query_timeout(motte_realm *realm, int64_t timeout_ms);

/* Called while a query runs. Not 0: the query ends, with CALLBACK. */
typedef motte_status (*motte_query_progress_fn)(void *userdata);

/** Has `progress` called about twenty times a second on the thread of a query of this realm, from when the query has
 *  run for a twentieth of a second. The realm and its handles return REENTRANT meanwhile. It takes the place of the one
 *  before; NULL: none. A frozen realm takes none.
 *  Thread: owner. Result: -. Optional: progress. Errors: FROZEN. */
motte_status motte_realm_on_query_progress(motte_realm *realm, motte_query_progress_fn progress, void *userdata,
                                           motte_free_fn free_userdata);

/** Version shown and newest version committed.
 *  Thread: owner. Result: -. Optional: out_current, out_latest. Errors: REENTRANT. */
motte_status motte_realm_version(const motte_realm *realm, uint64_t *out_current, uint64_t *out_latest);

/** A number that changes whenever borrowed views (V) end: at each change made in a write, at commit, cancel, refresh
 *  and begin_write that advance, and close. That of a frozen realm never changes.
 *  Thread: owner. Result: -. */
motte_status motte_realm_view_epoch(const motte_realm *realm, uint64_t *out_epoch);

/** What the engine has done so far.
 *  Thread: owner. Result: -. */
motte_status motte_realm_counters(const motte_realm *realm, motte_counters *out_counters);

/* ---------------------------------------------------------------------------------------------------- migration
 *
 * For the callback of motte_config_on_migrate(), on its thread and until it returns; later the handles return CLOSED.
 * The old realm is frozen and has the schema of the file. The new one is in a write and has the declared schema:
 * objects keep their keys, properties that stay keep their values, others have defaults. */

typedef struct motte_migration_details {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t old_version;
    uint64_t new_version;
} motte_migration_details;

/* The same object before and after; NULL if only the other side has the class. Valid during the call; a clone
 * (motte_clone()) is valid until the migration ends. */
typedef motte_status (*motte_pair_fn)(void *userdata, const motte_object *old_object, motte_object *new_object);

/** The schema versions.
 *  Thread: owner. Result: -. */
motte_status motte_migration_info(const motte_migration *migration, motte_migration_details *out_details);

/** Visits every object of a class, by its new name, that was there before and was not deleted meanwhile; of a class
 *  that only one side has, with NULL for the other. Of an unknown class there is none to visit.
 *  Thread: owner. Result: -. Errors: CALLBACK. */
motte_status motte_migration_enumerate(const motte_migration *migration, const char *class_name, size_t class_name_size,
                                       motte_pair_fn visit, void *userdata, motte_free_fn free_userdata);

/** The objects of class `from` become those of `to`, which the file does not have yet. Only before objects change, and
 *  outside of savepoints, which could not undo it.
 *  Thread: owner. Result: -. Errors: INVALID_ARGUMENT. */
motte_status motte_migration_rename_class(const motte_migration *migration, const char *from, size_t from_size,
                                          const char *to, size_t to_size);

/** The values of property `from` become those of `to`, which the file does not have yet and which has the same type.
 *  Before objects change the column stays and gets the name, outside of savepoints; later values are copied.
 *  Thread: owner. Result: -. Errors: INVALID_ARGUMENT. */
motte_status motte_migration_rename_prop(const motte_migration *migration, const char *class_name,
                                         size_t class_name_size, const char *from, size_t from_size, const char *to,
                                         size_t to_size);

/** Deletes all objects of a class, and the class itself if it is not declared: then outside of savepoints. NOT_FOUND if
 *  there is none.
 *  Thread: owner. Result: -. Errors: INVALID_ARGUMENT. */
motte_status motte_migration_delete_class(const motte_migration *migration, const char *name, size_t name_size);

/* ---------------------------------------------------------------------------------------------------- maintenance
 *
 * Whole files. motte_file_* take path and options from a config and leave no realm open. Callbacks may be NULL. */

typedef uint32_t motte_plan_action;
enum {
    MOTTE_PLAN_NOTHING = 0, /* the file has all that is declared */
    MOTTE_PLAN_CREATE = 1,  /* the file is empty and gets the declared schema */
    MOTTE_PLAN_ADD = 2,     /* classes, properties and indexes are added */
    MOTTE_PLAN_MIGRATE = 3, /* the declared version is higher */
    MOTTE_PLAN_RESET = 4    /* all objects are deleted, because of "delete_if_migration_needed" */
};

typedef struct motte_plan_details {
    uint32_t struct_size;
    motte_plan_action action;
    uint64_t stored_version;
    uint64_t declared_version;
} motte_plan_details;

/* Bits of motte_report_details.flags. */
enum {
    MOTTE_REPORT_SOUND = 0x1 /* nothing is wrong, nothing was lost */
};

/* What a verification, a salvage or the import of a Realm file found; the last two count objects only, and classes. */
typedef struct motte_report_details {
    uint32_t struct_size;
    uint32_t flags; /* MOTTE_REPORT_* */
    uint64_t class_count;
    uint64_t object_count;
    uint64_t chunk_count;
    uint64_t index_entry_count;
    uint64_t log_record_count;
    uint64_t problem_count; /* all of them; the first 200 of a verification have texts */
} motte_report_details;

/* What a compaction beside others has done, in bytes. */
typedef struct motte_compaction_details {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t before_bytes; /* of the file */
    uint64_t after_bytes;
    uint64_t moved_bytes;
    uint64_t held_bytes; /* needed by older versions alone, which somebody shows */
} motte_compaction_details;

/* Where a file's bytes are. */
typedef struct motte_space_details {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t file_bytes;
    uint64_t free_bytes; /* of these, for later commits */
    uint64_t log_bytes;  /* of the change log */
    uint64_t log_records;
    uint64_t other_bytes; /* schema, header */
} motte_space_details;

/* Those of one class. */
typedef struct motte_class_space {
    motte_class cls;
    uint32_t reserved;
    uint64_t object_count;
    uint64_t chunk_bytes; /* values, also those of short lists */
    uint64_t long_list_bytes;
    uint64_t index_bytes;
    uint64_t large_value_bytes;
} motte_class_space;

/* Bits of motte_reader.flags. */
enum {
    MOTTE_READER_THIS_PROCESS = 0x1
};

/* A version that a process shows, which keeps its pages from being reused. */
typedef struct motte_reader {
    int32_t process;
    uint32_t flags; /* MOTTE_READER_* */
    uint64_t version;
    uint64_t versions_behind; /* commits since */
    int64_t behind_ns;        /* since when there has been a newer one, in nanoseconds; -1: unknown */
} motte_reader;

/** Deletes every object of every class and returns how many there were; the schema stays.
 *  Thread: owner. Result: -. Optional: out_deleted. Errors: NOT_IN_WRITE. */
motte_status motte_realm_delete_all(motte_realm *realm, uint64_t *out_deleted);

/** Writes what the realm shows, within a write with the changes made so far, to a new file without free pages, while
 *  others go on. The copy has a history of its own, the same key, if any, and the mode of the file. An existing file is
 *  never replaced. The copy is read back and compared with its source before it gets its name; INPUT_OUTPUT if it
 *  differs. REENTRANT in a migration.
 *  Thread: owner. Result: -. Errors: REENTRANT, FILE_NOT_FOUND, PERMISSION_DENIED, DISK_FULL, INPUT_OUTPUT,
 *  CALLBACK. */
motte_status motte_realm_copy(const motte_realm *realm, const char *path, size_t path_size, motte_progress_fn progress,
                              void *userdata, motte_free_fn free_userdata);

/** The same, to a file that is encrypted with `key`, 64 bytes, whatever the realm's own is; size 0: to a plain file.
 *  This is how keys are changed.
 *  Thread: owner. Result: -. Errors: REENTRANT, FILE_NOT_FOUND, PERMISSION_DENIED, DISK_FULL, CALLBACK,
 *  UNSUPPORTED. */
motte_status motte_realm_copy_with_key(const motte_realm *realm, const char *path, size_t path_size, const uint8_t *key,
                                       size_t key_size, motte_progress_fn progress, void *userdata,
                                       motte_free_fn free_userdata);

/** Rewrites the realm's file without free pages. If anybody else has it open, or there are frozen things or references:
 *  BUSY. The realm continues at the newest version either way; one that cannot open the file again, which it lets go of
 *  meanwhile, is closed, and returns why (SCHEMA_CHANGED where another program has migrated it). The file is replaced
 *  only after the new one was read back and compared with it (INPUT_OUTPUT if it differs), and keeps mode and owner
 *  (PERMISSION_DENIED if it cannot).
 *  FILE_MOVED: the file was deleted, renamed or replaced while it was open; nothing is changed.
 *  Thread: owner. Result: -. Optional: out_before, out_after. Errors: BUSY, ALREADY_IN_WRITE, FROZEN, READ_ONLY,
 *  UNSUPPORTED, DISK_FULL, INPUT_OUTPUT, PERMISSION_DENIED, FILE_MOVED, SCHEMA_CHANGED, REENTRANT, CALLBACK. */
motte_status motte_realm_compact(motte_realm *realm, motte_progress_fn progress, void *userdata,
                                 motte_free_fn free_userdata, uint64_t *out_before, uint64_t *out_after);

/** Gives back space while others read and write: moves what is at the end of the file to free pages before it, in
 *  commits of up to 4 MB in which no object changes, and shortens the file. Others wait for a step at most. What
 *  older versions need that somebody shows stays, held_bytes, and is given back by a later call, when they are not
 *  shown any more. Moves about `max_bytes` at most; 0: everything. The file can stay a little longer than what it
 *  holds. The realm continues at the newest version, and observers are notified of what others commit meanwhile. A
 *  failure, also of `progress`, ends it between two commits.
 *  Thread: owner. Result: -. Errors: ALREADY_IN_WRITE, FROZEN, READ_ONLY, UNSUPPORTED, DISK_FULL, INPUT_OUTPUT,
 *  MAP_FULL, CORRUPTED, FILE_MOVED, REENTRANT, CALLBACK. */
motte_status motte_realm_compact_online(motte_realm *realm, uint64_t max_bytes, motte_progress_fn progress,
                                        void *userdata, motte_free_fn free_userdata,
                                        motte_compaction_details *out_details);

/** Checks everything in the version shown against everything else.
 *  Thread: owner. Result: O. Errors: CALLBACK, OUT_OF_HANDLES. */
motte_status motte_realm_verify(const motte_realm *realm, motte_progress_fn progress, void *userdata,
                                motte_free_fn free_userdata, motte_report **out_report);

/** Where the bytes of the newest version are, in total and by class; reads the whole file. There are as many classes
 *  as in motte_class_list().
 *  Thread: owner. Result: -. Optional: out_classes. Errors: CALLBACK. */
motte_status motte_realm_space(const motte_realm *realm, motte_progress_fn progress, void *userdata,
                               motte_free_fn free_userdata, motte_space_details *out_details,
                               motte_class_space *out_classes, size_t capacity, size_t *out_count);

/** Every version that some process shows, the oldest first.
 *  Thread: owner. Result: -. Optional: out_readers. */
motte_status motte_realm_readers(const motte_realm *realm, motte_reader *out_readers, size_t capacity,
                                 size_t *out_count);

/** OK if there is a file at the path, or an open database in memory; or NOT_FOUND.
 *  Thread: any. Result: -. */
motte_status motte_file_exists(const motte_config *config);

/** Deletes the file and its sidecar; NOT_FOUND if there is none. A file that is not Motte's stays: NOT_A_MOTTE_FILE.
 *  Thread: any. Result: -. Errors: BUSY, PERMISSION_DENIED, NOT_A_MOTTE_FILE, UNSUPPORTED. */
motte_status motte_file_delete(const motte_config *config);

/** The schema version of the file; NOT_FOUND if there is none.
 *  Thread: any. Result: -. Errors: as motte_realm_open(). */
motte_status motte_file_schema_version(const motte_config *config, uint64_t *out_version);

/** What motte_realm_open() would do to the file's schema, without doing it; as text, one line per difference. Fails as
 *  opening would fail.
 *  Thread: any. Result: O. Errors: as motte_realm_open(). */
motte_status motte_file_plan(const motte_config *config, motte_plan_details *out_details, motte_buf *out_text);

/** As motte_realm_compact(), of a file that nobody has open.
 *  Thread: any. Result: -. Optional: out_before, out_after. Errors: BUSY, FILE_NOT_FOUND, DISK_FULL, UNSUPPORTED,
 *  CALLBACK. */
motte_status motte_file_compact(const motte_config *config, motte_progress_fn progress, void *userdata,
                                motte_free_fn free_userdata, uint64_t *out_before, uint64_t *out_after);

/** Writes every readable object of a damaged file as a line of JSON to a new file, or without a path to out_lines.
 *  Thread: any. Result: O. Optional: out_lines. Errors: as motte_realm_open(), and CALLBACK. */
motte_status motte_file_salvage(const motte_config *config, const char *path, size_t path_size,
                                motte_progress_fn progress, void *userdata, motte_free_fn free_userdata,
                                motte_buf *out_lines, motte_report **out_report);

/** The counts of a report.
 *  Thread: any. Result: -. */
motte_status motte_report_info(const motte_report *report, motte_report_details *out_details);

/** What is wrong or was lost, one sentence each.
 *  Thread: any. Result: H. Optional: out_texts. */
motte_status motte_report_problems(const motte_report *report, motte_str *out_texts, size_t capacity,
                                   size_t *out_count);

/* ---------------------------------------------------------------------------------------------- change batches
 *
 * What changed in a file between two versions, as bytes that are complete in themselves: for a copy on another machine,
 * a backup to any commit, a patch. docs/changes.md has an example. A batch names the file it was read from, its origin,
 * by two numbers; a file that applies batches keeps how far it got, in the transaction that applies them. */

/* Bits of motte_changes_batch_details.flags. */
enum {
    MOTTE_CHANGES_BATCH_WHOLE = 1,      /* everything there was, not only changes */
    MOTTE_CHANGES_BATCH_EMPTY = 2,      /* nothing changed */
    MOTTE_CHANGES_BATCH_PATCH = 4,      /* an inverse: for its origin, or a copy that has just these changes */
    MOTTE_CHANGES_BATCH_REVERSIBLE = 8, /* has an inverse: see motte_changes_batch_inverse() */
    MOTTE_CHANGES_BATCH_DIFFERENCE = 16 /* of two files: see motte_changes_batch_difference() */
};

typedef struct motte_changes_batch_details {
    uint32_t struct_size;
    uint32_t flags; /* MOTTE_CHANGES_BATCH_* */
    uint64_t origin_high;
    uint64_t origin_low;
    uint64_t from_version;
    uint64_t to_version;
    int64_t wall_time_ns; /* of the commit of to_version, since 1970; 0: not known */
} motte_changes_batch_details;

/** What changed after `from_version`, as one batch: up to the newest version, of something frozen up to the one it
 *  shows; from version 0, everything. HISTORY_UNAVAILABLE if the change log does not reach back so far: see
 *  motte_changes_batch_keep().
 *  Thread: owner. Result: O. Errors: HISTORY_UNAVAILABLE, OUT_OF_MEMORY. */
motte_status motte_changes_batch_read(const motte_realm *realm, uint64_t from_version, motte_buf *out_batch);

/** What changed after the version that `before` shows, something frozen of the same file, with what was there before:
 *  such a batch has an inverse. INVALID_ARGUMENT if `before` is of another file or newer, SCHEMA_MISMATCH if the schema
 *  was changed in between; else as motte_changes_batch_read().
 *  Thread: owner. Result: O. Errors: INVALID_ARGUMENT, SCHEMA_MISMATCH, HISTORY_UNAVAILABLE, OUT_OF_MEMORY. */
motte_status motte_changes_batch_between(const motte_realm *realm, const motte_realm *before, motte_buf *out_batch);

/** What leads from what `realm` shows to what `other` shows, most often another file: applied to the file of `realm`,
 *  or to one that has the same objects with the same values where they differ, it gives what `other` has. Objects are
 *  the same if they have the same primary key, or, without one, the same key. It has an inverse, unless it adds to the
 *  schema. SCHEMA_MISMATCH if the schema of `other` is not that of `realm` with additions.
 *  Thread: owner. Result: O. Errors: SCHEMA_MISMATCH, OUT_OF_MEMORY. */
motte_status motte_changes_batch_difference(const motte_realm *realm, const motte_realm *other, motte_buf *out_batch);

/** The batch that leads back, for undo and redo; it has an inverse in turn. The file that the batch was read from
 *  applies it at any time, as a new write; a copy applies it when it stands where the batch ends, and is then where it
 *  began. INVALID_ARGUMENT for a batch that does not say what was there before.
 *  Thread: any. Result: O. Errors: INVALID_ARGUMENT, CORRUPTED, UNSUPPORTED_FORMAT, OUT_OF_MEMORY. */
motte_status motte_changes_batch_inverse(const uint8_t *bytes, size_t size, motte_buf *out_batch);

/** What a batch says of itself. INVALID_ARGUMENT for other bytes, CORRUPTED for a damaged batch.
 *  Thread: any. Result: -. Errors: INVALID_ARGUMENT, CORRUPTED, UNSUPPORTED_FORMAT. */
motte_status motte_changes_batch_info(const uint8_t *bytes, size_t size, motte_changes_batch_details *out_details);

/** Applies a batch as one write, of which observers are notified as of any other; waits for the write lock as
 *  motte_realm_begin_write() does. UNCHANGED if the file has these changes already. OUT_OF_SEQUENCE if it does not
 *  begin where the last one of its origin ended, HISTORY_FORKED if its origin has gone another way than the one that
 *  was applied, or this file was changed otherwise, or has other values than a difference begins with, SCHEMA_MISMATCH
 *  if its origin's schema is another one. After an error nothing has been changed.
 *  Thread: owner. Result: -. Errors: OUT_OF_SEQUENCE, HISTORY_FORKED, SCHEMA_MISMATCH, INVALID_ARGUMENT, CORRUPTED,
 *  UNSUPPORTED_FORMAT, TIMEOUT, ALREADY_IN_WRITE, READ_ONLY, FROZEN, REENTRANT, DISK_FULL, MAP_FULL, CALLBACK. */
motte_status motte_changes_batch_apply(motte_realm *realm, const uint8_t *bytes, size_t size, int64_t timeout_ms);

/** Up to which version the batches of an origin have been applied to this file; NOT_FOUND: none.
 *  Thread: owner. Result: -. */
motte_status motte_changes_batch_position(const motte_realm *realm, uint64_t origin_high, uint64_t origin_low,
                                          uint64_t *out_version);

/** By which origin batches of this file go. A copy has another one.
 *  Thread: owner. Result: -. */
motte_status motte_changes_batch_origin(const motte_realm *realm, uint64_t *out_high, uint64_t *out_low);

/** From now on the change log keeps all changes after `since_version`, until this is called with a later one; with
 *  UINT64_MAX, only what observers need, as in the beginning. What is gone does not come back. A commit of its own.
 *  Thread: owner. Result: -. Errors: ALREADY_IN_WRITE, READ_ONLY, FROZEN, REENTRANT, DISK_FULL, MAP_FULL, CALLBACK. */
motte_status motte_changes_batch_keep(motte_realm *realm, uint64_t since_version);

/** The same for a consumer of that name, 1 to 1024 bytes without a NUL: a position of its own, that no other moves. The
 *  log is kept from the oldest position on. With UINT64_MAX nothing is kept for it any more; NOT_FOUND: there was none.
 *  OUT_OF_BOUNDS: there are 64 already. A commit of its own.
 *  Thread: owner. Result: -. Errors: INVALID_ARGUMENT, OUT_OF_BOUNDS, ALREADY_IN_WRITE, READ_ONLY, FROZEN, REENTRANT,
 *  DISK_FULL, MAP_FULL, CALLBACK. */
motte_status motte_changes_batch_keep_for(motte_realm *realm, const char *name, size_t name_size,
                                          uint64_t since_version);

/* Whoever the change log is kept for. */
typedef struct motte_changes_consumer {
    const char *name; /* NULL: what motte_changes_batch_keep() said */
    uint64_t version; /* it needs all changes after this one */
    uint64_t commits; /* after it that have changed something; all of them where the log does not say */
    bool is_kept;     /* the change log has them */
} motte_changes_consumer;

/** Whoever the change log is kept for in the version shown, by name; without a name first. Texts live as long as the
 *  realm handle.
 *  Thread: owner. Result: H. Optional: out_consumers. */
motte_status motte_changes_batch_consumers(const motte_realm *realm, motte_changes_consumer *out_consumers,
                                           size_t capacity, size_t *out_count);

/* Flags of motte_realm_on_commit(). */
enum {
    MOTTE_ON_COMMIT_REVERSIBLE = 1 /* batches have inverses, unless the schema changes */
};

/* Called before a commit with its changes as a batch, which is lent until it returns. Not 0: the write is cancelled. */
typedef motte_status (*motte_commit_fn)(void *userdata, const uint8_t *bytes, size_t size);

/** Has `callback` called before each commit of this realm that changes something, in the call that commits, before
 *  anything is durable: it may store the changes elsewhere first, or refuse them. Then the write is cancelled whole and
 *  that call returns CALLBACK. The realm and its handles return REENTRANT meanwhile, and the file's write lock is held.
 *  What it was shown may still fail to be written: look by motte_changes_batch_read(). Writes of other realms, and the
 *  schema with which a file is opened, are not asked about. It takes the place of the one before; NULL: none.
 *  Thread: owner. Result: -. Optional: callback. Errors: ALREADY_IN_WRITE, FROZEN. */
motte_status motte_realm_on_commit(motte_realm *realm, uint32_t flags, motte_commit_fn callback, void *userdata,
                                   motte_free_fn free_userdata);

/* ---------------------------------------------------------------------------------------------------- object
 *
 * An object handle names one row for good: it follows its realm through versions and returns OBJECT_DELETED once the
 * row is deleted. Writing needs an open write (NOT_IN_WRITE). A value of type link names its class in aux; 0 there
 * means the property's target. */

/* How creating treats a primary key that exists. */
enum {
    MOTTE_CREATE_NEW = 0x0,      /* DUPLICATE_PRIMARY_KEY */
    MOTTE_CREATE_EXISTING = 0x1, /* use that object; values given are assigned to it */
    MOTTE_CREATE_MODIFIED = 0x2  /* the same, but only values that differ are written and reported */
};

/** Number of objects of a class.
 *  Thread: owner. Result: -. Errors: UNKNOWN_CLASS. */
motte_status motte_class_count(const motte_realm *realm, motte_class cls, uint64_t *out_count);

/** All objects of a class, live.
 *  Thread: owner. Result: O. Errors: UNKNOWN_CLASS, OUT_OF_HANDLES. */
motte_status motte_class_all(const motte_realm *realm, motte_class cls, motte_coll **out_coll);

/** New object with defaults: zero, empty, or null where allowed. primary_key is NULL for a class without one.
 *  `flags` is one of MOTTE_CREATE_*; out_created is false if it found one.
 *  Thread: owner. Result: O. Optional: out_created. Errors: UNKNOWN_CLASS, NO_PRIMARY_KEY, DUPLICATE_PRIMARY_KEY,
 *  WRONG_TYPE, NULL_NOT_ALLOWED, NOT_IN_WRITE, OUT_OF_HANDLES. */
motte_status motte_object_create(motte_realm *realm, motte_class cls, const motte_value *primary_key, uint32_t flags,
                                 motte_object **out_object, bool *out_created);

/** New object with `count` values at once, the primary key among them; all or nothing. The error detail names the
 *  property. `flags` is one of MOTTE_CREATE_*; out_created is false if it found one.
 *  Thread: owner. Result: O. Optional: out_created. Errors: as motte_object_create() and motte_object_set(). */
motte_status motte_object_create_with(motte_realm *realm, motte_class cls, const motte_prop *props,
                                      const motte_value *values, size_t count, uint32_t flags,
                                      motte_object **out_object, bool *out_created);

/** Object by primary key, or NOT_FOUND, also for a value of another type.
 *  Thread: owner. Result: O. Errors: UNKNOWN_CLASS, NO_PRIMARY_KEY, OUT_OF_HANDLES. */
motte_status motte_object_find(const motte_realm *realm, motte_class cls, const motte_value *primary_key,
                               motte_object **out_object);

/** Object by key, or NOT_FOUND.
 *  Thread: owner. Result: O. Errors: UNKNOWN_CLASS, OUT_OF_HANDLES. */
motte_status motte_object_at(const motte_realm *realm, motte_class cls, motte_key key, motte_object **out_object);

/** Deletes the row and its embedded objects; links to it become null, and are removed from lists and sets.
 *  Thread: owner. Result: -. Errors: NOT_IN_WRITE, OBJECT_DELETED. */
motte_status motte_object_delete(motte_object *object);

/** Property of the object's class by name; the message of UNKNOWN_PROPERTY names the nearest one. Names that are looked
 *  up again are found at once, so that motte_inline.h takes names wherever a function takes a property of an object.
 *  Thread: owner. Result: -. Errors: UNKNOWN_PROPERTY. */
motte_status motte_object_prop(const motte_object *object, const char *name, size_t name_size, motte_prop *out_prop);

/** The object as a value: a link that names its database, for as long as the file stays open in this process. Every
 *  function that takes values for a realm refuses such a link in another database with INVALID_ARGUMENT, where a link
 *  made of class and key would be another object. Documents of motte_nested_list() and motte_nested_map() keep class
 *  and key only.
 *  Thread: owner. Result: -. */
motte_status motte_object_link(const motte_object *object, motte_value *out_value);

/** Class and key; works for deleted objects too.
 *  Thread: owner. Result: -. Optional: out_class, out_key. */
motte_status motte_object_row(const motte_object *object, motte_class *out_class, motte_key *out_key);

/** Any property that is not a collection. MOTTE_NULL for a null, with out_value->type MOTTE_TYPE_NULL. A mixed
 *  property returns the type of its value; a list or map in it is returned as a whole.
 *  Thread: owner. Result: V. Errors: OBJECT_DELETED, UNKNOWN_PROPERTY, WRONG_TYPE. */
motte_status motte_object_get(const motte_object *object, motte_prop prop, motte_value *out_value);

/** `count` properties at once; nulls are values of type MOTTE_TYPE_NULL.
 *  Thread: owner. Result: V. Errors: OBJECT_DELETED, UNKNOWN_PROPERTY, WRONG_TYPE. */
motte_status motte_object_get_many(const motte_object *object, const motte_prop *props, size_t count,
                                   motte_value *out_values);

/** Assigns a property that is not a collection. Any number fits a float, double or decimal property; no other
 *  conversion is made. Null for a link to an embedded object deletes that object.
 *  Thread: owner. Result: -. Errors: OBJECT_DELETED, UNKNOWN_PROPERTY, WRONG_TYPE, NULL_NOT_ALLOWED, NOT_IN_WRITE,
 *  PRIMARY_KEY_IS_FIXED, VALUE_TOO_LARGE, OVERFLOW. */
motte_status motte_object_set(motte_object *object, motte_prop prop, const motte_value *value);

/** Assigns `count` properties; all or nothing. row_index of the error detail is the offending position.
 *  Thread: owner. Result: -. Errors: as motte_object_set(). */
motte_status motte_object_set_many(motte_object *object, const motte_prop *props, const motte_value *values,
                                   size_t count);

/** Target of a link, or MOTTE_NULL.
 *  Thread: owner. Result: O. Errors: OBJECT_DELETED, UNKNOWN_PROPERTY, WRONG_TYPE, OUT_OF_HANDLES. */
motte_status motte_object_get_object(const motte_object *object, motte_prop prop, motte_object **out_object);

/** Assigns a link or mixed property: a link to `target`, an object of the same file; NULL clears it.
 *  Thread: owner. Result: -. Errors: INVALID_ARGUMENT, and as motte_object_set(). */
motte_status motte_object_set_object(motte_object *object, motte_prop prop, const motte_object *target);

/** The collection of a list, set, map or inverse property, live; of a mixed property, the list or map it holds now:
 *  WRONG_TYPE if it holds none.
 *  Thread: owner. Result: O. Errors: OBJECT_DELETED, UNKNOWN_PROPERTY, WRONG_TYPE, OUT_OF_HANDLES. */
motte_status motte_object_get_coll(const motte_object *object, motte_prop prop, motte_coll **out_coll);

/** Objects that link here through `origin`, a link or list property of any class, live.
 *  Thread: owner. Result: O. Errors: OBJECT_DELETED, UNKNOWN_PROPERTY, WRONG_TYPE, OUT_OF_HANDLES. */
motte_status motte_object_backlinks(const motte_object *object, motte_prop origin, motte_coll **out_coll);

/** How many links point here through `origin`.
 *  Thread: owner. Result: -. Errors: OBJECT_DELETED, UNKNOWN_PROPERTY, WRONG_TYPE. */
motte_status motte_object_backlink_count(const motte_object *object, motte_prop origin, uint64_t *out_count);

/* ---------------------------------------------------------------------------------------------------- row
 *
 * The same without a handle, for loops in language bindings: a row is (realm, class, key). */

/** Key of the object with a primary key, or NOT_FOUND.
 *  Thread: owner. Result: -. Errors: UNKNOWN_CLASS, NO_PRIMARY_KEY. */
motte_status motte_row_find(const motte_realm *realm, motte_class cls, const motte_value *primary_key,
                            motte_key *out_key);

/** OK if there is such an object, or NOT_FOUND.
 *  Thread: owner. Result: -. Errors: UNKNOWN_CLASS. */
motte_status motte_row_exists(const motte_realm *realm, motte_class cls, motte_key key);

/** As motte_object_create_with(); count may be 0 for a class without primary key.
 *  Thread: owner. Result: -. Optional: out_key, out_created. Errors: as motte_object_create_with(). */
motte_status motte_row_create(motte_realm *realm, motte_class cls, const motte_prop *props, const motte_value *values,
                              size_t count, uint32_t flags, motte_key *out_key, bool *out_created);

/** As motte_object_get_many().
 *  Thread: owner. Result: V. Errors: UNKNOWN_CLASS, OBJECT_DELETED, UNKNOWN_PROPERTY, WRONG_TYPE. */
motte_status motte_row_get_many(const motte_realm *realm, motte_class cls, motte_key key, const motte_prop *props,
                                size_t count, motte_value *out_values);

/** As motte_object_set_many().
 *  Thread: owner. Result: -. Errors: UNKNOWN_CLASS, and as motte_object_set(). */
motte_status motte_row_set_many(motte_realm *realm, motte_class cls, motte_key key, const motte_prop *props,
                                const motte_value *values, size_t count);

/** As motte_object_get_coll().
 *  Thread: owner. Result: O. Errors: UNKNOWN_CLASS, OBJECT_DELETED, UNKNOWN_PROPERTY, WRONG_TYPE, OUT_OF_HANDLES. */
motte_status motte_row_get_coll(const motte_realm *realm, motte_class cls, motte_key key, motte_prop prop,
                                motte_coll **out_coll);

/** Deletes those of `count` objects that exist and returns how many did.
 *  Thread: owner. Result: -. Optional: out_deleted. Errors: UNKNOWN_CLASS, NOT_IN_WRITE. */
motte_status motte_row_delete(motte_realm *realm, motte_class cls, const motte_key *keys, size_t count,
                              uint64_t *out_deleted);

/* ---------------------------------------------------------------------------------------------------- object fields
 *
 * One property of one type. The getters return MOTTE_NULL, and zero, for a null. */

/** An int property.
 *  Thread: owner. Result: -. Errors: OBJECT_DELETED, UNKNOWN_PROPERTY, WRONG_TYPE. */
motte_status motte_object_get_int(const motte_object *object, motte_prop prop, int64_t *out_value);

/** A bool property.
 *  Thread: owner. Result: -. Errors: OBJECT_DELETED, UNKNOWN_PROPERTY, WRONG_TYPE. */
motte_status motte_object_get_bool(const motte_object *object, motte_prop prop, bool *out_value);

/** A float or double property.
 *  Thread: owner. Result: -. Errors: OBJECT_DELETED, UNKNOWN_PROPERTY, WRONG_TYPE. */
motte_status motte_object_get_double(const motte_object *object, motte_prop prop, double *out_value);

/** A string property, not copied.
 *  Thread: owner. Result: V. Errors: OBJECT_DELETED, UNKNOWN_PROPERTY, WRONG_TYPE. */
motte_status motte_object_get_string(const motte_object *object, motte_prop prop, motte_str *out_value);

/** A copy of a string or data property, with a NUL behind it, which nothing but motte_buf_dispose() ends; MOTTE_NULL
 *  and an empty buffer for a null.
 *  Thread: owner. Result: O. Errors: OBJECT_DELETED, UNKNOWN_PROPERTY, WRONG_TYPE. */
motte_status motte_object_copy_string(const motte_object *object, motte_prop prop, motte_buf *out_text);

/** A data property, not copied.
 *  Thread: owner. Result: V. Errors: OBJECT_DELETED, UNKNOWN_PROPERTY, WRONG_TYPE. */
motte_status motte_object_get_data(const motte_object *object, motte_prop prop, motte_bytes *out_value);

/** A timestamp property.
 *  Thread: owner. Result: -. Errors: OBJECT_DELETED, UNKNOWN_PROPERTY, WRONG_TYPE. */
motte_status motte_object_get_timestamp(const motte_object *object, motte_prop prop, motte_timestamp *out_value);

/** A decimal or UUID property, with `width` 16, or an object id property, with 12: out_bytes is a motte_decimal,
 *  motte_uuid or motte_object_id.
 *  Thread: owner. Result: -. Errors: OBJECT_DELETED, UNKNOWN_PROPERTY, WRONG_TYPE. */
motte_status motte_object_get_fixed(const motte_object *object, motte_prop prop, size_t width, void *out_bytes);

/** Assigns an int or mixed property, or a float, double or decimal property, rounding to it.
 *  Thread: owner. Result: -. Errors: as motte_object_set(). */
motte_status motte_object_set_int(motte_object *object, motte_prop prop, int64_t value);

/** Adds to an int property, or to a mixed one that holds an int, and returns the sum. OVERFLOW leaves the value as it
 *  was; a null is NULL_NOT_ALLOWED.
 *  Thread: owner. Result: -. Optional: out_value. Errors: as motte_object_set(). */
motte_status motte_object_add_int(motte_object *object, motte_prop prop, int64_t delta, int64_t *out_value);

/** Assigns a bool property: 0 or 1, anything else is INVALID_ARGUMENT.
 *  Thread: owner. Result: -. Errors: as motte_object_set(). */
motte_status motte_object_set_bool(motte_object *object, motte_prop prop, uint32_t value);

/** Assigns a double or mixed property, or a float or decimal property, rounding to it.
 *  Thread: owner. Result: -. Errors: as motte_object_set(). */
motte_status motte_object_set_double(motte_object *object, motte_prop prop, double value);

/** Assigns a string property; the text is checked and copied. NULL with length 0 is the empty text.
 *  Thread: owner. Result: -. Errors: INVALID_UTF8, and as motte_object_set(). */
motte_status motte_object_set_string(motte_object *object, motte_prop prop, const char *text, size_t text_size);

/** Assigns a data property; the bytes are copied. NULL with length 0 is the empty data.
 *  Thread: owner. Result: -. Errors: as motte_object_set(). */
motte_status motte_object_set_data(motte_object *object, motte_prop prop, const void *bytes, size_t byte_count);

/** Assigns a timestamp property; 1000000000 nanoseconds and more are INVALID_ARGUMENT.
 *  Thread: owner. Result: -. Errors: as motte_object_set(). */
motte_status motte_object_set_timestamp(motte_object *object, motte_prop prop, const motte_timestamp *value);

/** Assigns a decimal or UUID property from 16 bytes, or an object id property from 12. Not for mixed properties: their
 *  type is given to motte_object_set().
 *  Thread: owner. Result: -. Errors: as motte_object_set(). */
motte_status motte_object_set_fixed(motte_object *object, motte_prop prop, const void *bytes, size_t width);

/** Clears a nullable property or a link.
 *  Thread: owner. Result: -. Errors: as motte_object_set(). */
motte_status motte_object_set_null(motte_object *object, motte_prop prop);

/* ---------------------------------------------------------------------------------------------------- embedded
 *
 * An embedded object is created in its place and stays there: a link, a list position or a map key of its parent. An
 * object that was in that place is deleted, and the new one is deleted when it is overwritten or removed or its parent
 * is deleted. Linking to one that has a place is INVALID_ARGUMENT. These functions create an object with defaults and
 * need an open write. */

/** New object in a link property.
 *  Thread: owner. Result: O. Errors: OBJECT_DELETED, UNKNOWN_PROPERTY, WRONG_TYPE, NOT_IN_WRITE, OUT_OF_HANDLES. */
motte_status motte_embedded_create(motte_object *parent, motte_prop prop, motte_object **out_object);

/** New object in a list, before a position, which may be the count.
 *  Thread: owner. Result: O. Errors: OUT_OF_BOUNDS, WRONG_TYPE, NOT_IN_WRITE, OBJECT_DELETED, WRONG_KIND,
 *  OUT_OF_HANDLES. */
motte_status motte_embedded_insert(motte_coll *list, size_t index, motte_object **out_object);

/** New object in a list, in place of an element.
 *  Thread: owner. Result: O. Errors: as motte_embedded_insert(). */
motte_status motte_embedded_set(motte_coll *list, size_t index, motte_object **out_object);

/** New object in a map, under a key.
 *  Thread: owner. Result: O. Errors: WRONG_TYPE, NOT_IN_WRITE, OBJECT_DELETED, WRONG_KIND, OUT_OF_HANDLES. */
motte_status motte_embedded_put(motte_coll *map, const char *key, size_t key_size, motte_object **out_object);

/** Owner of an embedded object and the property that holds it; NOT_FOUND for an object of another class.
 *  Thread: owner. Result: O. Optional: out_prop. Errors: OBJECT_DELETED, OUT_OF_HANDLES. */
motte_status motte_object_parent(const motte_object *object, motte_object **out_parent, motte_prop *out_prop);

/* ---------------------------------------------------------------------------------------------------- collection
 *
 * One handle type for lists, sets, maps, results and backlinks, live or frozen. Results are lazy: nothing is computed
 * before they are first used, and they follow the realm. Loops that write while they read use motte_coll_snapshot().
 * The elements of a set are in the order of motte_value_compare(), those of a map in the order of its keys; functions
 * that read a map by position read its values. */

/* Bits of motte_coll_details.flags. */
enum {
    MOTTE_COLL_NULLABLE = 0x1, /* elements may be null */
    MOTTE_COLL_FROZEN = 0x2,
    MOTTE_COLL_SNAPSHOT = 0x4, /* membership is fixed */
    MOTTE_COLL_NESTED = 0x8    /* a list or map inside a mixed value; it ends when that value is replaced */
};

typedef struct motte_coll_details {
    uint32_t struct_size;
    motte_collection kind; /* MOTTE_COLLECTION_*, never NONE */
    motte_type type;       /* of the elements */
    uint32_t flags;
    motte_class target; /* class of the elements if they are links, else 0 */
    uint32_t reserved;
    motte_prop prop; /* list, set, map: where it is stored; backlinks: the linking property; else 0 */
} motte_coll_details;

typedef uint32_t motte_aggregate;
enum {
    MOTTE_AGGREGATE_COUNT = 1, /* of what is not null */
    MOTTE_AGGREGATE_MIN = 2,
    MOTTE_AGGREGATE_MAX = 3,
    MOTTE_AGGREGATE_SUM = 4,
    MOTTE_AGGREGATE_AVG = 5
};

enum {
    MOTTE_SORT_ASCENDING = 0x0,
    MOTTE_SORT_DESCENDING = 0x1
};

/* What to sort by, or to find duplicates by. */
typedef struct motte_sort_key {
    const char *path; /* a property, or a dotted path through links; "self" for values */
    size_t path_size;
    uint32_t flags; /* MOTTE_SORT_* */
    uint32_t reserved;
} motte_sort_key;

/** Number of elements.
 *  Thread: owner. Result: -. Errors: OBJECT_DELETED. */
motte_status motte_coll_count(const motte_coll *coll, size_t *out_count);

/** Kind, element type, target class; works for the collection of a deleted object too.
 *  Thread: owner. Result: -. */
motte_status motte_coll_info(const motte_coll *coll, motte_coll_details *out_details);

/** Element at a position; MOTTE_NULL for a null. Objects are values of type link.
 *  Thread: owner. Result: V. Errors: OUT_OF_BOUNDS, OBJECT_DELETED. */
motte_status motte_coll_get(const motte_coll *coll, size_t index, motte_value *out_value);

/** Object at a position; MOTTE_NULL for an element of a snapshot that was deleted meanwhile.
 *  Thread: owner. Result: O. Errors: OUT_OF_BOUNDS, WRONG_TYPE, OBJECT_DELETED, OUT_OF_HANDLES. */
motte_status motte_coll_get_object(const motte_coll *coll, size_t index, motte_object **out_object);

/** The list or map nested in an element of type mixed, live, also in results over such elements; WRONG_TYPE if there is
 *  none, and in snapshots, whose values are copies.
 *  Thread: owner. Result: O. Errors: OUT_OF_BOUNDS, WRONG_TYPE, OBJECT_DELETED, OUT_OF_HANDLES. */
motte_status motte_coll_get_coll(const motte_coll *coll, size_t index, motte_coll **out_coll);

/** First position of a value or link, or NOT_FOUND, also for a value of another type.
 *  Thread: owner. Result: -. Errors: OBJECT_DELETED. */
motte_status motte_coll_find(const motte_coll *coll, const motte_value *value, size_t *out_index);

/** Empties a list, set or map; the objects in it stay, embedded ones excepted. WRONG_KIND for other collections.
 *  Thread: owner. Result: -. Errors: NOT_IN_WRITE, OBJECT_DELETED, WRONG_KIND. */
motte_status motte_coll_clear(motte_coll *coll);

/** Replaces the whole content of a list or set; all or nothing.
 *  Thread: owner. Result: -. Errors: NOT_IN_WRITE, WRONG_TYPE, NULL_NOT_ALLOWED, VALUE_TOO_LARGE, OBJECT_DELETED,
 *  WRONG_KIND. */
motte_status motte_coll_assign(motte_coll *coll, const motte_value *values, size_t count);

/** Deletes every object in the collection and returns how many.
 *  Thread: owner. Result: -. Optional: out_deleted. Errors: NOT_IN_WRITE, WRONG_TYPE, OBJECT_DELETED. */
motte_status motte_coll_delete_objects(motte_coll *coll, uint64_t *out_deleted);

/** The same elements, fixed: later changes of objects are seen, changes of membership and order are not. One of values
 *  has copies, which go with its last handle.
 *  Thread: owner. Result: O. Errors: OBJECT_DELETED, OUT_OF_HANDLES. */
motte_status motte_coll_snapshot(const motte_coll *coll, motte_coll **out_coll);

/** Live results over the elements.
 *  Thread: owner. Result: O. Errors: OBJECT_DELETED, OUT_OF_HANDLES. */
motte_status motte_coll_to_results(const motte_coll *coll, motte_coll **out_coll);

/** Live results narrowed by query text with arguments $0, $1, ... The text may end in SORT, DISTINCT and LIMIT.
 *  A list for IN and BETWEEN is a MOTTE_TYPE_LIST of motte_nested_list(), a shape for GEOWITHIN its text, such as
 *  geoCircle([2.35, 48.85], 0.01). Arguments with names, such as $low, come as one MOTTE_TYPE_MAP of
 *  motte_nested_map() behind the numbered ones, with the names as keys. args are copied; more of them than the text
 *  uses are QUERY_ARGUMENT.
 *  Thread: owner. Result: O. Errors: QUERY_SYNTAX, QUERY_INVALID, QUERY_ARGUMENT, UNKNOWN_PROPERTY, UNSUPPORTED,
 *  OBJECT_DELETED, OUT_OF_HANDLES. */
motte_status motte_coll_filter(const motte_coll *coll, const char *text, size_t text_size, const motte_value *args,
                               size_t arg_count, motte_coll **out_coll);

/** Live results of a compiled query over the elements, which are objects of the query's class; the query's own SORT,
 *  DISTINCT and LIMIT count. Binding another argument later does not change them. INVALID_ARGUMENT: the query is of
 *  another class or realm.
 *  Thread: owner. Result: O. Errors: INVALID_ARGUMENT, WRONG_TYPE, OBJECT_DELETED, OUT_OF_HANDLES. */
motte_status motte_coll_query(const motte_coll *coll, const motte_query *query, motte_coll **out_coll);

/** Live results in another order; ties keep the order they had.
 *  Thread: owner. Result: O. Errors: UNKNOWN_PROPERTY, QUERY_INVALID, OBJECT_DELETED, OUT_OF_HANDLES. */
motte_status motte_coll_sort(const motte_coll *coll, const motte_sort_key *keys, size_t key_count,
                             motte_coll **out_coll);

/** Live results over the first of those elements that agree in all paths, in the order they have; nulls agree. Without
 *  keys, equal values and the same object are one. Flags are 0.
 *  Thread: owner. Result: O. Errors: UNKNOWN_PROPERTY, QUERY_INVALID, OBJECT_DELETED, OUT_OF_HANDLES. */
motte_status motte_coll_distinct(const motte_coll *coll, const motte_sort_key *keys, size_t key_count,
                                 motte_coll **out_coll);

/** Live results over the first `limit` elements.
 *  Thread: owner. Result: O. Errors: OBJECT_DELETED, OUT_OF_HANDLES. */
motte_status motte_coll_limit(const motte_coll *coll, size_t limit, motte_coll **out_coll);

/** Minimum, maximum, sum, average or count over a property, or over the elements with MOTTE_PROP_SELF. Nulls do not
 *  take part. MOTTE_NULL when nothing is left to take the minimum, maximum or average of.
 *  Thread: owner. Result: V. Errors: UNKNOWN_PROPERTY, WRONG_TYPE, OVERFLOW, OBJECT_DELETED. */
motte_status motte_coll_aggregate(const motte_coll *coll, motte_aggregate op, motte_prop prop, motte_value *out_value);

/* ---------------------------------------------------------------------------------------------------- list
 *
 * Changes of one list; other collections are WRONG_KIND. All need an open write. */

/** Replaces an element.
 *  Thread: owner. Result: -. Errors: OUT_OF_BOUNDS, WRONG_TYPE, NULL_NOT_ALLOWED, VALUE_TOO_LARGE, OVERFLOW,
 *  NOT_IN_WRITE, OBJECT_DELETED, WRONG_KIND. */
motte_status motte_list_set(motte_coll *list, size_t index, const motte_value *value);

/** Inserts before a position, which may be the count.
 *  Thread: owner. Result: -. Errors: as motte_list_set(). */
motte_status motte_list_insert(motte_coll *list, size_t index, const motte_value *value);

/** Appends `count` values; all or nothing. row_index of the error detail is the offending position in `values`.
 *  Thread: owner. Result: -. Errors: as motte_list_set(). */
motte_status motte_list_append(motte_coll *list, const motte_value *values, size_t count);

/** Removes an element.
 *  Thread: owner. Result: -. Errors: as motte_list_set(). */
motte_status motte_list_remove(motte_coll *list, size_t index);

/** Moves an element so that it stands at position `to` afterwards.
 *  Thread: owner. Result: -. Errors: as motte_list_set(). */
motte_status motte_list_move(motte_coll *list, size_t from, size_t to);

/** Exchanges two elements.
 *  Thread: owner. Result: -. Errors: as motte_list_set(). */
motte_status motte_list_swap(motte_coll *list, size_t index, size_t other);

/** Removes `remove_count` elements at a position and inserts `count` values there; all or nothing.
 *  Thread: owner. Result: -. Errors: as motte_list_set(). */
motte_status motte_list_splice(motte_coll *list, size_t index, size_t remove_count, const motte_value *values,
                               size_t count);

/* ---------------------------------------------------------------------------------------------------- set
 *
 * Changes of one set; other collections are WRONG_KIND. Numbers that are equal are one element, whatever their types;
 * motte_coll_find() says whether there is one. */

/** Adds a value; UNCHANGED if it is there already.
 *  Thread: owner. Result: -. Errors: WRONG_TYPE, NULL_NOT_ALLOWED, VALUE_TOO_LARGE, OVERFLOW, NOT_IN_WRITE,
 *  OBJECT_DELETED, WRONG_KIND. */
motte_status motte_set_insert(motte_coll *set, const motte_value *value);

/** Adds `count` values and returns how many were new; all or nothing. row_index of the error detail is the offending
 *  position in `values`.
 *  Thread: owner. Result: -. Optional: out_added. Errors: as motte_set_insert(). */
motte_status motte_set_insert_many(motte_coll *set, const motte_value *values, size_t count, uint64_t *out_added);

/** Removes a value; NOT_FOUND if it is not there, also for a value of another type.
 *  Thread: owner. Result: -. Errors: NOT_IN_WRITE, OBJECT_DELETED, WRONG_KIND. */
motte_status motte_set_remove(motte_coll *set, const motte_value *value);

typedef uint32_t motte_set_operation;
enum {
    MOTTE_SET_UNION = 1,
    MOTTE_SET_INTERSECT = 2,
    MOTTE_SET_SUBTRACT = 3,
    MOTTE_SET_SYMMETRIC_DIFFERENCE = 4
};

/** Changes a set by the elements of any collection of the same realm and element type. Nulls that the set cannot have
 *  are NULL_NOT_ALLOWED where they would be added.
 *  Thread: owner. Result: -. Errors: WRONG_TYPE, NULL_NOT_ALLOWED, NOT_IN_WRITE, OBJECT_DELETED, WRONG_KIND. */
motte_status motte_set_combine(motte_coll *set, const motte_coll *other, motte_set_operation operation);

/* The relation of a set to another: bits of motte_set_relate(). */
enum {
    MOTTE_SET_SUBSET = 0x1,    /* all of its elements are in the other */
    MOTTE_SET_SUPERSET = 0x2,  /* all elements of the other are in it */
    MOTTE_SET_INTERSECTS = 0x4 /* they have an element in common */
};

/** Compares a set with any collection, whatever its type; subset and superset both mean equal.
 *  Thread: owner. Result: -. Errors: OBJECT_DELETED, WRONG_KIND. */
motte_status motte_set_relate(const motte_coll *set, const motte_coll *other, uint32_t *out_relation);

/* ---------------------------------------------------------------------------------------------------- map
 *
 * A map has values under keys that are text. Keys have no '.' and do not begin with '$': percent-encode them. Other
 * collections are WRONG_KIND. When an object under a key is deleted, the key stays with a null. */

/** The value of a key; NOT_FOUND without it, MOTTE_NULL if it has a null.
 *  Thread: owner. Result: V. Errors: OBJECT_DELETED, WRONG_KIND. */
motte_status motte_map_get(const motte_coll *map, const char *key, size_t key_size, motte_value *out_value);

/** The list or map nested under a key, live; NOT_FOUND without the key.
 *  Thread: owner. Result: O. Errors: WRONG_TYPE, OBJECT_DELETED, WRONG_KIND, OUT_OF_HANDLES. */
motte_status motte_map_get_coll(const motte_coll *map, const char *key, size_t key_size, motte_coll **out_coll);

/** OK if the map has the key, or NOT_FOUND.
 *  Thread: owner. Result: -. Errors: OBJECT_DELETED, WRONG_KIND. */
motte_status motte_map_has(const motte_coll *map, const char *key, size_t key_size);

/** Sets the value of a key, and returns whether the key is new.
 *  Thread: owner. Result: -. Optional: out_inserted. Errors: WRONG_TYPE, NULL_NOT_ALLOWED, VALUE_TOO_LARGE,
 *  OVERFLOW, NOT_IN_WRITE, OBJECT_DELETED, WRONG_KIND. */
motte_status motte_map_put(motte_coll *map, const char *key, size_t key_size, const motte_value *value,
                           bool *out_inserted);

/** Sets the values of `count` keys; all or nothing. row_index of the error detail is the offending position.
 *  Thread: owner. Result: -. Errors: as motte_map_put(). */
motte_status motte_map_put_many(motte_coll *map, const motte_str *keys, const motte_value *values, size_t count);

/** Removes a key; NOT_FOUND without it.
 *  Thread: owner. Result: -. Errors: NOT_IN_WRITE, OBJECT_DELETED, WRONG_KIND. */
motte_status motte_map_remove(motte_coll *map, const char *key, size_t key_size);

/** Key and value at a position, in the order of the keys' bytes; MOTTE_NULL for a null value.
 *  Thread: owner. Result: V. Optional: out_key, out_value. Errors: OUT_OF_BOUNDS, OBJECT_DELETED, WRONG_KIND. */
motte_status motte_map_entry(const motte_coll *map, size_t index, motte_str *out_key, motte_value *out_value);

/** Keys first ... first + count, or as many as there are; MOTTE_END stands for none left. The values are read with the
 *  functions of "bulk read".
 *  Thread: owner. Result: V. Errors: OBJECT_DELETED, WRONG_KIND. */
motte_status motte_map_keys(const motte_coll *map, size_t first, size_t count, motte_str *out_values,
                            size_t *out_count);

/** The keys as live results of strings, in the order of their bytes: filtered, sorted, observed like others. WRONG_KIND
 *  for a map inside a mixed value.
 *  Thread: owner. Result: O. Errors: OBJECT_DELETED, WRONG_KIND, OUT_OF_HANDLES. */
motte_status motte_map_key_results(const motte_coll *map, motte_coll **out_coll);

/* ---------------------------------------------------------------------------------------------------- nested
 *
 * A mixed property, or an element of type mixed, can hold a list or map of further mixed values, to 100 levels. As a
 * value it is one document of bytes: made here from values, read here piece by piece, assigned as a whole. In place, it
 * is changed through the collections of motte_object_get_coll(), motte_coll_get_coll() and motte_map_get_coll(), with
 * the functions of lists and maps; replacing the value around such a collection ends it (OBJECT_DELETED). */

/** A list of `count` values, themselves lists and maps if wanted. The buffer is the payload of a MOTTE_TYPE_LIST.
 *  Thread: any. Result: O. */
motte_status motte_nested_list(const motte_value *values, size_t count, motte_buf *out_document);

/** A map of `count` keys and values; of equal keys the last one counts. The buffer is the payload of a MOTTE_TYPE_MAP.
 *  Thread: any. Result: O. */
motte_status motte_nested_map(const motte_str *keys, const motte_value *values, size_t count, motte_buf *out_document);

/** Number of elements of a value of type list or map.
 *  Thread: any. Result: -. Errors: WRONG_TYPE. */
motte_status motte_nested_count(const motte_value *nested, size_t *out_count);

/** Elements of a value of type list or map, and the keys of a map in the order of their bytes; MOTTE_END for none left.
 *  They live as long as the document.
 *  Thread: any. Result: see text. Optional: out_keys, out_values. Errors: WRONG_TYPE. */
motte_status motte_nested_read(const motte_value *nested, size_t first, size_t count, motte_str *out_keys,
                               motte_value *out_values, size_t *out_count);

/* ---------------------------------------------------------------------------------------------------- query
 *
 * A query is compiled once and run often, each time against the version its realm shows then. Binding another argument
 * does not change results that were made before. */

/** Compiles query text for a class. The error detail has the byte offset and a caret. args as in motte_coll_filter().
 *  Thread: owner. Result: O. Errors: UNKNOWN_CLASS, UNKNOWN_PROPERTY, QUERY_SYNTAX, QUERY_INVALID, QUERY_ARGUMENT,
 *  UNSUPPORTED, OUT_OF_HANDLES. */
motte_status motte_query_parse(const motte_realm *realm, motte_class cls, const char *text, size_t text_size,
                               const motte_value *args, size_t arg_count, motte_query **out_query);

/** Changes argument $position.
 *  Thread: owner. Result: -. Errors: OUT_OF_BOUNDS, QUERY_ARGUMENT. */
motte_status motte_query_bind(motte_query *query, size_t position, const motte_value *value);

/** The same for the argument of a name, without its "$".
 *  Thread: owner. Result: -. Errors: QUERY_ARGUMENT. */
motte_status motte_query_bind_named(motte_query *query, const char *name, size_t name_size, const motte_value *value);

/** Number of arguments: the highest $position + 1.
 *  Thread: owner. Result: -. */
motte_status motte_query_arg_count(const motte_query *query, size_t *out_count);

/** The canonical text with arguments filled in.
 *  Thread: owner. Result: O. */
motte_status motte_query_describe(const motte_query *query, motte_buf *out_text);

/** Where the arguments of query text stand, by its words alone, for bindings whose values have several forms: a JSON
 *  array with an object for each place:
 *
 *      {"argument": 0, "role": "value", "plain": true, "computed": false, "now": false, "paths": [["owner", "age"]]}
 *
 *  "argument" is a number or a name. "role" is "value", "key" (of a map or list) or "count" (LIMIT, OFFSET). "plain":
 *  it is compared with one property and nothing else. "computed": there is arithmetic in the comparison; "now": now()
 *  is in it. "paths": the properties on both sides by the names in the text; an aggregate such as "@sum" is last, and
 *  what has no property's values is an empty path. Columns of groups are the properties that they are made of.
 *  Thread: any. Result: O. Errors: QUERY_SYNTAX, QUERY_INVALID. */
motte_status motte_query_outline(const char *text, size_t text_size, motte_buf *out_json);

/** How it would be evaluated, in one line: indexes and the order of the parts.
 *  Thread: owner. Result: O. */
motte_status motte_query_explain(const motte_query *query, motte_buf *out_text);

/* Flags of motte_coll_explain() and motte_groups_explain(). */
enum {
    MOTTE_EXPLAIN_ANALYZE = 0x1, /* run the query, for how many rows each step had and how long it took */
    MOTTE_EXPLAIN_JSON = 0x2     /* as JSON; else as a table with a line for each step */
};

/** How the elements of a collection would be found now, as a tree of steps with the rows that are expected behind each
 *  (docs/explain.md). Results that the realm keeps are neither used nor changed.
 *  Thread: owner. Result: O. Errors: OBJECT_DELETED. */
motte_status motte_coll_explain(const motte_coll *coll, uint32_t flags, motte_buf *out_text);

/** The same of groups.
 *  Thread: owner. Result: O. Errors: OVERFLOW. */
motte_status motte_groups_explain(const motte_groups *groups, uint32_t flags, motte_buf *out_text);

/** Number of matches; honours LIMIT.
 *  Thread: owner. Result: -. */
motte_status motte_query_count(const motte_query *query, size_t *out_count);

/** First match in the query's order, or NOT_FOUND.
 *  Thread: owner. Result: O. Errors: OUT_OF_HANDLES. */
motte_status motte_query_first(const motte_query *query, motte_object **out_object);

/** Live results, computed when first used.
 *  Thread: owner. Result: O. Errors: OUT_OF_HANDLES. */
motte_status motte_query_run(const motte_query *query, motte_coll **out_coll);

/* ---------------------------------------------------------------------------------------------------- bulk read
 *
 * Elements first ... first + count of a collection, or as many as there are, into the caller's arrays; out_count is
 * how many were written, and MOTTE_END stands for none left. validity is a bitmap of (count + 7) / 8 bytes, 1 =
 * present, lowest bit first, as in Arrow; only its first (out_count + 7) / 8 bytes are written. Nulls are zero in the
 * values. It is optional: without it nulls read as zero.
 * prop is a property of the elements, or MOTTE_PROP_SELF for a collection of values. */

typedef uint32_t motte_unit;
enum {
    MOTTE_UNIT_SECONDS = 0,
    MOTTE_UNIT_MILLISECONDS = 1,
    MOTTE_UNIT_MICROSECONDS = 2,
    MOTTE_UNIT_NANOSECONDS = 3
};

typedef uint32_t motte_layout;
enum {
    MOTTE_LAYOUT_ROWS = 0,   /* value of property p of element i at [i * prop_count + p] */
    MOTTE_LAYOUT_COLUMNS = 1 /* at [p * count + i] */
};

/** Keys of the elements of a collection of objects.
 *  Thread: owner. Result: -. Errors: WRONG_TYPE, OBJECT_DELETED. */
motte_status motte_read_keys(const motte_coll *coll, size_t first, size_t count, motte_key *out_keys,
                             size_t *out_count);

/** An int column.
 *  Thread: owner. Result: -. Optional: out_validity. Errors: UNKNOWN_PROPERTY, WRONG_TYPE, OBJECT_DELETED. */
motte_status motte_read_ints(const motte_coll *coll, motte_prop prop, size_t first, size_t count, int64_t *out_values,
                             uint8_t *out_validity, size_t *out_count);

/** A float or double column.
 *  Thread: owner. Result: -. Optional: out_validity. Errors: UNKNOWN_PROPERTY, WRONG_TYPE, OBJECT_DELETED. */
motte_status motte_read_doubles(const motte_coll *coll, motte_prop prop, size_t first, size_t count, double *out_values,
                                uint8_t *out_validity, size_t *out_count);

/** A bool column, one byte each.
 *  Thread: owner. Result: -. Optional: out_validity. Errors: UNKNOWN_PROPERTY, WRONG_TYPE, OBJECT_DELETED. */
motte_status motte_read_bools(const motte_coll *coll, motte_prop prop, size_t first, size_t count, uint8_t *out_values,
                              uint8_t *out_validity, size_t *out_count);

/** A timestamp column, in a unit since 1970, rounded down.
 *  Thread: owner. Result: -. Optional: out_validity. Errors: OVERFLOW, UNKNOWN_PROPERTY, WRONG_TYPE, OBJECT_DELETED. */
motte_status motte_read_timestamps(const motte_coll *coll, motte_prop prop, motte_unit unit, size_t first, size_t count,
                                   int64_t *out_values, uint8_t *out_validity, size_t *out_count);

/** A decimal or UUID column, with `width` 16, or an object id column, with 12: that many bytes each.
 *  Thread: owner. Result: -. Optional: out_validity. Errors: UNKNOWN_PROPERTY, WRONG_TYPE, OBJECT_DELETED. */
motte_status motte_read_fixed(const motte_coll *coll, motte_prop prop, size_t width, size_t first, size_t count,
                              void *out_values, uint8_t *out_validity, size_t *out_count);

/** Targets of a link column: their keys, -1 for none.
 *  Thread: owner. Result: -. Optional: out_validity. Errors: UNKNOWN_PROPERTY, WRONG_TYPE, OBJECT_DELETED. */
motte_status motte_read_links(const motte_coll *coll, motte_prop prop, size_t first, size_t count, motte_key *out_keys,
                              uint8_t *out_validity, size_t *out_count);

/** A string or data column, not copied; nulls have data == NULL.
 *  Thread: owner. Result: V. Errors: UNKNOWN_PROPERTY, WRONG_TYPE, OBJECT_DELETED. */
motte_status motte_read_strings(const motte_coll *coll, motte_prop prop, size_t first, size_t count,
                                motte_str *out_values, size_t *out_count);

/** A string or data column as one run of bytes: element i is bytes offsets[i] ... offsets[i + 1]. out_offsets has
 *  room for count + 1.
 *  Thread: owner. Result: O. Optional: out_validity. Errors: UNKNOWN_PROPERTY, WRONG_TYPE, OBJECT_DELETED. */
motte_status motte_read_strings_packed(const motte_coll *coll, motte_prop prop, size_t first, size_t count,
                                       int64_t *out_offsets, uint8_t *out_validity, motte_buf *out_bytes,
                                       size_t *out_count);

/** `prop_count` columns of any types as values, in a MOTTE_LAYOUT_*. out_values has room for count * prop_count.
 *  Thread: owner. Result: V. Errors: UNKNOWN_PROPERTY, WRONG_TYPE, OBJECT_DELETED. */
motte_status motte_read_values(const motte_coll *coll, const motte_prop *props, size_t prop_count, size_t first,
                               size_t count, motte_layout layout, motte_value *out_values, size_t *out_count);

/* ---------------------------------------------------------------------------------------------------- batch insert
 *
 * Many new objects of one class. Each call inserts all its rows or none; row_index of the error detail is the first
 * offending row, of several. Properties not named get their defaults. */

/* One column of a batch. */
typedef struct motte_column {
    motte_type type;         /* of the array below */
    motte_unit unit;         /* timestamps */
    const void *values;      /* bool: uint8_t, int: int64_t, float, double, timestamp: int64_t, link: motte_key;
                                string, data: motte_str, or with offsets the bytes; decimal: motte_decimal,
                                UUID: motte_uuid, object id: motte_object_id; mixed: motte_value */
    const uint8_t *validity; /* bitmap, or NULL when all are present; link keys of -1 and motte_str with data == NULL
                                are null as well */
    const int64_t *offsets;  /* string, data: row_count + 1 offsets into values, or NULL */
} motte_column;

/** Prepares to insert objects of a class with these properties, the primary key among them. `flags` is one of
 *  MOTTE_CREATE_*; with EXISTING or MODIFIED, rows whose primary key exists are assigned to those objects.
 *  Thread: owner. Result: O. Errors: UNKNOWN_CLASS, UNKNOWN_PROPERTY, NO_PRIMARY_KEY, WRONG_TYPE, OUT_OF_HANDLES. */
motte_status motte_insert_new(motte_realm *realm, motte_class cls, const motte_prop *props, size_t prop_count,
                              uint32_t flags, motte_insert **out_insert);

/** Inserts `row_count` rows of prop_count values each, row after row. Keys of the objects if wanted.
 *  Thread: owner. Result: -. Optional: out_keys. Errors: NOT_IN_WRITE, WRONG_TYPE, NULL_NOT_ALLOWED,
 *  DUPLICATE_PRIMARY_KEY, INVALID_UTF8, VALUE_TOO_LARGE, OVERFLOW, OBJECT_DELETED. */
motte_status motte_insert_rows(motte_insert *insert, const motte_value *values, size_t row_count, motte_key *out_keys);

/** Inserts `row_count` rows from one column per property.
 *  Thread: owner. Result: -. Optional: out_keys. Errors: as motte_insert_rows(). */
motte_status motte_insert_columns(motte_insert *insert, const motte_column *columns, size_t row_count,
                                  motte_key *out_keys);

/* ---------------------------------------------------------------------------------------------------- import, export
 *
 * JSON and CSV, in the forms of docs/json.md. An import happens in the open write, which is to be
 * cancelled when it fails. Columns, here and of Arrow, are named as the file names them, whatever is in the name, with
 * dots behind links; the array is read during the call, and one without any name is INVALID_ARGUMENT. */

typedef uint32_t motte_format;
enum {
    MOTTE_FORMAT_JSON = 0,       /* an array; an import takes lines and single objects too */
    MOTTE_FORMAT_JSON_LINES = 1, /* an object a line */
    MOTTE_FORMAT_CSV = 2,
    MOTTE_FORMAT_SQLITE = 3 /* a SQLite file, of a whole database: docs/sqlite.md */
};

/* Bits of motte_export_options.flags and motte_import_options.flags. */
enum {
    MOTTE_EXPORT_NESTED_LINKS = 0x1,   /* JSON: linked objects in place, not as references */
    MOTTE_EXPORT_DOCUMENT = 0x2,       /* of a whole database: one JSON document instead of JSON Lines */
    MOTTE_IMPORT_IGNORE_UNKNOWN = 0x1, /* JSON: names that the class does not have are ignored */
    MOTTE_IMPORT_YEARS_1_TO_9999 = 0x2 /* Arrow: times of other years are refused, which some languages cannot show */
};

typedef struct motte_export_options {
    uint32_t struct_size;
    motte_format format;
    uint32_t flags;   /* MOTTE_EXPORT_* */
    uint32_t depth;   /* levels of nested objects with NESTED_LINKS; 0: 16 */
    const char *path; /* the file to write; NULL: the text goes to out_text */
    size_t path_size;
    const motte_str *columns; /* properties, also behind links, as "boss.name"; NULL: all that are stored */
    size_t column_count;
    const char *null_text; /* CSV: text that imports read as null, which is therefore quoted; NULL: "NA" */
    size_t null_text_size;
    uint32_t delimiter; /* CSV: one ASCII character; 0: a comma */
    uint32_t reserved;
} motte_export_options;

typedef struct motte_import_options {
    uint32_t struct_size;
    motte_format format;
    uint32_t flags;   /* MOTTE_IMPORT_* */
    uint32_t policy;  /* one of MOTTE_CREATE_* */
    const char *path; /* the file to read; NULL: the text follows */
    size_t path_size;
    const char *text;
    size_t text_size;
    const char *null_text; /* CSV: text that stands for null beside the empty field; NULL: "NA" */
    size_t null_text_size;
    uint32_t delimiter;    /* CSV: one ASCII character; 0: a comma */
    uint32_t batch_rows;   /* rows that are inserted together; 0: 1000 */
    uint64_t commit_every; /* commit, and begin another write, after the batch that reaches so many rows; 0: never */
} motte_import_options;

typedef struct motte_import_counts {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t created;
    uint64_t updated;
} motte_import_counts;

/** Everything, as JSON Lines with the schema first: a dump; with DOCUMENT as one JSON document. As
 *  MOTTE_FORMAT_SQLITE, a new SQLite file at the path, which is there when it has been read back and replaces nothing:
 *  INVALID_ARGUMENT where there is a file. UNSUPPORTED: SQLite's library, libsqlite3-0, is not installed. Of the
 *  options only format, flags and path are of use here; progress counts objects and can only read, as one version is
 *  written: calls that change or move the realm are REENTRANT in it and do nothing, also for collections.
 *  Thread: owner. Result: O. Optional: out_text. Errors: INPUT_OUTPUT, FILE_NOT_FOUND, PERMISSION_DENIED, DISK_FULL,
 *  UNSUPPORTED, CALLBACK. */
motte_status motte_export_realm(const motte_realm *realm, const motte_export_options *options,
                                motte_progress_fn progress, void *userdata, motte_free_fn free_userdata,
                                motte_buf *out_text);

/** The objects or values of a collection, in its order.
 *  Thread: owner. Result: O. Optional: out_text. Errors: UNKNOWN_PROPERTY, WRONG_TYPE, OBJECT_DELETED, INPUT_OUTPUT,
 *  FILE_NOT_FOUND, CALLBACK. */
motte_status motte_export_coll(const motte_coll *coll, const motte_export_options *options, motte_progress_fn progress,
                               void *userdata, motte_free_fn free_userdata, motte_buf *out_text);

/** One object as JSON.
 *  Thread: owner. Result: O. Optional: out_text. Errors: UNKNOWN_PROPERTY, OBJECT_DELETED, INPUT_OUTPUT,
 *  FILE_NOT_FOUND. */
motte_status motte_export_object(const motte_object *object, const motte_export_options *options, motte_buf *out_text);

/** Objects of a class; with MOTTE_CLASS_ANY, JSON Lines that name the class of each object, a dump or a SQLite file,
 *  which has to be given by its path. progress counts objects, and must not end the write or close the realm:
 *  REENTRANT. All or nothing, except for what commit_every has committed, which needs a write without savepoints:
 *  INVALID_ARGUMENT. A file is mapped while it is read: nobody may truncate it meanwhile.
 *  Thread: owner. Result: -. Optional: out_counts. Errors: UNKNOWN_CLASS, UNKNOWN_PROPERTY, WRONG_TYPE,
 *  NULL_NOT_ALLOWED, DUPLICATE_PRIMARY_KEY, INVALID_UTF8, FILE_NOT_FOUND, NOT_IN_WRITE, CALLBACK, REENTRANT,
 *  UNSUPPORTED, UNSUPPORTED_FORMAT, CORRUPTED. */
motte_status motte_import(motte_realm *realm, motte_class cls, const motte_import_options *options,
                          motte_progress_fn progress, void *userdata, motte_free_fn free_userdata,
                          motte_import_counts *out_counts);

/** The schema that a text needs: of a dump, the one in its first line; of CSV, a class of this name with the narrowest
 *  types that fit all values, and `key` (or NULL) as primary key; of a SQLite file that an export has made, the one
 *  that was exported, and of any other a class for each of its tables.
 *  Thread: any. Result: O. Errors: UNKNOWN_PROPERTY, FILE_NOT_FOUND, UNSUPPORTED_FORMAT, CORRUPTED, OUT_OF_HANDLES. */
motte_status motte_import_schema(const motte_import_options *options, const char *class_name, size_t class_name_size,
                                 const char *key, size_t key_size, motte_schema **out_schema);

/** What an import of a SQLite file does not keep, a sentence each that begins with its table: the problems of the
 *  report, which is sound without any. Of other formats there are none.
 *  Thread: any. Result: O. Errors: FILE_NOT_FOUND, UNSUPPORTED_FORMAT, CORRUPTED, OUT_OF_HANDLES. */
motte_status motte_import_notes(const motte_import_options *options, motte_report **out_report);

/* ---------------------------------------------------------------------------------------------------- Arrow
 *
 * Columns as the Arrow C data and stream interfaces hand them over, which other libraries read and write in place. The
 * types are in docs/arrow.md. */

/* Bits of motte_arrow_options.flags. */
enum {
    MOTTE_ARROW_TEXT_VIEWS = 0x1, /* strings as utf8_view instead of utf8 */
    MOTTE_ARROW_UNIT = 0x2        /* timestamps in `unit`; else in microseconds */
};

typedef struct motte_arrow_options {
    uint32_t struct_size;
    uint32_t flags;           /* MOTTE_ARROW_* */
    const motte_str *columns; /* properties, also behind links, as "boss.name"; NULL: all that are stored */
    size_t column_count;
    size_t batch_rows; /* rows of a batch at most; 0: 131072 */
    motte_unit unit;   /* of timestamps, with MOTTE_ARROW_UNIT; rounded down */
    uint32_t reserved;
    const motte_str *titles; /* what the columns are called, in their order; NULL: as the paths say */
    size_t title_count;
} motte_arrow_options;

/** The elements of a collection as a stream of batches: of objects a column for each property, of values one that is
 *  called "value". The stream shows the version that is shown now, whatever is written meanwhile, and may be read and
 *  released on any thread, by one at a time, also after the realm was closed; so may its batches, which are copies.
 *  Within a write all batches are made at once, with its changes so far. out_stream belongs to the caller, who calls
 *  its release; what is in it before is overwritten. options may be NULL. INVALID_ARGUMENT where there are not as many
 *  titles as columns.
 *  Thread: owner. Result: O. Errors: INVALID_ARGUMENT, UNKNOWN_PROPERTY, WRONG_TYPE, UNSUPPORTED, OVERFLOW,
 *  OBJECT_DELETED. */
motte_status motte_arrow_read(const motte_coll *coll, const motte_arrow_options *options,
                              struct ArrowArrayStream *out_stream);

/** The schema of what motte_arrow_read() gives, without reading anything.
 *  Thread: owner. Result: O. Errors: INVALID_ARGUMENT, UNKNOWN_PROPERTY, WRONG_TYPE, UNSUPPORTED, OBJECT_DELETED. */
motte_status motte_arrow_schema(const motte_coll *coll, const motte_arrow_options *options,
                                struct ArrowSchema *out_schema);

/** Objects of a class from the batches of a stream, whose columns are matched with properties by their names. All or
 *  nothing. Of the options only flags and policy are of use here; they may be NULL. IGNORE_UNKNOWN passes over columns
 *  without a property; with YEARS_1_TO_9999 a time of another year in UTC is OVERFLOW, wherever in a column it is.
 *  Takes the stream over and releases it, also when it fails; CALLBACK where the stream fails. Its functions must not
 *  end the write or close the realm: REENTRANT.
 *  Thread: owner. Result: -. Optional: out_counts. Errors: UNKNOWN_CLASS, UNKNOWN_PROPERTY, WRONG_TYPE,
 *  NULL_NOT_ALLOWED, DUPLICATE_PRIMARY_KEY, NO_PRIMARY_KEY, INVALID_UTF8, OVERFLOW, VALUE_TOO_LARGE, NOT_IN_WRITE,
 *  CALLBACK, REENTRANT. */
motte_status motte_arrow_insert(motte_realm *realm, motte_class cls, struct ArrowArrayStream *stream,
                                const motte_import_options *options, motte_import_counts *out_counts);

/** A stream of one batch, for functions that take streams; its schema and its batch can be asked for once. Takes both
 *  over, also when it fails.
 *  Thread: any. Result: O. */
motte_status motte_arrow_stream_of(struct ArrowSchema *schema, struct ArrowArray *batch,
                                   struct ArrowArrayStream *out_stream);

/* ---------------------------------------------------------------------------------------------------- Realm files
 *
 * Databases of Realm (.realm, formats 20 to 24), which are only read: see docs/from-realm.md. Objects keep their order;
 * those without primary key get new keys. What a Motte file cannot hold as it is, is in the notes of the report, each
 * with class, property, number of values, key of the first object and reason; nothing else differs. */

/* Bits of motte_realm_file_options.flags. */
enum {
    MOTTE_REALM_FILE_RESUME = 0x1, /* continues an import that commit_every has committed a part of */
    MOTTE_REALM_FILE_STRICT = 0x2  /* what would be noted as changed or left out is an error, but for links that Realm
                                      does not show either, to objects that were deleted on another device */
};

typedef struct motte_realm_file_options {
    uint32_t struct_size;
    uint32_t flags;  /* MOTTE_REALM_FILE_* */
    uint32_t policy; /* one of MOTTE_CREATE_*, for objects with primary keys; only of an import */
    uint32_t reserved;
    const char *path; /* the Realm file */
    size_t path_size;
    const uint8_t *key; /* the 64 bytes that it is encrypted with; NULL: it is not */
    size_t key_size;
    const motte_schema *schema; /* classes to add: inverse properties, further classes and properties; NULL: none */
    uint64_t commit_every;      /* of an import: commit, and begin another write, after so many objects; 0: never */
} motte_realm_file_options;

/* A class of a Realm file, and what became of its objects. */
typedef struct motte_realm_file_class {
    motte_str name;
    uint64_t object_count; /* in the Realm file */
    uint64_t created;
    uint64_t updated;
    uint32_t property_count;
    uint32_t reserved;
} motte_realm_file_class;

/* Something that is not in Motte as it is in the Realm file. */
typedef struct motte_realm_file_note {
    motte_str class_name;
    motte_str property_name; /* empty: the class itself */
    uint64_t count;          /* of the values or objects concerned; 0: none, it is the declaration */
    int64_t first_key;       /* of the first object, in the Realm file; -1: none */
    motte_str reason;
} motte_realm_file_note;

/** The schema of a Realm file together with that of the options: what a realm needs before an import. SCHEMA_MISMATCH
 *  lists all that does not fit together. out_version: the schema version; 0 if the file has none.
 *  Thread: any. Result: O. Optional: out_version. Errors: SCHEMA_MISMATCH, SCHEMA_INVALID, FILE_NOT_FOUND,
 *  UNSUPPORTED_FORMAT, WRONG_KEY, CORRUPTED, OUT_OF_HANDLES. */
motte_status motte_realm_file_schema(const motte_realm_file_options *options, motte_schema **out_schema,
                                     uint64_t *out_version);

/** Imports all objects of a Realm file into the open write, whose schema has its classes. Objects whose primary key
 *  is there already follow the policy; all others are new. Fails as a whole, except for what commit_every has
 *  committed: with RESUME the same import continues behind it, if the classes hold nothing else. commit_every needs a
 *  write without savepoints, and nobody may add objects to a class while its rows are imported: INVALID_ARGUMENT.
 *  progress counts objects, and must not end the write or close the realm: REENTRANT. BUSY: the file was changed
 *  meanwhile.
 *  Thread: owner. Result: O. Optional: out_counts, out_report. Errors: SCHEMA_MISMATCH, DUPLICATE_PRIMARY_KEY,
 *  INVALID_UTF8, VALUE_TOO_LARGE, FILE_NOT_FOUND, UNSUPPORTED_FORMAT, WRONG_KEY, CORRUPTED, BUSY,
 *  NOT_IN_WRITE, CALLBACK, REENTRANT, OUT_OF_HANDLES. */
motte_status motte_import_realm_file(motte_realm *realm, const motte_realm_file_options *options,
                                     motte_progress_fn progress, void *userdata, motte_free_fn free_userdata,
                                     motte_import_counts *out_counts, motte_report **out_report);

/** Converts a Realm file into a new Motte file. It is made under a temporary name, read back and compared with the
 *  Realm file object by object (INPUT_OUTPUT if it differs), and gets its name only then; nothing is replaced
 *  (INVALID_ARGUMENT), a failure leaves nothing behind, and the Realm file stays as it is. `key`: 64 bytes to encrypt
 *  the new file with; size 0: none. progress counts objects twice, imported and compared. BUSY: the Realm file was
 *  changed meanwhile.
 *  Thread: any. Result: O. Optional: out_counts, out_report. Errors: SCHEMA_MISMATCH, SCHEMA_INVALID,
 *  INVALID_UTF8, VALUE_TOO_LARGE, FILE_NOT_FOUND, UNSUPPORTED_FORMAT, WRONG_KEY, CORRUPTED, BUSY,
 *  PERMISSION_DENIED, DISK_FULL, INPUT_OUTPUT, CALLBACK, OUT_OF_HANDLES. */
motte_status motte_convert_realm_file(const motte_realm_file_options *options, const char *destination,
                                      size_t destination_size, const uint8_t *key, size_t key_size,
                                      motte_progress_fn progress, void *userdata, motte_free_fn free_userdata,
                                      motte_import_counts *out_counts, motte_report **out_report);

/** Of the report of an import or conversion: what became of each class. Nothing for other reports.
 *  Thread: any. Result: H. Optional: out_classes. */
motte_status motte_report_classes(const motte_report *report, motte_realm_file_class *out_classes, size_t capacity,
                                  size_t *out_count);

/** Of the report of an import or conversion: the notes; motte_report_problems() has them as sentences. Nothing for
 *  other reports.
 *  Thread: any. Result: H. Optional: out_notes. */
motte_status motte_report_notes(const motte_report *report, motte_realm_file_note *out_notes, size_t capacity,
                                size_t *out_count);

/* ---------------------------------------------------------------------------------------------------- queue
 *
 * How an event loop is notified of commits by others. Poll the descriptor for reading; when it is readable, call
 * motte_queue_dispatch() on the thread of the realms bound to the queue: they refresh, notify, and run the writes that
 * were queued for them. A loop that queues writes sleeps no longer than motte_queue_timeout() says. */

/** A queue owned by the calling thread. `flags` is 0.
 *  Thread: any. Result: O. Errors: OUT_OF_HANDLES, INPUT_OUTPUT. */
motte_status motte_queue_new(uint32_t flags, motte_queue **out_queue);

/** Descriptor to poll for reading, owned by the queue: neither read nor close it.
 *  Thread: any. Result: H. */
motte_status motte_queue_fd(const motte_queue *queue, int32_t *out_fd);

/** How long a loop may sleep before it calls dispatch: milliseconds, -1 without limit, 0 when there is work now.
 *  Thread: owner. Result: -. */
motte_status motte_queue_timeout(const motte_queue *queue, int64_t *out_timeout_ms);

/** Runs up to `max` pending deliveries, all for 0, and returns how many; the descriptor stays readable while some are
 *  left. Writes that are queued meanwhile wait for the next call.
 *  Thread: owner. Result: -. Optional: out_count. Errors: REENTRANT, CALLBACK. */
motte_status motte_queue_dispatch(motte_queue *queue, size_t max, size_t *out_count);

/** For programs without a loop: waits until dispatch has work; PENDING after the timeout.
 *  Thread: owner. Result: -. Errors: REENTRANT. */
motte_status motte_queue_wait(motte_queue *queue, int64_t timeout_ms);

/* How a queued write ended: OK and the version it made, or the error, which motte_last_error() describes. */
typedef motte_status (*motte_write_done_fn)(void *userdata, motte_status status, uint64_t version);

/** Queues a write for the realm's own thread and returns at once. A later motte_queue_dispatch() begins it when nobody
 *  else is writing, calls `work`, commits, and calls `done`; queued writes run in order. A code other than 0 from
 *  `work` undoes its write, and `done` gets MOTTE_E_CALLBACK; without a `done` the dispatch fails with it. Both get
 *  userdata, which is freed after them. A write that has not begun when the realm is closed, or its last handle
 *  released, never runs; its userdata is freed. The realm needs a queue.
 *  Thread: any. Result: -. Optional: out_ticket. Errors: FROZEN. */
motte_status motte_realm_queue_write(motte_realm *realm, motte_realm_fn work, motte_write_done_fn done, void *userdata,
                                     motte_free_fn free_userdata, uint64_t *out_ticket);

/** Cancels a queued write that has not begun; UNCHANGED if it has. `done` is not called.
 *  Thread: any. Result: -. Errors: FROZEN. */
motte_status motte_realm_cancel_queued(motte_realm *realm, uint64_t ticket);

/* ---------------------------------------------------------------------------------------------------- reference
 *
 * Handles belong to the thread of their realm. A reference can be passed to any thread and resolved there to a handle
 * to the same thing, in a realm of that thread and of the same file. It pins the version it was made at until it is
 * resolved or released. */

/** A reference to an object, a collection or a query.
 *  Thread: owner. Result: O. Errors: OBJECT_DELETED, WRONG_KIND, OUT_OF_HANDLES. */
motte_status motte_reference_new(const void *handle, motte_reference **out_reference);

/** Resolves a reference, once: a handle of the kind that it was made from. A realm that shows an older version
 *  refreshes first. NOT_FOUND, and the reference stays as it is, if the thing has been deleted, the realm is of
 *  another file, the write that the reference was made in is not committed, or the part of it that made the object was
 *  undone.
 *  Thread: owner. Result: O. Errors: INVALID_ARGUMENT, OUT_OF_HANDLES. */
motte_status motte_reference_resolve(motte_reference *reference, motte_realm *realm, void **out_handle);

/** The counterpart in a realm of this thread of an object, a collection or a query of any realm of the same file that
 *  may be used here, above all of something frozen: motte_freeze() the other way, without a reference. A realm that
 *  shows an older version refreshes first. NOT_FOUND: what it stands for is deleted there, or the realm is of another
 *  file.
 *  Thread: owner. Result: O. Errors: WRONG_KIND, OBJECT_DELETED, OUT_OF_HANDLES. */
motte_status motte_thaw(const void *handle, motte_realm *realm, void **out_handle);

/* ---------------------------------------------------------------------------------------------------- sections
 *
 * A collection in sections: elements with the same key together, sections in the order of their first element. Keys are
 * values; those of different types are different keys. Sections follow their collection; sort it by the section
 * key first, and the sections are in that order too. motte_freeze() and motte_clone() take sections as well; a key
 * function is called when they are frozen, and not again. If the object that owns the collection is deleted, there are
 * no sections. */

/* Writes the key of the element at `index` to `out_key`; texts in it are copied when it returns. It is called for each
 * element whenever an element may have another key, in the first call that needs the sections. It can only read: in it,
 * calls that change something in the realm, begin or end a write or refresh are REENTRANT and do nothing. It is called
 * on the thread that makes that call, which is another one where a section is resolved from a reference. */
typedef motte_status (*motte_section_key_fn)(void *userdata, const motte_coll *coll, size_t index,
                                             motte_value *out_key);

enum {
    MOTTE_SECTIONS_FIRST_LETTER = 0x1 /* of a text: its first letter as an upper-case one, "#" if it begins with none */
};

/** By the value at the end of a key path through links, "owner.city"; null where a link on the way is. `self` for
 *  collections of plain values. `flags` are MOTTE_SECTIONS_*.
 *  Thread: owner. Result: O. Errors: UNKNOWN_PROPERTY, WRONG_TYPE, OUT_OF_HANDLES. */
motte_status motte_sections_by_path(const motte_coll *coll, const char *path, size_t path_size, uint32_t flags,
                                    motte_sections **out_sections);

/** By a function.
 *  Thread: owner. Result: O. Errors: OUT_OF_HANDLES. */
motte_status motte_sections_by_callback(const motte_coll *coll, motte_section_key_fn callback, void *userdata,
                                        motte_free_fn free_userdata, motte_sections **out_sections);

/** How many sections there are.
 *  Thread: owner. Result: -. Errors: CALLBACK, REENTRANT. */
motte_status motte_sections_count(const motte_sections *sections, size_t *out_count);

/** The key of a section.
 *  Thread: owner. Result: H. Errors: OUT_OF_BOUNDS, CALLBACK, REENTRANT. */
motte_status motte_sections_key(const motte_sections *sections, size_t index, motte_value *out_key);

/** The elements of a section, as results that follow its key wherever the section moves, and are empty while there is
 *  no such section.
 *  Thread: owner. Result: O. Errors: OUT_OF_BOUNDS, CALLBACK, REENTRANT, OUT_OF_HANDLES. */
motte_status motte_sections_get(const motte_sections *sections, size_t index, motte_coll **out_coll);

/** The index of the section with a key, or NOT_FOUND.
 *  Thread: owner. Result: -. Errors: CALLBACK, REENTRANT. */
motte_status motte_sections_find(const motte_sections *sections, const motte_value *key, size_t *out_index);

/** Where the element of the collection at `position` is: its section, and its index in that.
 *  Thread: owner. Result: -. Errors: OUT_OF_BOUNDS, CALLBACK, REENTRANT. */
motte_status motte_sections_locate(const motte_sections *sections, size_t position, size_t *out_section,
                                   size_t *out_index);

/* ---------------------------------------------------------------------------------------------------- groups
 *
 * The objects of a collection put together by keys, "age > 20 GROUP(city) COUNT, AVG(age) SORT(COUNT DESC)": a column
 * for each key and each aggregate, a row for each group (docs/groups.md). Groups follow their collection: they are
 * computed on the first look and again where the realm shows something else. Values that are handed out live until
 * then, as those of a collection do, but not longer than the last handle to the groups. motte_freeze() and
 * motte_clone() take groups as well. */

/* Bits of out_flags of motte_groups_column(). */
enum {
    MOTTE_GROUP_KEY = 0x1,     /* a key; without it an aggregate */
    MOTTE_GROUP_NULLABLE = 0x2 /* may be null */
};

/** Groups of the elements that match the query text, which has a GROUP clause. Nothing is computed yet. args are
 *  copied.
 *  Thread: owner. Result: O. Errors: UNKNOWN_PROPERTY, QUERY_SYNTAX, QUERY_INVALID, QUERY_ARGUMENT, UNSUPPORTED,
 *  WRONG_TYPE, OUT_OF_HANDLES. */
motte_status motte_coll_group(const motte_coll *coll, const char *text, size_t text_size, const motte_value *args,
                              size_t arg_count, motte_groups **out_groups);

/** How many groups there are.
 *  Thread: owner. Result: -. Errors: OVERFLOW. */
motte_status motte_groups_count(const motte_groups *groups, size_t *out_count);

/** How many columns they have; keys come first, then aggregates, as they were written.
 *  Thread: owner. Result: -. */
motte_status motte_groups_column_count(const motte_groups *groups, size_t *out_count);

/** A column: its name, "city" or "AVG(age)" or what AS says; the type of its values; MOTTE_GROUP_*; the class of
 *  links, else 0. The name lives as long as the handle.
 *  Thread: owner. Result: H. Optional: out_name, out_type, out_flags, out_target. Errors: OUT_OF_BOUNDS. */
motte_status motte_groups_column(const motte_groups *groups, size_t column, motte_str *out_name, motte_type *out_type,
                                 uint32_t *out_flags, motte_class *out_target);

/** The column with a name, or NOT_FOUND.
 *  Thread: owner. Result: -. */
motte_status motte_groups_find_column(const motte_groups *groups, const char *name, size_t name_size,
                                      size_t *out_column);

/** One value of a group; MOTTE_NULL for null.
 *  Thread: owner. Result: V. Errors: OUT_OF_BOUNDS, OVERFLOW. */
motte_status motte_groups_get(const motte_groups *groups, size_t row, size_t column, motte_value *out_value);

/** The group with these keys, all of them in the order of the columns, or NOT_FOUND.
 *  Thread: owner. Result: -. Errors: OVERFLOW. */
motte_status motte_groups_find(const motte_groups *groups, const motte_value *keys, size_t key_count, size_t *out_row);

/** Groups first ... first + count of a column of type int, bool (0, 1) or link (object keys, -1 for null), as the bulk
 *  reads do; MOTTE_END stands for none left.
 *  Thread: owner. Result: see text. Optional: out_validity. Errors: OUT_OF_BOUNDS, WRONG_TYPE, OVERFLOW. */
motte_status motte_groups_read_ints(const motte_groups *groups, size_t column, size_t first, size_t count,
                                    int64_t *out_values, uint8_t *out_validity, size_t *out_count);

/** The same of a column of type float, double or int, as doubles; MOTTE_END stands for none left.
 *  Thread: owner. Result: see text. Optional: out_validity. Errors: OUT_OF_BOUNDS, WRONG_TYPE, OVERFLOW. */
motte_status motte_groups_read_doubles(const motte_groups *groups, size_t column, size_t first, size_t count,
                                       double *out_values, uint8_t *out_validity, size_t *out_count);

/** The same of any column, as values; MOTTE_END stands for none left.
 *  Thread: owner. Result: V. Errors: OUT_OF_BOUNDS, OVERFLOW. */
motte_status motte_groups_read_values(const motte_groups *groups, size_t column, size_t first, size_t count,
                                      motte_value *out_values, size_t *out_count);

/** The groups as a stream of one batch, as they are now. Of the options only flags and unit are of use here; they may
 *  be NULL. out_stream as in motte_arrow_read().
 *  Thread: owner. Result: O. Errors: OVERFLOW. */
motte_status motte_groups_arrow(const motte_groups *groups, const motte_arrow_options *options,
                                struct ArrowArrayStream *out_stream);

/* ---------------------------------------------------------------------------------------------------- observe
 *
 * A token is notified of changes between the versions its realm shows. With a callback, change sets are passed to it in
 * the calls that convention 8 lists. Without (NULL), they wait for motte_token_next(). Beginning to observe inside a
 * write is ALREADY_IN_WRITE, of frozen things FROZEN.
 *
 * What keeps a token's changes from being found out, as a section function that fails or a sum that overflows, is that
 * token's alone: it gets a change set with MOTTE_CHANGES_FAILED, once for the same failure, and motte_token_next()
 * returns the failure. What it gets next starts over. */

/* The change set is valid during the call; a clone (motte_clone()) stays valid. */
typedef motte_status (*motte_changes_fn)(void *userdata, const motte_changes *changes);

/** Notifies of every version the realm advances to, with MOTTE_CHANGES_SCHEMA where the schema is another one. `flags`
 *  is 0.
 *  Thread: owner. Result: O. Errors: ALREADY_IN_WRITE, FROZEN, OUT_OF_HANDLES. */
motte_status motte_observe_realm(const motte_realm *realm, uint32_t flags, motte_changes_fn callback, void *userdata,
                                 motte_free_fn free_userdata, motte_token **out_token);

/** Notifies of changed properties and of the deletion of an object. `flags` is 0.
 *  Thread: owner. Result: O. Errors: ALREADY_IN_WRITE, FROZEN, OBJECT_DELETED, OUT_OF_HANDLES. */
motte_status motte_observe_object(const motte_object *object, uint32_t flags, motte_changes_fn callback, void *userdata,
                                  motte_free_fn free_userdata, motte_token **out_token);

/** Notifies of changes to a collection; the first change set is an initial one. `flags` is 0.
 *  Thread: owner. Result: O. Errors: ALREADY_IN_WRITE, FROZEN, OBJECT_DELETED, OUT_OF_HANDLES. */
motte_status motte_observe_coll(const motte_coll *coll, uint32_t flags, motte_changes_fn callback, void *userdata,
                                motte_free_fn free_userdata, motte_token **out_token);

/** Notifies which groups came, went or have other values; the first change set is an initial one. Groups are
 *  distinguished by their keys: a group whose keys stay and whose aggregates are other ones is modified, and one that
 *  changes its place in a SORT is deleted and inserted, or modified where the others move around it. Places are those
 *  among the groups before and after. A commit that changes no property that the groups and their query read notifies
 *  of nothing. `flags` is 0.
 *  Thread: owner. Result: O. Errors: ALREADY_IN_WRITE, FROZEN, OBJECT_DELETED, OUT_OF_HANDLES. */
motte_status motte_observe_groups(const motte_groups *groups, uint32_t flags, motte_changes_fn callback, void *userdata,
                                  motte_free_fn free_userdata, motte_token **out_token);

/* Key paths limit what a token is notified of: names of properties with dots between them, "toys.brand.name", through
 * links, lists, sets, maps, inverse properties, embedded objects and mixed values. Inserted and deleted elements, and
 * replaced positions of a list, are always reported. A path reports a change of each property on its way and of the
 * last one; a path that ends in a list reports its insertions and deletions. No path at all (path_count 0): only
 * insertions and deletions. Without key paths, a collection's token is notified of everything its elements reach over
 * at most four links, an object's of the object's own properties. Paths are copied. */

/** As motte_observe_object(), for the changes that key paths name. The change set names the properties that the paths
 *  begin with. `flags` is 0.
 *  Thread: owner. Result: O. Errors: UNKNOWN_PROPERTY, ALREADY_IN_WRITE, FROZEN, OBJECT_DELETED, OUT_OF_HANDLES. */
motte_status motte_observe_object_paths(const motte_object *object, const motte_str *paths, size_t path_count,
                                        uint32_t flags, motte_changes_fn callback, void *userdata,
                                        motte_free_fn free_userdata, motte_token **out_token);

/** As motte_observe_coll(), for the changes that key paths name. `flags` is 0.
 *  Thread: owner. Result: O. Errors: UNKNOWN_PROPERTY, ALREADY_IN_WRITE, FROZEN, OBJECT_DELETED, OUT_OF_HANDLES. */
motte_status motte_observe_coll_paths(const motte_coll *coll, const motte_str *paths, size_t path_count, uint32_t flags,
                                      motte_changes_fn callback, void *userdata, motte_free_fn free_userdata,
                                      motte_token **out_token);

/* Flags of motte_observe_sections() and motte_observe_section(). */
enum {
    MOTTE_OBSERVE_PATHS = 0x1 /* `paths` limit what is reported; without it they are ignored */
};

/** Notifies of changes to sections and their elements; a change of its key that moves an element is always reported.
 *  Thread: owner. Result: O. Errors: UNKNOWN_PROPERTY, ALREADY_IN_WRITE, FROZEN, OBJECT_DELETED, OUT_OF_HANDLES. */
motte_status motte_observe_sections(const motte_sections *sections, const motte_str *paths, size_t path_count,
                                    uint32_t flags, motte_changes_fn callback, void *userdata,
                                    motte_free_fn free_userdata, motte_token **out_token);

/** Notifies of changes to one section: to its elements, and when the section is inserted or deleted, but not when it
 *  moves as a whole. A section with that key need not exist yet.
 *  Thread: owner. Result: O. Errors: UNKNOWN_PROPERTY, ALREADY_IN_WRITE, FROZEN, OBJECT_DELETED, OUT_OF_HANDLES. */
motte_status motte_observe_section(const motte_sections *sections, const motte_value *key, const motte_str *paths,
                                   size_t path_count, uint32_t flags, motte_changes_fn callback, void *userdata,
                                   motte_free_fn free_userdata, motte_token **out_token);

/** The next change set of a token without callback, or PENDING, or END after the last one of a stopped token or of a
 *  source that is gone; or the error that has kept the token's changes from being found out.
 *  Thread: owner. Result: O. Errors: OVERFLOW, OUT_OF_HANDLES. */
motte_status motte_token_next(motte_token *token, motte_changes **out_changes);

/** Ends the observation: no call of the callback begins after this. When called on another thread than the owner's, a
 *  call that was under way may still run. UNCHANGED if it had ended. motte_release() does it too.
 *  Thread: any. Result: -. */
motte_status motte_token_stop(motte_token *token);

/* ---------------------------------------------------------------------------------------------------- changes
 *
 * A change set never changes and belongs to no thread. Positions ascend. Deletions and old positions count in the
 * collection as it was, insertions and new positions as it is. */

/* Bits of motte_changes_details.flags. */
enum {
    MOTTE_CHANGES_INITIAL = 0x1, /* nothing changed yet: the state that observation starts from */
    MOTTE_CHANGES_DELETED = 0x2, /* the object, or the owner of the collection, was deleted; nothing follows */
    MOTTE_CHANGES_SCHEMA = 0x4,  /* of a realm: classes, properties or indexes came or went */
    MOTTE_CHANGES_FAILED = 0x8   /* what changed could not be found out: see motte_changes_failure() */
};

typedef uint32_t motte_changes_kind;
enum {
    MOTTE_CHANGES_REALM = 1,
    MOTTE_CHANGES_OBJECT = 2,
    MOTTE_CHANGES_COLL = 3,
    MOTTE_CHANGES_SECTIONS = 4
};

typedef struct motte_changes_details {
    uint32_t struct_size;
    motte_changes_kind kind;
    uint32_t flags;
    uint32_t reserved;
    uint64_t from_version;
    uint64_t to_version;
    uint64_t deletion_count;
    uint64_t insertion_count;
    uint64_t modification_count;
    uint64_t prop_count; /* changed properties of an object */
} motte_changes_details;

/** The counts of a change set.
 *  Thread: any. Result: -. */
motte_status motte_changes_info(const motte_changes *changes, motte_changes_details *out_details);

/** OK, or the error that has kept what changed from being found out, of which motte_last_error() tells as if this call
 *  had failed. The change set says nothing else.
 *  Thread: any. Result: -. Errors: OVERFLOW. */
motte_status motte_changes_failure(const motte_changes *changes);

/** Old positions of deleted elements.
 *  Thread: any. Result: -. Optional: out_indexes. */
motte_status motte_changes_deletions(const motte_changes *changes, size_t *out_indexes, size_t capacity,
                                     size_t *out_count);

/** New positions of inserted elements.
 *  Thread: any. Result: -. Optional: out_indexes. */
motte_status motte_changes_insertions(const motte_changes *changes, size_t *out_indexes, size_t capacity,
                                      size_t *out_count);

/** Modified elements: old and new position, paired.
 *  Thread: any. Result: -. Optional: out_old_indexes, out_new_indexes. */
motte_status motte_changes_modifications(const motte_changes *changes, size_t *out_old_indexes, size_t *out_new_indexes,
                                         size_t capacity, size_t *out_count);

typedef uint32_t motte_changes_part;
enum {
    MOTTE_CHANGES_DELETIONS = 1,
    MOTTE_CHANGES_INSERTIONS = 2,
    MOTTE_CHANGES_MODIFICATIONS = 3
};

/* Positions first ... first + count - 1. */
typedef struct motte_range {
    size_t first;
    size_t count;
} motte_range;

/** The same as ranges of positions that follow each other: of deletions old ones, of insertions and modifications new
 *  ones. Of sections, whose positions are in several, every range has one position.
 *  Thread: any. Result: -. Optional: out_ranges. */
motte_status motte_changes_ranges(const motte_changes *changes, motte_changes_part part, motte_range *out_ranges,
                                  size_t capacity, size_t *out_count);

/** Elements that changed their place: for each, its position in the old collection, which is one of the deletions, and
 *  in the new one, which is one of the insertions. Of lists, what was moved with motte_list_move(); of sorted results,
 *  lists, backlinks and snapshots over them, objects in another place. Change sets that skipped commits have none.
 *  Thread: any. Result: -. Optional: out_from, out_to. */
motte_status motte_changes_moves(const motte_changes *changes, size_t *out_from, size_t *out_to, size_t capacity,
                                 size_t *out_count);

/** Of a map: deleted, inserted or modified keys; a key whose object was deleted is modified. None for other
 *  collections.
 *  Thread: any. Result: H. Optional: out_keys. */
motte_status motte_changes_keys(const motte_changes *changes, motte_changes_part part, motte_str *out_keys,
                                size_t capacity, size_t *out_count);

/** Of sections: old indexes of deleted ones (MOTTE_CHANGES_DELETIONS), new indexes of inserted ones
 *  (MOTTE_CHANGES_INSERTIONS). Elements of a deleted section are no deletions, those of an inserted one are insertions.
 *  Thread: any. Result: -. Optional: out_indexes. */
motte_status motte_changes_sections(const motte_changes *changes, motte_changes_part part, size_t *out_indexes,
                                    size_t capacity, size_t *out_count);

/** Of sections: for each of motte_changes_deletions(), motte_changes_insertions() or motte_changes_modifications(),
 *  which are positions in a section, the index of that section; of modifications, the one it has now. Deletions count
 *  in the sections as they were.
 *  Thread: any. Result: -. Optional: out_indexes. */
motte_status motte_changes_section_indexes(const motte_changes *changes, motte_changes_part part, size_t *out_indexes,
                                           size_t capacity, size_t *out_count);

/** Changed properties of an observed object.
 *  Thread: any. Result: -. Optional: out_props. */
motte_status motte_changes_props(const motte_changes *changes, motte_prop *out_props, size_t capacity,
                                 size_t *out_count);

/** Values of a changed property before and after; NOT_FOUND if it did not change. A collection, and an old value of
 *  more than 64 bytes, or of a commit that changed the property of more than 65,536 objects, which is not stored,
 *  reads as null. A link whose target changed has the same value twice.
 *  Thread: any. Result: H. Optional: out_old, out_new. */
motte_status motte_changes_values(const motte_changes *changes, motte_prop prop, motte_value *out_old,
                                  motte_value *out_new);

/* ---------------------------------------------------------------------------------------------------- values as text
 *
 * Pure functions of values. Output texts follow the protocol of arrays and are not terminated. */

/** The order of values of any types, which mixed properties, sets and sorting use: null < bool < numbers < string <
 *  data < timestamp < object id < UUID < link < list < map; numbers of all types by their exact value, NaN first.
 *  out_order is -1, 0 or 1.
 *  Thread: any. Result: -. */
motte_status motte_value_compare(const motte_value *left, const motte_value *right, int32_t *out_order);

/** A decimal from digits with an optional sign, point and exponent, or from "NaN", "Inf", "-Inf". Nothing is rounded:
 *  what 34 digits and an exponent of -6176 to 6111 cannot hold is OVERFLOW; a zero gets the nearest exponent.
 *  Thread: any. Result: -. Errors: INVALID_ARGUMENT, OVERFLOW. */
motte_status motte_decimal_parse(const char *text, size_t text_size, motte_decimal *out_decimal);

/** The shortest exact text: "3.75", "1.23E6".
 *  Thread: any. Result: -. Optional: out_text. */
motte_status motte_decimal_format(const motte_decimal *decimal, char *out_text, size_t capacity, size_t *out_count);

/** The shortest decimal that reads back as the same double.
 *  Thread: any. Result: -. */
motte_status motte_decimal_from_double(double real, motte_decimal *out_decimal);

/** The nearest double.
 *  Thread: any. Result: -. */
motte_status motte_decimal_to_double(const motte_decimal *decimal, double *out_real);

/** By value, 1.0 equal to 1.00; NaN equal to itself and below everything. out_order is -1, 0 or 1.
 *  Thread: any. Result: -. */
motte_status motte_decimal_compare(const motte_decimal *left, const motte_decimal *right, int32_t *out_order);

/** A new object id, above all others this process made.
 *  Thread: any. Result: -. */
motte_status motte_object_id_new(motte_object_id *out_id);

/** An object id from 24 hexadecimal digits.
 *  Thread: any. Result: -. */
motte_status motte_object_id_parse(const char *text, size_t text_size, motte_object_id *out_id);

/** A new random UUID, version 4.
 *  Thread: any. Result: -. */
motte_status motte_uuid_new(motte_uuid *out_uuid);

/** A UUID from its canonical text of 36 characters.
 *  Thread: any. Result: -. */
motte_status motte_uuid_parse(const char *text, size_t text_size, motte_uuid *out_uuid);

/** The text of a motte_object_id or motte_uuid, by its MOTTE_TYPE_*.
 *  Thread: any. Result: -. Optional: out_text. Errors: WRONG_TYPE. */
motte_status motte_bytes_format(motte_type type, const void *bytes, char *out_text, size_t capacity, size_t *out_count);

/** A timestamp from RFC 3339 text with its zone, "2013-01-01T10:00:00.25+02:00", or from a date, its midnight in UTC.
 *  Years outside 0000 to 9999 have a sign and at least five digits; what is below a nanosecond is refused.
 *  Thread: any. Result: -. */
motte_status motte_timestamp_parse(const char *text, size_t text_size, motte_timestamp *out_timestamp);

/** RFC 3339 text in UTC, to the nanosecond where needed, which motte_timestamp_parse reads whatever the year.
 *  Thread: any. Result: -. Optional: out_text. */
motte_status motte_timestamp_format(const motte_timestamp *timestamp, char *out_text, size_t capacity,
                                    size_t *out_count);

/* MOTTE_DECLARATIONS_END */

#ifdef __cplusplus
}

#if __cplusplus >= 201103L
/* motte_release(&realm): pass the handle, not the address of its variable. */
template <typename T> motte_status motte_release(T *const *address) = delete;
#endif

#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
/* Takes handles and void pointers only, so that motte_release(&realm) does not compile. Without its bracket the name is
 * that of the function. */
#define MOTTE_EITHER_HANDLE(type) type * : motte_release, const type * : motte_release
#define motte_release(handle)                                                                                          \
    _Generic((handle),                                                                                                 \
        void *: motte_release,                                                                                         \
        const void *: motte_release,                                                                                   \
        MOTTE_EITHER_HANDLE(motte_error),                                                                              \
        MOTTE_EITHER_HANDLE(motte_config),                                                                             \
        MOTTE_EITHER_HANDLE(motte_schema),                                                                             \
        MOTTE_EITHER_HANDLE(motte_realm),                                                                              \
        MOTTE_EITHER_HANDLE(motte_object),                                                                             \
        MOTTE_EITHER_HANDLE(motte_coll),                                                                               \
        MOTTE_EITHER_HANDLE(motte_query),                                                                              \
        MOTTE_EITHER_HANDLE(motte_insert),                                                                             \
        MOTTE_EITHER_HANDLE(motte_queue),                                                                              \
        MOTTE_EITHER_HANDLE(motte_token),                                                                              \
        MOTTE_EITHER_HANDLE(motte_changes),                                                                            \
        MOTTE_EITHER_HANDLE(motte_sections),                                                                           \
        MOTTE_EITHER_HANDLE(motte_groups),                                                                             \
        MOTTE_EITHER_HANDLE(motte_reference),                                                                          \
        MOTTE_EITHER_HANDLE(motte_report),                                                                             \
        MOTTE_EITHER_HANDLE(motte_migration))(handle)
#endif

#endif
