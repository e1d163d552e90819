/* Property: reading and assigning one attribute. */
#include "objects.h"

PyTypeObject *property_type;

static PyObject *unmanaged_value(Property *self, Object *object) {
    if (!self->is_computed) {
        PyObject *values = named_values(object);
        PyObject *value = values == NULL ? NULL : PyDict_GetItemWithError(values, self->name);
        if (value != NULL) {
            Py_INCREF(value);
            return value;
        }
        if (values == NULL || PyErr_Occurred()) return NULL;
    }
    return PyObject_CallMethodObjArgs((PyObject *)object, names.unmanaged_value, (PyObject *)self, NULL);
}

static PyObject *property_get(PyObject *self, PyObject *instance, PyObject *owner) {
    Property *property = (Property *)self;
    if (is_none(instance)) {
        return PyObject_CallMethodObjArgs(self, names.of_class, owner == NULL ? Py_None : owner, NULL);
    }
    if (!PyObject_TypeCheck(instance, object_type) || property->name == NULL) {
        PyErr_Format(PyExc_TypeError, "this is a property of model classes, not of %R", (PyObject *)Py_TYPE(instance));
        return NULL;
    }
    Object *object = (Object *)instance;
    Row *row = (Row *)object->row;
    if (row == NULL) return unmanaged_value(property, object);
    /* Values are made by Python code that may drop the object's. */
    Py_INCREF(row);
    PyObject *result = NOT_PLAIN;
    Slot *slot = slot_of(row, property);
    int64_t key;
    if (slot != NULL && slot->flags & SLOT_READS && live_key(object, row, &key)) {
        motte_value value;
        if (motte_row_get_many(row->realm, row->class_id, key, &slot->prop, 1, &value) >= 0) {
            result = decoded(row, slot, &value);
        }
    }
    if (result == NOT_PLAIN && PyErr_Occurred()) {
        result = NULL;
    } else if (result == NOT_PLAIN) {
        result = PyObject_CallMethodObjArgs((PyObject *)row, names.get, instance, property->name, NULL);
    }
    Py_DECREF(row);
    return result;
}

/* Whether an unmanaged object may be given the value. */
static bool takes(Property *self, PyObject *instance, PyObject *value) {
    PyObject *done = PyObject_CallMethodObjArgs((PyObject *)self, names.check_value, instance, value, NULL);
    Py_XDECREF(done);
    return done != NULL;
}

static int property_set(PyObject *self, PyObject *instance, PyObject *value) {
    Property *property = (Property *)self;
    if (!PyObject_TypeCheck(instance, object_type) || property->name == NULL) {
        PyErr_Format(PyExc_TypeError, "this is a property of model classes, not of %R", (PyObject *)Py_TYPE(instance));
        return -1;
    }
    Object *object = (Object *)instance;
    PyObject *done = NULL;
    if (value == NULL) {
        done = PyObject_CallMethodObjArgs(self, names.refused, instance, NULL);
        Py_XDECREF(done);
        return done == NULL ? -1 : 0;
    }
    Row *row = (Row *)object->row;
    if (row == NULL) {
        if (!takes(property, instance, value)) return -1;
        /* A converter may have stored the object. */
        if (object->row != NULL) return property_set(self, instance, value);
        PyObject *values = named_values(object);
        return values == NULL ? -1 : PyDict_SetItem(values, property->name, value);
    }
    Py_INCREF(row);
    Slot *slot = slot_of(row, property);
    int64_t key;
    motte_value cell;
    PyObject *owner = NULL;
    bool is_done = slot != NULL && slot->flags & SLOT_WRITES && live_key(object, row, &key) &&
                   encoded(row, slot, value, &cell, &owner) &&
                   motte_row_set_many(row->realm, row->class_id, key, &slot->prop, &cell, 1) >= 0;
    Py_XDECREF(owner);
    if (!is_done && !PyErr_Occurred()) {
        done = PyObject_CallMethodObjArgs((PyObject *)row, names.set, instance, property->name, value, NULL);
        is_done = done != NULL;
        Py_XDECREF(done);
    }
    Py_DECREF(row);
    return is_done ? 0 : -1;
}

/* ------------------------------------------------------------------------------------------------ type */

static PyObject *property_name(PyObject *self, void *Py_UNUSED(closure)) {
    PyObject *name = ((Property *)self)->name;
    if (name == NULL) Py_RETURN_NONE;
    Py_INCREF(name);
    return name;
}

static int property_set_name(PyObject *self, PyObject *name, void *Py_UNUSED(closure)) {
    if (name == NULL || !PyUnicode_CheckExact(name)) {
        PyErr_SetString(PyExc_TypeError, "the name of a property is a text");
        return -1;
    }
    Property *property = (Property *)self;
    replace(&property->name, name);
    PyUnicode_InternInPlace(&property->name);
    /* That of no row, also of one that is not bound. */
    property->serial = UINT64_MAX;
    return 0;
}

static void property_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    replace(&((Property *)self)->name, NULL);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyMemberDef property_members[] = {
    {"is_computed", T_BOOL, offsetof(Property, is_computed), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef property_getters[] = {
    {"name", property_name, property_set_name, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot property_slots[] = {
    {Py_tp_doc, "What every property of a model class has."},
    {Py_tp_descr_get, property_get},
    {Py_tp_descr_set, property_set},
    {Py_tp_dealloc, property_dealloc},
    {Py_tp_members, property_members},
    {Py_tp_getset, property_getters},
    {0, NULL},
};

static PyType_Spec property_spec = {
    "motte._objects.Property", sizeof(Property), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, property_slots,
};

bool add_property_type(PyObject *module) { return (property_type = made_type(module, &property_spec)) != NULL; }
