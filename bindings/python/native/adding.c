/* New objects: one by one call of the library, or many of one class. */
#include "objects.h"

#include <stdlib.h>
#include <string.h>

/* Values that go to the library together, 24 MB; more are several calls with a savepoint before them, which costs the
 * write a log of what it changes from there on. */
Py_ssize_t most_values = 1 << 20;

/* What the values point to, until the library has copied it. */
typedef struct {
    PyObject **held;
    size_t count, room;
} Kept;

static bool keep(Kept *kept, PyObject *value) {
    if (kept->count == kept->room) {
        size_t room = kept->room == 0 ? 256 : kept->room * 2;
        PyObject **held = PyMem_Realloc(kept->held, room * sizeof *held);
        if (held == NULL) return false;
        kept->held = held;
        kept->room = room;
    }
    Py_INCREF(value);
    kept->held[kept->count++] = value;
    return true;
}

static void let_go(Kept *kept) {
    while (kept->count > 0) Py_DECREF(kept->held[--kept->count]);
}

/* A collection that a new object need not be given. */
static bool is_empty(PyObject *value) {
    if (is_none(value)) return true;
    if (PyList_CheckExact(value)) return PyList_Size(value) == 0;
    if (PyDict_CheckExact(value)) return PyDict_Size(value) == 0;
    if (PyTuple_CheckExact(value)) return PyTuple_Size(value) == 0;
    return (PyObject *)Py_TYPE(value) == (PyObject *)&PySet_Type && PySet_Size(value) == 0;
}

/* Borrowed, None where there is none; of an unmanaged object. */
static PyObject *value_of(Object *object, const Slot *slot) {
    PyObject *value = NULL;
    if (object->cells != NULL) {
        value = object->cells[slot->planned];
    } else if (object->values != NULL && PyDict_Check(object->values)) {
        value = PyDict_GetItemWithError(object->values, slot->name);
        if (value == NULL) PyErr_Clear();
    }
    return value == NULL ? Py_None : value;
}

/* The values of an object that needs no other one stored and no call of its own. False where anything is not plain. */
static bool fill(Row *row, Object *object, motte_value *cells, Kept *kept) {
    if (object->row != NULL || (object->cells == NULL && object->values == NULL)) return false;
    if (object->cells != NULL && object->plan != row->plan) return false;
    Py_ssize_t cell = 0;
    for (Py_ssize_t index = 0; index < row->count; index++) {
        Slot *slot = &row->slots[index];
        PyObject *value = value_of(object, slot);
        if (!(slot->flags & SLOT_PLAIN)) {
            if (!is_empty(value)) return false;
            continue;
        }
        motte_value *out = &cells[cell++];
        /* Making the values of others may run code of the caller's, which drops this one. */
        Py_INCREF(value);
        bool is_done = slot->flags & SLOT_WRITES && encoded(row, slot, value, out);
        bool points = out->type == MOTTE_TYPE_STRING || out->type == MOTTE_TYPE_DATA;
        if (is_done && points) is_done = keep(kept, value);
        Py_DECREF(value);
        if (!is_done) return false;
    }
    return true;
}

/* The row that new objects of this type get in a database, if they can be added here. */
static Row *row_for(PyObject *database, PyObject *instance) {
    if (!PyObject_TypeCheck(instance, object_type)) return NULL;
    Row *row = row_of_model(database, (PyObject *)Py_TYPE(instance));
    if (row == NULL || !(row->flags & ROW_ADDS) || row->database != database) return NULL;
    Core *core = (Core *)database;
    return is_none(core->stored) && is_own_task(core) ? row : NULL;
}

/* add(database, object): whether it is stored now. */
PyObject *add(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count) {
    if (count != 2) return PyErr_Format(PyExc_TypeError, "add() takes a database and an object");
    Row *row = row_for(arguments[0], arguments[1]);
    if (row == NULL) Py_RETURN_FALSE;
    Py_INCREF(row);
    motte_value some[24], *cells = some;
    Kept kept = {NULL, 0, 0};
    if ((size_t)row->plain_count > sizeof some / sizeof *some) {
        cells = PyMem_Malloc((size_t)row->plain_count * sizeof *cells);
    }
    Object *object = (Object *)arguments[1];
    motte_key key = 0;
    bool is_done = cells != NULL && fill(row, object, cells, &kept) && object->row == NULL &&
                   motte_row_create(row->realm, row->class_id, row->props, cells, (size_t)row->plain_count,
                                    MOTTE_CREATE_NEW, &key, NULL) >= 0;
    bool is_noted = !is_done || note_made(row, key);
    if (is_done && is_noted) store(object, row, key);
    let_go(&kept);
    PyMem_Free(kept.held);
    if (cells != some) PyMem_Free(cells);
    Py_DECREF(row);
    return is_noted ? PyBool_FromLong(is_done) : NULL;
}

/* ------------------------------------------------------------------------------------------------ many */

/* So many objects, the marks telling that none is there twice. */
static bool fill_rows(Row *row, PyObject *objects, Py_ssize_t first, Py_ssize_t count, int64_t mark, motte_value *cells,
                      Kept *kept) {
    for (Py_ssize_t index = 0; index < count; index++) {
        PyObject *instance = PyTuple_GetItem(objects, first + index);
        if ((PyObject *)Py_TYPE(instance) != row->model) return false;
        Object *object = (Object *)instance;
        if (object->key == mark) return false;
        Py_INCREF(instance);
        bool is_done = fill(row, object, cells + index * row->plain_count, kept);
        if (is_done) object->key = mark;
        Py_DECREF(instance);
        if (!is_done) return false;
    }
    return true;
}

static Py_ssize_t most_rows(Row *row) { return 1 + most_values / row->plain_count; }

static bool insert_rows(motte_insert *insert, const motte_value *cells, Py_ssize_t count, motte_key *keys) {
    motte_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = motte_insert_rows(insert, cells, (size_t)count, keys);
    Py_END_ALLOW_THREADS;
    return status >= 0;
}

static bool insert_all(Row *row, PyObject *objects, Py_ssize_t total, motte_insert *insert, motte_key *keys) {
    static int64_t last_mark = INT64_MIN;
    int64_t mark = ++last_mark;
    Py_ssize_t most = total < most_rows(row) ? total : most_rows(row);
    motte_value *cells = PyMem_Calloc((size_t)most * (size_t)row->plain_count + 1, sizeof *cells);
    Kept kept = {NULL, 0, 0};
    bool is_done = cells != NULL;
    for (Py_ssize_t first = 0; first < total && is_done; first += most) {
        Py_ssize_t count = total - first < most ? total - first : most;
        is_done = fill_rows(row, objects, first, count, mark, cells, &kept) &&
                  insert_rows(insert, cells, count, keys + first);
        let_go(&kept);
    }
    PyMem_Free(kept.held);
    PyMem_Free(cells);
    return is_done;
}

/* All of them, or none. */
static bool insert_tuple(Row *row, PyObject *objects, Py_ssize_t total, motte_key *keys) {
    motte_insert *insert = NULL;
    if (motte_insert_new(row->realm, row->class_id, row->props, (size_t)row->plain_count, MOTTE_CREATE_NEW, &insert) <
        0) {
        return false;
    }
    uint64_t savepoint = 0;
    bool is_several = total > most_rows(row);
    bool is_done = !is_several || motte_realm_savepoint(row->realm, &savepoint) >= 0;
    if (is_done) {
        is_done = insert_all(row, objects, total, insert, keys);
        if (is_several && is_done) is_done = motte_realm_release_savepoint(row->realm, savepoint) >= 0;
        if (is_several && !is_done) motte_realm_roll_back(row->realm, savepoint);
    }
    motte_release(insert);
    return is_done;
}

/* add_all(database, list): whether all are stored now; otherwise none is. */
PyObject *add_all(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count) {
    if (count != 2 || !PyList_CheckExact(arguments[1])) {
        return PyErr_Format(PyExc_TypeError, "add_all() takes a database and a list");
    }
    /* Nobody changes a tuple meanwhile. */
    PyObject *objects = PyList_AsTuple(arguments[1]);
    if (objects == NULL) return NULL;
    Py_ssize_t total = PyTuple_Size(objects);
    Row *row = total < 2 ? NULL : row_for(arguments[0], PyTuple_GetItem(objects, 0));
    bool is_done = false, is_noted = true;
    motte_key *keys = NULL;
    if (row != NULL && row->plain_count > 0) keys = PyMem_Calloc((size_t)total, sizeof *keys);
    if (keys != NULL) {
        Py_INCREF(row);
        is_done = insert_tuple(row, objects, total, keys);
        is_noted = !is_done || note_made(row, keys[0]);
        for (Py_ssize_t index = 0; index < total && is_done && is_noted; index++) {
            store((Object *)PyTuple_GetItem(objects, index), row, keys[index]);
        }
        Py_DECREF(row);
    }
    PyMem_Free(keys);
    Py_DECREF(objects);
    return is_noted ? PyBool_FromLong(is_done) : NULL;
}
