/// Any bytes as a Realm file: an error, or data that is the same however it is read.
///
/// Input: 0 and the file's bytes; or the number of a sound file of Tests/RealmFiles and five bytes for each of its
/// fields that is changed: which one, what is done with it, and by which number. Fields are those of the file's
/// header, and of each node its flags, its count and its elements.
import MotteRealmFile
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension FuzzTarget {
    package static let realmFile = FuzzTarget(
        name: "realmFile", seeds: RealmFileFuzz.seeds, run: RealmFileFuzz.run)
}

enum RealmFileFuzz {
    private static let names = ["tiny", "renamed", "scalars", "copied", "enumerated", "mixed"]

    /// The sound files and their fields.
    private static let files: [(bytes: [UInt8], fields: [RealmField])] = names.map { name in
        let bytes = read(name)
        return (bytes, RealmField.all(of: bytes))
    }

    @Sendable static func run(_ bytes: UnsafeRawBufferPointer) throws {
        var input = FuzzInput(bytes)
        let choice = Int(input.byte())
        guard choice > 0 else { return try check(Array(input.rest)) }
        let file = files[choice % names.count]
        guard !file.fields.isEmpty else { return }
        var changed = file.bytes
        for _ in 0 ..< 8 where input.rest.count >= 5 {
            let field = file.fields[input.half() % file.fields.count]
            field.change(&changed, how: input.byte(), by: input.half(), file.fields)
        }
        try check(changed)
    }

    private static func check(_ bytes: [UInt8]) throws {
        let allowed: [ErrorCode] = [.corrupted, .unsupportedFormat, .unsupported, .valueTooLarge]
        let sums = try politely(allowed) { () throws -> (UInt64, [(table: Int, key: Int64, position: Int)]) in
            var reading = RealmReading()
            try reading.readAll(try RealmFile(bytes: bytes), keeping: false)
            return (reading.sum, reading.places)
        }
        guard let sums else { return }
        let file = try RealmFile(bytes: bytes)
        var again = RealmReading()
        try again.readAll(file, keeping: true)
        try Finding.require(again.sum == sums.0, "values depend on whether they are kept")
        for place in sums.1 {
            let found = try file.tables[place.table].position(of: place.key)
            try Finding.require(found == place.position, "an object is not found where it is")
        }
        _ = try politely([.corrupted]) { try file.checkBacklinks() }
    }

    // MARK: Seeds

    private static func read(_ name: String) -> [UInt8] {
        var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        parts.removeLast(2)
        guard let file = fopen(parts.joined(separator: "/") + "/Tests/RealmFiles/\(name).realm", "r") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while case let byte = fgetc(file), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
        return bytes
    }

    @Sendable static func seeds() throws -> [[UInt8]] {
        try Finding.require(files.allSatisfy { !$0.fields.isEmpty }, "a file of Tests/RealmFiles is missing")
        // Each kind of change somewhere in each file.
        var seeds = [[0] + files[0].bytes]
        for index in names.indices {
            for how in 0 ..< 6 {
                let place = 37 * how + 5
                seeds.append([UInt8(names.count + index), UInt8(place), UInt8(how), UInt8(how), 1, 0])
            }
        }
        return seeds
    }
}

/// A number in the file.
struct RealmField {
    let place: Int
    let count: Int

    static func all(of bytes: [UInt8]) -> [RealmField] {
        guard bytes.count >= 24 else { return [] }
        var fields = [(0, 8), (8, 8), (16, 4), (20, 1), (21, 1), (23, 1)].map { RealmField(place: $0.0, count: $0.1) }
        for node in stride(from: 24, to: bytes.count - 8, by: 8) where bytes[node ..< node + 4] == [65, 65, 65, 65] {
            fields.append(RealmField(place: node + 4, count: 1))
            fields.append(RealmField(place: node + 5, count: 3))
            let width = max(1, (1 << Int(bytes[node + 4] & 7)) >> (bytes[node + 4] & 0x18 == 0 ? 4 : 1))
            let elements = Int(bytes[node + 6]) << 8 | Int(bytes[node + 7])
            // The first of each node, which has those of all kinds.
            for index in 0 ..< min(elements, 24) where node + 8 + (index + 1) * width <= bytes.count {
                fields.append(RealmField(place: node + 8 + index * width, count: min(width, 8)))
            }
        }
        return fields
    }

    func change(_ bytes: inout [UInt8], how: UInt8, by number: Int, _ fields: [RealmField]) {
        var value = (0 ..< count).reduce(UInt64(0)) { $0 | UInt64(bytes[place + $1]) << UInt64(8 * $1) }
        switch how % 6 {
        case 0: value ^= 1 << UInt64(number % (8 * count))
        case 1: value = 0
        case 2: value = .max
        case 3: value &+= UInt64(number)
        case 4: value &-= UInt64(number)
        default:
            // What another field has: refs that lead elsewhere, values of another column.
            let other = fields[number % fields.count]
            value = (0 ..< other.count).reduce(UInt64(0)) { $0 | UInt64(bytes[other.place + $1]) << UInt64(8 * $1) }
        }
        for index in 0 ..< count { bytes[place + index] = UInt8(truncatingIfNeeded: value >> UInt64(8 * index)) }
    }
}

/// Everything that a file has.
private struct RealmReading {
    private(set) var sum: UInt64 = 0
    /// The first and the last object of each cluster.
    private(set) var places: [(table: Int, key: Int64, position: Int)] = []

    mutating func readAll(_ file: RealmFile, keeping: Bool) throws {
        for table in file.tables {
            var cursor = try table.cursor()
            while let cluster = try cursor.next() {
                for row in [0, cluster.count - 1] {
                    places.append((table.index, cluster.key(row), cluster.firstPosition + row))
                }
                for (column, property) in table.columns.enumerated() {
                    for row in 0 ..< cluster.count {
                        guard property.collection != .none else {
                            look(try cluster.value(column, row))
                            continue
                        }
                        var sums = self
                        _ = try cluster.elementCount(column, row)
                        try cluster.elements(column, row, keeping: keeping) { key, value in
                            sums.look(.string(key))
                            sums.look(value)
                        }
                        self = sums
                    }
                }
            }
        }
    }

    private mutating func look(_ view: ValueView) {
        switch view.kind {
        case .string, .data, .list, .map: for byte in view.bytes { sum = sum &* 31 &+ UInt64(byte) }
        default: sum = sum &* 31 &+ view.low ^ view.high ^ UInt64(view.aux)
        }
    }
}
