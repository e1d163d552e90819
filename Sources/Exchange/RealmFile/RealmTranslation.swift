/// Values of a Realm file as Motte holds them: links with the keys that their targets have here, texts that are valid
/// UTF-8, keys of maps that queries can name, nothing larger than what fits.
///
/// Import and comparison both go through this. What has to be changed is noted, or in strict imports an error.
import MotteLiveObjects
import MotteRealmFile
import MotteSchemaModel
import MotteStorage
import MotteValues

final class RealmTranslation {
    /// Of strings and data; also the largest that Realm takes.
    static let stringLimit = 16_777_199
    static let dataLimit = 16_777_200

    let plan: RealmPlan
    let session: Session
    /// What translated values lie in that are not the source's.
    let arena = ByteArena()
    var notes = RealmNotes()
    let isStrict: Bool
    /// Links to what is imported later are resolved too: everything is there.
    var resolvesAll = false
    /// So are those to objects whose keys are known before they are there.
    var resolvesAhead = false
    /// Whether a link was met that cannot be resolved yet; its value is null.
    private(set) var sawLate = false
    /// False where values are translated a second time.
    var isNoting = true

    // Where the value stands.
    private var type: RealmClassPlan
    private var field: RealmClassPlan.Field
    private var firstPosition = 0
    private var key: Int64 = 0

    init?(_ plan: RealmPlan, _ session: Session, isStrict: Bool) {
        guard let first = plan.order.first(where: { !$0.fields.isEmpty }) else { return nil }
        self.plan = plan
        self.session = session
        self.isStrict = isStrict
        type = first
        field = first.fields[0]
    }

    /// `firstPosition` is that of the cluster: links to objects of the same class before it can be resolved.
    func begin(_ type: RealmClassPlan, _ field: RealmClassPlan.Field, _ cluster: RealmCluster) {
        self.type = type
        self.field = field
        firstPosition = cluster.firstPosition
    }

    func begin(object key: Int64) {
        self.key = key
        sawLate = false
    }

    /// Whether a value links to what is imported later.
    func isLate(_ view: ValueView) throws(DatabaseError) -> Bool {
        guard field.mayBeLate, !resolvesAll, view.kind == .link || view.kind == .list || view.kind == .map else {
            return false
        }
        let wasNoting = isNoting
        isNoting = false
        sawLate = false
        defer {
            isNoting = wasNoting
            sawLate = false
        }
        _ = try value(view)
        return sawLate
    }

    // MARK: Values

    /// `copies`: bytes are the arena's afterwards.
    @inline(__always)
    func value(_ view: ValueView, copies: Bool = false) throws(DatabaseError) -> ValueView {
        switch view.kind {
        case .string, .data: return try bytes(view, copies: copies)
        case .link: return try link(view.linkValue)
        case .list, .map: return try document(view)
        default: return view
        }
    }

    private func bytes(_ view: ValueView, copies: Bool) throws(DatabaseError) -> ValueView {
        let fitted = view.kind == .string ? try string(view) : try data(view)
        guard copies, !fitted.isNull, fitted.bytes.count > 0 else { return fitted }
        let copy = arena.copy(fitted.bytes)
        return fitted.kind == .string ? .string(copy) : .data(copy)
    }

    private func string(_ view: ValueView) throws(DatabaseError) -> ValueView {
        guard view.bytes.count <= Self.stringLimit else { return try tooLarge(view) }
        if UTF8Validation.isValid(view.bytes) { return view }
        return .string(try repaired(view.bytes))
    }

    private func repaired(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) -> UnsafeRawBufferPointer {
        try note(.invalidUTF8, "texts that are not valid UTF-8 have U+FFFD in place of what is wrong")
        // The replacement may take more bytes than what it stands for.
        var text = String(decoding: bytes, as: UTF8.self)
        while text.utf8.count > Self.stringLimit { text.unicodeScalars.removeLast() }
        return arena.copy(Array(text.utf8))
    }

    private func data(_ view: ValueView) throws(DatabaseError) -> ValueView {
        view.bytes.count <= Self.dataLimit ? view : try tooLarge(view)
    }

    private func tooLarge(_ view: ValueView) throws(DatabaseError) -> ValueView {
        try note(.valueTooLarge, "values of more than \(Self.dataLimit) bytes are left out")
        if field.property.isNullable { return .null }
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        return view.kind == .string ? .string(none) : .data(none)
    }

    // MARK: Links

    private func link(_ link: ObjectLink) throws(DatabaseError) -> ValueView {
        let index = Int(link.table.rawValue)
        guard index < plan.classes.count else { throw corrupted("it links to a class that is not there") }
        guard let target = plan.classes[index] else {
            try note(.invalidArgument, "links to objects of a class that is left out are null")
            return .null
        }
        if field.property.type == .mixed, target.type.isEmbedded {
            try note(.invalidArgument, "links to embedded objects in mixed values are null")
            return .null
        }
        // Those of the same class before this cluster are there, and all of the classes before it.
        let mayBeLate = !resolvesAll && (!resolvesAhead || target.isUpdating)
        if mayBeLate, target.rank > type.rank {
            sawLate = true
            return .null
        }
        guard let position = try target.source.position(of: link.key.rawValue) else {
            throw corrupted("it links to an object of \(target.source.name) that is not there")
        }
        if mayBeLate, target === type, position >= firstPosition {
            sawLate = true
            return .null
        }
        let key = target.isUpdating ? try found(link, target) : target.firstKey + Int64(position)
        return .link(ObjectLink(table: target.table, key: ObjectKey(key)))
    }

    private func found(_ link: ObjectLink, _ target: RealmClassPlan) throws(DatabaseError) -> Int64 {
        guard let primaryKey = target.source.primaryKey, let (cluster, row) = try target.source.find(link.key.rawValue)
        else { throw corrupted("it links to an object of \(target.source.name) that is not there") }
        let value = try cluster.value(primaryKey, row)
        guard let key = try session.findKey(target.table, primaryKey: value) else {
            throw corrupted("it links to an object of \(target.source.name) that was not imported")
        }
        return key.rawValue
    }

    // MARK: Keys of maps

    /// Whether a key can be as it is.
    static func isLegal(_ key: UnsafeRawBufferPointer) -> Bool {
        key.first != UInt8(ascii: "$") && !key.contains(UInt8(ascii: ".")) && UTF8Validation.isValid(key)
            && key.count <= stringLimit
    }

    /// The keys of one map, none of which is another's. nil: all can be as they are.
    func legalKeys(_ keys: [UnsafeRawBufferPointer]) throws(DatabaseError) -> [UnsafeRawBufferPointer]? {
        if keys.allSatisfy(Self.isLegal) { return nil }
        var taken = Set(keys.filter(Self.isLegal).map { [UInt8]($0) })
        var legal: [UnsafeRawBufferPointer] = []
        for key in keys {
            guard !Self.isLegal(key) else {
                legal.append(key)
                continue
            }
            var bytes = try encoded(key)
            while !taken.insert(bytes).inserted { bytes.append(UInt8(ascii: "_")) }
            legal.append(arena.copy(bytes))
        }
        return legal
    }

    private func encoded(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> [UInt8] {
        let source = UTF8Validation.isValid(key) ? key : try repaired(key)
        var bytes: [UInt8] = []
        for (offset, byte) in source.enumerated() {
            switch byte {
            case UInt8(ascii: "."): bytes += Array("%2E".utf8)
            case UInt8(ascii: "$") where offset == 0: bytes += Array("%24".utf8)
            default: bytes.append(byte)
            }
        }
        if bytes.count != source.count {
            try note(
                .invalidArgument, "keys that begin with '$' or contain '.' have these percent-encoded (%24, %2E)")
        }
        return bytes
    }

    // MARK: Nested lists and maps

    private func document(_ view: ValueView) throws(DatabaseError) -> ValueView {
        let size = view.bytes.count
        let copy = UnsafeMutableRawBufferPointer(start: arena.allocate(size), count: size)
        copy.copyMemory(from: view.bytes)
        guard try rewrite(copy) else {
            let value = try rebuilt(view)
            let bytes = arena.copy(NestedDocument.encode(value))
            return view.kind == .map ? .map(bytes) : .list(bytes)
        }
        return view.kind == .map ? .map(UnsafeRawBufferPointer(copy)) : .list(UnsafeRawBufferPointer(copy))
    }

    /// Replaces the keys of links in place; false where something changes its size.
    private func rewrite(_ bytes: UnsafeMutableRawBufferPointer) throws(DatabaseError) -> Bool {
        guard bytes.count >= 8 else { throw corrupted("a nested list or map is malformed") }
        let isMap = bytes[0] == UInt8(ValueKind.map.rawValue)
        func half(_ offset: Int) -> Int { Int(bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }
        let count = half(4)
        let base = 8 + count * 4
        guard base <= bytes.count else { throw corrupted("a nested list or map is malformed") }
        var start = base
        for index in 0 ..< count {
            let end = base + half(8 + index * 4)
            guard end > start, end <= bytes.count else { throw corrupted("a nested list or map is malformed") }
            var place = start
            if isMap {
                guard place + 4 <= end, place + 4 + half(place) < end else {
                    throw corrupted("a nested list or map is malformed")
                }
                let size = half(place)
                let key = UnsafeRawBufferPointer(rebasing: bytes[place + 4 ..< place + 4 + size])
                guard Self.isLegal(key) else { return false }
                place += 4 + size
            }
            let payload = UnsafeMutableRawBufferPointer(rebasing: bytes[(place + 1) ..< end])
            guard try rewrite(kind: bytes[place], payload) else { return false }
            start = end
        }
        return true
    }

    private func rewrite(kind: UInt8, _ payload: UnsafeMutableRawBufferPointer) throws(DatabaseError) -> Bool {
        switch ValueKind(rawValue: UInt32(kind)) {
        case .string:
            return payload.count <= Self.stringLimit && UTF8Validation.isValid(UnsafeRawBufferPointer(payload))
        case .data: return payload.count <= Self.dataLimit
        case .list, .map: return try rewrite(payload)
        case .link:
            guard payload.count == 12 else { throw corrupted("a nested list or map is malformed") }
            let table = payload.loadUnaligned(as: UInt32.self)
            let key = payload.loadUnaligned(fromByteOffset: 4, as: Int64.self)
            let view = try link(ObjectLink(table: TableKey(table), key: ObjectKey(key)))
            if sawLate { return true }
            guard !view.isNull else { return false }
            payload.storeBytes(of: view.aux, as: UInt32.self)
            payload.storeBytes(of: view.intValue, toByteOffset: 4, as: Int64.self)
            return true
        default: return true
        }
    }

    private func rebuilt(_ view: ValueView) throws(DatabaseError) -> Value {
        switch view.kind {
        case .list, .map:
            let document = NestedDocument(trusted: view.bytes)
            var values: [Value] = []
            for index in 0 ..< document.count { values.append(try rebuilt(document.value(at: index))) }
            guard document.isMap else { return .list(values) }
            let keys = (0 ..< document.count).map { document.key(at: $0) }
            let legal = try legalKeys(keys) ?? keys
            return .map(
                zip(legal, values).map { MapEntry(key: String(decoding: $0.0, as: UTF8.self), value: $0.1) })
        default: return try value(view).owned
        }
    }

    // MARK: What is said

    /// `code` is that of the error in a strict import.
    func note(_ code: ErrorCode, _ reason: String, count: Int = 1) throws(DatabaseError) {
        guard isNoting else { return }
        guard !isStrict else {
            throw DatabaseError(
                code,
                "\(type.type.name).\(field.property.name): \(reason); the object has the key \(key) in the Realm file",
                className: type.type.name, propertyName: field.property.name)
        }
        notes.add(type.type.name, field.property.name, reason, count: count, key: key)
    }

    /// Links that Realm does not show either: neither an error nor a note of a strict import.
    func noteUnseen(count: Int) {
        guard isNoting, !isStrict else { return }
        notes.add(
            type.type.name, field.property.name, "links to objects that were deleted on another device are left out",
            count: count, key: key)
    }

    func corrupted(_ what: String) -> DatabaseError {
        DatabaseError(
            .corrupted,
            "the Realm file is damaged: \(type.source.name).\(field.property.name) of the object with the key \(key): "
                + what, className: type.type.name, propertyName: field.property.name)
    }
}
