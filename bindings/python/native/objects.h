/* motte._objects: what Python does per object, in C, above the functions of motte.h.
 *
 * Everything in here is a short way for what is plainly right. Where anything else is the matter (a value of another
 * type, an object that is gone, the wrong thread, a call that fails) nothing has been changed, and Python's own layers
 * do it again the long way, which knows all the rules and has all the messages. So no message is in two places, and
 * no error of the library is looked at here. What Python code raises that was called on the way (a time zone, a signal
 * handler) is nobody else's to say again, and comes out.
 *
 * Python code runs wherever an object is made or dropped, garbage collection among it: it may close the database,
 * delete the object, or do the same once more. So whatever is used after that is held, or looked at again.
 *
 * Python's limited API, of 3.10. One interpreter: `module.c` refuses a second one.
 */
#ifndef MOTTE_PYTHON_OBJECTS_H
#define MOTTE_PYTHON_OBJECTS_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#include <structmember.h>

#include <stdbool.h>
#include <stdint.h>

#include "motte.h"

/* ------------------------------------------------------------------------------------------------ objects */

/* What a property of a new object starts with. */
enum {
    START_DEFAULT = 0,  /* a value */
    START_FACTORY = 1,  /* what a function makes */
    START_ASKED = 2,    /* what the class says, which may be an error */
    START_COMPUTED = 3, /* nothing: it cannot be given */
};

typedef struct {
    PyObject *name;
    PyObject *start;
    /* Types that are taken without a closer look, NULL while they are not known. */
    PyObject *types;
    int kind;
} Entry;

/* What the constructor of a model class goes by. */
typedef struct {
    PyObject_HEAD Entry *entries;
    Py_ssize_t count;
    bool knows_types;
} Plan;

/* Base of Model. Managed: `row` is a Row, and `key` a key of it; else `values` has the values by name, or as long as
 * nobody has asked for that, `cells` in the order of `plan`. */
typedef struct {
    PyObject_HEAD PyObject *row;
    /* The Seen of the write that it was made or read in, NULL outside of one. */
    PyObject *seen;
    PyObject *values;
    PyObject **cells;
    Plan *plan;
    int64_t key;
} Object;

/* Base of Property: the descriptor of a property of a model class. */
typedef struct {
    PyObject_HEAD PyObject *name;
    /* The row that was used last, by its serial, and where the property is in it. */
    uint64_t serial;
    Py_ssize_t place;
    bool is_computed;
} Property;

/* Base of Guard: whose a database is at the moment. All that comes from the database has the guard, and asks it. */
typedef struct {
    PyObject_HEAD PyObject *write;
    /* What objects that are made or read now were seen in. */
    PyObject *seen;
} Guard;

/* Base of Core: an open database. */
typedef struct {
    PyObject_HEAD PyObject *guard;
    PyObject *stored;
    PyObject *rows;
    PyObject *class_ids;
} Core;

/* Base of Write. */
typedef struct {
    PyObject_HEAD PyObject *task;
} Write;

/* Base of Seen: a write, or a part of one, that objects were seen in; open until it is known what is lost of it. */
typedef struct {
    PyObject_HEAD bool is_open;
} Seen;

enum {
    SLOT_PLAIN = 1,  /* one value */
    SLOT_READS = 2,  /* read here */
    SLOT_WRITES = 4, /* written here */
    SLOT_SHOWS = 8,  /* read here for to_dict(), which makes dicts of embedded objects */
};

/* A property of a class in one database. */
typedef struct {
    PyObject *name;
    /* Of an enum: the class, and its members by value. Or NULL. */
    PyObject *members;
    PyObject *by_value;
    motte_prop prop;
    uint32_t type;
    uint32_t target;
    uint32_t flags;
    /* Where it is in the plan of its class. */
    uint32_t planned;
} Slot;

/* Base of Row: a class in one database. */
typedef struct {
    PyObject_HEAD PyObject *database;
    PyObject *model;
    Plan *plan;
    allocfunc allocate;
    motte_realm *realm;
    uint32_t class_id;
    uint32_t flags;
    uint64_t serial;
    Py_ssize_t count;
    Slot *slots;
    /* Those of one value: their places among `slots`, and their ids. */
    Py_ssize_t plain_count;
    Py_ssize_t *plain;
    motte_prop *props;
} Row;

enum {
    ROW_ADDS = 1,  /* its objects can be added here: they are not embedded */
    ROW_SHOWS = 2, /* to_dict() is made here: no attribute stands before a property */
    /* So many bits up is the type of the primary key, 0 where there is none, or one with a converter. */
    ROW_KEY_TYPE = 8,
};

extern PyTypeObject *object_type, *property_type, *guard_type, *core_type, *write_type, *seen_type, *row_type,
    *cursor_type, *plan_type;

/* ------------------------------------------------------------------------------------------------ module.c */

/* What Python's layers give at import. */
typedef struct {
    PyObject *unknown;      /* (class, name) -> the message for a name that is no property */
    PyObject *copied;       /* a value as to_dict() has it */
    PyObject *current_task; /* () -> the task that runs */
    PyObject *decoders;     /* by type: (aux, low, high, None) -> value */
    PyObject *words;        /* (value, type) -> the three words of a motte_value that points nowhere */
    PyObject *error;        /* what `words` raises for a value that does not fit */
    PyObject *datetime;     /* the class */
    PyObject *timedelta;    /* the class */
    PyObject *epoch;        /* 1970 */
    PyObject *classes;      /* by type: the class whose values `words` takes */
} Hooks;

extern Hooks hooks;

/* Names that are looked up. */
typedef struct {
    PyObject *get, *set, *of_class, *unmanaged_value, *plan, *properties, *make, *missing, *new, *value, *days,
        *seconds, *microseconds, *tzinfo, *running_loop, *check_value, *refused, *taken_types, *check_given, *values,
        *ended, *abandon, *awaited;
} Names;

extern Names names;

bool add_types(PyObject *module);
bool add_plan_type(PyObject *module);
bool add_object_type(PyObject *module);
bool add_property_type(PyObject *module);
bool add_row_types(PyObject *module);
bool add_cursor_type(PyObject *module);
bool add_block_type(PyObject *module);
PyTypeObject *made_type(PyObject *module, PyType_Spec *spec);

/* Now and then in a long loop: other threads that wait run, and handlers of signals. False with an error. Python code
 * may run. */
bool give_way(void);

/* Does `Py_DECREF` of what a name held, after giving it another value. */
void replace(PyObject **place, PyObject *value);

static inline bool is_none(PyObject *value) { return value == NULL || value == Py_None; }

/* ------------------------------------------------------------------------------------------------ plan.c, model.c */

/* A new reference; NULL with an error. */
Plan *plan_of(PyTypeObject *type);

/* The values of a new object: those that are given, and what the others start with. NULL with an error. */
PyObject **planned_values(Plan *plan, PyObject *type, PyObject *given);
void drop_cells(PyObject **cells, Py_ssize_t count);

/* The values of an unmanaged object by name, borrowed; NULL with an error. From then on it keeps them so. */
PyObject *named_values(Object *object);
void forget_values(Object *object);

/* ------------------------------------------------------------------------------------------------ rows.c */

/* Where a property is in a row, NULL where it is not. */
Slot *slot_of(Row *row, Property *property);

/* The open write, borrowed; NULL where there is none. */
PyObject *open_write(Core *core);

/* What objects are seen in now, borrowed; NULL outside of writes. */
PyObject *seen_now(Core *core);

/* Whether the task that runs may use the database: it has no write open, or the write is this task's. False also
 * where only Python can tell, or with an error. Python code may run. */
bool is_own_task(Core *core);

/* The key of an object that was not lost with a write. False where only Python can tell, or with an error. */
bool live_key(Object *object, Row *row, int64_t *key);

/* An object of a row, seen now or as that says. NULL with an error. */
PyObject *object_of(Row *row, int64_t key);
PyObject *object_in(Row *row, int64_t key, PyObject *seen);

/* An object of any class. NULL with an error. */
PyObject *linked_object(Core *core, uint32_t class_id, int64_t key);

/* The row of a class, a new reference; NULL where Python has to make it, or with an error. */
Row *row_of_class(Core *core, uint32_t class_id);
Row *row_of_model(PyObject *database, PyObject *model);

/* Makes an unmanaged object a managed one, seen as that says; false if it is one already, also by what another
 * thread did meanwhile. No Python code runs; whoever stored it calls forget_values(). */
bool store(Object *object, Row *row, int64_t key, PyObject *seen);
void unstore(Object *object);

/* ------------------------------------------------------------------------------------------------ values.c */

/* What `decoded` gives where the long way has to be gone. Never counted. */
extern PyObject *const NOT_PLAIN;

/* A new reference, NULL with an error, or NOT_PLAIN. */
PyObject *decoded(Row *row, const Slot *slot, const motte_value *value);

/* Whether the value fits plainly; false also with an error. What it points to lives as long as `owner`, a new reference
 * or NULL. */
bool encoded(Row *row, const Slot *slot, PyObject *value, motte_value *out, PyObject **owner);

/* ------------------------------------------------------------------------------------------------ block.c */

PyObject *end_block(PyObject *self, PyObject *arguments);
PyObject *end_block_async(PyObject *self, PyObject *arguments);

/* ------------------------------------------------------------------------------------------------ methods */

/* So many go to the library together in add_all(). */
extern Py_ssize_t most_values;

PyObject *claim(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *add(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *add_all(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *find(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *shown(PyObject *module, PyObject *object);
PyObject *objects_of(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *iterated(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *element_of(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *unraised(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *lent(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *last_error(PyObject *module, PyObject *status);

#endif
