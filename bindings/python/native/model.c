/* Object: construction, assignment of attributes, and what garbage collection has to know. */
#include "objects.h"

PyTypeObject *object_type;

static PyObject *object_new(PyTypeObject *type, PyObject *Py_UNUSED(arguments), PyObject *Py_UNUSED(options)) {
    /* The type's own: one in C that derives from this could have another. */
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return allocate(type, 0);
}

/* ------------------------------------------------------------------------------------------------ values */

/* Takes over `cells` with the reference to `plan`, or `values`; the others before them are dropped last. */
static void take_values(Object *object, Plan *plan, PyObject **cells, PyObject *values) {
    PyObject **cells_before = object->cells, *values_before = object->values;
    Plan *plan_before = object->plan;
    object->plan = plan;
    object->cells = cells;
    object->values = values;
    if (cells_before != NULL) drop_cells(cells_before, plan_before->count);
    Py_XDECREF(plan_before);
    Py_XDECREF(values_before);
}

void forget_values(Object *object) { take_values(object, NULL, NULL, NULL); }

PyObject *named_values(Object *object) {
    if (object->cells != NULL) {
        /* First: making it may collect garbage, which may ask for them too. */
        PyObject *values = PyDict_New();
        for (Py_ssize_t index = 0; values != NULL && object->cells != NULL && index < object->plan->count; index++) {
            PyObject *cell = object->cells[index];
            if (cell == NULL || PyDict_SetItem(values, object->plan->entries[index].name, cell) == 0) continue;
            Py_DECREF(values);
            values = NULL;
        }
        if (values == NULL) return NULL;
        if (object->cells != NULL) {
            take_values(object, NULL, NULL, values);
        } else {
            Py_DECREF(values);
        }
    }
    if (object->values == NULL || !PyDict_Check(object->values)) {
        PyErr_SetString(PyExc_AttributeError, "this object has no values of its own");
        return NULL;
    }
    return object->values;
}

static int object_init(PyObject *self, PyObject *arguments, PyObject *given) {
    if (PyTuple_Size(arguments) > 0) {
        PyErr_Format(PyExc_TypeError, "%S takes its properties by name", (PyObject *)Py_TYPE(self));
        return -1;
    }
    Plan *plan = plan_of(Py_TYPE(self));
    if (plan == NULL) return -1;
    PyObject **cells = planned_values(plan, (PyObject *)Py_TYPE(self), given);
    if (cells == NULL) {
        Py_DECREF(plan);
        return -1;
    }
    Object *object = (Object *)self;
    replace(&object->row, NULL);
    replace(&object->seen, NULL);
    take_values(object, plan, cells, NULL);
    return 0;
}

static PyObject *object_values(PyObject *self, void *Py_UNUSED(closure)) {
    Object *object = (Object *)self;
    if (object->cells == NULL && object->values == NULL) return PyDict_New();
    PyObject *values = named_values(object);
    Py_XINCREF(values);
    return values;
}

static int object_set_values(PyObject *self, PyObject *values, void *Py_UNUSED(closure)) {
    if (!is_none(values) && !PyDict_Check(values)) {
        PyErr_Format(PyExc_TypeError, "values by name are wanted, not %R", values);
        return -1;
    }
    if (is_none(values)) values = NULL;
    Py_XINCREF(values);
    take_values((Object *)self, NULL, NULL, values);
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
    Py_VISIT(object->seen);
    Py_VISIT(object->values);
    Py_VISIT(object->plan);
    for (Py_ssize_t index = 0; object->cells != NULL && index < object->plan->count; index++) {
        Py_VISIT(object->cells[index]);
    }
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int object_clear(PyObject *self) {
    Object *object = (Object *)self;
    replace(&object->row, NULL);
    replace(&object->seen, NULL);
    forget_values(object);
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
    {"_write", T_OBJECT, offsetof(Object, seen), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef object_getters[] = {
    {"_row", object_row, object_set_row, NULL, NULL},
    {"_values", object_values, object_set_values, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot object_slots[] = {
    {Py_tp_doc, "Object(**values)\n--\n\nWhat every object of a model class has."},
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
    "motte._objects.Object",
    sizeof(Object),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    object_slots,
};

bool add_object_type(PyObject *module) { return (object_type = made_type(module, &object_spec)) != NULL; }
