/* Block: what `with` ends, also where an interrupt comes. And what nobody catches. */
#include "objects.h"

/* The interpreter runs handlers of signals where a Python function begins, before that does anything; a function in C
 * is called without. So blocks end here: _ended(kind, error, traceback) is Python's, and where that comes back with an
 * error, _abandon() ends what is still open. */
PyObject *end_block(PyObject *self, PyObject *arguments) {
    /* A call that is wrong ends nothing. */
    if (PyTuple_Size(arguments) != 3) {
        return PyErr_Format(PyExc_TypeError, "the end of a block takes a type, an error and its traceback");
    }
    PyObject *ended = PyObject_GetAttr(self, names.ended);
    PyObject *result = ended == NULL ? NULL : PyObject_CallObject(ended, arguments);
    Py_XDECREF(ended);
    if (result != NULL) return result;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    /* That may be interrupted too, but nobody is that fast for ever. */
    for (int attempt = 0; attempt < 10; attempt++) {
        PyObject *done = PyObject_CallMethodObjArgs(self, names.abandon, NULL);
        if (done != NULL) {
            Py_DECREF(done);
            break;
        }
        if (PyErr_GivenExceptionMatches(type, PyExc_Exception) && !PyErr_ExceptionMatches(PyExc_Exception)) {
            /* An interrupt is nothing to pass over, as an error of ending what has failed already is. */
            Py_XDECREF(type);
            Py_XDECREF(value);
            Py_XDECREF(traceback);
            PyErr_Fetch(&type, &value, &traceback);
        } else {
            PyErr_Clear();
        }
    }
    PyErr_Restore(type, value, traceback);
    return NULL;
}

/* The end of `async with`: done when this returns, so that no interrupt comes between the call and the await. */
PyObject *end_block_async(PyObject *self, PyObject *arguments) {
    PyObject *result = end_block(self, arguments);
    if (result == NULL) return NULL;
    Py_DECREF(result);
    return PyObject_GetAttr(self, names.awaited);
}

static PyMethodDef methods[] = {
    {"__exit__", end_block, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "What every block that has to end has."},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    "motte._objects.Block", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots,
};

bool add_block_type(PyObject *module) { return made_type(module, &spec) != NULL; }

/* unraised(error, where): to sys.unraisablehook, of which no error comes back, whatever it does. */
PyObject *unraised(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count) {
    if (count != 2 || !PyExceptionInstance_Check(arguments[0]))
        return PyErr_Format(PyExc_TypeError, "an exception and what raised it are wanted");
    PyObject *error = arguments[0], *type = (PyObject *)Py_TYPE(error);
    Py_INCREF(type);
    Py_INCREF(error);
    PyErr_Restore(type, error, PyException_GetTraceback(error));
    PyErr_WriteUnraisable(arguments[1]);
    Py_RETURN_NONE;
}
