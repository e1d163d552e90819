/* Row, Core, Guard, Write and Seen: what a class is in one database, and whose that is at the moment. */
#include "objects.h"

#include <string.h>

PyTypeObject *guard_type, *core_type, *write_type, *seen_type, *row_type;

/* Of rows; 0 is none. */
static uint64_t last_serial;

void replace(PyObject **place, PyObject *value) {
    PyObject *before = *place;
    Py_XINCREF(value);
    *place = value;
    Py_XDECREF(before);
}

/* ------------------------------------------------------------------------------------------------ looking up */

Slot *slot_of(Row *row, Property *property) {
    if (property->serial == row->serial) return &row->slots[property->place];
    for (Py_ssize_t index = 0; index < row->count; index++) {
        if (row->slots[index].name != property->name) continue;
        property->serial = row->serial;
        property->place = index;
        return &row->slots[index];
    }
    return NULL;
}

PyObject *open_write(Core *core) {
    if (core == NULL || core->guard == NULL) return NULL;
    PyObject *write = ((Guard *)core->guard)->write;
    return is_none(write) ? NULL : write;
}

PyObject *seen_now(Core *core) {
    if (core == NULL || core->guard == NULL) return NULL;
    PyObject *seen = ((Guard *)core->guard)->seen;
    return is_none(seen) ? NULL : seen;
}

bool is_own_task(Core *core) {
    PyObject *write = open_write(core);
    if (write == NULL) return true;
    if (!PyObject_TypeCheck(write, write_type)) return false;
    PyObject *task = ((Write *)write)->task;
    static PyObject *running_loop;
    if (running_loop == NULL) {
        PyObject *events = PyImport_GetModule(names.running_loop);
        if (events == NULL) {
            PyErr_Clear();
            return is_none(task);
        }
        running_loop = PyObject_GetAttrString(events, "_get_running_loop");
        Py_DECREF(events);
        if (running_loop == NULL) {
            PyErr_Clear();
            return false;
        }
    }
    PyObject *current = PyObject_CallNoArgs(running_loop);
    if (current != NULL && current != Py_None) {
        Py_DECREF(current);
        current = PyObject_CallNoArgs(hooks.current_task);
    }
    if (current == NULL) return false;
    /* Compared by where they are: nothing is done with them. */
    Py_DECREF(current);
    return is_none(current) ? is_none(task) : current == task;
}

bool live_key(Object *object, Row *row, int64_t *key) {
    Core *core = (Core *)row->database;
    if (core == NULL || !is_own_task(core)) return false;
    /* Of a write that has ended, what it made may be gone. */
    if (!is_none(object->seen)) {
        if (!PyObject_TypeCheck(object->seen, seen_type) || !((Seen *)object->seen)->is_open) return false;
    }
    *key = object->key;
    return true;
}

Row *row_of_class(Core *core, uint32_t class_id) {
    if (core->rows == NULL || !PyDict_CheckExact(core->rows)) return NULL;
    PyObject *number = PyLong_FromUnsignedLong(class_id);
    PyObject *row = number == NULL ? NULL : PyDict_GetItemWithError(core->rows, number);
    Py_XDECREF(number);
    if (row == NULL || !PyObject_TypeCheck(row, row_type)) return NULL;
    Py_INCREF(row);
    return (Row *)row;
}

Row *row_of_model(PyObject *database, PyObject *model) {
    if (!PyObject_TypeCheck(database, core_type)) return NULL;
    Core *core = (Core *)database;
    if (core->class_ids == NULL || !PyDict_CheckExact(core->class_ids)) return NULL;
    PyObject *number = PyDict_GetItemWithError(core->class_ids, model);
    unsigned long class_id = number == NULL ? 0 : PyLong_AsUnsignedLong(number);
    if (number == NULL || PyErr_Occurred()) return NULL;
    Row *row = row_of_class(core, (uint32_t)class_id);
    if (row == NULL || (row->model == model && row->database == database)) return row;
    Py_DECREF(row);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------ making objects */

PyObject *object_in(Row *row, int64_t key, PyObject *seen) {
    if (row->model == NULL) {
        PyErr_SetString(PyExc_ReferenceError, "the database of this object is gone");
        return NULL;
    }
    /* The references of the object, before it is made: that may close the database, which drops its own. */
    Py_INCREF(row);
    if (is_none(seen)) seen = NULL;
    Py_XINCREF(seen);
    PyObject *made;
    if (row->allocate != NULL) {
        made = row->allocate((PyTypeObject *)row->model, 0);
    } else {
        made = PyObject_CallMethodObjArgs(row->model, names.new, row->model, NULL);
    }
    if (made != NULL && PyObject_TypeCheck(made, object_type)) {
        Object *object = (Object *)made;
        PyObject *before[] = {object->row, object->seen};
        object->row = (PyObject *)row;
        object->seen = seen;
        object->key = key;
        Py_XDECREF(before[0]);
        Py_XDECREF(before[1]);
        return made;
    }
    if (made != NULL) PyErr_Format(PyExc_TypeError, "%R made an object of another type", row->model);
    Py_XDECREF(made);
    Py_XDECREF(seen);
    Py_DECREF(row);
    return NULL;
}

PyObject *object_of(Row *row, int64_t key) {
    Core *core = (Core *)row->database;
    return object_in(row, key, seen_now(core));
}

PyObject *linked_object(Core *core, uint32_t class_id, int64_t key) {
    Row *row = row_of_class(core, class_id);
    PyObject *made = row == NULL ? NULL : object_of(row, key);
    Py_XDECREF(row);
    if (row != NULL || PyErr_Occurred()) return made;
    PyObject *number = PyLong_FromUnsignedLong(class_id), *place = PyLong_FromLongLong(key);
    if (number != NULL && place != NULL) {
        made = PyObject_CallMethodObjArgs((PyObject *)core, names.make, number, place, NULL);
    }
    Py_XDECREF(number);
    Py_XDECREF(place);
    return made;
}

bool store(Object *object, Row *row, int64_t key, PyObject *seen) {
    if (object->row != NULL) return false;
    PyObject *before = object->seen;
    Py_INCREF(row);
    if (is_none(seen)) seen = NULL;
    Py_XINCREF(seen);
    object->key = key;
    object->row = (PyObject *)row;
    object->seen = seen;
    /* An object that is in no database was seen in no write. */
    Py_XDECREF(before);
    return true;
}

void unstore(Object *object) {
    replace(&object->row, NULL);
    replace(&object->seen, NULL);
}

/* ------------------------------------------------------------------------------------------------ Row */

static void forget_slots(Row *row) {
    for (Py_ssize_t index = 0; index < row->count; index++) {
        Py_XDECREF(row->slots[index].name);
        Py_XDECREF(row->slots[index].members);
        Py_XDECREF(row->slots[index].by_value);
    }
    row->count = row->plain_count = 0;
    PyMem_Free(row->slots);
    PyMem_Free(row->plain);
    PyMem_Free(row->props);
    row->slots = NULL;
    row->plain = NULL;
    row->props = NULL;
    row->serial = 0;
}

/* From (name, property id, type, flags, class of links, place in the plan, enum, its members by value). */
static bool read_slot(PyObject *entry, Slot *slot) {
    PyObject *name, *members, *by_value;
    unsigned long long prop;
    unsigned int type, flags, target, planned;
    if (!PyArg_ParseTuple(entry, "UKIIIIOO", &name, &prop, &type, &flags, &target, &planned, &members, &by_value))
        return false;
    Py_INCREF(name);
    slot->name = name;
    PyUnicode_InternInPlace(&slot->name);
    slot->prop = prop;
    slot->type = type;
    slot->flags = flags;
    slot->target = target;
    slot->planned = planned;
    if (PyType_Check(members)) {
        Py_INCREF(members);
        slot->members = members;
    }
    if (PyDict_Check(by_value)) {
        Py_INCREF(by_value);
        slot->by_value = by_value;
    }
    return true;
}

static bool read_slots(Row *row, PyObject *slots) {
    Py_ssize_t count = PyTuple_Size(slots);
    size_t room = count > 0 ? (size_t)count : 1;
    row->slots = PyMem_Calloc(room, sizeof(Slot));
    row->plain = PyMem_Calloc(room, sizeof(Py_ssize_t));
    row->props = PyMem_Calloc(room, sizeof(motte_prop));
    if (row->slots == NULL || row->plain == NULL || row->props == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t index = 0; index < count; index++) {
        PyObject *entry = PyTuple_GetItem(slots, index);
        if (!PyTuple_Check(entry)) {
            PyErr_SetString(PyExc_TypeError, "a slot is a tuple");
            return false;
        }
        Slot *slot = &row->slots[index];
        if (!read_slot(entry, slot)) return false;
        row->count = index + 1;
        if (slot->planned >= (size_t)row->plan->count) {
            PyErr_SetString(PyExc_ValueError, "a slot is outside the plan of its class");
            return false;
        }
        if (!(slot->flags & SLOT_PLAIN)) continue;
        row->plain[row->plain_count] = index;
        row->props[row->plain_count++] = slot->prop;
    }
    return true;
}

/* Takes the reference over. */
static void replace_plan(Row *row, Plan *plan) {
    Plan *before = row->plan;
    row->plan = plan;
    Py_XDECREF(before);
}

/* _bind(database, address of the realm's handle, class id, model, flags, slots) */
static PyObject *row_bind(PyObject *self, PyObject *arguments) {
    PyObject *database, *model, *slots;
    unsigned long long realm;
    unsigned int class_id, flags;
    if (!PyArg_ParseTuple(arguments, "O!KIO!IO!", core_type, &database, &realm, &class_id, &PyType_Type, &model, &flags,
                          &PyTuple_Type, &slots)) {
        return NULL;
    }
    if (!PyType_IsSubtype((PyTypeObject *)model, object_type)) {
        PyErr_Format(PyExc_TypeError, "a model class is wanted, not %R", model);
        return NULL;
    }
    Plan *plan = plan_of((PyTypeObject *)model);
    if (plan == NULL) return NULL;
    Row *row = (Row *)self;
    forget_slots(row);
    replace_plan(row, plan);
    if (!read_slots(row, slots)) {
        forget_slots(row);
        return NULL;
    }
    row->serial = ++last_serial;
    row->realm = (motte_realm *)(uintptr_t)realm;
    row->class_id = class_id;
    row->flags = flags;
    replace(&row->database, database);
    replace(&row->model, model);
    /* A class with a __new__ of its own is asked for each object. */
    bool is_plain = PyType_GetSlot((PyTypeObject *)model, Py_tp_new) == PyType_GetSlot(object_type, Py_tp_new);
    row->allocate = is_plain ? (allocfunc)PyType_GetSlot((PyTypeObject *)model, Py_tp_alloc) : NULL;
    Py_RETURN_NONE;
}

static int row_traverse(PyObject *self, visitproc visit, void *arg) {
    Row *row = (Row *)self;
    Py_VISIT(row->database);
    Py_VISIT(row->model);
    Py_VISIT(row->plan);
    for (Py_ssize_t index = 0; index < row->count; index++) {
        Py_VISIT(row->slots[index].members);
        Py_VISIT(row->slots[index].by_value);
    }
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int row_clear(PyObject *self) {
    Row *row = (Row *)self;
    replace(&row->database, NULL);
    replace(&row->model, NULL);
    replace_plan(row, NULL);
    return 0;
}

static void row_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    row_clear(self);
    forget_slots((Row *)self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyMethodDef row_methods[] = {
    {"_bind", row_bind, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef row_members[] = {
    {"database", T_OBJECT, offsetof(Row, database), READONLY, NULL},
    {"model", T_OBJECT, offsetof(Row, model), READONLY, NULL},
    {"class_id", T_UINT, offsetof(Row, class_id), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot row_slots[] = {
    {Py_tp_doc, "What every class in a database has."},
    {Py_tp_traverse, row_traverse},
    {Py_tp_clear, row_clear},
    {Py_tp_dealloc, row_dealloc},
    {Py_tp_methods, row_methods},
    {Py_tp_members, row_members},
    {0, NULL},
};

static PyType_Spec row_spec = {
    "motte._objects.Row", sizeof(Row), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, row_slots,
};

/* ------------------------------------------------------------------------------------------------ Core */

static int core_traverse(PyObject *self, visitproc visit, void *arg) {
    Core *core = (Core *)self;
    Py_VISIT(core->guard);
    Py_VISIT(core->stored);
    Py_VISIT(core->rows);
    Py_VISIT(core->class_ids);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int core_clear(PyObject *self) {
    Core *core = (Core *)self;
    replace(&core->guard, NULL);
    replace(&core->stored, NULL);
    replace(&core->rows, NULL);
    replace(&core->class_ids, NULL);
    return 0;
}

static void core_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    core_clear(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* What the guard has of these two. */
static PyObject *core_write(PyObject *self, void *Py_UNUSED(closure)) {
    PyObject *write = open_write((Core *)self);
    if (write == NULL) Py_RETURN_NONE;
    Py_INCREF(write);
    return write;
}

static PyObject *core_seen(PyObject *self, void *Py_UNUSED(closure)) {
    PyObject *seen = seen_now((Core *)self);
    if (seen == NULL) Py_RETURN_NONE;
    Py_INCREF(seen);
    return seen;
}

static int set_of_guard(PyObject *self, PyObject *value, bool is_write) {
    Guard *guard = (Guard *)((Core *)self)->guard;
    if (guard == NULL) {
        PyErr_SetString(PyExc_AttributeError, "this database has no guard yet");
        return -1;
    }
    /* Dropping what was there may drop the database. */
    Py_INCREF(guard);
    replace(is_write ? &guard->write : &guard->seen, is_none(value) ? NULL : value);
    Py_DECREF(guard);
    return 0;
}

static int core_set_write(PyObject *self, PyObject *write, void *Py_UNUSED(closure)) {
    return set_of_guard(self, write, true);
}

static int core_set_seen(PyObject *self, PyObject *seen, void *Py_UNUSED(closure)) {
    return set_of_guard(self, seen, false);
}

/* _guarded_by(guard) */
static PyObject *core_guarded_by(PyObject *self, PyObject *guard) {
    if (!PyObject_TypeCheck(guard, guard_type))
        return PyErr_Format(PyExc_TypeError, "a guard is wanted, not %R", guard);
    replace(&((Core *)self)->guard, guard);
    Py_RETURN_NONE;
}

static PyMethodDef core_methods[] = {
    {"_guarded_by", core_guarded_by, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef core_getters[] = {
    {"_write", core_write, core_set_write, NULL, NULL},
    {"_seen", core_seen, core_set_seen, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef core_members[] = {
    {"_stored", T_OBJECT, offsetof(Core, stored), 0, NULL},
    {"_rows", T_OBJECT, offsetof(Core, rows), 0, NULL},
    {"_class_ids", T_OBJECT, offsetof(Core, class_ids), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot core_slots[] = {
    {Py_tp_doc, "What every open database has."},
    {Py_tp_traverse, core_traverse},
    {Py_tp_clear, core_clear},
    {Py_tp_dealloc, core_dealloc},
    {Py_tp_methods, core_methods},
    {Py_tp_members, core_members},
    {Py_tp_getset, core_getters},
    {0, NULL},
};

static PyType_Spec core_spec = {
    "motte._objects.Core", sizeof(Core), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, core_slots,
};

/* ------------------------------------------------------------------------------------------------ Guard */

static int guard_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((Guard *)self)->write);
    Py_VISIT(((Guard *)self)->seen);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int guard_clear(PyObject *self) {
    replace(&((Guard *)self)->write, NULL);
    replace(&((Guard *)self)->seen, NULL);
    return 0;
}

static void guard_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    guard_clear(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyMemberDef guard_members[] = {
    {"write", T_OBJECT, offsetof(Guard, write), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot guard_slots[] = {
    {Py_tp_doc, "What every guard of a database has."},
    {Py_tp_traverse, guard_traverse},
    {Py_tp_clear, guard_clear},
    {Py_tp_dealloc, guard_dealloc},
    {Py_tp_members, guard_members},
    {0, NULL},
};

static PyType_Spec guard_spec = {
    "motte._objects.Guard",
    sizeof(Guard),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    guard_slots,
};

/* ------------------------------------------------------------------------------------------------ Write */

static int write_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((Write *)self)->task);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int write_clear(PyObject *self) {
    replace(&((Write *)self)->task, NULL);
    return 0;
}

static void write_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    write_clear(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyMethodDef write_methods[] = {
    {"__exit__", end_block, METH_VARARGS, NULL},
    {"__aexit__", end_block_async, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef write_members[] = {
    {"_task", T_OBJECT, offsetof(Write, task), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot write_slots[] = {
    {Py_tp_doc, "What every write has."},
    {Py_tp_traverse, write_traverse},
    {Py_tp_clear, write_clear},
    {Py_tp_dealloc, write_dealloc},
    {Py_tp_members, write_members},
    {Py_tp_methods, write_methods},
    {0, NULL},
};

static PyType_Spec write_spec = {
    "motte._objects.Write",
    sizeof(Write),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    write_slots,
};

/* ------------------------------------------------------------------------------------------------ Seen */

static PyMemberDef seen_members[] = {
    {"is_open", T_BOOL, offsetof(Seen, is_open), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot seen_slots[] = {
    {Py_tp_doc, "What says whether an object may be lost with a write."},
    {Py_tp_members, seen_members},
    {0, NULL},
};

static PyType_Spec seen_spec = {
    "motte._objects.Seen", sizeof(Seen), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, seen_slots,
};

bool add_row_types(PyObject *module) {
    return (row_type = made_type(module, &row_spec)) != NULL && (guard_type = made_type(module, &guard_spec)) != NULL &&
           (core_type = made_type(module, &core_spec)) != NULL &&
           (write_type = made_type(module, &write_spec)) != NULL && (seen_type = made_type(module, &seen_spec)) != NULL;
}
