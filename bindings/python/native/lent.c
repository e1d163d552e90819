/* Calls of the library that lend texts, data and documents, those of errors too: these are copied before anything else
 * runs on the thread, such as a finalizer or a handler of a signal, which might call the library in turn and end what
 * was lent. */
#include "objects.h"

#include <string.h>

enum {
    MOST_ARGUMENTS = 8,
    /* Words of a motte_str and of a motte_value. */
    TEXT = 2,
    VALUE = 3
};

/* Of whichever function: all arguments are words, and those that it does not have are not looked at. */
typedef motte_status (*LendingCall)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static bool is_lent(uint32_t type) {
    return type == MOTTE_TYPE_STRING || type == MOTTE_TYPE_DATA || type == MOTTE_TYPE_LIST || type == MOTTE_TYPE_MAP;
}

/* What a cell points to, NULL where it points to nothing or with an error. Bytes are not looked after by the collector
 * of cycles, so that it does not run while they are made. */
static PyObject *copy_of(const uint64_t *cell, Py_ssize_t words) {
    if (words == VALUE && !is_lent((uint32_t)cell[0])) return NULL;
    const uint64_t *place = words == VALUE ? cell + 1 : cell;
    return PyBytes_FromStringAndSize(place[1] == 0 ? "" : (const char *)(uintptr_t)place[0], (Py_ssize_t)place[1]);
}

static void drop(PyObject **copies, Py_ssize_t count) {
    for (Py_ssize_t index = 0; index < count; index++) Py_XDECREF(copies[index]);
    PyMem_Free(copies);
}

/* lent(function, cells, count, words, *arguments): the status of the call, and for each cell what it points to, as
 * bytes, or None. */
PyObject *lent(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given) {
    uint64_t words[4 + MOST_ARGUMENTS] = {0};
    if (given < 4 || given > 4 + MOST_ARGUMENTS) {
        PyErr_SetString(PyExc_TypeError, "a function, its cells and at most eight arguments are wanted");
        return NULL;
    }
    for (Py_ssize_t index = 0; index < given; index++) {
        words[index] = PyLong_AsUnsignedLongLongMask(arguments[index]);
        if (words[index] == (uint64_t)-1 && PyErr_Occurred()) return NULL;
    }
    LendingCall call = (LendingCall)(uintptr_t)words[0];
    uint64_t *cells = (uint64_t *)(uintptr_t)words[1];
    const uint64_t *rest = words + 4;
    Py_ssize_t count = (Py_ssize_t)words[2], size = (Py_ssize_t)words[3];
    PyObject **copies = PyMem_Calloc((size_t)count + 1, sizeof *copies);
    if (copies == NULL) return PyErr_NoMemory();
    memset(cells, 0, (size_t)(count * size) * sizeof *cells);
    motte_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = call(rest[0], rest[1], rest[2], rest[3], rest[4], rest[5], rest[6], rest[7]);
    Py_END_ALLOW_THREADS;
    for (Py_ssize_t index = 0; status >= 0 && index < count; index++) {
        copies[index] = copy_of(cells + index * size, size);
        if (copies[index] == NULL && PyErr_Occurred()) {
            drop(copies, count);
            return NULL;
        }
    }
    PyObject *made = PyList_New(count), *result = NULL;
    for (Py_ssize_t index = 0; made != NULL && index < count; index++) {
        PyObject *copy = copies[index] != NULL ? copies[index] : Py_None;
        Py_INCREF(copy);
        PyList_SetItem(made, index, copy);
    }
    if (made != NULL) result = Py_BuildValue("(iN)", (int)status, made);
    drop(copies, count);
    return result;
}

static PyObject *copy_of_text(const char *text) {
    if (text != NULL) return PyBytes_FromString(text);
    Py_RETURN_NONE;
}

/* last_error(status): system error, message, path, class, property, query offset and row of the thread's last failure,
 * or None if that has another status. */
PyObject *last_error(PyObject *Py_UNUSED(module), PyObject *status) {
    long wanted = PyLong_AsLong(status);
    if (wanted == -1 && PyErr_Occurred()) return NULL;
    motte_error_details details;
    memset(&details, 0, sizeof details);
    details.struct_size = sizeof details;
    if (motte_last_error(&details) != MOTTE_OK || details.code != wanted) Py_RETURN_NONE;
    PyObject *message = copy_of_text(details.message), *path = copy_of_text(details.path);
    PyObject *class_name = copy_of_text(details.class_name), *property = copy_of_text(details.property_name);
    if (message != NULL && path != NULL && class_name != NULL && property != NULL) {
        return Py_BuildValue("(iNNNNLL)", details.system_error, message, path, class_name, property,
                             (long long)details.query_offset, (long long)details.row_index);
    }
    Py_XDECREF(message);
    Py_XDECREF(path);
    Py_XDECREF(class_name);
    Py_XDECREF(property);
    return NULL;
}
