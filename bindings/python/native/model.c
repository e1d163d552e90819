/* Object: construction, assignment of attributes, and what garbage collection has to know. */
#include "objects.h"

PyTypeObject *object_type;

static PyObject *object_new(PyTypeObject *type, PyObject *Py_UNUSED(arguments), PyObject *Py_UNUSED(options)) {
    /* The type's own: one in C that derives from this could have another. */
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return allocate(type, 0);
}

/* ------------------------------------------------------------------------------------------------ construction */

enum { DEFAULT = 0, FACTORY = 1, ASKED = 2, COMPUTED = 3 };

/* Where no value is given: the default, what a factory makes, or what the class says, which may be an error. */
static PyObject *start_of(PyObject *self, PyObject *name, long kind, PyObject *start) {
    if (kind == DEFAULT) {
        Py_INCREF(start);
        return start;
    }
    if (kind == FACTORY) return PyObject_CallNoArgs(start);
    return PyObject_CallMethodObjArgs((PyObject *)Py_TYPE(self), names.missing, name, NULL);
}

static bool refuse_unknown(PyObject *self, PyObject *plan, PyObject *given) {
    Py_ssize_t position = 0, total = PyTuple_Size(plan);
    PyObject *name, *value;
    while (PyDict_Next(given, &position, &name, &value)) {
        bool is_known = false;
        for (Py_ssize_t index = 0; index < total && !is_known; index++) {
            PyObject *entry = PyTuple_GetItem(plan, index);
            if (PyLong_AsLong(PyTuple_GetItem(entry, 1)) == COMPUTED) continue;
            int same = PyObject_RichCompareBool(PyTuple_GetItem(entry, 0), name, Py_EQ);
            if (same < 0) return false;
            is_known = same == 1;
        }
        if (is_known) continue;
        PyObject *message = PyObject_CallFunctionObjArgs(hooks.unknown, (PyObject *)Py_TYPE(self), name, NULL);
        if (message == NULL) return false;
        PyErr_SetObject(PyExc_TypeError, message);
        Py_DECREF(message);
        return false;
    }
    return true;
}

/* By property, a set of the types of which every value is taken. A new reference. */
static PyObject *taken_types(PyObject *self) {
    PyObject *type = (PyObject *)Py_TYPE(self), *taken = PyObject_GetAttr(type, names.taken);
    if (taken == NULL || PyDict_Check(taken)) return taken;
    Py_DECREF(taken);
    return PyObject_CallMethodObjArgs(type, names.taken_types, NULL);
}

/* Whether a property takes a value: by its type, or after a closer look, which is an error otherwise. */
static bool is_taken(PyObject *self, PyObject *taken, PyObject *name, PyObject *value) {
    PyObject *types = PyDict_GetItemWithError(taken, name);
    int known = types == NULL ? 0 : PySet_Contains(types, (PyObject *)Py_TYPE(value));
    if (known != 0 || PyErr_Occurred()) return known == 1;
    /* It may run code of the caller's, which drops the value. */
    Py_INCREF(value);
    PyObject *done = PyObject_CallMethodObjArgs((PyObject *)Py_TYPE(self), names.check_given, name, value, NULL);
    Py_DECREF(value);
    Py_XDECREF(done);
    return done != NULL;
}

/* The values of a new object by name: those that are given, and what the others start with. */
static PyObject *values_of(PyObject *self, PyObject *plan, PyObject *given) {
    PyObject *values = given == NULL ? PyDict_New() : PyDict_Copy(given), *taken = NULL;
    if (values == NULL) return NULL;
    Py_ssize_t found = 0, total = PyTuple_Size(plan), wanted = given == NULL ? 0 : PyDict_Size(given);
    if (given != NULL && (taken = taken_types(self)) == NULL) goto failed;
    for (Py_ssize_t index = 0; index < total; index++) {
        PyObject *entry = PyTuple_GetItem(plan, index);
        PyObject *name = PyTuple_GetItem(entry, 0), *start = PyTuple_GetItem(entry, 2);
        long kind = PyLong_AsLong(PyTuple_GetItem(entry, 1));
        if (kind == COMPUTED) continue;
        if (given != NULL) {
            PyObject *value = PyDict_GetItemWithError(values, name);
            if (value != NULL && !is_taken(self, taken, name, value)) goto failed;
            if (value != NULL) {
                found++;
                continue;
            }
            if (PyErr_Occurred()) goto failed;
        }
        /* A name that is none is said before a value that is missing. */
        if (kind == ASKED && found < wanted && !refuse_unknown(self, plan, given)) goto failed;
        PyObject *value = start_of(self, name, kind, start);
        if (value == NULL) goto failed;
        int status = PyDict_SetItem(values, name, value);
        Py_DECREF(value);
        if (status < 0) goto failed;
    }
    if (found == wanted) {
        Py_XDECREF(taken);
        return values;
    }
    if (refuse_unknown(self, plan, given)) PyErr_SetString(PyExc_TypeError, "the names of properties are texts");
failed:
    Py_XDECREF(taken);
    Py_DECREF(values);
    return NULL;
}

static int object_init(PyObject *self, PyObject *arguments, PyObject *given) {
    if (PyTuple_Size(arguments) > 0) {
        PyErr_Format(PyExc_TypeError, "%S takes its properties by name", (PyObject *)Py_TYPE(self));
        return -1;
    }
    PyObject *plan = PyObject_GetAttr((PyObject *)Py_TYPE(self), names.plan);
    if (plan == NULL) return -1;
    PyObject *values = NULL;
    if (PyTuple_Check(plan)) {
        values = values_of(self, plan, given);
    } else {
        PyErr_SetString(PyExc_TypeError, "the plan of a model class is a tuple");
    }
    Py_DECREF(plan);
    if (values == NULL) return -1;
    Object *object = (Object *)self;
    replace(&object->row, NULL);
    replace(&object->write, NULL);
    replace(&object->values, values);
    Py_DECREF(values);
    return 0;
}

/* ------------------------------------------------------------------------------------------------ attributes */

static bool is_property_of_row(PyObject *self, PyObject *name) {
    Row *row = (Row *)((Object *)self)->row;
    if (row == NULL || (PyObject *)Py_TYPE(self) != row->model) return false;
    for (Py_ssize_t index = 0; index < row->count; index++) {
        if (row->slots[index].name == name) return true;
    }
    return false;
}

/* 1 where the class knows the name, or it is one of Python's own; 0, or -1 with an error. */
static int is_known(PyObject *self, PyObject *name) {
    PyObject *type = (PyObject *)Py_TYPE(self);
    PyObject *properties = PyObject_GetAttr(type, names.properties);
    if (properties == NULL) return -1;
    int known = PyDict_Check(properties) ? PyDict_Contains(properties, name) : 0;
    Py_DECREF(properties);
    if (known != 0) return known;
    if (PyUnicode_GetLength(name) > 0 && PyUnicode_ReadChar(name, 0) == '_') return 1;
    PyObject *found = PyObject_GetAttr(type, name);
    if (found != NULL) {
        Py_DECREF(found);
        return 1;
    }
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
    PyErr_Clear();
    return 0;
}

static int object_set_attribute(PyObject *self, PyObject *name, PyObject *value) {
    if (value == NULL || !PyUnicode_Check(name) || is_property_of_row(self, name)) {
        return PyObject_GenericSetAttr(self, name, value);
    }
    int known = is_known(self, name);
    if (known < 0) return -1;
    if (known == 1) return PyObject_GenericSetAttr(self, name, value);
    PyObject *message = PyObject_CallFunctionObjArgs(hooks.unknown, (PyObject *)Py_TYPE(self), name, NULL);
    if (message == NULL) return -1;
    PyErr_SetObject(PyExc_AttributeError, message);
    Py_DECREF(message);
    return -1;
}

static PyObject *object_row(PyObject *self, void *Py_UNUSED(closure)) {
    PyObject *row = ((Object *)self)->row;
    if (row == NULL) Py_RETURN_NONE;
    Py_INCREF(row);
    return row;
}

static int object_set_row(PyObject *self, PyObject *row, void *Py_UNUSED(closure)) {
    if (!is_none(row) && !PyObject_TypeCheck(row, row_type)) {
        PyErr_Format(PyExc_TypeError, "a row is wanted, not %R", row);
        return -1;
    }
    replace(&((Object *)self)->row, is_none(row) ? NULL : row);
    return 0;
}

/* ------------------------------------------------------------------------------------------------ type */

static int object_traverse(PyObject *self, visitproc visit, void *arg) {
    Object *object = (Object *)self;
    Py_VISIT(object->row);
    Py_VISIT(object->write);
    Py_VISIT(object->values);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int object_clear(PyObject *self) {
    Object *object = (Object *)self;
    replace(&object->row, NULL);
    replace(&object->write, NULL);
    replace(&object->values, NULL);
    return 0;
}

static void object_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    object_clear(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyMemberDef object_members[] = {
    {"_key", T_LONGLONG, offsetof(Object, key), 0, NULL},
    {"_write", T_OBJECT, offsetof(Object, write), 0, NULL},
    {"_values", T_OBJECT, offsetof(Object, values), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef object_getters[] = {
    {"_row", object_row, object_set_row, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot object_slots[] = {
    {Py_tp_doc, "What every object of a model class has."},
    {Py_tp_new, object_new},
    {Py_tp_init, object_init},
    {Py_tp_setattro, object_set_attribute},
    {Py_tp_traverse, object_traverse},
    {Py_tp_clear, object_clear},
    {Py_tp_dealloc, object_dealloc},
    {Py_tp_members, object_members},
    {Py_tp_getset, object_getters},
    {0, NULL},
};

static PyType_Spec object_spec = {
    "motte._objects.Object", sizeof(Object), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, object_slots,
};

bool add_object_type(PyObject *module) { return (object_type = made_type(module, &object_spec)) != NULL; }
