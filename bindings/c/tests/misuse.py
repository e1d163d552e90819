"""Writes misuse_cases.c: every function of motte.h called wrongly in every way that applies to it.

    misuse.py > misuse_cases.c

Ways: a NULL, released, foreign or unknown handle; a handle of another kind; another thread; a closed realm; a forked
child; no open write; a frozen thing; a deleted object; a NULL where an output, a text, an array or a struct is
required; a text that is not UTF-8; an unknown flag; a wrong struct_size; a class or property that is not there, or is
of another type; beginning to observe in a write; no handle left to give; sizes, counts and positions that no memory
holds, for which the process must live on. Each checks the exact status, that outputs are zero, that userdata is freed
once and that no handle is left. A last row per function calls it correctly.

A function that needs a good argument no rule below knows stops the generator, so that no new function goes untested.
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import header

HANDLES = ["error", "config", "schema", "realm", "object", "coll", "query", "insert", "queue", "token", "changes",
           "report", "migration", "sections", "reference", "groups"]
IN_REALM = {"realm", "object", "coll", "query", "insert", "token", "sections", "groups"}
STRUCTS_WITH_SIZE = {name for _, name, fields in header.structs() if fields and fields[0] == "struct_size"}

# The good property for functions of one type.
PROPS = {
    "get_int": "n", "set_int": "n", "get_bool": "flag", "set_bool": "flag", "get_double": "real",
    "set_double": "single", "get_string": "name", "set_string": "name", "get_data": "data", "set_data": "data",
    "get_timestamp": "time", "set_timestamp": "time", "set_null": "name", "get_object": "friend_",
    "copy_string": "name", "add_int": "n",
    "get_coll": "friends", "read_ints": "n", "read_doubles": "real", "read_bools": "flag", "read_timestamps": "time",
    "read_links": "friend_", "read_strings": "name", "read_strings_packed": "name", "aggregate": "n",
    "prop_info": "owners", "get_fixed": "price", "set_fixed": "price", "read_fixed": "price",
}
# A change batch of everything there was in an empty file.
BATCH = "(const uint8_t *)" + " ".join('"' + part + '"' for part in (
    r"\115\117\124\124\105\103\110\107\001\000\001\000\234\103\156\354\130\000\000\000\000\000",
    r"\000\000\001\000\000\000\000\000\000\000\002\000\000\000\000\000\000\000\000\000\000\000",
    r"\000\000\000\000\001\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000",
    r"\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000",
))
# One of no changes, which is its own inverse.
NO_CHANGES = "(const uint8_t *)" + " ".join('"' + part + '"' for part in (
    r"\115\117\124\124\105\103\110\107\001\000\000\000\112\120\332\345\130\000\000\000\000\000",
    r"\000\000\000\000\001\000\000\000\000\000\000\000\002\000\000\000\000\000\001\000\000\000",
    r"\000\000\000\000\001\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000",
    r"\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000",
))
# Good arguments by function and parameter, then by parameter.
GOOD = {
    ("motte_changes_batch_info", "bytes"): BATCH, ("motte_changes_batch_info", "size"): "88",
    ("motte_changes_batch_inverse", "bytes"): NO_CHANGES, ("motte_changes_batch_inverse", "size"): "88",
    ("motte_changes_batch_apply", "bytes"): BATCH, ("motte_changes_batch_apply", "size"): "88",
    ("motte_check_abi", "abi_version"): "MOTTE_ABI_VERSION", ("motte_check_abi", "abi_layout"): "MOTTE_ABI_LAYOUT",
    ("motte_schema_add_class", "name"): '"Another"', ("motte_config_set_option", "name"): '"max_file_size"',
    ("motte_schema_add_index", "props"): '"n, name desc"',
    ("motte_config_get_option", "name"): '"durability"', ("motte_config_set_option", "value"): "&f->map_size",
    ("motte_schema_parse", "text"): '"A { a: int }"', ("motte_coll_aggregate", "op"): "MOTTE_AGGREGATE_SUM",
    ("motte_prop_find", "name"): '"name"', ("motte_object_set", "value"): "&f->name_value",
    ("motte_object_set", "prop"): "f->name", ("motte_coll_find", "value"): "&f->link_value",
    ("motte_list_set", "value"): "&f->link_value", ("motte_list_insert", "value"): "&f->link_value",
    ("motte_list_append", "values"): "f->links", ("motte_list_splice", "values"): "f->links",
    ("motte_insert_rows", "values"): "f->rows", ("motte_object_get", "prop"): "f->n",
    ("motte_object_get_many", "props"): "f->read_props", ("motte_row_get_many", "props"): "f->read_props",
    ("motte_read_values", "props"): "f->read_props", ("motte_insert_new", "props"): "f->created_props",
    ("motte_object_create_with", "props"): "f->created_props", ("motte_row_create", "props"): "f->created_props",
    ("motte_object_create_with", "values"): "f->created_values", ("motte_row_create", "values"): "f->created_values",
    ("motte_object_set_many", "props"): "f->assigned_props", ("motte_row_set_many", "props"): "f->assigned_props",
    ("motte_object_set_many", "values"): "f->assigned_values", ("motte_row_set_many", "values"): "f->assigned_values",
    ("motte_row_delete", "keys"): "f->keys", ("motte_coll_sort", "keys"): "&f->sort_key",
    ("motte_coll_distinct", "keys"): "&f->sort_key", ("motte_coll_distinct", "key_count"): "1",
    ("motte_object_set_double", "value"): "1.5", ("motte_object_set_timestamp", "value"): "&f->instant",
    ("motte_object_set_int", "value"): "1", ("motte_object_set_bool", "value"): "1",
    ("motte_object_create", "primary_key"): "&f->assigned_values[1]", ("motte_handle_dump", "visit"): "handle_callback",
    ("motte_changes_values", "prop"): "f->n", ("motte_config_set_flags", "mask"): "0",
    ("motte_query_bind", "value"): "&f->int_value", ("motte_callback_fail", "user_pointer"): "NULL",
    ("motte_callback_fail", "free_pointer"): "NULL", ("motte_status_name", "status"): "0",
    ("motte_status_message", "status"): "0", ("motte_realm_wait_for_change", "timeout_ms"): "0",
    ("motte_class_find", "name"): '"Thing"', ("motte_coll_sort", "key_count"): "1",
    ("motte_insert_columns", "columns"): "f->columns", ("motte_nested_list", "values"): "f->created_values",
    ("motte_nested_map", "values"): "f->created_values", ("motte_nested_map", "keys"): "f->column_names",
    ("motte_value_compare", "left"): "&f->int_value", ("motte_value_compare", "right"): "&f->name_value",
    ("motte_decimal_compare", "left"): "&f->decimal", ("motte_decimal_compare", "right"): "&f->decimal",
    ("motte_decimal_parse", "text"): '"3.75"', ("motte_object_id_parse", "text"): '"507f1f77bcf86cd799439011"',
    ("motte_uuid_parse", "text"): '"00112233-4455-6677-8899-aabbccddeeff"',
    ("motte_timestamp_parse", "text"): '"2013-01-01T10:00:00Z"', ("motte_bytes_format", "type"): "MOTTE_TYPE_UUID",
    ("motte_bytes_format", "bytes"): "f->room", ("motte_object_set_fixed", "bytes"): "&f->decimal",
    ("motte_set_insert", "value"): "&f->int_value", ("motte_set_remove", "value"): "&f->int_value",
    ("motte_set_insert_many", "values"): "f->ints", ("motte_map_put", "value"): "&f->int_value",
    ("motte_map_put_many", "values"): "f->ints", ("motte_map_put_many", "keys"): "f->column_names",
    ("motte_coll_assign", "values"): "f->links", ("motte_set_combine", "other"): "f->set",
    ("motte_set_relate", "other"): "f->set", ("motte_coll_get_coll", "coll"): "f->mixed",
    ("motte_realm_copy", "path"): "f->new_path", ("motte_file_salvage", "path"): "f->new_path",
    ("motte_file_delete", "config"): "f->file_config", ("motte_file_compact", "config"): "f->file_config",
    ("motte_file_salvage", "config"): "f->file_config", ("motte_file_plan", "config"): "f->file_config",
    ("motte_config_on_compact", "callback"): "compact_callback",
    ("motte_config_on_first_open", "callback"): "realm_callback",
    ("motte_config_on_migrate", "callback"): "migrate_callback",
    ("motte_config_on_progress", "callback"): "progress_callback",
    ("motte_migration_enumerate", "visit"): "pair_callback", ("motte_migration_rename_class", "from"): '"Gone"',
    ("motte_migration_rename_class", "to"): '"Come"', ("motte_migration_delete_class", "name"): '"Nobody"',
    ("motte_migration_rename_prop", "from"): '"before"', ("motte_migration_rename_prop", "to"): '"after"',
    ("motte_config_rename_class", "from"): '"Old"', ("motte_config_rename_class", "to"): '"New"',
    ("motte_config_rename_prop", "from"): '"old"', ("motte_config_rename_prop", "to"): '"new"',
    ("motte_export_realm", "options"): "&f->export_options", ("motte_export_coll", "options"): "&f->export_options",
    ("motte_export_object", "options"): "&f->export_options", ("motte_import", "options"): "&f->import_options",
    ("motte_import_schema", "options"): "&f->csv_options", ("motte_import_schema", "class_name"): '"Row"',
    ("motte_import_schema", "key"): '"id"', ("motte_import_notes", "options"): "&f->csv_options",
    ("motte_realm_file_schema", "options"): "&f->realm_file_options",
    ("motte_import_realm_file", "options"): "&f->realm_file_options",
    ("motte_convert_realm_file", "options"): "&f->realm_file_options",
    ("motte_convert_realm_file", "destination"): "f->new_path",
    ("motte_convert_realm_file", "key"): "(const uint8_t *)" + '"sixteen bytes: a"' * 4,
    ("motte_convert_realm_file", "key_size"): "64",
    ("motte_config_set_encryption_key", "key"): "(const uint8_t *)" + '"sixteen bytes: a"' * 4,
    ("motte_config_set_encryption_key", "key_size"): "64", ("motte_realm_copy_with_key", "path"): "f->new_path",
    ("motte_realm_compact_online", "max_bytes"): "0",
    ("motte_realm_copy_with_key", "key"): "(const uint8_t *)" + '"sixteen bytes: a"' * 4,
    ("motte_realm_copy_with_key", "key_size"): "64",
    ("motte_arrow_read", "options"): "&f->arrow_options", ("motte_arrow_schema", "options"): "&f->arrow_options",
    ("motte_arrow_insert", "options"): "&f->arrow_import_options", ("motte_arrow_insert", "stream"): "made_stream(f)",
    ("motte_arrow_stream_of", "schema"): "made_arrow_schema(f)",
    ("motte_arrow_stream_of", "batch"): "made_arrow_batch(f)",
    ("motte_log_set", "level"): "MOTTE_LOG_ERROR", ("motte_log_set", "callback"): "NULL",
    ("motte_config_set_public_name", "prop_name"): "NULL", ("motte_config_set_public_name", "prop_name_size"): "0",
    ("motte_class_require", "name"): '"Thing"', ("motte_realm_delete_class", "name"): '"Nobody"',
    ("motte_thaw", "realm"): "f->realm", ("motte_object_set_object", "prop"): "f->friend_",
    ("motte_map_get_coll", "key"): '"nested"', ("motte_embedded_create", "prop"): "f->home",
    ("motte_embedded_insert", "list"): "f->places", ("motte_embedded_set", "list"): "f->places",
    ("motte_sections_by_path", "path"): '"id"', ("motte_sections_by_callback", "callback"): "section_key_callback",
    ("motte_sections_find", "key"): "&f->int_value", ("motte_observe_section", "key"): "&f->int_value",
    ("motte_observe_sections", "flags"): "MOTTE_OBSERVE_PATHS",
    ("motte_observe_section", "flags"): "MOTTE_OBSERVE_PATHS",
    ("motte_observe_sections", "paths"): "f->paths", ("motte_observe_section", "paths"): "f->paths",
    ("motte_observe_coll_paths", "paths"): "f->paths", ("motte_observe_object_paths", "paths"): "f->paths",
    ("motte_realm_queue_write", "work"): "realm_callback", ("motte_realm_queue_write", "done"): "done_callback",
    ("motte_realm_cancel_queued", "ticket"): "1", ("motte_realm_on_query_progress", "progress"): "NULL",
    ("motte_realm_on_commit", "callback"): "NULL", ("motte_changes_batch_between", "before"): "f->realm",
    ("motte_changes_batch_difference", "other"): "f->realm",
    ("motte_coll_group", "text"): '"id > $0 GROUP(id) COUNT"', ("motte_groups_find_column", "name"): '"COUNT"',
    ("motte_groups_find", "keys"): "&f->int_value", ("motte_groups_find", "key_count"): "1",
    ("motte_groups_arrow", "options"): "&f->arrow_options",
    ("motte_embedded_put", "map"): "f->homes", ("motte_map_get_coll", "map"): "f->mixed_map",
}
GENERAL = {
    "cls": "f->cls", "key": "f->key", "index": "0", "other": "1", "from": "0", "to": "1", "first": "0", "limit": "1",
    "row": "0", "column": "0",
    "remove_count": "1", "position": "0", "class_index": "0", "prop_index": "0", "rule": "&f->rule",
    "flags": "0", "unit": "MOTTE_UNIT_NANOSECONDS",
    "layout": "MOTTE_LAYOUT_ROWS", "count": "2", "row_count": "2", "prop_count": "2", "arg_count": "1",
    "key_count": "2", "capacity": "2", "max": "0", "timeout_ms": "0", "args": "&f->int_value", "text": '"id > $0"',
    "path": '"/tmp/x"', "identifier": '"x"', "name": '"name"', "message": '"text"', "primary_key": "&f->int_value",
    "spec": "&f->spec", "origin": "f->friend_", "callback": "changes_callback", "userdata": "&f->freed",
    "free_userdata": "count_free", "bytes": '"ab"', "byte_count": "2", "kind": "MOTTE_HANDLE_NONE", "values": None,
    "left": "f->object", "right": "f->object", "handle": "f->object", "timeout": "0", "nested": "&f->nested",
    "set": "f->set", "map": "f->map", "operation": "MOTTE_SET_UNION", "part": "MOTTE_CHANGES_INSERTIONS",
    "value": "&f->int_value", "parent": "f->object",
    "progress": "progress_callback", "class_name": '"Thing"',
    "paths": "f->column_names", "path_count": "2", "tokens": "&f->token", "token_count": "1",
    "from_version": "0", "since_version": "0", "origin_high": "1", "origin_low": "2",
    "savepoint": "made_savepoint(f)", "delta": "1", "target": "f->object",
    "real": "1.5", "decimal": "&f->decimal", "timestamp": "&f->instant", "width": "16",
}
# NULL means something for these.
NULL_IS_FINE = {
    ("motte_config_set_schema", "schema"), ("motte_config_set_queue", "queue"), ("motte_has_feature", "name"),
    ("motte_object_create", "primary_key"), ("motte_object_set_object", "target"), ("motte_arrow_read", "options"),
    ("motte_arrow_schema", "options"), ("motte_arrow_insert", "options"), ("motte_groups_arrow", "options"),
    ("motte_config_set_public_name", "prop_name"),
}
# These need a realm that has a file, alone.
WITH_FILE = {"motte_realm_compact", "motte_realm_compact_online"}
# A property of a type that a function is not for; of the others `friends`, a list.
WRONG_PROPS = {"motte_object_get_coll": "n", "motte_row_get_coll": "n", "motte_object_backlinks": "n",
               "motte_object_backlink_count": "n", "motte_embedded_create": "n", "motte_coll_aggregate": "name"}
# Errors of their own come before these, or any property will do.
NO_WRONG_PROP = {"motte_object_set_null"}
# Called with nothing left in the table of handles; these have nothing to give in the fixture, or open files first.
NOT_WITHOUT_HANDLES = {"motte_realm_open", "motte_file_salvage", "motte_token_next", "motte_object_parent",
                       "motte_query_first"}
# These need a realm with a queue.
WITH_QUEUE = {"motte_realm_queue_write", "motte_realm_cancel_queued"}
# What has to be there before a correct call.
BEFORE = {"motte_object_add_int": "motte_object_set_int(f->object, f->n, 1);",
          "motte_query_bind_named": "name_argument(f);"}
ARRAYS_OUT = {"out_values", "out_keys", "out_offsets", "out_props", "out_classes", "out_indexes", "out_old_indexes",
              "out_new_indexes", "out_validity", "out_ranges", "out_from", "out_to",
              "out_text", "out_readers", "out_texts", "out_notes", "out_consumers"}


def is_handle(parameter):
    match = re.fullmatch(r"(?:const )?motte_(\w+) \*", parameter.type)
    return match[1] if match and match[1] in HANDLES and not parameter.name.startswith("out_") else None


def is_generic(parameter):
    return parameter.type == "const void *" and parameter.name in ("handle", "left", "right")


def is_text(function, index):
    parameters = function.parameters
    return (parameters[index].type == "const char *" and index + 1 < len(parameters)
            and parameters[index + 1].name == parameters[index].name + "_size")


def is_output(parameter):
    return parameter.name.startswith("out_")


def out_type(parameter):
    return parameter.type.removesuffix("*").strip()


def is_array_output(function, parameter):
    if parameter.name not in ARRAYS_OUT:
        return False
    counts = {"count", "row_count", "capacity"}
    return any(other.name in counts for other in function.parameters)


def good(function, index):
    parameter = function.parameters[index]
    name = parameter.name
    if (function.name, name) in GOOD:
        return GOOD[function.name, name]
    handle = is_handle(parameter)
    if handle and name in ("set", "map"):
        return f"f->{name}"
    if handle:
        return f"f->{handle}"
    if is_output(parameter):
        if parameter.name == "out_bytes" and parameter.type == "void *":
            return "f->room"
        if is_array_output(function, parameter):
            room = {"out_validity": "f->validity", "out_new_indexes": "(void *)f->more_room",
                    "out_to": "(void *)f->more_room"}
            return room.get(name, "(void *)f->room")
        return f"&{name}"
    if name.endswith("_size") and is_text(function, index - 1):
        return "MOTTE_NTS"
    if name == "prop":
        for suffix, prop in PROPS.items():
            if function.name.endswith(suffix):
                return f"f->{prop}"
    if name == "key" and parameter.type == "const char *":
        return '"name"'
    if GENERAL.get(name) is not None:
        return GENERAL[name]
    raise SystemExit(f"misuse.py: no good argument for {name} of {function.name}; add one")


def errors(function, by_name, seen=()):
    names = set(re.findall(r"\b[A-Z][A-Z_0-9]+\b", function.errors))
    for other in re.findall(r"(motte_\w+)\(\)", function.errors):
        if other not in seen and other in by_name:
            names |= errors(by_name[other], by_name, (*seen, function.name))
    return names


class Cases:
    def __init__(self):
        self.count = 0
        self.runs = []
        self.without_handles = {}

    def add(self, function, label, expected, changes, *, state=0, before="", where="here", check=True):
        """One case: the good arguments but for `changes`, a dict of parameter index to C text."""
        number = self.count
        self.count += 1
        name = f"{function.name}: {label}"
        arguments, declarations, checks = [], [], []
        for index, parameter in enumerate(function.parameters):
            text = changes.get(index, good(function, index))
            arguments.append(text)
            if is_output(parameter) and text == f"&{parameter.name}":
                kind = out_type(parameter)
                declarations.append(f"    {kind}{'' if kind.endswith('*') else ' '}{parameter.name};")
                # Poisoned, so that zero means "was set to zero".
                declarations.append(f"    memset(&{parameter.name}, 0xAB, sizeof {parameter.name});")
                if kind in STRUCTS_WITH_SIZE:
                    size = changes.get("struct_size", f"(uint32_t)sizeof {parameter.name}")
                    declarations.append(f"    {parameter.name}.struct_size = {size};")
                elif parameter.name != "out_fd":
                    checks.append(f"    expect_zero({quoted(name)}, \"{parameter.name}\", &{parameter.name}, "
                                  f"sizeof {parameter.name});")
        call = f"{function.name}({', '.join(arguments)})"
        body = [f"/* {name} */", f"static void case_{number}(fixture *f) {{"]
        body += [line for line in declarations if "memset" not in line and "struct_size =" not in line]
        body += ["    (void)f;"]
        body += [line for line in declarations if "memset" in line or "struct_size =" in line]
        if before:
            body.append(f"    {before}")
        if expected is None:
            body.append(f"    {call};")
        elif expected == "an answer":
            body.append(f"    (void){call};")
            body += [f"    motte_release({p.name});" for p in function.parameters
                     if is_output(p) and "**" in p.type]
            body += [f"    motte_buf_dispose(&{p.name});" for p in function.parameters
                     if is_output(p) and out_type(p) == "motte_buf"]
            body += given_up(parameters_of=function)
        elif expected == "success":
            body.append(f"    expect_status({quoted(name)}, 0, {call} < 0 ? -1 : 0);")
            body += [f"    motte_release({p.name});" for p in function.parameters
                     if is_output(p) and "**" in p.type]
            body += [f"    motte_buf_dispose(&{p.name});" for p in function.parameters
                     if is_output(p) and out_type(p) == "motte_buf"]
            body += given_up(parameters_of=function)
        else:
            body.append(f"    expect_status({quoted(name)}, {expected}, {call});")
            if check and expected.startswith("MOTTE_E_"):
                body += checks
        body.append("}\n")
        print("\n".join(body))
        if any(is_handle(p) == "migration" for p in function.parameters):
            # Good only inside a migration, which is where these cases run.
            where = {"here": "in_a_migration", "thread": "in_a_migration_elsewhere",
                     "child": "in_a_migration_child"}[where]
        run = {"without handles": "",
               "in_a_migration": f"in_a_migration(case_{number}, &f);",
               "in_a_migration_elsewhere": f"in_a_migration_elsewhere(case_{number}, &f);",
               "in_a_migration_child": f"in_a_migration_child({quoted(name)}, case_{number}, &f);",
               "here": f"case_{number}(&f);", "thread": f"on_another_thread(case_{number}, &f);",
               "child": f"in_a_child({quoted(name)}, case_{number}, &f);"}[where]
        if where == "without handles":
            self.without_handles.setdefault(state, []).append(f"    case_{number}(&f);")
            return
        freed = ""
        if "child" not in where and any(p.name == "free_userdata" for p in function.parameters):
            freed = f" expect_freed_once({quoted(name)}, &f);"
        self.runs.append(f"    fixture_make(&f, {state}); {run} fixture_end(&f, {quoted(name)});{freed}")


def given_up(parameters_of):
    """Arrow structs release themselves."""
    return [f"    if ({p.name}.release) {p.name}.release(&{p.name});" for p in parameters_of.parameters
            if is_output(p) and out_type(p).startswith("struct Arrow")]


def quoted(text):
    return '"' + text.replace('"', '\\"') + '"'


def write(cases, function, by_name):
    parameters = function.parameters
    listed = errors(function, by_name)
    returns_status = function.result == "motte_status"
    state = ("IN_WRITE" if "NOT_IN_WRITE" in listed else "WITH_FILE" if function.name in WITH_FILE
             else "WITH_QUEUE" if function.name in WITH_QUEUE else "0")
    subject = next((is_handle(p) for p in parameters if is_handle(p)), None)

    def case(label, expected, changes, **options):
        options.setdefault("state", state)
        cases.add(function, label, expected if returns_status else None, changes, **options)

    for index, parameter in enumerate(parameters):
        handle = is_handle(parameter)
        generic = is_generic(parameter)
        if handle or generic:
            mine = good(function, index)
            if (function.name, parameter.name) not in NULL_IS_FINE:
                case(f"{parameter.name} is NULL", "MOTTE_E_NULL_ARGUMENT", {index: "NULL"})
            case(f"{parameter.name} was released", "MOTTE_E_STALE_HANDLE", {}, before=f"motte_release({mine});")
            cast = parameter.type if handle else "const void *"
            case(f"{parameter.name} is no handle", "MOTTE_E_BAD_HANDLE", {index: f"({cast})(void *)f->room"})
            case(f"{parameter.name} is a small number", "MOTTE_E_BAD_HANDLE", {index: f"({cast})(uintptr_t)8"})
            case(f"{parameter.name} was never given out", "MOTTE_E_BAD_HANDLE",
                 {index: f"({cast})((uintptr_t){mine} + ((uintptr_t)1 << 42))"})
            case("in a forked child", "MOTTE_E_FORKED", {}, where="child", check=False)
        if handle:
            other = "schema" if handle != "schema" else "config"
            case(f"{parameter.name} is of another kind", "MOTTE_E_WRONG_KIND",
                 {index: f"({parameter.type})f->{other}"})
        if is_output(parameter) and parameter.name not in function.optional:
            case(f"{parameter.name} is NULL", "MOTTE_E_NULL_ARGUMENT", {index: "NULL"})
        if is_output(parameter) and out_type(parameter) in STRUCTS_WITH_SIZE:
            case(f"{parameter.name} has no struct_size", "MOTTE_E_BAD_STRUCT_SIZE", {"struct_size": "0"})
            case(f"{parameter.name} has a huge struct_size", "MOTTE_E_BAD_STRUCT_SIZE", {"struct_size": "1u << 30"})
        if is_text(function, index) and (function.name, parameter.name) not in NULL_IS_FINE:
            case(f"{parameter.name} is NULL with a length", "MOTTE_E_NULL_ARGUMENT", {index: "NULL", index + 1: "3"})
            case(f"{parameter.name} is not UTF-8", "MOTTE_E_INVALID_UTF8", {index: '"a\\xC0\\x80"', index + 1: "3"})
            case(f"{parameter.name} is longer than memory", "MOTTE_E_INVALID_ARGUMENT",
                 {index + 1: "(size_t)-2"})
        elif (parameter.type.startswith("const motte_") and parameter.type.endswith("*") and not handle
                and (function.name, parameter.name) not in NULL_IS_FINE):
            case(f"{parameter.name} is NULL", "MOTTE_E_NULL_ARGUMENT", {index: "NULL"})
        if parameter.name == "options":
            mine = good(function, index).removeprefix("&")
            case("options have no struct_size", "MOTTE_E_BAD_STRUCT_SIZE", {}, before=f"{mine}.struct_size = 0;")
            if "realm_file" not in function.name and "arrow" not in function.name:
                case("options have an unknown format", "MOTTE_E_INVALID_ARGUMENT", {},
                     before=f"{mine}.format = 99;")
            case("options have unknown flags", "MOTTE_E_UNKNOWN_FLAG", {}, before=f"{mine}.flags = 0x40000000;")
        if parameter.name == "spec":
            case("spec has no struct_size", "MOTTE_E_BAD_STRUCT_SIZE", {}, before="f->spec.struct_size = 0;")
        if parameter.type == "size_t":
            # Whatever the answer, there is one; most sizes and positions are refused, and some mean "all".
            for value in ("SIZE_MAX / 2", "SIZE_MAX / 2 + 1", "SIZE_MAX - 1", "SIZE_MAX / 16", "SIZE_MAX / 48"):
                case(f"{parameter.name} is {value}", "an answer", {index: value})
        if parameter.name == "flags":
            case("unknown flags", "MOTTE_E_UNKNOWN_FLAG", {index: "0x40000000"})

    if returns_status and subject in IN_REALM | {"queue", "migration"} and function.thread == "owner":
        case("on another thread", "MOTTE_E_WRONG_THREAD", {}, where="thread")
    if returns_status and function.thread == "owner" and any(is_generic(p) for p in parameters):
        case("on another thread", "MOTTE_E_WRONG_THREAD", {}, where="thread")
    if returns_status and subject in IN_REALM and function.name != "motte_realm_close":
        closed = f"{state} | IS_CLOSED" if state in ("WITH_FILE", "WITH_QUEUE") else "IS_CLOSED"
        case("after the realm was closed", "MOTTE_E_CLOSED", {}, state=closed)
    if "NOT_IN_WRITE" in listed:
        case("outside of a write", "MOTTE_E_NOT_IN_WRITE", {}, state="0")
        if subject in ("realm", "object", "coll"):
            index = next(i for i, p in enumerate(parameters) if is_handle(p) == subject)
            mine = good(function, index).removeprefix("f->")
            frozen = f"f->frozen_{subject}" if mine == subject else f"frozen_of(f, {good(function, index)})"
            cast = f"({parameters[index].type})" if mine != subject else ""
            case("of something frozen", "MOTTE_E_FROZEN", {index: cast + frozen}, state="0")
    if "OBJECT_DELETED" in listed and subject in ("object", "coll") and parameters[0].name != "insert":
        deleted = "OBJECT_IS_DELETED" if state == "0" else "IN_WRITE | OBJECT_IS_DELETED"
        case("of a deleted object", "MOTTE_E_OBJECT_DELETED", {}, state=deleted)
    for index, parameter in enumerate(parameters):
        if parameter.type == "motte_class" and "UNKNOWN_CLASS" in listed:
            case("a class that is not there", "MOTTE_E_UNKNOWN_CLASS", {index: "4000"})
        if parameter.type == "motte_prop":
            if "UNKNOWN_PROPERTY" in listed:
                case("a property that is not there", "MOTTE_E_UNKNOWN_PROPERTY", {index: "(motte_prop)1 << 62"})
            if "WRONG_TYPE" in listed and function.name not in NO_WRONG_PROP:
                wrong = WRONG_PROPS.get(function.name, "friends")
                case("a property of another type", "MOTTE_E_WRONG_TYPE", {index: f"f->{wrong}"})
    if "ALREADY_IN_WRITE" in listed and function.name.startswith("motte_observe_"):
        case("in a write", "MOTTE_E_ALREADY_IN_WRITE", {}, state="IN_WRITE")
        mine = good(function, 0)
        frozen = f"frozen_of(f, {mine})" if subject in ("sections", "groups") else f"f->frozen_{subject}"
        case("of something frozen", "MOTTE_E_FROZEN", {0: frozen})
    gives_handles = any(is_output(parameter) and "**" in parameter.type for parameter in parameters)
    if gives_handles and function.name not in NOT_WITHOUT_HANDLES and state in ("0", "IN_WRITE"):
        case("with no handle left", "MOTTE_E_OUT_OF_HANDLES", {}, where="without handles")
    case("as it is meant", "success", {}, before=BEFORE.get(function.name, ""))


def main():
    print("/* Generated by misuse.py from motte.h. */")
    print('#include "misuse_fixture.h"\n#include <string.h>\n')
    print("void run_cases(void);\n")
    cases = Cases()
    functions = header.functions()
    by_name = {function.name: function for function in functions}
    # Handles that are wrong mean something else to these: handles.c.
    skipped = {"motte_buf_dispose", "motte_release", "motte_release_many"}
    for function in functions:
        if function.parameters and function.name not in skipped:
            write(cases, function, by_name)
    print("void run_cases(void) {\n    static fixture f;")
    print("\n".join(cases.runs))
    for state, calls in cases.without_handles.items():
        print(f"    fixture_make(&f, {state});\n    fill_handles();")
        print("\n".join(calls))
        print('    release_filling();\n    fixture_end(&f, "with no handle left");')
    print("}")


main()
