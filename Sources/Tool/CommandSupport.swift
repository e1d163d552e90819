/// What the subcommands share: opening a file by its own schema, and turning engine errors into one sentence on
/// stderr.
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

/// Runs a command's work on a file; an engine error ends the command with exit code 1 and names the file,
/// Ctrl-C with 130.
func reportingErrors<T>(_ file: String, _ body: () throws -> T) throws -> T {
    do { return try body() } catch let error as DatabaseError {
        if error.message == Console.interruption.message { throw ExitCode(130) }
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
        let known = schema.objectTypes.map(\.name).sorted { $0.precedesInBytes($1) }.joined(separator: ", ")
        throw DatabaseError(.unknownClass, "the file has no class '\(name)'; it has \(known.isEmpty ? "none" : known)")
    }
    return type
}

/// A file to read; `-` is standard input.
func openInput(_ path: String) throws(DatabaseError) -> InputFile {
    path == "-" ? try InputFile(standardInput: ()) : try InputFile(path)
}

/// What separates the fields of a CSV text, as import and export take it.
func checkDelimiter(_ text: String) throws {
    guard CSVDelimiter.byte(text) != nil else {
        throw ValidationError(
            "the delimiter must be one ASCII character, neither a quotation mark nor a line end; \\t is a tab")
    }
}

func fileExists(_ path: String) -> Bool { access(path, F_OK) == 0 }
