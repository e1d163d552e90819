"""The rules of this repository that a program can check. Run by `make test`; alone: `make tidy`.

Each finding is one line, `file:line: error: what is wrong, what instead`. What is allowed with a reason is allowed by a
comment on the same line or the line above; lists of exceptions are printed on every run, so that they stay short.
Checks that need something built (the library, the trace of the conformance runner) say so and are skipped without it.
"""
import ast
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bindings" / "c"))
import header  # noqa: E402  the parser of motte.h

findings = []
checks = []
SYSTEM_MODULES = {"Swift", "Glibc", "Musl", "Darwin", "Synchronization"}


def check(function):
    checks.append(function)
    return function


def report(path, line, message):
    path = pathlib.Path(path)
    findings.append(f"{path.relative_to(ROOT) if path.is_absolute() else path}:{line}: error: {message}")


def note(message):
    print(f"note: {message}")


def tracked(*suffixes):
    """Files of the repository, the new ones too, that end in one of the suffixes."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True).stdout.decode()
    for name in listed.split("\0"):
        if name.endswith(suffixes) and (ROOT / name).is_file():
            yield ROOT / name


def text_of(path):
    return path.read_text(encoding="utf-8")


def swift_code(path):
    """(number, code without comments and string contents, original line, line above) of each line of a Swift file."""
    above, in_block, in_text = "", False, False
    for number, line in enumerate(text_of(path).splitlines(), 1):
        code = line
        if in_text:
            if '"""' not in code:
                above = line
                continue
            code, in_text = code.split('"""', 1)[1], False
        code = re.sub(r'"""[^"]*"""', '""', code)
        if '"""' in code:
            code, in_text = code.split('"""', 1)[0] + '""', True
        code = re.sub(r'"(?:[^"\\]|\\.)*"', '""', code)
        code = re.sub(r"/\*.*?\*/", "", code)
        if in_block:
            if "*/" not in code:
                above = line
                continue
            code, in_block = code.split("*/", 1)[1], False
        if "/*" in code:
            code, in_block = code.split("/*", 1)[0], True
        code = code.split("//", 1)[0]
        yield number, code, line, above
        above = line


def has_reason(line, above):
    return "//" in line or above.strip().startswith("//")


def listed_exceptions(path):
    """{name: reason} from lines `name: reason` of a list of exceptions; empty lines and # lines are skipped."""
    found = {}
    if path.is_file():
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            name, separator, reason = line.partition(":")
            if not separator or len(reason.strip()) < 10:
                report(path, number, "an exception without a reason, write `name: reason`")
            if name.strip() in found:
                report(path, number, f"{name.strip()} is listed twice")
            found[name.strip()] = reason.strip()
    return found


# ------------------------------------------------------------------------------------------------ layers


def layer_table():
    """{folder: (module, allowed imports, whether Foundation)} from docs/ARCHITECTURE.md."""
    table = {}
    for line in text_of(ROOT / "docs" / "ARCHITECTURE.md").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 5 and cells[0].isdigit():
            allowed = {name.strip() for name in cells[3].split(",") if name.strip()}
            table[cells[2]] = (cells[1], allowed, cells[4] == "yes")
    return table


@check
def imports_match_the_layer_table():
    table = layer_table()
    if len(table) < 10:
        report("docs/ARCHITECTURE.md", 1, "the layer table was not found, one row a module with five cells")
    for path in tracked(".swift"):
        folder = "/".join(path.relative_to(ROOT).parts[:2])
        if not folder.startswith("Sources/"):
            continue
        if folder not in table:
            report(path, 1, f"{folder} is not in the layer table of docs/ARCHITECTURE.md")
            continue
        module, allowed, foundation = table[folder]
        for number, code, _, _ in swift_code(path):
            found = re.match(
                r"\s*(?:@\S+\s+)*(?:(?:public|package|internal|private)\s+)?import\s+(?:\w+\s+)?(\w+)", code)
            if not found:
                continue
            name = found[1]
            if name.startswith("Foundation") or name == "Dispatch":
                if not foundation:
                    report(path, number, f"{name} below layer 7, use the standard library, Synchronization or Glibc")
            elif name not in allowed and name not in SYSTEM_MODULES:
                report(path, number, f"{module} may not import {name}, see the layer table of docs/ARCHITECTURE.md")


@check
def invariants_have_names_of_their_own():
    """Each is stated once, in a comment (`T1  ...`, `table-1  ...`) or where it is required (`"rows-1: ..."`), and what
    names one names one that is stated."""
    name = r"(?:[A-Z]\d{1,2}|[a-z]+-\d{1,2})"
    stated, named = {}, []
    for path in tracked(".swift"):
        if path.relative_to(ROOT).parts[0] != "Sources":
            continue
        for number, line in enumerate(text_of(path).splitlines(), 1):
            found = re.match(rf"\s*///   ({name})  \S", line) or re.search(rf'"({name}): ', line) \
                or re.match(r"/// Invariant ([A-Z]\d): ", line)
            if found:
                if found[1] in stated:
                    report(path, number, f"the invariant {found[1]} is stated at {stated[found[1]]} already, take "
                           "the next number or another prefix")
                stated[found[1]] = f"{path.relative_to(ROOT)}:{number}"
            elif path.relative_to(ROOT).parts[1] in {"Storage", "Pages"}:
                named += [(path, number, one) for one in re.findall(rf'\(({name})\)["\s]*\)?$|, "({name})"\)', line)]
    for path, number, one in named:
        one = one[0] or one[1]
        if one not in stated:
            report(path, number, f"there is no invariant {one}, state it where its structure is described")
    if len(stated) < 30:
        report("scripts/tidy.py", 1, "hardly any invariants were found, has their form changed?")


@check
def package_has_no_unsafe_flags():
    for number, code, _, _ in swift_code(ROOT / "Package.swift"):
        if "unsafeFlags" in code:
            report("Package.swift", number, "unsafeFlags keeps others from depending on a tagged version, remove it")


@check
def public_only_in_the_bindings():
    bindings = {"Motte", "CExports", "RealmSwift"}
    # Says itself why.
    inlined = ROOT / "Sources/Values/Locked.swift"
    for path in tracked(".swift"):
        parts = path.relative_to(ROOT).parts
        if parts[0] != "Sources" or parts[1] in bindings or path == inlined:
            continue
        for number, code, _, _ in swift_code(path):
            if re.search(r"(?<![.\w])(public|open)\s+(?=[@a-z(])", code):
                report(path, number, "public below the language bindings, use package")


# ------------------------------------------------------------------------------------------------ Swift

# In tests too, where the thread sanitizer finds the race.
UNINITIALIZED = r"\bunsafeUninitializedCapacity:"
BANNED = [
    (r"\bfatalError\b", "fatalError ends the caller's process, throw DatabaseError"),
    (r"\bprecondition(Failure)?\s*\(", "precondition ends the caller's process, throw DatabaseError or assert"),
    (r"\btry!", "try! ends the caller's process, let the error through"),
    (r"\bas!", "as! ends the caller's process, use as? or a type that needs no cast"),
    (r"@unchecked\b", "@unchecked without its thread rule, say who may touch what in a comment"),
    (r"nonisolated\(unsafe\)", "nonisolated(unsafe) without its thread rule, say it in a comment"),
    (UNINITIALIZED,
     "an array without room is written to where all empty arrays of the process lie, a race; say why it has some"),
    (r"\bunsafelyUnwrapped\b", "unsafelyUnwrapped without the reason why it is never nil, say it in a comment"),
    (r"(?<=[\w)\]])!(?!=)(?=[\s.,)\]\[;:}(]|$)", "force unwrap, use guard let or say in a comment why it is never nil"),
]


@check
def traps_have_reasons():
    for path in tracked(".swift"):
        parts = path.relative_to(ROOT).parts
        if parts[0] not in ("Sources", "Tests"):
            continue
        source = [""] + text_of(path).splitlines() + [""]
        explained = {}
        for number, code, line, above in swift_code(path):
            for pattern, message in BANNED:
                if parts[0] == "Tests" and pattern != UNINITIALIZED:
                    continue
                if not re.search(pattern, code):
                    continue
                # Where RealmSwift's signature cannot throw, misuse of the Swift API is a precondition.
                if parts[1] == "Motte" and "precondition" in pattern:
                    continue
                # A reason covers the lines of the same kind that follow directly; a type's may open its body.
                below = "@unchecked" in pattern and source[number + 1].lstrip().startswith("// @unchecked:")
                if below or has_reason(line, above) or explained.get(pattern) == number - 1:
                    explained[pattern] = number
                else:
                    report(path, number, message)


@check
def locks_are_known_to_the_thread_sanitizer():
    for path in tracked(".swift"):
        if path.relative_to(ROOT).parts[0] not in ("Sources", "Tests"):
            continue
        for number, code, _, _ in swift_code(path):
            if re.search(r"\bMutex\s*[<(]", code):
                report(path, number, "the thread sanitizer does not know a contended Mutex, use Locked")


@check
def errors_are_not_passed_over():
    """Each `try?` has a comment why the cause does not matter; one covers the lines of the same kind that follow."""
    for path in tracked(".swift"):
        if path.relative_to(ROOT).parts[0] != "Sources":
            continue
        explained = 0
        for number, code, line, above in swift_code(path):
            if not re.search(r"\btry\?", code):
                continue
            if has_reason(line, above) or explained == number - 1:
                explained = number
            else:
                report(path, number, "try? hides a cause: handle the error, pass it on, or say why it does not matter")


@check
def locks_are_locked():
    """One way to lock: `Locked` and `LockedSignal`."""
    for path in tracked(".swift"):
        inside = str(path.relative_to(ROOT))
        if not inside.startswith("Sources/") or inside == "Sources/Values/Locked.swift":
            continue
        for number, code, _, _ in swift_code(path):
            if re.search(r"\bpthread_(mutex|rwlock|cond|spin)_|\bos_unfair_lock|\b(NSLock|DispatchSemaphore)\b", code):
                report(path, number, "a lock by hand, use Locked, or LockedSignal where threads wait")


# Names by what they are called; a `name` alone or `$0.name` is one, `birth.name` as well.
BARE_NAME = r"(?:name|className|propertyName|columnName)\b"
MEMBER_NAME = r"(?:[\w$]+(?:\(\))?[.?!]+)+(?:name|[a-z]\w*Name)\b(?:\(\))?"
# With nil and "" everything is compared by bytes.
OTHER = r"(?!nil\b|\"\"|\.)\S"
AFTER_OTHER = r"(?<!\"\")(?<!\bnil)"
NAMES_BY_CHARACTERS = re.compile("|".join([
    rf"{MEMBER_NAME} (?:[!=]=|[<>]=?) {OTHER}",
    rf"(?<![\w.]){BARE_NAME} [!=]= {OTHER}",
    rf"{AFTER_OTHER} [!=]= (?:{MEMBER_NAME}(?![\w.\[(<])|{BARE_NAME}(?![\w.?\[(<]))",
    rf"\b(?:contains|(?:first|last)Index)\((?:of: )?(?:{BARE_NAME}|{MEMBER_NAME})\)",
    r"\bnames\.sorted\(\)", r"\(\\\.\w*[nN]ame\)\)*\.sorted\(\)", r"\bSet\([^()]*\.map\(\\\.\w*[nN]ame\)\)"]))
# A mark at the beginning of a file's name would be joined to the slash before it.
PATHS_BY_CHARACTERS = re.compile(r"\b(?:first|last)Index\(of: \"/\"\)")
KEYS_BY_CHARACTERS = re.compile(r"\[String ?: |\bDictionary<String\b|\bSet<\[?String\b")


@check
def names_are_told_apart_by_their_bytes():
    """Swift takes composed and decomposed letters for the same. `// names: ASCII` allows a line, or what else they are.
    The Swift API takes dictionaries of programs, and the tool's are of ASCII names."""
    for path in tracked(".swift"):
        parts = path.relative_to(ROOT).parts
        if parts[0] != "Sources":
            continue
        for number, code, line, above in swift_code(path):
            if "// names: " in line or above.strip().startswith("// names: "):
                continue
            if NAMES_BY_CHARACTERS.search(code) or PATHS_BY_CHARACTERS.search(line):
                report(path, number, "compared by characters, use hasSameBytes, precedesInBytes, NameKey or FilePath")
            elif parts[1] not in {"Motte", "Tool"} and KEYS_BY_CHARACTERS.search(code):
                report(path, number, "equal keys by characters, use NameKey, or say what they are: // names: ASCII")


TEXT_BY_CHARACTERS = re.compile(
    r"\.has(?:Prefix|Suffix)\(|\.(?:split|components)\(separat\w+|\bCharacter\b"
    r"|(?<!properties)\.is(?:Whitespace|Newline|WholeNumber|HexDigit|Letter)\b"
    r"|(?<!utf8)(?<!unicodeScalars)\.(?:contains\(|(?:first|last)Index\(of: )\"")


@check
def texts_are_read_by_their_bytes():
    """Of two that end a line, and of a quote with a combining mark behind it, Swift makes one character, which is equal
    to none of them. What reads texts of users and files goes by bytes or scalars; `// characters: why` allows a line.
    """
    for path in tracked(".swift"):
        parts = path.relative_to(ROOT).parts
        if parts[0] != "Sources" or parts[1] not in {"Tool", "Exchange", "QueryEngine"}:
            continue
        for number, code, line, above in swift_code(path):
            if "// characters: " in line or above.strip().startswith("// characters: "):
                continue
            if TEXT_BY_CHARACTERS.search(code):
                report(path, number, "read by characters; use utf8, unicodeScalars, parts(between:), behindBytes(of:) "
                                     "or beforeBytes(of:)")


def parameter_count(text, start):
    """Of the list that opens at `start`, commas of its own level; 0 for an empty one."""
    depth, commas, angles, filled = 0, 0, 0, False
    for index in range(start, len(text)):
        character = text[index]
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth == 0:
                return commas + 1 if filled else 0
        elif character == "<":
            angles += 1
        elif character == ">" and text[index - 1] != "-":
            angles -= 1
        elif character == "," and depth == 1 and angles <= 0:
            commas += 1
        filled = filled or (depth > 0 and index > start and not character.isspace())
    return 0


MOST_PARAMETERS = 8


@check
def functions_take_few_parameters():
    """Beyond that they are grouped. C's functions have those of the header; others say why above their comment."""
    for path in tracked(".swift"):
        if path.relative_to(ROOT).parts[0] != "Sources":
            continue
        lines = list(swift_code(path))
        text = "\n".join(code for _, code, _, _ in lines)
        for found in re.finditer(r"\b(?:func\s+[^\s(<]+|init[?!]?)\s*(?:<[^(]*?>)?\s*\(", text):
            count = parameter_count(text, found.end() - 1)
            if count <= MOST_PARAMETERS:
                continue
            index = text.count("\n", 0, found.start())
            number, _, _, above = lines[index]
            while above.strip().startswith("///"):
                index -= 1
                above = lines[index][3]
            if not above.startswith("@_cdecl") and not above.strip().startswith("// "):
                report(path, number, f"{count} parameters, at most {MOST_PARAMETERS}: group those of one concept")


@check
def locks_of_the_process_survive_forks():
    for path in tracked(".swift"):
        if path.relative_to(ROOT).parts[0] != "Sources":
            continue
        for number, code, _, _ in swift_code(path):
            if re.search(r"static let \w+ *(:.*)?= *Locked(<.*>)?\((?!ofProcess:|$)", code):
                report(path, number, "a forked child finds it held for ever, use Locked(ofProcess:)")


@check
def files_open_with_what_they_own():
    for path in tracked(".swift"):
        if path.relative_to(ROOT).parts[0] not in {"Sources", "Benchmarks"}:
            continue
        lines = [line for line in text_of(path).splitlines() if line and not re.match(r"(@\S+ )*import |#", line)]
        if not lines or not lines[0].startswith("//"):
            report(path, 1, "starts without saying what it owns, open with a comment of 3 to 12 lines")


OPENS = (r"(?<![\w.])(?<!func )(?:open|openat)\([^)]*\bO_|"
         r"(?<![\w.])(?:openat2?|f?reopen|fopen|creat|mkstemp|mkostemps?|(?:fd)?opendir|socketpair|accept4|pipe2?"
         r"|eventfd|memfd_create|epoll_create1?|inotify_init1?|timerfd_create|signalfd|shm_open|dup)\("
         r"|(?<![\w.])(?<!func )socket\([^)]|(?<![\w.])accept\([^)]*,|\bF_DUPFD")


@check
def descriptors_are_opened_in_one_place():
    """What opens a descriptor may get one of the standard ones, and tell children of it; `motte_shim_open` does not."""
    for path in tracked(".swift", ".c"):
        inside = path.relative_to(ROOT)
        if inside.parts[0] != "Sources" or str(inside) == "Sources/CMotteShim/descriptors.c":
            continue
        lines = swift_code(path) if path.suffix == ".swift" else (
            (number, line, line, "") for number, line in enumerate(text_of(path).splitlines(), 1))
        for number, code, line, above in lines:
            if re.search(OPENS, code) and not (path.suffix == ".swift" and has_reason(line, above)):
                report(path, number, "open descriptors by motte_shim_descriptors.h, or say why this one need not be")


@check
def names_say_what_is_inside():
    vague = re.compile(r"(Utils?|Utilities|Helpers?|Manager|Common|Misc|Placeholder)(\+|\.swift$)")
    for path in tracked(".swift"):
        if " " in path.name or vague.search(path.name):
            report(path, 1, "a file name that says nothing, name it after its main type")


@check
def prints_only_in_the_tool():
    for path in tracked(".swift"):
        parts = path.relative_to(ROOT).parts
        if parts[0] != "Sources" or parts[1] == "Tool" or "func print(" in text_of(path):
            continue
        for number, code, _, _ in swift_code(path):
            if re.search(r"(?<![.\w])(print|debugPrint|dump)\(", code):
                report(path, number, "a left-over print, remove it")


MODIFIERS = "final|static|class|override|nonisolated|convenience|required|mutating|isolated|dynamic|lazy|weak|indirect"
ATTRIBUTES = r"\s*(?:@\w+(?:\([^)]*\))?\s+)*"
DECLARES = (
    r"\b(func|var|let|class(?!\s+(?:func|var|subscript)\b)|struct|enum|protocol|init|subscript|typealias|actor"
    r"|associatedtype|case)\b\s*`?(\w*)")
PUBLIC = re.compile(
    rf"{ATTRIBUTES}(?:(?:{MODIFIERS})\s+)*(?:public|open)\s+(?!extension\b|import\b).*?{DECLARES}")
MEMBER = re.compile(rf"{ATTRIBUTES}(?:(?:{MODIFIERS})\s+)*{DECLARES}")
ATTRIBUTE_ALONE = re.compile(r"\s*(?:#|@\w+(?:\(.*\))?\s*(?://.*)?$)")


def undocumented(text):
    """Numbers of the lines of public declarations without a comment, cases of enums and requirements of protocols
    included. Names that begin with _ are not for users, nor is what such a protocol asks for."""
    lines = text.splitlines()
    # Of the public enums and protocols around a line: their kind, name and indentation.
    around = []
    for index, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if around and line.strip() and indent <= around[-1][2]:
            # Not where the line only continues what opens it.
            if not line.lstrip().startswith(("{", "where ")) or "}" in line:
                around.pop()
        found = PUBLIC.match(line)
        if not found and around and indent == around[-1][2] + 4:
            member = MEMBER.match(line)
            if member and not around[-1][1].startswith("_") and (member[1] == "case" or around[-1][0] == "protocol"):
                found = member
        if not found:
            continue
        if found[1] in {"enum", "protocol"} and not line.endswith("}"):
            around.append((found[1], found[2], indent))
        above = index - 1
        while above >= 0 and ATTRIBUTE_ALONE.match(lines[above]):
            above -= 1
        is_said = above >= 0 and re.match(r"\s*(///|\*/)", lines[above])
        if (not is_said and not found[2].startswith("_")) or re.search(r"\benum\b.*\{.*\bcase\b", line):
            yield index + 1


@check
def public_declarations_say_what_they_are():
    for path in tracked(".swift"):
        if path.relative_to(ROOT).parts[:2] == ("Sources", "Motte"):
            for number in undocumented(text_of(path)):
                report(path, number, "public without a comment: say what it does, what it throws, where it may be used")


# ------------------------------------------------------------------------------------------------ all files


@check
def files_that_the_architecture_names_exist():
    for document in [ROOT / "docs" / "ARCHITECTURE.md", *sorted((ROOT / "docs" / "decisions").glob("*.md"))]:
        for number, line in enumerate(text_of(document).splitlines(), 1):
            for name in re.findall(r"`((?:Sources|Tests|bindings|include|scripts|docs|Fuzz)/[^`\s]+)`", line):
                if not (ROOT / name).exists():
                    report(document, number, f"there is no {name}")


@check
def decisions_are_numbered_once():
    """docs/decisions: `0007-what-was-decided.md`, each number once and each in the list of docs/ARCHITECTURE.md."""
    seen, listed = {}, text_of(ROOT / "docs" / "ARCHITECTURE.md")
    for path in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        number = path.name.partition("-")[0]
        if not re.fullmatch(r"[0-9]{4}", number) or not text_of(path).startswith(f"# {number}. "):
            report(path, 1, "a record is named and titled by its number: 0007-what-was-decided.md, `# 0007. Title`")
        if number in seen:
            report(path, 1, f"{seen[number]} has this number too")
        if f"decisions/{path.name})" not in listed:
            report(path, 1, "is not in the list of decisions of docs/ARCHITECTURE.md")
        seen[number] = path.name


@check
def lines_are_plain():
    for path in tracked(".swift", ".c", ".h", ".py", ".sh", ".pyi", ".steps", "CMakeLists.txt"):
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if len(line) > 120:
                report(path, number, f"{len(line)} characters, at most 120")
            if line != line.rstrip():
                report(path, number, "blanks at the end of the line")
            if "\t" in line:
                report(path, number, "a tab, use spaces")
            if re.search(r"\b(FIXME|XXX)\b" if path.name != "tidy.py" else r"(?!)", line):
                report(path, number, "a left-over note, finish it or open an issue")


@check
def files_stay_small():
    sizes = sorted(((len(text_of(path).splitlines()), path) for path in tracked(".swift")), reverse=True)
    for count, path in sizes:
        if count > 600:
            report(path, 1, f"{count} lines, cut at a concept (400 is a good size)")
    note("largest Swift files: " + ", ".join(f"{path.name} {count}" for count, path in sizes[:5]))


@check
def links_in_documents_resolve():
    for path in tracked(".md"):
        fenced = False
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            if fenced:
                continue
            for target in re.findall(r"\]\(([^)\s]+)\)", line):
                if re.match(r"[a-z]+:", target):
                    continue
                file, _, anchor = target.partition("#")
                goal = (path.parent / file).resolve() if file else path
                if not goal.exists():
                    report(path, number, f"{target} does not exist")
                elif anchor and goal.suffix == ".md" and anchor not in anchors(goal):
                    report(path, number, f"{target}: there is no such heading")


def anchors(path):
    found = set()
    for line in text_of(path).splitlines():
        if line.startswith("#"):
            title = re.sub(r"[`*]", "", line.lstrip("#").strip().lower())
            found.add(re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", title)))
    return found


# ------------------------------------------------------------------------------------------------ the C interface


@check
def exports_are_what_the_header_declares():
    library = ROOT / "build" / "library" / "libmotte.so.1"
    if not library.exists():
        print("skipped: exports against motte.h (build/library/libmotte.so.1 is not built)")
        return
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", "--extern-only", str(library)],
        check=True, capture_output=True, text=True).stdout
    exported = {line.split()[2].split("@")[0] for line in symbols.splitlines() if line.split()[1] != "A"}
    declared = {function.name for function in header.functions()}
    for name in sorted(declared - exported):
        report("include/motte.h", line_of(header.HEADER, name), f"{name} is declared and not exported")
    for name in sorted(exported - declared):
        report("include/motte.h", 1, f"{name} is exported and not declared")


@check
def every_function_is_implemented_against_the_header():
    implemented = {}
    for path in tracked(".swift"):
        if path.relative_to(ROOT).parts[:2] == ("Sources", "CExports"):
            for number, line in enumerate(text_of(path).splitlines(), 1):
                for name in re.findall(r'@_cdecl\("(\w+)"\)', line):
                    implemented[name] = (path, number)
                    if "@implementation" not in line:
                        report(path, number, f"{name} without @implementation, the compiler then checks the signature")
    if not implemented:
        print("skipped: implementation against motte.h (Sources/CExports exports nothing yet)")
        return
    declared = {function.name for function in header.functions()}
    for name in sorted(declared - implemented.keys()):
        report("include/motte.h", line_of(header.HEADER, name), f"{name} is declared and not implemented")
    for name in sorted(implemented.keys() - declared):
        report(*implemented[name], f"{name} is implemented and not declared")


@check
def python_uses_every_function():
    package = ROOT / "bindings" / "python"
    sources = [path for path in tracked(".py") if package / "src" in path.parents]
    if not sources:
        print("skipped: functions used by the Python package (there are no sources)")
        return
    sources += [path for path in tracked(".c") if package / "native" in path.parents]
    used = set(re.findall(r"\bmotte_[a-z_]+\b", "\n".join(text_of(path) for path in sources)))
    exceptions = listed_exceptions(package / "not-used.txt")
    for function in header.functions():
        if function.name in used and function.name in exceptions:
            report(package / "not-used.txt", line_of(package / "not-used.txt", function.name),
                   f"{function.name} is used now, remove the line")
        if function.name not in used and function.name not in exceptions:
            report("include/motte.h", line_of(header.HEADER, function.name),
                   f"{function.name} is not used by the Python package, bind it or list it in "
                   "bindings/python/not-used.txt with a reason")
    for name in sorted(exceptions.keys() - {function.name for function in header.functions()}):
        report(package / "not-used.txt", line_of(package / "not-used.txt", name), f"{name} is not in motte.h")
    print_exceptions("C functions the Python package does not use", exceptions)


def line_of(path, word):
    for number, line in enumerate(text_of(pathlib.Path(path)).splitlines(), 1):
        if re.search(rf"\b{re.escape(word)}\b", line):
            return number
    return 1


def print_exceptions(title, exceptions):
    if exceptions:
        print(f"not covered: {title}: {len(exceptions)}")
        for name, reason in exceptions.items():
            print(f"    {name}: {reason}")


# ------------------------------------------------------------------------------------------------ error numbers


def snake(name):
    """invalidUTF8 -> INVALID_UTF8"""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).upper()


def header_errors():
    found = re.findall(r"\bMOTTE_E_(\w+)\s*=\s*(-\d+)", header.region())
    return {name: int(number) for name, number in found}


@check
def error_numbers_agree():
    swift_file = ROOT / "Sources" / "Values" / "Errors" / "ErrorCode.swift"
    in_swift = {snake(name): int(number)
                for name, number in re.findall(r"case `?(\w+)`? = (-\d+)", text_of(swift_file))}
    in_header = header_errors()
    for name in sorted(in_swift.keys() | in_header.keys()):
        if in_swift.get(name) != in_header.get(name):
            report(swift_file, line_of(swift_file, str(in_swift.get(name, "case"))),
                   f"{name} is {in_swift.get(name)} here and {in_header.get(name)} in motte.h")
    errors_file = ROOT / "bindings" / "python" / "src" / "motte" / "errors.py"
    if not errors_file.exists():
        print("skipped: error numbers of the Python package (no errors.py)")
        return
    in_python = python_errors(errors_file)
    for name in sorted(in_header.keys() | in_python.keys()):
        if in_python.get(name) != in_header.get(name):
            report(errors_file, 1, f"{name} is {in_python.get(name)} here and {in_header.get(name)} in motte.h")


def python_errors(path):
    """Every NAME = -123, NAME: -123 and -123: ("NAME" in errors.py, found as constants in its syntax tree."""
    found = {}

    def number(node):
        try:
            value = ast.literal_eval(node)
        except (ValueError, SyntaxError, TypeError):
            return None
        return value if isinstance(value, int) and -1100 < value <= -100 else None

    for node in ast.walk(ast.parse(text_of(path))):
        if isinstance(node, ast.Assign) and number(node.value) is not None:
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id.isupper():
                    found[target.id] = number(node.value)
        if isinstance(node, ast.AnnAssign) and node.value is not None and number(node.value) is not None:
            if isinstance(node.target, ast.Name) and node.target.id.isupper():
                found[node.target.id] = number(node.value)
    return {name.removeprefix("MOTTE_E_"): value for name, value in found.items()}


# ------------------------------------------------------------------------------------------------ conformance

CASES = ROOT / "Tests" / "Conformance"


def case_files():
    return sorted(CASES.rglob("*.steps"))


@check
def cases_are_named_like_their_files():
    for path in case_files():
        lines = text_of(path).splitlines()
        named = re.match(r"case\s+(\S+)$", lines[0]) if lines else None
        if not named:
            report(path, 1, "a case begins with `case <name>`")
        elif named[1] != path.stem:
            report(path, 1, f"the case is called {named[1]}, name the file {named[1]}.steps")
        if len(lines) < 2 or not lines[1].startswith("about "):
            report(path, 2, "the second line is `about <one sentence>`")
    count = len(case_files())
    note(f"{count} conformance cases")
    if count < 50:
        report(CASES, 1, f"{count} cases, at least 50")


@check
def error_codes_are_reached():
    reached = set()
    for path in case_files():
        reached |= set(re.findall(r"(?m)\bfails\s+([A-Z0-9_]+)", text_of(path)))
    exceptions = listed_exceptions(CASES / "errors-not-reached.txt")
    for name in sorted(reached - header_errors().keys()):
        report(CASES, 1, f"a case expects {name}, motte.h has no such error")
    compare_reached("error codes", set(header_errors()), reached, exceptions, CASES / "errors-not-reached.txt")


def older_than_tests(notes):
    """Whether one of these notes of the C tests was made before the header, a case or a test was changed."""
    sources = [ROOT / "include" / "motte.h", CASES / "trace.py", *case_files()]
    sources += (path for path in (ROOT / "bindings" / "c" / "tests").iterdir()
                if path.is_file() and path.suffix != ".txt")
    return min(path.stat().st_mtime for path in notes) < max(path.stat().st_mtime for path in sources)


@check
def functions_are_reached():
    trace = ROOT / "build" / "conformance-functions.txt"
    if not trace.exists():
        print("skipped: C functions reached by conformance cases (run the C runner first)")
        return
    if older_than_tests([trace]):
        print("skipped: C functions reached by conformance cases (the header, a case or a test is newer;"
              " run the C runner again)")
        return
    exceptions = listed_exceptions(CASES / "functions-not-reached.txt")
    declared = {function.name for function in header.functions()}
    compare_reached("C functions", declared, set(text_of(trace).split()), exceptions,
                    CASES / "functions-not-reached.txt")


def compare_reached(what, declared, reached, exceptions, path):
    for name in sorted(declared - reached - exceptions.keys()):
        report("include/motte.h", line_of(header.HEADER, name),
               f"{name} is reached by no conformance case, add one or list it in {path.relative_to(ROOT)}")
    for name in sorted(exceptions.keys() & reached):
        report(path, line_of(path, name), f"{name} is reached now, remove the line")
    for name in sorted(exceptions.keys() - declared):
        report(path, line_of(path, name), f"{name} is not in motte.h")
    print_exceptions(f"{what} without a conformance case", exceptions)


# What any function may return without saying so, by the conventions of the header.
UNSAID = set("OK NULL_ARGUMENT BAD_HANDLE STALE_HANDLE WRONG_KIND WRONG_THREAD CLOSED FORKED INVALID_UTF8 "
             "INVALID_ARGUMENT UNKNOWN_FLAG BAD_STRUCT_SIZE TRUNCATED FROZEN DUPLICATE_VALUE REENTRANT CORRUPTED "
             "INPUT_OUTPUT INTERRUPTED CALLBACK".split())


def promised_statuses(function, by_name, seen=()):
    """Names of statuses in the comment of a function, and in those of the functions that it refers to."""
    names = set(re.findall(r"\b(?:MOTTE_(?:E_)?)?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)\b", function.comment))
    for other in set(re.findall(r"\b(motte_\w+)\(\)", " ".join(
            re.findall(r"\b[Aa]s ((?:motte_\w+\(\)(?:, | and )?)+)", function.comment)))) - {*seen, function.name}:
        names |= promised_statuses(by_name[other], by_name, (*seen, function.name))
    # What the comment of its part says of all: "The getters return MOTTE_NULL".
    if re.match(r"motte_(object|read)_", function.name):
        names |= {"NULL"} if function.name.startswith("motte_object_get") else {"END"}
    return names


@check
def functions_return_what_they_promise():
    folder = ROOT / "build" / "function-statuses"
    files = sorted(folder.glob("*.txt"))
    if not files:
        print("skipped: statuses that C functions return (run the C tests first)")
        return
    library = ROOT / "build" / "library" / "libmotte.so.1"
    if library.exists() and min(path.stat().st_mtime for path in files) < library.stat().st_mtime:
        print("skipped: statuses that C functions return (the library is newer; run all C tests again)")
        return
    if older_than_tests(files):
        print("skipped: statuses that C functions return (the header, a case or a test is newer;"
              " run all C tests again)")
        return
    returned = {}
    for path in files:
        for line in text_of(path).splitlines():
            function, status = line.split()
            returned.setdefault(function, set()).add(status.removeprefix("MOTTE_").removeprefix("E_"))
    by_name = {function.name: function for function in header.functions()}
    listed = ROOT / "bindings" / "c" / "tests" / "errors-not-provoked.txt"
    exceptions = listed_exceptions(listed)
    for name, function in by_name.items():
        found = returned.get(name, set())
        for status in sorted(found - UNSAID - promised_statuses(function, by_name)):
            report("include/motte.h", line_of(header.HEADER, name),
                   f"{name} returned {status}, its comment does not say so")
        for status in sorted(set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", function.errors)) - found):
            if f"{name} {status}" not in exceptions:
                report("include/motte.h", line_of(header.HEADER, name),
                       f"no C test makes {name} return {status}; provoke it, or list it in {listed.relative_to(ROOT)}")
    for line in exceptions:
        name, _, status = line.partition(" ")
        if name not in by_name or status not in by_name[name].errors:
            report(listed, 1, f"{line}: the comment in motte.h does not promise that")
        elif status in returned.get(name, set()):
            report(listed, 1, f"{line} is provoked now, remove the line")
    note(f"{len(exceptions)} errors of C functions are promised and provoked by no C test, see {listed.name}")


# ------------------------------------------------------------------------------------------------ promises


def test_names():
    """Names that documents may give to tests: files, suites, functions, `suite.function`, conformance cases."""
    names = set()
    for path in tracked(".swift", ".py", ".c", ".steps", ".sh"):
        relative = path.relative_to(ROOT)
        if relative.parts[0] not in ("Tests", "bindings", "Fuzz", "scripts", "Benchmarks"):
            continue
        names |= {str(relative), path.name, path.stem, f"{path.parent.name}/{path.stem}"}
        text = text_of(path)
        if path.suffix == ".swift":
            suites = re.findall(r"\b(?:struct|class|extension|enum|actor) (\w+)", text)
            for function in re.findall(r"\bfunc `?(\w+)", text):
                names |= {function, *(f"{suite}.{function}" for suite in suites)}
            names |= set(suites) | set(re.findall(r'FuzzTarget\(\s*name: "(\w+)"', text))
        elif path.suffix == ".py":
            functions = re.findall(r"(?m)^def (\w+)", text)
            names |= {*functions, *(f"{path.name}::{function}" for function in functions)}
        elif path.suffix == ".c":
            functions = re.findall(r"(?m)^(?:static )?void (\w+)\((?:void|const char \*folder)\) \{", text)
            names |= {f"{path.name}::{function}" for function in functions}
    return names


def missing_tests(cell, names):
    """The names of tests in a cell that there are none of; what ends in `...` stands for several."""
    for name in re.findall(r"`([^`]+)`", cell):
        if re.search(r"^[A-Z_]+=|^make |\s", name) or (ROOT / name).exists():
            continue
        if not (any(known.startswith(name[:-3]) for known in names) if name.endswith("...") else name in names):
            yield name


@check
def promises_name_tests_that_exist():
    """The last cells of tables of promises: R1 ... in RELIABILITY.md, the conventions of motte.h in testing.md."""
    names = test_names()
    conventions = re.findall(r"(?m)^ \*\s+(\d+)\. ", text_of(header.HEADER).split("Contents:")[0])
    wanted = {"docs/RELIABILITY.md": None, "docs/testing.md": {f"C{number}" for number in conventions}}
    for document, expected in wanted.items():
        rows = {}
        for number, line in enumerate(text_of(ROOT / document).splitlines(), 1):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) > 2 and re.fullmatch(r"[A-Z]\d+", cells[0]):
                rows[cells[0]] = number
                if not re.search(r"`[^`]+`", cells[-1]):
                    report(document, number, f"{cells[0]} names no test")
                for name in missing_tests(cells[-1], names):
                    report(document, number, f"{cells[0]} is held by {name}, and there is no such test")
        expected = expected or {f"R{index}" for index in range(1, len(rows) + 1)}
        for name in sorted(expected - rows.keys()):
            report(document, 1, f"{name} has no row that says which tests hold it")


@check
def sentences_have_their_tests():
    """Tests/Documents/promises.txt: sentences of documents, and the tests elsewhere that hold them."""
    path = ROOT / "Tests" / "Documents" / "promises.txt"
    names, document, count, said = test_names(), None, 0, ""
    for number, line in enumerate(text_of(path).splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith(" "):
            document = line.strip()
            if not (ROOT / document).is_file():
                report(path, number, f"there is no {document}")
                return
            said = " ".join(re.sub(r"\n \*(?!/)", "\n", text_of(ROOT / document)).split())
            continue
        sentence, _, tests = line.strip().partition(" -> ")
        count += 1
        if " ".join(sentence.split()) not in said:
            report(path, number, f"{document} no longer says {sentence!r}: change what stands here, and the test")
        if not tests:
            report(path, number, "no test behind ->")
        for name in missing_tests(" ".join(f"`{each.strip()}`" for each in tests.split(",")), names):
            report(path, number, f"there is no test {name}")
    note(f"{count} sentences of documents are held by tests elsewhere, further ones by Tests/Documents")


@check
def the_table_of_operations_is_right():
    done = subprocess.run([sys.executable, str(ROOT / "scripts/docs/operations.py"), "--check"], capture_output=True,
                          text=True, check=False)
    for line in done.stdout.splitlines():
        path, number, what = line.split(":", 2)
        report(path, int(number), what.removeprefix(" error: "))
    if done.returncode not in (0, 1) or done.stderr:
        report("scripts/docs/operations.py", 1, done.stderr.strip() or "ended badly")


@check
def skipped_steps_are_printed():
    for path in sorted(ROOT.glob("**/conformance-skips.txt")):
        if "/." in str(path.relative_to(ROOT)) or "build" in path.relative_to(ROOT).parts:
            continue
        print_exceptions(f"cases skipped by {path.parent.relative_to(ROOT)}", listed_exceptions(path))


# ------------------------------------------------------------------------------------------------ running


def main():
    failed = 0
    for function in checks:
        before = len(findings)
        function()
        if len(findings) > before:
            failed += 1
            print(f"{function.__name__.replace('_', ' ')}: {len(findings) - before} findings")
    for finding in findings:
        print(finding)
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
