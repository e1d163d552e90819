/// Values of a query's parameters on the command line: `$0` by their order, `$name` by `--param name=VALUE`. Both are
/// typed as `TypedText` says.
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
            let name = String(entry.prefix { $0 != "=" })
            guard entry.contains("="), NamedParameters.isName(name) else {
                throw ValidationError("--param '\(entry)' is no NAME=VALUE")
            }
            guard seen.insert(name).inserted else { throw ValidationError("--param gives '\(name)' twice") }
        }
    }

    /// The query with numbers in place of the names, and all values in the order of their numbers.
    func apply(
        to text: String, _ numbered: [String] = [], in session: Session
    ) throws(DatabaseError) -> (text: String, arguments: Arguments) {
        var values: [Value] = []
        for value in numbered { values.append(try TypedText.value(value, in: session)) }
        var parameters = NamedParameters(first: values.count)
        var given: [String: String] = [:]
        for entry in named {
            let name = String(entry.prefix { $0 != "=" })
            given[name] = String(entry.dropFirst(name.count + 1))
        }
        let rewritten = parameters.rewrite(text, known: Set(given.keys))
        for name in parameters.names { values.append(try TypedText.value(given[name] ?? "", in: session)) }
        if let unused = given.keys.filter({ !parameters.names.contains($0) }).min() {
            throw DatabaseError(.queryArgument, "the query has no $\(unused), which --param gives a value")
        }
        return (rewritten, Arguments(values))
    }
}

/// Names in query text become the numbers that the query language has. What is in quotes stays.
struct NamedParameters {
    private(set) var names: [String] = []
    private let first: Int

    init(first: Int) { self.first = first }

    static func isName(_ text: String) -> Bool {
        guard let head = text.utf8.first, isNameByte(head), !isDigit(head) else { return false }
        return text.utf8.allSatisfy(isNameByte)
    }

    mutating func rewrite(_ text: String, known: Set<String>) -> String {
        var output: [UInt8] = []
        let bytes = Array(text.utf8)
        var quote: UInt8?
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            output.append(byte)
            if let open = quote {
                if byte == UInt8(ascii: "\\"), open != UInt8(ascii: "`"), index < bytes.count {
                    output.append(bytes[index])
                    index += 1
                } else if byte == open {
                    quote = nil
                }
                continue
            }
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "`") { quote = byte }
            guard byte == UInt8(ascii: "$") else { continue }
            let name = String(decoding: bytes[index...].prefix(while: Self.isNameByte), as: UTF8.self)
            // Variables of SUBQUERY are names that got no value.
            guard known.contains(name) else { continue }
            if !names.contains(name) { names.append(name) }
            output.append(contentsOf: "\(first + (names.firstIndex(of: name) ?? 0))".utf8)
            index += name.utf8.count
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30 ... 0x39).contains(byte) }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || byte == UInt8(ascii: "_") || (0x61 ... 0x7A).contains(byte | 0x20) && byte < 0x80
    }
}
