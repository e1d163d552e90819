/* Objects of collections: loops, lists of them, one, and as dicts. */
#include "objects.h"

#include <string.h>

PyTypeObject *cursor_type;

/* What a loop runs over: the keys there were when it began. */
typedef struct {
    PyObject_HEAD Row *row;
    PyObject *seen;
    motte_key *keys;
    size_t count, next;
} Cursor;

/* ------------------------------------------------------------------------------------------------ arguments */

static bool take_address(PyObject *value, const motte_coll **out) {
    uint64_t address = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred()) return false;
    *out = (const motte_coll *)(uintptr_t)address;
    return true;
}

static bool take_row(PyObject *const *arguments, Py_ssize_t count, Py_ssize_t wanted, Row **row,
                     const motte_coll **coll) {
    if (count != wanted || !PyObject_TypeCheck(arguments[0], row_type)) {
        PyErr_SetString(PyExc_TypeError, "a row and the address of a collection are wanted");
        return false;
    }
    *row = (Row *)arguments[0];
    return take_address(arguments[1], coll);
}

/* Raises what has ended a query, which is not to be asked a second time; false for every other status. */
static bool raises_end(motte_status status) {
    if (status != MOTTE_E_INTERRUPTED && status != MOTTE_E_CALLBACK) return false;
    PyObject *errors = PyImport_ImportModule("motte.errors");
    PyObject *never = errors == NULL ? NULL : PyObject_CallMethod(errors, "fail", "i", (int)status);
    Py_XDECREF(never);
    Py_XDECREF(errors);
    return true;
}

/* Objects between two turns of others. */
enum {
    TURN = 512
};

/* How many elements there are, and the keys of those from `first` on, at most `wanted`, which PyMem_Free() is for; NULL
 * where the library refuses, or with an error. The query is run in here, which may take its time. */
static motte_key *read_keys(Row *row, const motte_coll *coll, size_t first, size_t wanted, size_t *read) {
    size_t total = 0;
    motte_status status;
    *read = 0;
    if (row->database == NULL || !is_own_task((Core *)row->database)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = motte_coll_count(coll, &total);
    Py_END_ALLOW_THREADS;
    if (raises_end(status) || status < 0) return NULL;
    size_t left = first < total ? total - first : 0;
    size_t room = wanted < left ? wanted : left;
    motte_key *keys = room < (size_t)PY_SSIZE_T_MAX / sizeof *keys ? PyMem_Calloc(room + 1, sizeof *keys) : NULL;
    if (keys == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    if (room == 0) return keys;
    Py_BEGIN_ALLOW_THREADS;
    status = motte_read_keys(coll, first, room, keys, read);
    Py_END_ALLOW_THREADS;
    if (!raises_end(status) && status >= 0) return keys;
    PyMem_Free(keys);
    return NULL;
}

static PyObject *not_here(void) {
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NOTIMPLEMENTED;
}

/* ------------------------------------------------------------------------------------------------ loops */

/* iterated(row, address): an iterator of objects, NotImplemented where the library refuses. */
PyObject *iterated(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count) {
    Row *row;
    const motte_coll *coll;
    if (!take_row(arguments, count, 2, &row, &coll)) return NULL;
    size_t read;
    motte_key *keys = read_keys(row, coll, 0, SIZE_MAX, &read);
    if (keys == NULL) return not_here();
    allocfunc allocate = (allocfunc)PyType_GetSlot(cursor_type, Py_tp_alloc);
    PyObject *made = allocate(cursor_type, 0);
    if (made == NULL) {
        PyMem_Free(keys);
        return NULL;
    }
    Cursor *cursor = (Cursor *)made;
    Py_INCREF(row);
    cursor->row = row;
    replace(&cursor->seen, seen_now((Core *)row->database));
    cursor->keys = keys;
    cursor->count = read;
    return made;
}

/* A StopIteration that the program has raised, in its class or in a handler of a signal, is not the end of the loop: as
 * in a generator it becomes a RuntimeError. */
static PyObject *not_the_end(void) {
    if (!PyErr_ExceptionMatches(PyExc_StopIteration)) return NULL;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyErr_SetString(PyExc_RuntimeError, "a loop over objects raised StopIteration");
    PyObject *error_type, *error, *error_trace;
    PyErr_Fetch(&error_type, &error, &error_trace);
    PyErr_NormalizeException(&error_type, &error, &error_trace);
    if (value != NULL) PyException_SetCause(error, value);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    PyErr_Restore(error_type, error, error_trace);
    return NULL;
}

static PyObject *cursor_next(PyObject *self) {
    Cursor *cursor = (Cursor *)self;
    if (cursor->row == NULL || cursor->next >= cursor->count) return NULL;
    /* list() runs to the end without a line of Python. */
    if (cursor->next % TURN == TURN - 1 && !give_way()) return not_the_end();
    if (cursor->row == NULL || cursor->next >= cursor->count) return NULL;
    PyObject *made = object_in(cursor->row, cursor->keys[cursor->next++], cursor->seen);
    return made != NULL ? made : not_the_end();
}

static PyObject *cursor_length(PyObject *self, PyObject *Py_UNUSED(argument)) {
    Cursor *cursor = (Cursor *)self;
    return PyLong_FromSize_t(cursor->count - cursor->next);
}

static int cursor_traverse(PyObject *self, visitproc visit, void *arg) {
    Cursor *cursor = (Cursor *)self;
    Py_VISIT(cursor->row);
    Py_VISIT(cursor->seen);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int cursor_clear(PyObject *self) {
    Cursor *cursor = (Cursor *)self;
    Py_CLEAR(cursor->row);
    replace(&cursor->seen, NULL);
    return 0;
}

static void cursor_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    cursor_clear(self);
    PyMem_Free(((Cursor *)self)->keys);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyMethodDef cursor_methods[] = {
    {"__length_hint__", cursor_length, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot cursor_slots[] = {
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, cursor_next},
    {Py_tp_traverse, cursor_traverse},
    {Py_tp_clear, cursor_clear},
    {Py_tp_dealloc, cursor_dealloc},
    {Py_tp_methods, cursor_methods},
    {0, NULL},
};

static PyType_Spec cursor_spec = {
    "motte._objects.Cursor",
    sizeof(Cursor),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    cursor_slots,
};

bool add_cursor_type(PyObject *module) { return (cursor_type = made_type(module, &cursor_spec)) != NULL; }

/* ------------------------------------------------------------------------------------------------ some, one */

/* objects_of(row, address, first, count): a list, NotImplemented where the library refuses. */
PyObject *objects_of(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count) {
    Row *row;
    const motte_coll *coll;
    if (!take_row(arguments, count, 4, &row, &coll)) return NULL;
    Py_ssize_t first = PyLong_AsSsize_t(arguments[2]), wanted = PyLong_AsSsize_t(arguments[3]);
    if (PyErr_Occurred()) return NULL;
    if (first < 0 || wanted < 0) Py_RETURN_NOTIMPLEMENTED;
    size_t read;
    motte_key *keys = read_keys(row, coll, (size_t)first, (size_t)wanted, &read);
    if (keys == NULL) return not_here();
    PyObject *list = PyList_New((Py_ssize_t)read);
    for (size_t index = 0; index < read && list != NULL; index++) {
        bool goes_on = index % TURN != TURN - 1 || give_way();
        PyObject *made = goes_on ? object_of(row, keys[index]) : NULL;
        if (made == NULL || PyList_SetItem(list, (Py_ssize_t)index, made) < 0) {
            Py_DECREF(list);
            list = NULL;
        }
    }
    PyMem_Free(keys);
    return list;
}

/* element_of(row, address, index): an object, NotImplemented where the library refuses. */
PyObject *element_of(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count) {
    Row *row;
    const motte_coll *coll;
    if (!take_row(arguments, count, 3, &row, &coll)) return NULL;
    size_t index = PyLong_AsSize_t(arguments[2]);
    if (PyErr_Occurred()) return NULL;
    if (row->database == NULL || !is_own_task((Core *)row->database)) return not_here();
    motte_value value;
    motte_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = motte_coll_get(coll, index, &value);
    Py_END_ALLOW_THREADS;
    if (raises_end(status)) return NULL;
    if (status < 0 || value.type != MOTTE_TYPE_LINK || value.aux != row->class_id) Py_RETURN_NOTIMPLEMENTED;
    return object_of(row, value.as.key);
}

/* find(database, model, primary key): an object, None, or NotImplemented where more than a look is needed: where there
 * is none, and none could be, as values of that type are no keys. */
PyObject *find(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count) {
    if (count != 3) return PyErr_Format(PyExc_TypeError, "find() takes a database, a class and a primary key");
    Row *row = row_of_model(arguments[0], arguments[1]);
    PyObject *wanted = arguments[2], *owner = NULL, *result = NULL;
    Slot key_slot = {.type = PyLong_CheckExact(wanted) ? MOTTE_TYPE_INT : MOTTE_TYPE_STRING};
    motte_value value;
    motte_key key;
    bool is_plain = row != NULL && wanted != Py_None && is_own_task((Core *)arguments[0]) &&
                    encoded(row, &key_slot, wanted, &value, &owner);
    motte_status status = is_plain ? motte_row_find(row->realm, row->class_id, &value, &key) : -1;
    if (status == MOTTE_NOT_FOUND && row->flags >> ROW_KEY_TYPE == key_slot.type) {
        result = Py_None;
        Py_INCREF(result);
    } else if (status >= 0 && status != MOTTE_NOT_FOUND) {
        result = object_of(row, key);
    } else if (!PyErr_Occurred()) {
        result = Py_NotImplemented;
        Py_INCREF(result);
    }
    Py_XDECREF(owner);
    Py_XDECREF(row);
    return result;
}

/* ------------------------------------------------------------------------------------------------ as a dict */

static PyObject *attribute_copied(PyObject *instance, PyObject *name) {
    PyObject *value = PyObject_GetAttr(instance, name);
    if (value == NULL) return NULL;
    PyObject *copied = PyObject_CallFunctionObjArgs(hooks.copied, value, NULL);
    Py_DECREF(value);
    return copied;
}

/* Texts and data first: what they point to stays until something else is done, and making others may run code. */
static bool decode_all(Row *row, motte_value *cells, PyObject **made) {
    for (int points = 1; points >= 0; points--) {
        for (Py_ssize_t index = 0; index < row->plain_count; index++) {
            Slot *slot = &row->slots[row->plain[index]];
            bool is_pointer = cells[index].type == MOTTE_TYPE_STRING || cells[index].type == MOTTE_TYPE_DATA;
            if (!(slot->flags & SLOT_SHOWS) || is_pointer != (points == 1)) continue;
            made[index] = decoded(row, slot, &cells[index]);
            if (made[index] == NOT_PLAIN) made[index] = NULL;
            if (made[index] == NULL && PyErr_Occurred()) return false;
        }
    }
    return true;
}

static PyObject *dict_of(PyObject *instance, Row *row, PyObject **made) {
    PyObject *dict = PyDict_New();
    Py_ssize_t plain = 0;
    for (Py_ssize_t index = 0; index < row->count && dict != NULL; index++) {
        Slot *slot = &row->slots[index];
        bool is_plain = slot->flags & SLOT_PLAIN;
        PyObject *value = is_plain ? made[plain] : NULL;
        if (is_plain) plain++;
        if (slot->type == MOTTE_TYPE_INVERSE) continue;
        if (value == NULL) {
            value = attribute_copied(instance, slot->name);
        } else {
            Py_INCREF(value);
        }
        if (value == NULL || PyDict_SetItem(dict, slot->name, value) < 0) {
            Py_DECREF(dict);
            dict = NULL;
        }
        Py_XDECREF(value);
    }
    return dict;
}

/* shown(object): its values by name, NotImplemented where more than a look is needed. */
PyObject *shown(PyObject *Py_UNUSED(module), PyObject *instance) {
    if (!PyObject_TypeCheck(instance, object_type)) return PyErr_Format(PyExc_TypeError, "shown() takes an object");
    Object *object = (Object *)instance;
    Row *row = (Row *)object->row;
    int64_t key;
    if (row == NULL || !(row->flags & ROW_SHOWS) || row->model != (PyObject *)Py_TYPE(instance)) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    Py_INCREF(row);
    if (!live_key(object, row, &key)) {
        Py_DECREF(row);
        if (PyErr_Occurred()) return NULL;
        Py_RETURN_NOTIMPLEMENTED;
    }
    size_t room = row->plain_count > 0 ? (size_t)row->plain_count : 1;
    motte_value *cells = PyMem_Calloc(room, sizeof *cells);
    PyObject **made = PyMem_Calloc(room, sizeof *made), *result = NULL;
    if (cells == NULL || made == NULL) {
        PyErr_NoMemory();
    } else if (motte_row_get_many(row->realm, row->class_id, key, row->props, (size_t)row->plain_count, cells) < 0) {
        result = Py_NotImplemented;
        Py_INCREF(result);
    } else if (decode_all(row, cells, made)) {
        result = dict_of(instance, row, made);
    }
    for (Py_ssize_t index = 0; made != NULL && index < row->plain_count; index++) Py_XDECREF(made[index]);
    PyMem_Free(made);
    PyMem_Free(cells);
    Py_DECREF(row);
    return result;
}
