/// What Tab offers: commands, classes, properties along links, words of statements and queries.
import MotteSchemaModel
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

struct ShellCompletion: Sendable {
    /// As the session has it.
    var schema = Schema([])
    /// Lines of the statement before the one that is edited.
    var pending = ""

    /// The line editor asks a C function.
    static let current = Locked(ofProcess: ShellCompletion())

    private static let clauses = ["from", "into", "set", "where"]
    private static let queryWords = [
        "AND", "OR", "NOT", "IN", "BETWEEN", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE", "ANY", "ALL", "NONE", "SORT",
        "ASC", "DESC", "DISTINCT", "LIMIT", "SUBQUERY", "TRUEPREDICATE", "true", "false", "null",
    ]
    private static let beforeClasses = ["from", "into", "update", "insert", "delete", "count", "explain"]
    /// Of commands that take a class first.
    private static let classCommands = [".schema", ".stats", ".watch", ".import", ".export"]

    /// nil: names of files.
    func candidates(before text: String, word: String) -> [String]? {
        let text = pending + text
        let words = text.unicodeScalars.split {
            $0.properties.isWhitespace || ",;()=".unicodeScalars.contains($0)
        }.map(String.init)
        let earlier = word.isEmpty ? words[...] : words.dropLast()
        if let first = words.first, first.beginsWithBytes(of: ".") {
            if earlier.isEmpty { return matching(word, ShellCommandName.allCases.map { "." + $0.rawValue }) }
            return Self.classCommands.contains(first) && earlier.count == 1
                ? nonEmpty(matching(word, classes)) : first == ".mode" ? matching(word, modes) : nil
        }
        guard let last = earlier.last else { return matching(word, Statement.words + classes) }
        if Self.beforeClasses.contains(last.lowercased()) { return matching(word, classes + clauses(word)) }
        guard let type = earlier.lazy.compactMap({ schema[$0] }).last else {
            // Columns stand before the class in `select`: all that there are.
            let names = Set(schema.objectTypes.flatMap { $0.properties.map { NameKey($0.name) } }).map(\.text)
            return matching(word, names.sorted { $0.precedesInBytes($1) } + clauses(word))
        }
        return matching(word, paths(word, from: type) + clauses(word) + cased(Self.queryWords, as: word))
    }

    private var classes: [String] { schema.objectTypes.filter { !$0.isEmbedded }.map(\.name) }
    private var modes: [String] { OutputFormat.allCases.filter { !$0.isBinary }.map(\.rawValue) }

    private func clauses(_ word: String) -> [String] { cased(Self.clauses, as: word) }

    private func cased(_ words: [String], as word: String) -> [String] {
        guard let first = word.first else { return words }
        return words.map { first.isUppercase ? $0.uppercased() : $0.lowercased() }
    }

    private func matching(_ word: String, _ names: [String]) -> [String] {
        names.filter { $0.beginsWithBytes(of: word) }
    }

    private func nonEmpty(_ names: [String]) -> [String]? { names.isEmpty ? nil : names }

    /// `friend.ci` is completed from the class that `friend` links to.
    private func paths(_ word: String, from type: ObjectType) -> [String] {
        var steps = word.parts(between: ".")
        _ = steps.popLast()
        var type = type
        for step in steps {
            guard let target = type.property(named: step)?.target.flatMap({ schema[$0] }) else { return [] }
            type = target
        }
        let prefix = steps.map { $0 + "." }.joined()
        return type.properties.map { prefix + $0.name }
    }

    /// For the line editor: texts that each end with a line feed.
    static func complete(_ before: UnsafePointer<CChar>?, _ word: UnsafePointer<CChar>?) -> UnsafeMutablePointer<CChar>?
    {
        guard let before, let word else { return nil }
        let completion = current.withLock { $0 }
        guard let found = completion.candidates(before: String(cString: before), word: String(cString: word)) else {
            return nil
        }
        return strdup(found.map { $0 + "\n" }.joined())
    }
}
