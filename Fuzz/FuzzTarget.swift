/// A fuzz target: bytes that a fuzzer makes up go in, and what must hold of any bytes is checked. A target either
/// returns, or throws a `Finding`; the end of the process is a finding by itself.
///
/// Each target has a file of its own in this folder and a line in `all`. `seeds` are small sound inputs to begin from,
/// made again each time. Inputs that once were findings are kept in `Fuzz/kept/<target>`. `Fuzz/run.sh` runs the
/// targets under libFuzzer, the tests in `Tests/FuzzTests` run seeds and kept inputs in every build.
import MotteValues

package struct FuzzTarget: Sendable {
    package let name: String
    package let seeds: @Sendable () throws -> [[UInt8]]
    package let run: @Sendable (UnsafeRawBufferPointer) throws -> Void

    package static let all: [FuzzTarget] = [
        .columnChunk, .indexBlock, .orderedBlock, .changeRecord, .changeBatch, .catalog, .nestedDocument, .schemaText,
        .queryText,
        .json, .csv,
        .pageNode, .pageFile, .storeContent, .storeFields, .realmFile,
    ]

    /// Finds something in every third input: shows that findings are noticed.
    package static let alwaysFails = FuzzTarget(
        name: "alwaysFails", seeds: { [[1, 2, 3]] },
        run: { bytes in
            if bytes.count % 3 == 2 { throw Finding("this target fails always") }
        })

    package static func named(_ name: String) -> FuzzTarget? {
        (all + [alwaysFails]).first { $0.name == name }
    }
}

/// What must not be.
package struct Finding: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }

    package static func require(_ condition: Bool, _ text: @autoclosure () -> String) throws {
        if !condition { throw Finding(text()) }
    }
}

/// Runs `body`, whose errors may be those of damaged or unsuitable input; nil when it threw one.
func politely<Result>(_ body: () throws -> Result) throws -> Result? {
    try politely([.corrupted, .unsupportedFormat], body)
}

func politely<Result>(_ allowed: [ErrorCode], _ body: () throws -> Result) throws -> Result? {
    do {
        return try body()
    } catch let error as DatabaseError {
        try Finding.require(allowed.contains(error.code), "an error that does not fit: \(error.code): \(error.message)")
        return nil
    }
}

/// Takes an input apart from the front; where it ends there are zeros.
struct FuzzInput {
    private(set) var rest: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

    mutating func byte() -> UInt8 {
        guard let first = rest.first else { return 0 }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
        return first
    }

    mutating func half() -> Int { Int(byte()) | Int(byte()) << 8 }

    /// Puts bytes into a copy of something sound: for each place two bytes that say where and one that says what.
    mutating func edit(_ bytes: inout [UInt8], most: Int = 64) {
        guard !bytes.isEmpty else { return }
        for _ in 0 ..< most where rest.count >= 3 {
            let place = half()
            bytes[place % bytes.count] = byte()
        }
    }

    /// The bytes of one edit.
    static func edit(at place: Int, _ byte: UInt8) -> [UInt8] {
        [UInt8(truncatingIfNeeded: place), UInt8(truncatingIfNeeded: place >> 8), byte]
    }
}

extension UnsafeRawBufferPointer {
    /// A number made from all bytes, to choose with.
    var hash: UInt64 { reduce(14_695_981_039_346_656_037) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 } }
}

extension [UInt8] {
    func asBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try withUnsafeBytes { try body($0) }
    }

    mutating func store(_ value: UInt32, at offset: Int) {
        for index in 0 ..< 4 where offset + index < count {
            self[offset + index] = UInt8(truncatingIfNeeded: value >> UInt32(8 * index))
        }
    }

    func word(at offset: Int) -> Int {
        (0 ..< 4).reduce(0) { $0 | (offset + $1 < count ? Int(self[offset + $1]) << (8 * $1) : 0) }
    }
}
