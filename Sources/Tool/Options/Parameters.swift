/// Values of a query's parameters on the command line: `$0` by their order, `$name` by `--param name=VALUE`. Both are
/// typed as `TypedText` says; the query's text is passed on as it was written.
import ArgumentParser
import MotteExchange
import MotteLiveObjects
import MotteQueryEngine
import MotteValues

struct ParameterOptions: ParsableArguments {
    @Option(
        name: .customLong("param"),
        help: ArgumentHelp(
            "The value of $NAME in the query, as often as it has names: NAME=VALUE or NAME=TYPE:TEXT.",
            valueName: "name=value"))
    var named: [String] = []

    func validate() throws {
        var seen: Set<String> = []
        for entry in named {
            let parts = entry.parts(between: "=", most: 1)
            let name = parts[0]
            guard parts.count == 2, NamedParameters.isName(name) else {
                throw ValidationError("--param '\(entry)' is no NAME=VALUE")
            }
            guard seen.insert(name).inserted else { throw ValidationError("--param gives '\(name)' twice") }
        }
    }

    /// What the query is given: the numbered ones, and behind them those with names.
    func arguments(_ numbered: [String] = [], in session: Session) throws(DatabaseError) -> Arguments {
        var values: [Value] = []
        for value in numbered { values.append(try TypedText.value(value, in: session)) }
        var given: [String: String] = [:]
        for entry in named {
            let parts = entry.parts(between: "=", most: 1)
            given[parts[0]] = parts.last
        }
        return Arguments(values + (try NamedParameters.values(given, in: session)))
    }
}

enum NamedParameters {
    static func isName(_ text: String) -> Bool {
        guard let head = text.utf8.first, isNameByte(head), !isDigit(head) else { return false }
        return text.utf8.allSatisfy(isNameByte)
    }

    /// As one map, by their names; none where there are none.
    static func values(_ given: [String: String], in session: Session) throws(DatabaseError) -> [Value] {
        if given.isEmpty { return [] }
        var entries: [MapEntry] = []
        for name in given.keys.sorted() {
            entries.append(MapEntry(key: name, value: try TypedText.value(given[name] ?? "", in: session)))
        }
        return [.map(entries)]
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30 ... 0x39).contains(byte) }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || byte == UInt8(ascii: "_") || (0x61 ... 0x7A).contains(byte | 0x20) && byte < 0x80
    }
}
