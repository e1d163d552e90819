/* Plan: what the constructor of a model class goes by. A new object has its values in the order of the plan, as long as
 * nobody asks for them by name. */
#include "objects.h"

PyTypeObject *plan_type;

Plan *plan_of(PyTypeObject *type) {
    PyObject *plan = PyObject_GetAttr((PyObject *)type, names.plan);
    if (plan != NULL && !PyObject_TypeCheck(plan, plan_type)) {
        Py_DECREF(plan);
        PyErr_Format(PyExc_TypeError, "%R has no plan for its objects", (PyObject *)type);
        return NULL;
    }
    return (Plan *)plan;
}

static bool refuse(PyObject *type, PyObject *name) {
    PyObject *message = PyObject_CallFunctionObjArgs(hooks.unknown, type, name, NULL);
    if (message != NULL) PyErr_SetObject(PyExc_TypeError, message);
    Py_XDECREF(message);
    return false;
}

/* Whether all the names are properties that can be given; false with an error. */
static bool knows_all(Plan *plan, PyObject *type, PyObject *given) {
    Py_ssize_t position = 0;
    PyObject *name, *value;
    while (PyDict_Next(given, &position, &name, &value)) {
        bool is_known = false;
        for (Py_ssize_t index = 0; index < plan->count && !is_known; index++) {
            if (plan->entries[index].kind == START_COMPUTED) continue;
            int same = PyObject_RichCompareBool(plan->entries[index].name, name, Py_EQ);
            if (same < 0) return false;
            is_known = same == 1;
        }
        if (!is_known) return refuse(type, name);
    }
    return true;
}

/* The types that are taken without a closer look, which are known once the class has read its annotations. */
static bool learn_types(Plan *plan, PyObject *type) {
    PyObject *taken = PyObject_CallMethodObjArgs(type, names.taken_types, NULL);
    if (taken == NULL) return false;
    bool is_dict = PyDict_Check(taken);
    for (Py_ssize_t index = 0; index < plan->count && is_dict; index++) {
        PyObject *types = PyDict_GetItemWithError(taken, plan->entries[index].name);
        /* Those of another thread, which learns them too, may be in use. */
        Entry *entry = &plan->entries[index];
        if (types != NULL && PyAnySet_Check(types) && entry->types == NULL) replace(&entry->types, types);
    }
    Py_DECREF(taken);
    if (!is_dict) PyErr_SetString(PyExc_TypeError, "the types of properties are a dict");
    plan->knows_types = is_dict && !PyErr_Occurred();
    return plan->knows_types;
}

/* Ints of 64 bits, and texts that are Unicode. */
static bool fits(PyObject *value) {
    if (PyLong_CheckExact(value)) {
        int overflow = 0;
        PyLong_AsLongLongAndOverflow(value, &overflow);
        return overflow == 0;
    }
    if (!PyUnicode_CheckExact(value)) return true;
    /* Kept with the text, which is stored so later. */
    Py_ssize_t size;
    if (PyUnicode_AsUTF8AndSize(value, &size) != NULL) return true;
    if (PyErr_ExceptionMatches(PyExc_UnicodeError)) PyErr_Clear();
    return false;
}

static bool takes(Entry *entry, PyObject *type, PyObject *value) {
    if (entry->types != NULL) {
        int found = PySet_Contains(entry->types, (PyObject *)Py_TYPE(value));
        if (found < 0) return false;
        if (found == 1 && fits(value)) return true;
        if (PyErr_Occurred()) return false;
    }
    PyObject *done = PyObject_CallMethodObjArgs(type, names.check_given, entry->name, value, NULL);
    Py_XDECREF(done);
    return done != NULL;
}

/* Where no value is given: the default, what a factory makes, or what the class says, which may be an error. */
static PyObject *start_of(Entry *entry, PyObject *type) {
    if (entry->kind == START_FACTORY) return PyObject_CallNoArgs(entry->start);
    if (entry->kind == START_ASKED) return PyObject_CallMethodObjArgs(type, names.missing, entry->name, NULL);
    Py_INCREF(entry->start);
    return entry->start;
}

void drop_cells(PyObject **cells, Py_ssize_t count) {
    for (Py_ssize_t index = 0; index < count; index++) Py_XDECREF(cells[index]);
    PyMem_Free(cells);
}

PyObject **planned_values(Plan *plan, PyObject *type, PyObject *given) {
    if (given != NULL && !plan->knows_types && !learn_types(plan, type)) return NULL;
    PyObject **cells = PyMem_Calloc((size_t)plan->count + 1, sizeof *cells);
    if (cells == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    Py_ssize_t found = 0, wanted = given == NULL ? 0 : PyDict_Size(given);
    for (Py_ssize_t index = 0; index < plan->count; index++) {
        Entry *entry = &plan->entries[index];
        if (entry->kind == START_COMPUTED) continue;
        PyObject *value = found == wanted ? NULL : PyDict_GetItemWithError(given, entry->name);
        if (value != NULL) {
            found++;
            Py_INCREF(value);
            cells[index] = value;
            if (!takes(entry, type, value)) goto failed;
            continue;
        }
        if (PyErr_Occurred()) goto failed;
        /* A name that is none is said before a value that is missing. */
        if (entry->kind == START_ASKED && found < wanted && !knows_all(plan, type, given)) goto failed;
        cells[index] = start_of(entry, type);
        if (cells[index] == NULL) goto failed;
    }
    if (found == wanted) return cells;
    if (knows_all(plan, type, given)) PyErr_SetString(PyExc_TypeError, "the names of properties are texts");
failed:
    drop_cells(cells, plan->count);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------ type */

/* Plan(((name, kind, start), ...)) */
static PyObject *plan_new(PyTypeObject *type, PyObject *arguments, PyObject *Py_UNUSED(options)) {
    PyObject *entries;
    if (!PyArg_ParseTuple(arguments, "O!", &PyTuple_Type, &entries)) return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *made = allocate(type, 0);
    if (made == NULL) return NULL;
    Plan *plan = (Plan *)made;
    Py_ssize_t count = PyTuple_Size(entries);
    plan->entries = PyMem_Calloc((size_t)count + 1, sizeof *plan->entries);
    if (plan->entries == NULL) {
        Py_DECREF(made);
        return PyErr_NoMemory();
    }
    for (Py_ssize_t index = 0; index < count; index++) {
        Entry *entry = &plan->entries[index];
        PyObject *name, *start;
        if (!PyArg_ParseTuple(PyTuple_GetItem(entries, index), "UiO", &name, &entry->kind, &start)) {
            Py_DECREF(made);
            return NULL;
        }
        plan->count = index + 1;
        Py_INCREF(name);
        entry->name = name;
        PyUnicode_InternInPlace(&entry->name);
        replace(&entry->start, start);
    }
    return made;
}

static int plan_traverse(PyObject *self, visitproc visit, void *arg) {
    Plan *plan = (Plan *)self;
    for (Py_ssize_t index = 0; index < plan->count; index++) {
        Py_VISIT(plan->entries[index].start);
        Py_VISIT(plan->entries[index].types);
    }
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void plan_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Plan *plan = (Plan *)self;
    PyObject_GC_UnTrack(self);
    for (Py_ssize_t index = 0; index < plan->count; index++) {
        Py_XDECREF(plan->entries[index].name);
        Py_XDECREF(plan->entries[index].start);
        Py_XDECREF(plan->entries[index].types);
    }
    PyMem_Free(plan->entries);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyType_Slot plan_slots[] = {
    {Py_tp_doc, "What the constructor of a model class goes by."},
    {Py_tp_new, plan_new},
    {Py_tp_traverse, plan_traverse},
    {Py_tp_dealloc, plan_dealloc},
    {0, NULL},
};

static PyType_Spec plan_spec = {
    "motte._objects.Plan", sizeof(Plan), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, plan_slots,
};

bool add_plan_type(PyObject *module) { return (plan_type = made_type(module, &plan_spec)) != NULL; }
