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

/* Takes the reference over, if there is room. */
static bool keep(Kept *kept, PyObject *value) {
    if (kept->count == kept->room) {
        size_t room = kept->room == 0 ? 256 : kept->room * 2;
        PyObject **held = PyMem_Realloc(kept->held, room * sizeof *held);
        if (held == NULL) return false;
        kept->held = held;
        kept->room = room;
    }
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

/* Borrowed, None where there is none; NULL of an object that has no values for this row. */
static PyObject *value_of(Row *row, Object *object, const Slot *slot) {
    PyObject *value = NULL;
    if (object->cells != NULL) {
        if (object->plan != row->plan) return NULL;
        value = object->cells[slot->planned];
    } else if (object->values != NULL && PyDict_Check(object->values)) {
        value = PyDict_GetItemWithError(object->values, slot->name);
        if (value == NULL && PyErr_Occurred()) return NULL;
    } else {
        return NULL;
    }
    return value == NULL ? Py_None : value;
}

/* The values of an object that needs no other one stored and no call of its own. False where anything is not plain, or
 * with an error. */
static bool fill(Row *row, Object *object, motte_value *cells, Kept *kept) {
    if (object->row != NULL) return false;
    Py_ssize_t cell = 0;
    for (Py_ssize_t index = 0; index < row->count; index++) {
        Slot *slot = &row->slots[index];
        PyObject *value = value_of(row, object, slot);
        if (value == NULL) return false;
        if (!(slot->flags & SLOT_PLAIN)) {
            if (!is_empty(value)) return false;
            continue;
        }
        if (!(slot->flags & SLOT_WRITES)) return false;
        /* Making the values of others may run code of the caller's, which drops this one. */
        PyObject *owner;
        Py_INCREF(value);
        bool is_done = encoded(row, slot, value, &cells[cell++], &owner);
        Py_DECREF(value);
        if (!is_done) return false;
        if (owner != NULL && !keep(kept, owner)) {
            Py_DECREF(owner);
            return false;
        }
    }
    return true;
}

/* The row that new objects of this type get in a database, if they can be added here: a new reference. NULL also with
 * an error. */
static Row *row_for(PyObject *database, PyObject *instance) {
    if (!PyObject_TypeCheck(instance, object_type)) return NULL;
    Row *row = row_of_model(database, (PyObject *)Py_TYPE(instance));
    if (row == NULL) return NULL;
    Core *core = (Core *)database;
    if (row->flags & ROW_ADDS && is_none(core->stored) && is_own_task(core)) return row;
    Py_DECREF(row);
    return NULL;
}

/* An object, or a tuple of several, whose values were stored: from now on they are those of the database. Where one of
 * them was stored elsewhere meanwhile, by another thread or twice here, the values are deleted again: false. */
static bool store_all(Row *row, PyObject *objects, const motte_key *keys, Py_ssize_t count) {
    bool is_done = true;
    /* Dropping their values may end the write. */
    PyObject *seen = seen_now((Core *)row->database);
    Py_XINCREF(seen);
    Py_ssize_t stored = 0;
    while (is_done && stored < count) {
        PyObject *instance = PyTuple_Check(objects) ? PyTuple_GetItem(objects, stored) : objects;
        is_done = store((Object *)instance, row, keys[stored], seen);
        if (is_done) stored++;
    }
    for (Py_ssize_t index = 0; index < stored; index++) {
        Object *object = (Object *)(PyTuple_Check(objects) ? PyTuple_GetItem(objects, index) : objects);
        if (is_done) {
            forget_values(object);
        } else {
            unstore(object);
        }
    }
    if (!is_done) motte_row_delete(row->realm, row->class_id, keys, (size_t)count, NULL);
    Py_XDECREF(seen);
    return is_done;
}

/* claim(object, row, key, seen): makes an unmanaged object a managed one, and notes it where the call under way may be
 * undone; False if it is one already. */
PyObject *claim(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count) {
    if (count != 4 || !PyObject_TypeCheck(arguments[0], object_type) || !PyObject_TypeCheck(arguments[1], row_type)) {
        return PyErr_Format(PyExc_TypeError, "claim() takes an object, a row, a key and what it was seen in");
    }
    Object *object = (Object *)arguments[0];
    Row *row = (Row *)arguments[1];
    int64_t key = PyLong_AsLongLong(arguments[2]);
    if (key == -1 && PyErr_Occurred()) return NULL;
    PyObject *stored = row->database == NULL ? NULL : ((Core *)row->database)->stored, *entry = NULL;
    Py_XINCREF(stored);
    if (stored != NULL && PyList_Check(stored)) {
        PyObject *values = PyObject_GetAttr(arguments[0], names.values);
        entry = values == NULL ? NULL : PyTuple_Pack(2, arguments[0], values);
        Py_XDECREF(values);
    }
    bool fails = PyErr_Occurred();
    bool is_done = !fails && object->row == NULL && (entry == NULL || PyList_Append(stored, entry) == 0) &&
                   store(object, row, key, arguments[3]);
    Py_XDECREF(entry);
    Py_XDECREF(stored);
    if (is_done) forget_values(object);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(is_done);
}

/* add(database, object): whether it is stored now. */
PyObject *add(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count) {
    if (count != 2) return PyErr_Format(PyExc_TypeError, "add() takes a database and an object");
    Row *row = row_for(arguments[0], arguments[1]);
    if (row == NULL) return PyErr_Occurred() ? NULL : PyBool_FromLong(0);
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
    if (is_done) is_done = store_all(row, arguments[1], &key, 1);
    let_go(&kept);
    PyMem_Free(kept.held);
    if (cells != some) PyMem_Free(cells);
    Py_DECREF(row);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(is_done);
}

/* ------------------------------------------------------------------------------------------------ many */

/* Objects between two turns of others. */
enum {
    TURN = 256
};

/* So many objects, the marks telling that none is there twice. */
static bool fill_rows(Row *row, PyObject *objects, Py_ssize_t first, Py_ssize_t count, int64_t mark, motte_value *cells,
                      Kept *kept) {
    for (Py_ssize_t index = 0; index < count; index++) {
        if (index % TURN == TURN - 1 && !give_way()) return false;
        PyObject *instance = PyTuple_GetItem(objects, first + index);
        if ((PyObject *)Py_TYPE(instance) != row->model) return false;
        Object *object = (Object *)instance;
        if (object->key == mark) return false;
        Py_INCREF(instance);
        /* Code that ran while its values were made may have stored it. */
        bool is_done = fill(row, object, cells + index * row->plain_count, kept) && object->row == NULL;
        if (is_done) object->key = mark;
        Py_DECREF(instance);
        if (!is_done) return false;
    }
    return true;
}

/* Whether none of them was stored, or got another mark, by code that ran while the values of others were made. What
 * runs after that, while the library has them, store_all() sees. */
static bool are_marked(PyObject *objects, Py_ssize_t first, Py_ssize_t count, int64_t mark) {
    for (Py_ssize_t index = first; index < first + count; index++) {
        Object *object = (Object *)PyTuple_GetItem(objects, index);
        if (object->row != NULL || object->key != mark) return false;
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
                  are_marked(objects, first, count, mark) && insert_rows(insert, cells, count, keys + first);
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
    bool is_done = false;
    motte_key *keys = NULL;
    if (row != NULL && row->plain_count > 0) keys = PyMem_Calloc((size_t)total, sizeof *keys);
    if (keys != NULL) { is_done = insert_tuple(row, objects, total, keys) && store_all(row, objects, keys, total); }
    PyMem_Free(keys);
    Py_XDECREF(row);
    Py_DECREF(objects);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(is_done);
}
