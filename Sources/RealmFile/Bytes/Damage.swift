/// Errors of a Realm file that contradicts itself. What reads bytes says what is wrong and at which byte; what knows
/// path, class, property and object adds them on the way out.
import MotteValues

enum Damage {
    static func found(_ what: String) -> DatabaseError { DatabaseError(.corrupted, what) }

    static func at(_ ref: Int, _ what: String) -> DatabaseError { found("\(what), at byte \(ref)") }
}

/// Where in the file something was read.
struct Place {
    let path: String
    var className: String?
    var propertyName: String?
    var key: Int64?

    private var text: String {
        guard let className else { return "" }
        let property = propertyName.map { "\(className).\($0)" } ?? "class \(className)"
        return (key.map { "\(property) of the object with key \($0)" } ?? property) + ": "
    }

    /// The same error with the place; itself, where it has one already.
    func adding(to error: DatabaseError) -> DatabaseError {
        guard error.details.path == nil else { return error }
        let message =
            error.code == .corrupted
            ? "the Realm file '\(path)' is damaged: \(text)\(error.message); restore it from a copy"
            : "the Realm file '\(path)': \(text)\(error.message)"
        return DatabaseError(
            error.code, message, path: path, className: className, propertyName: propertyName,
            systemError: error.details.systemError)
    }

    func adding<Result>(_ body: () throws(DatabaseError) -> Result) throws(DatabaseError) -> Result {
        do throws(DatabaseError) { return try body() } catch { throw adding(to: error) }
    }
}
