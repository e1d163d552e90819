/* Python values to motte_value and back, of the types that are one value. */
#include "objects.h"

#include <math.h>
#include <string.h>

static char not_plain;
PyObject *const NOT_PLAIN = (PyObject *)(void *)&not_plain;

/* Whole numbers up to this are floats exactly. */
static const int64_t most_exact = (int64_t)1 << 53;

/* 0001-01-01 to 9999-12-31 in UTC, what a datetime can hold. */
static const int64_t least_second = -62135596800, most_second = 253402300799;

/* ------------------------------------------------------------------------------------------------ to Python */

static PyObject *moment(const motte_value *value) {
    int64_t second = value->as.seconds;
    /* Nanoseconds have a class of their own. */
    if (second < least_second || second > most_second || value->aux % 1000 != 0) return NOT_PLAIN;
    PyObject *difference =
        PyObject_CallFunction(hooks.timedelta, "iLI", 0, (long long)second, (unsigned int)(value->aux / 1000));
    if (difference == NULL) return NULL;
    PyObject *result = PyNumber_Add(hooks.epoch, difference);
    Py_DECREF(difference);
    return result;
}

/* Of the types that are read in Python: decimals and identifiers. */
static PyObject *by_hook(const motte_value *value) {
    PyObject *type = PyLong_FromUnsignedLong(value->type);
    PyObject *decoder = type == NULL ? NULL : PyDict_GetItemWithError(hooks.decoders, type);
    Py_XDECREF(type);
    if (decoder == NULL) return PyErr_Occurred() ? NULL : NOT_PLAIN;
    return PyObject_CallFunction(decoder, "ILLO", value->aux, (long long)value->as.words[0],
                                 (long long)value->as.words[1], Py_None);
}

static PyObject *bare(Row *row, const motte_value *value) {
    switch (value->type) {
    case MOTTE_TYPE_NULL: Py_RETURN_NONE;
    case MOTTE_TYPE_BOOL: return PyBool_FromLong(value->as.boolean != 0);
    case MOTTE_TYPE_INT: return PyLong_FromLongLong(value->as.integer);
    case MOTTE_TYPE_FLOAT: return PyFloat_FromDouble(value->as.single);
    case MOTTE_TYPE_DOUBLE: return PyFloat_FromDouble(value->as.real);
    case MOTTE_TYPE_STRING: return PyUnicode_DecodeUTF8(value->as.string.data, (Py_ssize_t)value->as.string.size, NULL);
    case MOTTE_TYPE_DATA: return PyBytes_FromStringAndSize(value->as.data.data, (Py_ssize_t)value->as.data.size);
    case MOTTE_TYPE_TIMESTAMP: return moment(value);
    case MOTTE_TYPE_LINK:
        return row->database == NULL ? NOT_PLAIN : linked_object((Core *)row->database, value->aux, value->as.key);
    case MOTTE_TYPE_DECIMAL:
    case MOTTE_TYPE_OBJECT_ID:
    case MOTTE_TYPE_UUID: return by_hook(value);
    default: return NOT_PLAIN;
    }
}

PyObject *decoded(Row *row, const Slot *slot, const motte_value *value) {
    PyObject *result = bare(row, value);
    if (slot->by_value == NULL || result == NULL || result == NOT_PLAIN || result == Py_None) return result;
    PyObject *member = PyDict_GetItemWithError(slot->by_value, result);
    Py_XINCREF(member);
    Py_DECREF(result);
    return member != NULL || PyErr_Occurred() ? member : NOT_PLAIN;
}

/* ------------------------------------------------------------------------------------------------ to the library */

static bool whole(PyObject *value, motte_value *out) {
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0) return false;
    out->type = MOTTE_TYPE_INT;
    out->as.integer = number;
    return true;
}

static bool number(PyObject *value, motte_value *out) {
    if (PyFloat_CheckExact(value)) {
        out->type = MOTTE_TYPE_DOUBLE;
        out->as.real = PyFloat_AsDouble(value);
        return true;
    }
    return PyLong_CheckExact(value) && whole(value, out) && out->as.integer >= -most_exact &&
           out->as.integer <= most_exact;
}

static bool single(PyObject *value, motte_value *out) {
    if (!PyFloat_CheckExact(value)) return false;
    double given = PyFloat_AsDouble(value);
    float rounded = (float)given;
    if (isinf(rounded) && !isinf(given)) return false;
    out->type = MOTTE_TYPE_FLOAT;
    out->as.single = rounded;
    return true;
}

static bool text(PyObject *value, motte_value *out) {
    Py_ssize_t size;
    const char *bytes = PyUnicode_AsUTF8AndSize(value, &size);
    if (bytes == NULL) {
        /* Surrogates, which have a message of their own. */
        if (PyErr_ExceptionMatches(PyExc_UnicodeError)) PyErr_Clear();
        return false;
    }
    out->type = MOTTE_TYPE_STRING;
    out->as.string.data = bytes;
    out->as.string.size = (size_t)size;
    return true;
}

static bool data(PyObject *value, motte_value *out) {
    out->type = MOTTE_TYPE_DATA;
    out->as.data.data = PyBytes_AsString(value);
    out->as.data.size = (size_t)PyBytes_Size(value);
    return true;
}

static bool take_number(PyObject *value, PyObject *name, int64_t *out) {
    PyObject *found = PyObject_GetAttr(value, name);
    if (found == NULL) return false;
    *out = PyLong_AsLongLong(found);
    Py_DECREF(found);
    return !(*out == -1 && PyErr_Occurred());
}

static bool point_in_time(PyObject *value, motte_value *out) {
    PyObject *zone = PyObject_GetAttr(value, names.tzinfo);
    Py_XDECREF(zone);
    /* Compared by where it was: nothing is done with it. */
    if (zone == NULL || zone == Py_None) return false;
    PyObject *difference = PyNumber_Subtract(value, hooks.epoch);
    if (difference == NULL) return false;
    int64_t days, seconds, microseconds;
    bool has_all = take_number(difference, names.days, &days) && take_number(difference, names.seconds, &seconds) &&
                   take_number(difference, names.microseconds, &microseconds);
    Py_DECREF(difference);
    if (!has_all) return false;
    int64_t second = days * 86400 + seconds;
    if (second < least_second || second > most_second) return false;
    out->type = MOTTE_TYPE_TIMESTAMP;
    out->aux = (uint32_t)(microseconds * 1000);
    out->as.seconds = second;
    return true;
}

/* Decimals and identifiers, of the very class. */
static bool words(PyObject *value, uint32_t type, motte_value *out) {
    PyObject *number = PyLong_FromUnsignedLong(type);
    PyObject *class = number == NULL ? NULL : PyDict_GetItemWithError(hooks.classes, number);
    PyObject *found = NULL;
    if (class != NULL && (PyObject *)Py_TYPE(value) == class) {
        found = PyObject_CallFunctionObjArgs(hooks.words, value, number, NULL);
    }
    Py_XDECREF(number);
    if (found == NULL && PyErr_Occurred() && PyErr_ExceptionMatches(hooks.error)) PyErr_Clear();
    bool is_done = false;
    if (found != NULL && PyTuple_Check(found) && PyTuple_Size(found) == 3) {
        uint64_t head = PyLong_AsUnsignedLongLongMask(PyTuple_GetItem(found, 0));
        out->type = (uint32_t)head;
        out->aux = (uint32_t)(head >> 32);
        out->as.words[0] = PyLong_AsUnsignedLongLongMask(PyTuple_GetItem(found, 1));
        out->as.words[1] = PyLong_AsUnsignedLongLongMask(PyTuple_GetItem(found, 2));
        is_done = out->type == type && !PyErr_Occurred();
    }
    Py_XDECREF(found);
    return is_done;
}

static bool link_to(Row *row, const Slot *slot, PyObject *value, motte_value *out) {
    if (!PyObject_TypeCheck(value, object_type)) return false;
    Object *object = (Object *)value;
    Row *target = (Row *)object->row;
    if (target == NULL || target->database != row->database || target->class_id != slot->target) return false;
    Py_INCREF(target);
    int64_t key;
    bool is_live = live_key(object, target, &key);
    Py_DECREF(target);
    if (!is_live) return false;
    out->type = MOTTE_TYPE_LINK;
    out->aux = slot->target;
    out->as.key = key;
    return true;
}

static bool of_any_type(PyObject *value, motte_value *out) {
    if (PyLong_CheckExact(value)) return whole(value, out);
    if (PyUnicode_CheckExact(value)) return text(value, out);
    if (PyFloat_CheckExact(value)) return number(value, out);
    if (PyBytes_CheckExact(value)) return data(value, out);
    if (!PyBool_Check(value)) return false;
    out->type = MOTTE_TYPE_BOOL;
    out->as.boolean = value == Py_True;
    return true;
}

static bool of_type(Row *row, const Slot *slot, PyObject *value, motte_value *out) {
    switch (slot->type) {
    case MOTTE_TYPE_INT: return PyLong_CheckExact(value) && whole(value, out);
    case MOTTE_TYPE_STRING: return PyUnicode_CheckExact(value) && text(value, out);
    case MOTTE_TYPE_DOUBLE: return number(value, out);
    case MOTTE_TYPE_FLOAT: return single(value, out);
    case MOTTE_TYPE_DATA: return PyBytes_CheckExact(value) && data(value, out);
    case MOTTE_TYPE_BOOL: return PyBool_Check(value) && of_any_type(value, out);
    case MOTTE_TYPE_TIMESTAMP: return (PyObject *)Py_TYPE(value) == hooks.datetime && point_in_time(value, out);
    case MOTTE_TYPE_LINK: return link_to(row, slot, value, out);
    case MOTTE_TYPE_MIXED: return of_any_type(value, out);
    case MOTTE_TYPE_DECIMAL:
    case MOTTE_TYPE_OBJECT_ID:
    case MOTTE_TYPE_UUID: return words(value, slot->type, out);
    default: return false;
    }
}

bool encoded(Row *row, const Slot *slot, PyObject *value, motte_value *out, PyObject **owner) {
    memset(out, 0, sizeof *out);
    *owner = NULL;
    if (value == Py_None) return true;
    PyObject *stored = value;
    if (slot->members != NULL) {
        if ((PyObject *)Py_TYPE(value) != slot->members) return false;
        stored = PyObject_GetAttr(value, names.value);
        if (stored == NULL) return false;
    }
    bool is_done = of_type(row, slot, stored, out);
    if (is_done && (out->type == MOTTE_TYPE_STRING || out->type == MOTTE_TYPE_DATA)) {
        Py_INCREF(stored);
        *owner = stored;
    }
    if (stored != value) Py_DECREF(stored);
    return is_done;
}
