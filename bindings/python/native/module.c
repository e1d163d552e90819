/* The module `motte._objects`. */
#include "objects.h"

Hooks hooks;
Names names;

PyTypeObject *made_type(PyObject *module, PyType_Spec *spec) {
    PyObject *type = PyType_FromSpec(spec);
    if (type == NULL) return NULL;
    const char *name = spec->name + sizeof "motte._objects." - 1;
    /* The module has one reference, and what is made here needs the types for as long as the process lives. */
    Py_INCREF(type);
    if (PyModule_AddObject(module, name, type) < 0) {
        Py_DECREF(type);
        Py_DECREF(type);
        return NULL;
    }
    return (PyTypeObject *)type;
}

bool give_way(void) {
    Py_BEGIN_ALLOW_THREADS;
    Py_END_ALLOW_THREADS;
    return PyErr_CheckSignals() == 0;
}

bool add_types(PyObject *module) {
    return add_plan_type(module) && add_object_type(module) && add_property_type(module) && add_row_types(module) &&
           add_cursor_type(module) && add_block_type(module);
}

static bool add_names(void) {
    struct {
        PyObject **place;
        const char *text;
    } wanted[] = {
        {&names.values, "_values"},
        {&names.get, "get"},
        {&names.set, "set"},
        {&names.of_class, "_of_class"},
        {&names.check_value, "_check_value"},
        {&names.refused, "_refused"},
        {&names.taken_types, "_taken_types"},
        {&names.unmanaged_value, "_unmanaged_value"},
        {&names.missing, "_missing"},
        {&names.check_given, "_check_given"},
        {&names.plan, "_plan"},
        {&names.properties, "_properties"},
        {&names.make, "_object"},
        {&names.new, "__new__"},
        {&names.value, "_value_"},
        {&names.days, "days"},
        {&names.seconds, "seconds"},
        {&names.microseconds, "microseconds"},
        {&names.tzinfo, "tzinfo"},
        {&names.running_loop, "asyncio.events"},
        {&names.ended, "_ended"},
        {&names.abandon, "_abandon"},
        {&names.awaited, "_awaited"},
    };
    for (size_t index = 0; index < sizeof wanted / sizeof *wanted; index++) {
        *wanted[index].place = PyUnicode_InternFromString(wanted[index].text);
        if (*wanted[index].place == NULL) return false;
    }
    return true;
}

/* configure(...): what Python's layers have and this module needs, by name; several times, each some of it. */
static PyObject *configure(PyObject *Py_UNUSED(module), PyObject *arguments, PyObject *options) {
    static char *known[] = {"unknown",  "copied",    "current_task", "decoders", "words",       "error",
                            "datetime", "timedelta", "epoch",        "classes",  "most_values", NULL};
    PyObject **places[] = {&hooks.unknown, &hooks.copied,   &hooks.current_task, &hooks.decoders, &hooks.words,
                           &hooks.error,   &hooks.datetime, &hooks.timedelta,    &hooks.epoch,    &hooks.classes};
    PyObject *given[sizeof places / sizeof *places] = {NULL};
    Py_ssize_t values = most_values;
    if (!PyArg_ParseTupleAndKeywords(arguments, options, "|$OOOO!OOOOOO!n", known, &given[0], &given[1], &given[2],
                                     &PyDict_Type, &given[3], &given[4], &given[5], &given[6], &given[7], &given[8],
                                     &PyDict_Type, &given[9], &values)) {
        return NULL;
    }
    if (values < 1) return PyErr_Format(PyExc_ValueError, "at least one value goes to the library");
    most_values = values;
    for (size_t index = 0; index < sizeof places / sizeof *places; index++) {
        if (given[index] != NULL) replace(places[index], given[index]);
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"configure", (PyCFunction)(void (*)(void))configure, METH_VARARGS | METH_KEYWORDS, NULL},
    {"claim", (PyCFunction)(void (*)(void))claim, METH_FASTCALL, NULL},
    {"add", (PyCFunction)(void (*)(void))add, METH_FASTCALL, NULL},
    {"add_all", (PyCFunction)(void (*)(void))add_all, METH_FASTCALL, NULL},
    {"find", (PyCFunction)(void (*)(void))find, METH_FASTCALL, NULL},
    {"shown", shown, METH_O, NULL},
    {"objects_of", (PyCFunction)(void (*)(void))objects_of, METH_FASTCALL, NULL},
    {"iterated", (PyCFunction)(void (*)(void))iterated, METH_FASTCALL, NULL},
    {"element_of", (PyCFunction)(void (*)(void))element_of, METH_FASTCALL, NULL},
    {"unraised", (PyCFunction)(void (*)(void))unraised, METH_FASTCALL, NULL},
    {"lent", (PyCFunction)(void (*)(void))lent, METH_FASTCALL, NULL},
    {"last_error", last_error, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "motte._objects", "What is done per object.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__objects(void) {
    /* Types and hooks are those of one interpreter. */
    if (object_type != NULL) {
        PyErr_SetString(PyExc_ImportError, "motte is loaded in another interpreter of this process already");
        return NULL;
    }
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) return NULL;
    if (!add_names() || !add_types(module)) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
