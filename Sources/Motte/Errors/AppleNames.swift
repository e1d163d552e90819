/// What files of RealmSwift programs find without asking for it, because there it comes with Apple's platforms.
///
/// Dates, identifiers and URLs are in models, so that importing this module imports Foundation, as it does there.
@_exported import Foundation

/// Runs the block. Without Objective-C nothing is released late, so there is no pool to drain: realms and objects end
/// with their last reference.
public func autoreleasepool<Result>(invoking body: () throws -> Result) rethrows -> Result { try body() }

// `NSPredicate(format: "due > %@", date as CVarArg)`: there, these bridge to objects. Here the predicate takes them as
// they are; to a C function they would be the address of their text.
extension Date: @retroactive CVarArg {
    public var _cVarArgEncoding: [Int] { CVarArgText.encoding(self) }
}
extension UUID: @retroactive CVarArg {
    public var _cVarArgEncoding: [Int] { CVarArgText.encoding(self) }
}
extension Data: @retroactive CVarArg {
    public var _cVarArgEncoding: [Int] { CVarArgText.encoding(self) }
}
extension NSDate: @retroactive CVarArg {
    public var _cVarArgEncoding: [Int] { CVarArgText.encoding(self) }
}
extension NSNumber: @retroactive CVarArg {
    public var _cVarArgEncoding: [Int] { CVarArgText.encoding(self) }
}
extension ObjectId: CVarArg {
    public var _cVarArgEncoding: [Int] { CVarArgText.encoding(self) }
}
extension Decimal128: CVarArg {
    public var _cVarArgEncoding: [Int] { CVarArgText.encoding(self) }
}
extension ObjectBase: CVarArg {
    public var _cVarArgEncoding: [Int] { CVarArgText.encoding(self) }
}

private enum CVarArgText {
    static func encoding(_ value: Any) -> [Int] { "\(value)"._cVarArgEncoding }
}
