/// `motte diff`: which objects two files do not have in common, or have with other values.
///
/// Objects with a primary key are compared with the one of the same key, others with the one at the same place. Values
/// are compared as JSON has them, links as the primary keys of their targets or their places. Both files are read
/// object by object. With --output the difference is written as a batch of changes, which the engine makes.
import ArgumentParser
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

struct DiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff", abstract: "Print which objects of two files differ.",
        discussion: """
            A line an object: '-' only in the first, '+' only in the second, '~' in both with other values. Ends with 0
            if there is no difference, with 1 if there is one, and with 2 if something failed.
              motte diff before.motte after.motte
              motte diff before.motte after.motte Person --brief
            With --output it is written as a batch instead, which makes the first file, or one with the same objects,
            what the second one is:
              motte diff before.motte after.motte --output patch.batch
              motte apply before.motte patch.batch
              motte apply before.motte patch.batch --inverse
            """)

    @Argument(help: "The first file.") var first: String
    @Argument(help: "The second file.") var second: String
    @Argument(help: "The class; all without one.") var className: String?
    @OptionGroup var reading: ReadOptions
    @Option(
        name: .customLong("second-key-file"),
        help: "A file with the key of the second file, if it is another than --key-file names.")
    var secondKeyFile: String?
    @Flag(help: "Only how many objects differ, by class.") var brief = false
    @Flag(name: .customLong("ignore-schema"), help: "Compare only classes and properties that both have.")
    var ignoresSchema = false
    @Option(
        name: [.short, .long],
        help: ArgumentHelp("Write what leads from the first file to the second as a batch.", valueName: "batch"))
    var output: String?

    func validate() throws {
        guard output != nil else { return }
        if className != nil || brief || ignoresSchema {
            throw ValidationError("a batch has the whole difference: --output stands without a class and other options")
        }
    }

    func run() throws {
        let differs: Bool
        do throws(DatabaseError) {
            if let output { differs = try write(output) } else { differs = try compare() }
        } catch {
            if error.message == Console.interruption.message { throw ExitCode(130) }
            let names = error.message.contains(first) || error.message.contains(second)
            printError("motte: \(names ? "" : "\(first), \(second): ")\(error.message)")
            throw ExitCode(2)
        }
        if differs { throw ExitCode(1) }
    }

    private func openBoth() throws(DatabaseError) -> (left: Session, right: Session) {
        let left = try DiffCommand.open(first, reading)
        var forSecond = reading
        if let secondKeyFile { forSecond.opening.key.path = secondKeyFile }
        return (left, try DiffCommand.open(second, forSecond))
    }

    private func write(_ path: String) throws(DatabaseError) -> Bool {
        let (left, right) = try openBoth()
        let batch = try left.changeBatch(to: right)
        try OutputFile.create(path) { sink in batch.bytes.withUnsafeBytes { sink.append($0) } }
        printLine(batch.isEmpty ? "no difference; the batch in \(path) is empty" : "\(batch.summary) to \(path)")
        return !batch.isEmpty
    }

    private func compare() throws(DatabaseError) -> Bool {
        let (left, right) = try openBoth()
        let (old, new) = (try left.schema, try right.schema)
        var names = old.objectTypes.map(\.name)
        names += new.objectTypes.lazy.map(\.name).filter { old[$0] == nil }
        names.sort { $0.precedesInBytes($1) }
        if let className {
            guard names.contains(where: className.hasSameBytes) else {
                throw DatabaseError(
                    .unknownClass, "neither file has a class '\(className)'; they have \(names.joined(separator: ", "))"
                )
            }
            names = [className]
        }
        var differs = false
        for name in names {
            switch (old[name], new[name]) {
            case (let before?, let after?):
                // Embedded objects are compared within those that have them.
                if before.isEmbedded && after.isEmbedded { continue }
                var comparison = try ClassComparison(left, before, right, after, self)
                if try comparison.run() { differs = true }
            case (let before, _):
                if ignoresSchema { continue }
                printLine("\(before == nil ? "+" : "-") class \(name)")
                differs = true
            }
        }
        return differs
    }

    private static func open(_ path: String, _ reading: ReadOptions) throws(DatabaseError) -> Session {
        do { return try openReadable(path, reading) } catch let error as DatabaseError { throw error } catch {
            throw DatabaseError(.internal, "\(error)")
        }
    }
}

/// One class of both files.
private struct ClassComparison {
    private let name: String
    private let command: DiffCommand
    private let left: Session, right: Session
    private let leftTable: TableKey, rightTable: TableKey
    private let key: (left: ColumnKey, right: ColumnKey)?
    private let properties: [(left: Property, right: Property)]
    private let schemaLines: [String]
    private var leftJSON: JSONExport, rightJSON: JSONExport
    private var counts = (removed: 0, added: 0, changed: 0)

    init(
        _ left: Session, _ before: ObjectType, _ right: Session, _ after: ObjectType, _ command: DiffCommand
    ) throws(DatabaseError) {
        self.command = command
        self.left = left
        self.right = right
        name = before.name
        leftTable = try left.tableKey(before.name)
        rightTable = try right.tableKey(after.name)
        leftJSON = try JSONExport(left)
        rightJSON = try JSONExport(right)
        leftJSON.numberByPosition()
        rightJSON.numberByPosition()
        var lines: [String] = []
        var properties: [(left: Property, right: Property)] = []
        for property in before.storedProperties {
            guard let other = after.property(named: property.name), other.isStored else {
                lines.append("- \(name).\(property.name)")
                continue
            }
            if !property.declaresSame(as: other) { lines.append("~ \(name).\(property.name): another type or index") }
            properties.append((property, other))
        }
        for property in after.storedProperties where before.property(named: property.name) == nil {
            lines.append("+ \(name).\(property.name)")
        }
        self.properties = properties
        schemaLines = command.ignoresSchema ? [] : lines
        guard let mine = before.primaryKey, let other = after.primaryKey, mine.name.hasSameBytes(as: other.name),
            let column = mine.columnKey, let otherColumn = other.columnKey
        else {
            key = nil
            return
        }
        key = (column, otherColumn)
    }

    /// Whether there is any difference.
    mutating func run() throws(DatabaseError) -> Bool {
        if !command.brief { schemaLines.forEach(printLine) }
        try key == nil ? byPlace() : byKey()
        let total = counts.removed + counts.added + counts.changed
        if command.brief, total > 0 || !schemaLines.isEmpty {
            let schema = schemaLines.isEmpty ? "" : ", \(schemaLines.count) properties differ"
            printLine(
                "\(name): \(counts.removed) only in the first, \(counts.added) only in the second, "
                    + "\(counts.changed) with other values\(schema)")
        }
        return total > 0 || !schemaLines.isEmpty
    }

    private mutating func byKey() throws(DatabaseError) {
        guard let key else { return }
        let mine = try left.objects(leftTable)
        for index in 0 ..< (try mine.count()) {
            try Console.checkInterruption()
            let object = try mine.key(at: index)
            // A text of the key lives as long as nothing of its file is read.
            let value = try left.value(leftTable, key.left, object).owned
            let other = try value.withView { view throws(DatabaseError) in
                try right.findKey(rightTable, primaryKey: view)
            }
            let shown = command.brief ? "" : try PlainText.text(value, in: left)
            if let other { try compare(object, other, shown) } else { removed(shown) }
        }
        let others = try right.objects(rightTable)
        for index in 0 ..< (try others.count()) {
            try Console.checkInterruption()
            let value = try right.value(rightTable, key.right, try others.key(at: index)).owned
            let isKnown = try value.withView { view throws(DatabaseError) in
                try left.findKey(leftTable, primaryKey: view) != nil
            }
            if !isKnown { added(command.brief ? "" : try PlainText.text(value, in: right)) }
        }
    }

    private mutating func byPlace() throws(DatabaseError) {
        let (mine, others) = (try left.objects(leftTable), try right.objects(rightTable))
        let (count, otherCount) = (try mine.count(), try others.count())
        for index in 0 ..< min(count, otherCount) {
            try Console.checkInterruption()
            try compare(try mine.key(at: index), try others.key(at: index), "at \(index)")
        }
        for index in min(count, otherCount) ..< max(count, otherCount) {
            count > otherCount ? removed("at \(index)") : added("at \(index)")
        }
    }

    private mutating func compare(_ mine: ObjectKey, _ other: ObjectKey, _ shown: String) throws(DatabaseError) {
        var changes: [String] = []
        for (property, otherProperty) in properties {
            var (text, otherText) = (ByteSink(), ByteSink())
            try leftJSON.property(ObjectLink(table: leftTable, key: mine), property, to: &text)
            try rightJSON.property(ObjectLink(table: rightTable, key: other), otherProperty, to: &otherText)
            guard text.bytes != otherText.bytes else { continue }
            if command.brief {
                counts.changed += 1
                return
            }
            changes.append("\(property.name) \(Self.short(text.string)) -> \(Self.short(otherText.string))")
        }
        guard !changes.isEmpty else { return }
        counts.changed += 1
        line("~", Colour.yellow, "\(shown): \(changes.joined(separator: ", "))")
    }

    private static func short(_ text: String) -> String {
        let line = TableText.oneLine(text)
        return line.count > 60 ? line.prefix(57) + "..." : line
    }

    private mutating func removed(_ shown: String) {
        counts.removed += 1
        line("-", Colour.red, shown)
    }

    private mutating func added(_ shown: String) {
        counts.added += 1
        line("+", Colour.green, shown)
    }

    private func line(_ sign: String, _ colour: String, _ text: String) {
        if !command.brief { printLine(Colour.text("\(sign) \(name) \(text)", colour)) }
    }
}
