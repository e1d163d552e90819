/// What the subcommands share: opening a file by its own schema, turning engine errors into one sentence on stderr, and
/// writing lines at once.
import ArgumentParser
import Foundation
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

/// Runs a command's work; an engine error ends the command with exit code 1.
func reportingErrors<T>(_ body: () throws -> T) throws -> T {
    do { return try body() } catch let error as DatabaseError {
        FileHandle.standardError.write(Data("motte: \(error.message)\n".utf8))
        throw ExitCode(1)
    }
}

/// Opens an existing file with the classes it has.
func openFile(_ path: String, readOnly: Bool = true) throws -> Session {
    var options = SessionOptions(path: path)
    options.noCreate = true
    options.isReadOnly = readOnly
    return try Session.open(options)
}

/// The class with that name, or an error that names the classes there are.
func objectType(_ name: String, in session: Session) throws -> ObjectType {
    let schema = try session.schema
    guard let type = schema[name] else {
        let known = schema.objectTypes.map(\.name).sorted().joined(separator: ", ")
        throw DatabaseError(.unknownClass, "the file has no class '\(name)'; it has \(known.isEmpty ? "none" : known)")
    }
    return type
}

func printLine(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
