/// Rows as columns that are wide enough for what is in them: plain, in boxes, or as Markdown.
///
/// Widths are those of a terminal, where letters of East Asia and pictures take two places and marks none. Characters
/// that would move the cursor or change colours do not reach the terminal.
import MotteExchange
import MotteValues

struct TableText {
    private let format: OutputFormat
    private let isRight: [Bool]
    private var widths: [Int]
    private let header: [String]
    /// Longer cells are cut; Markdown is for documents and keeps them.
    private static let longest = 40

    init(_ format: OutputFormat, header: [String], isRight: [Bool]) {
        self.format = format
        self.header = header
        self.isRight = isRight
        widths = header.map { max(Self.width(Self.oneLine($0)), format == .markdown ? 3 : 0) }
    }

    // MARK: Both passes over the rows

    /// Makes room for a row.
    mutating func measure(_ row: [String]) {
        for index in row.indices { widths[index] = max(widths[index], Self.width(shown(row[index]))) }
    }

    func begin(_ sink: inout ByteSink, isColoured: Bool) {
        if format == .box { rule("┌", "┬", "┐", &sink) }
        // Emphasis goes around whole cells, which are padded before.
        line(header, isHeader: true, isColoured: isColoured, &sink)
        switch format {
        case .box: rule("├", "┼", "┤", &sink)
        case .markdown:
            sink.append("|")
            for (index, width) in widths.enumerated() {
                let dashes = String(repeating: "-", count: width + (isRight[index] ? 1 : 2))
                sink.append(text: dashes + (isRight[index] ? ":|" : "|"))
            }
            sink.append("\n")
        default: break
        }
    }

    func row(_ row: [String], _ sink: inout ByteSink) {
        line(row.map(shown), isHeader: false, isColoured: false, &sink)
    }

    func end(_ sink: inout ByteSink) { if format == .box { rule("└", "┴", "┘", &sink) } }

    // MARK: Lines

    private func rule(_ left: String, _ middle: String, _ right: String, _ sink: inout ByteSink) {
        let parts = widths.map { String(repeating: "─", count: $0 + 2) }
        sink.append(text: left + parts.joined(separator: middle) + right + "\n")
    }

    private func line(_ cells: [String], isHeader: Bool, isColoured: Bool, _ sink: inout ByteSink) {
        var line = ""
        let (left, between, right) = frame
        line += left
        for (index, cell) in cells.enumerated() {
            if index > 0 { line += between }
            let padding = String(repeating: " ", count: max(0, widths[index] - Self.width(cell)))
            // Plain tables line up to the left, as they have always done.
            let isRight = isRight[index] && format != .table
            let padded = isRight ? padding + cell : cell + padding
            line += isHeader && isColoured ? Colour.bold + padded + Colour.plain : padded
        }
        line += right
        sink.append(text: (format == .table ? line.withoutSpacesAtEnd : line) + "\n")
    }

    private var frame: (String, String, String) {
        switch format {
        case .box: ("│ ", " │ ", " │")
        case .markdown: ("| ", " | ", " |")
        default: ("", "  ", "")
        }
    }

    // MARK: Cells

    private func shown(_ cell: String) -> String {
        let line = Self.oneLine(cell)
        if format == .markdown { return line.parts(between: "|").joined(separator: "\\|") }
        guard Self.width(line) > Self.longest else { return line }
        var short = ""
        var width = 0
        for character in line {
            width += Self.width(character)
            if width > Self.longest - 3 { break }
            short.append(character)
        }
        return short + "..."
    }

    /// Without ends of lines and without control characters.
    static func oneLine(_ cell: String) -> String {
        guard cell.unicodeScalars.contains(where: isControl) else { return cell }
        var line = String.UnicodeScalarView()
        var wasReturn = false
        for scalar in cell.unicodeScalars {
            defer { wasReturn = scalar == "\r" }
            if scalar == "\n", wasReturn { continue }
            guard isControl(scalar) else {
                line.append(scalar)
                continue
            }
            line.append(scalar.properties.isWhitespace ? " " : "\u{FFFD}")
        }
        return String(line)
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F ... 0x9F).contains(scalar.value) || scalar.value == 0x2028
            || scalar.value == 0x2029
    }

    static func width(_ text: String) -> Int {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.reduce(0) { $0 + width($1) }
    }

    // characters: a terminal shows each in its place
    private static func width(_ character: Character) -> Int {
        character.unicodeScalars.reduce(0) { max($0, width($1)) }
    }

    private static func width(_ scalar: Unicode.Scalar) -> Int {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        switch scalar.value {
        case 0x1100 ... 0x115F, 0x2E80 ... 0x303E, 0x3041 ... 0xA4CF, 0xA960 ... 0xA97C, 0xAC00 ... 0xD7A3,
            0xF900 ... 0xFAFF, 0xFE30 ... 0xFE6F, 0xFF00 ... 0xFF60, 0xFFE0 ... 0xFFE6, 0x1F300 ... 0x1F64F,
            0x1F680 ... 0x1F6FF, 0x1F900 ... 0x1F9FF, 0x1FA70 ... 0x1FAFF, 0x20000 ... 0x3FFFD:
            return 2
        default: return 1
        }
    }
}
