/// A plan for programs, as JSON, with the table for people in it. What is not known is left out.
///
///     {"query": "Person: age > 50", "analyzed": true, "nanoseconds": 131000, "table": "...", "plan":
///      {"step": "filter", "detail": "age > 50", "estimated_rows": 980, "counted": false, "rows": 970,
///       "nanoseconds": 4000, "lookups": [], "input": {"step": "scan", "detail": "Person", ...}}}
import MotteValues

extension Explanation {
    package func json(_ title: String) -> String {
        var text = "{\"query\": \(Self.quoted(title)), \"analyzed\": \(nanoseconds != nil)"
        if let nanoseconds { text += ", \"nanoseconds\": \(nanoseconds)" }
        return text + ", \"table\": \(Self.quoted(self.text(title))), \"plan\": \(Self.json(top))}"
    }

    private static func json(_ step: PlanStep) -> String {
        var text = "{\"step\": \(quoted(step.kind.rawValue)), \"detail\": \(quoted(step.detail))"
        if let estimated = step.estimatedRows {
            text += ", \"estimated_rows\": \(estimated), \"counted\": \(step.isCounted)"
        }
        if let rows = step.rows { text += ", \"rows\": \(rows), \"nanoseconds\": \(step.nanoseconds)" }
        if !step.lookups.isEmpty { text += ", \"lookups\": [\(step.lookups.map(json).joined(separator: ", "))]" }
        if let input = step.input { text += ", \"input\": \(json(input))" }
        return text + "}"
    }

    static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
