// The types of the matrix: every type that a property can have, each by itself, as an enum, in a `CustomPersistable`
// and in a `FailableCustomPersistable`, with three values in the order of the store.
import Foundation
import Motte

/// A type of the matrix.
protocol Sampled: _PersistableInsideOptional, _RealmCollectionValueInsideOptional {
    /// Three, in ascending order.
    static var samples: [Self] { get }
    /// What may stand for them in dictionaries and by name.
    static var storedForms: [Any] { get }
}

extension Sampled {
    static var storedForms: [Any] { samples }
    /// Without what no class can be called.
    static var label: String { "\(Self.self)".replacingOccurrences(of: "<", with: "Of").filter { $0 != ">" } }
}

/// A type that others are stored as.
protocol SampledBase: Sampled, SendableMetatype where PersistedType == Self {
    /// What no `FailingSample` can be made of.
    static var refused: Self { get }
}

struct WrappedSample<Base: SampledBase>: CustomPersistable, Sampled, Equatable {
    typealias PersistedType = Base
    var base: Base
    init(persistedValue: Base) { base = persistedValue }
    var persistableValue: Base { base }
    static var samples: [WrappedSample] { Base.samples.map(WrappedSample.init(persistedValue:)) }
    static var storedForms: [Any] { Base.storedForms }
}

struct FailingSample<Base: SampledBase>: FailableCustomPersistable, Sampled, Equatable {
    typealias PersistedType = Base
    var base: Base
    init?(persistedValue: Base) {
        guard persistedValue != Base.refused else { return nil }
        base = persistedValue
    }
    var persistableValue: Base { base }
    static var samples: [FailingSample] { Base.samples.compactMap(FailingSample.init(persistedValue:)) }
    static var storedForms: [Any] { Base.storedForms }
}

enum NumberCase: Int, PersistableEnum, Sampled {
    case one = 1, two, three
    static var samples: [NumberCase] { [.one, .two, .three] }
    static var storedForms: [Any] { [1, 2, 3] }
}

enum TextCase: String, PersistableEnum, Sampled {
    case a, b, c
    static var samples: [TextCase] { [.a, .b, .c] }
    static var storedForms: [Any] { ["a", "b", "c"] }
}

extension Bool: SampledBase {
    // There are only two.
    static var samples: [Bool] { [false, true] }
    static var refused: Bool { true }
}
extension Int: SampledBase {
    static var samples: [Int] { [-5, 7, 1 << 40] }
    static var refused: Int { 13 }
}
extension Int8: SampledBase {
    static var samples: [Int8] { [-5, 7, 100] }
    static var refused: Int8 { 13 }
    static var storedForms: [Any] { [-5, 7, 100] }
}
extension Int16: SampledBase {
    static var samples: [Int16] { [-5, 7, 1000] }
    static var refused: Int16 { 13 }
    static var storedForms: [Any] { [-5, 7, 1000] }
}
extension Int32: SampledBase {
    static var samples: [Int32] { [-5, 7, 100_000] }
    static var refused: Int32 { 13 }
    static var storedForms: [Any] { [-5, 7, 100_000] }
}
extension Int64: SampledBase {
    static var samples: [Int64] { [-5, 7, 1 << 41] }
    static var refused: Int64 { 13 }
}
extension Float: SampledBase {
    static var samples: [Float] { [-1.5, 0.25, 8] }
    static var refused: Float { 13 }
    static var storedForms: [Any] { [-1.5, 0.25, 8] }
}
extension Double: SampledBase {
    static var samples: [Double] { [-1.5, 0.1, 1e10] }
    static var refused: Double { 13 }
}
extension CGFloat: SampledBase {
    static var samples: [CGFloat] { [-1.5, 0.1, 1e10] }
    static var refused: CGFloat { 13 }
    static var storedForms: [Any] { [-1.5, 0.1, 1e10] }
}
extension String: SampledBase {
    static var samples: [String] { ["Ab", "b", "é"] }
    static var refused: String { "refused" }
}
extension Data: SampledBase {
    static var samples: [Data] { [Data([1]), Data([1, 2]), Data([2])] }
    static var refused: Data { Data([13]) }
}
extension Date: SampledBase {
    static var samples: [Date] { [-1.5, 0, 7e8].map(Date.init(timeIntervalSince1970:)) }
    static var refused: Date { Date(timeIntervalSince1970: 13) }
}
extension UUID: SampledBase {
    private static func made(_ digit: Int) -> UUID {
        UUID(uuidString: "00000000-0000-0000-0000-00000000000\(digit)") ?? UUID()
    }
    static var samples: [UUID] { [made(1), made(2), made(3)] }
    static var refused: UUID { made(9) }
    static var storedForms: [Any] { samples.map(\.uuidString) }
}
extension ObjectId: SampledBase {
    private static func made(_ digit: Int) -> ObjectId {
        (try? ObjectId(string: "507f1f77bcf86cd79943901\(digit)")) ?? ObjectId.generate()
    }
    static var samples: [ObjectId] { [made(1), made(2), made(3)] }
    static var refused: ObjectId { made(9) }
    static var storedForms: [Any] { samples.map(\.stringValue) }
}
extension Decimal128: SampledBase {
    static var samples: [Decimal128] { ["-1.5", "0.1", "1E+10"] }
    static var refused: Decimal128 { "13" }
    static var storedForms: [Any] { samples.map(\.stringValue) }
}

/// A place for one type in every container.
class SampleHolder<T: Sampled>: Object, MatrixHolder {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var value: T
    @Persisted var optional: T?
    @Persisted var list: List<T>
    @Persisted var optionals: List<T?>
    @Persisted var set: MutableSet<T>
    @Persisted var optionalSet: MutableSet<T?>
    @Persisted var map: Map<String, T>
    @Persisted var optionalMap: Map<String, T?>
    @Persisted var any: AnyRealmValue
    @Persisted var friends: List<SampleHolder<T>>
    @Persisted(originProperty: "friends") var admirers: LinkingObjects<SampleHolder<T>>
    let box = RealmProperty<T?>()
    override class func className() -> String { "SampleHolder" + T.label }
}

class SampleHolderView<T: Sampled>: Projection<SampleHolder<T>> {
    @Projected(\SampleHolder<T>.value) var shown
    @Projected(\SampleHolder<T>.optional) var perhaps
    @Projected(\SampleHolder<T>.friends.projectTo.value) var friendly: ProjectedCollection<T>
}

/// A class whose primary key is of the type.
class SampleKeyed<T: Sampled>: Object where T.PersistedType: _PrimaryKey {
    @Persisted(primaryKey: true) var key: T
    @Persisted var note = ""
    override class func className() -> String { "Keyed" + T.label }
}
