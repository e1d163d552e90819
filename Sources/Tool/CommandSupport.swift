/// What the subcommands share: opening a file by its own schema, turning engine errors into one sentence on stderr, and
/// writing lines at once.
import ArgumentParser
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Runs a command's work on a file; an engine error ends the command with exit code 1 and names the file.
func reportingErrors<T>(_ file: String, _ body: () throws -> T) throws -> T {
    do { return try body() } catch let error as DatabaseError {
        printError("motte: \(error.message.contains(file) ? "" : file + ": ")\(error.message)")
        throw ExitCode(1)
    }
}

/// Opens an existing file with the classes it has.
func openFile(_ path: String, _ opening: OpenOptions, readOnly: Bool = true) throws -> Session {
    var options = try opening.options(path)
    options.noCreate = true
    options.isReadOnly = readOnly
    return try Session.open(options)
}

/// The same to read it only.
func openFile(_ path: String, _ reading: ReadOptions) throws -> Session {
    guard reading.immutable else { return try openFile(path, reading.opening) }
    var options = try reading.opening.options(path)
    options.noCreate = true
    options.isImmutable = true
    return try Session.open(options)
}

/// The class with that name, or an error that names the classes there are.
func objectType(_ name: String, in session: Session) throws(DatabaseError) -> ObjectType {
    let schema = try session.schema
    guard let type = schema[name] else {
        let known = schema.objectTypes.map(\.name).sorted().joined(separator: ", ")
        throw DatabaseError(.unknownClass, "the file has no class '\(name)'; it has \(known.isEmpty ? "none" : known)")
    }
    return type
}

/// A file to read; `-` is standard input.
func openInput(_ path: String) throws(DatabaseError) -> InputFile {
    path == "-" ? try InputFile(standardInput: ()) : try InputFile(path)
}

func fileExists(_ path: String) -> Bool { access(path, F_OK) == 0 }

/// A line that cannot be written ends the command: who reads a part of the output must not take it for all of it.
func printLine(_ line: String) {
    guard writeAll(line + "\n", to: 1) else { endWithoutOutput() }
}

func printError(_ line: String) { _ = writeAll(line + "\n", to: 2) }

func writeAll(_ text: String, to descriptor: Int32) -> Bool {
    text.withUTF8Bytes { bytes in writeAll(bytes, to: descriptor) }
}

/// Standard output is full or nobody reads it any more, which is not worth a word.
func endWithoutOutput() -> Never {
    let number = errno
    if number != EPIPE { printError("motte: cannot write to standard output: \(String(cString: strerror(number)))") }
    exit(1)
}

/// Where one of the three standard descriptors is closed, the next file that is opened would get its number, and what
/// is printed would go into that.
func occupyStandardDescriptors() {
    for descriptor in Int32(0) ... 2 where fcntl(descriptor, F_GETFD) < 0 {
        // Standard output is opened for reading, so that writing to it fails as it did before.
        let opened = open("/dev/null", descriptor == 1 ? O_RDONLY : O_RDWR)
        if opened >= 0, opened != descriptor {
            dup2(opened, descriptor)
            close(opened)
        }
    }
}

/// False when nobody reads any more, or the disk is full.
func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
        let written = write(descriptor, rest.baseAddress, rest.count)
        if written < 0, errno == EINTR { continue }
        guard written > 0 else { return false }
        rest = UnsafeRawBufferPointer(rebasing: rest[written...])
    }
    return true
}
