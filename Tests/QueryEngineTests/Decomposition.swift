/// Accents by Foundation's tables, in a file of its own because Foundation has a Predicate too.
import Foundation

enum Decomposition {
    static func withoutMarks(_ text: String) -> [UInt8] {
        text.decomposedStringWithCanonicalMapping.unicodeScalars.filter {
            $0.properties.generalCategory != .nonspacingMark
        }.flatMap { Array(String($0).utf8) }
    }
}
