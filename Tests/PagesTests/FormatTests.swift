// The format number in the head of a file, and the room that is reserved: what a file says that this library does not
// know is refused in words, also when all checksums fit.
import CMotteShim
import MottePages
import MotteValues
import TestSupport
import Testing

@Suite struct FormatTests {
    private func newFile() throws -> [UInt8] {
        let disk = MemoryDisk()
        let store = try CutRun.open(disk, walPages: 0)
        try store.commitNext([("key", [1])])
        store.close()
        return disk.contents
    }

    private func open(_ bytes: [UInt8]) throws {
        try CutRun.open(MemoryDisk(bytes), sealed: false).close()
    }

    @Test func theHeadBeginsWithTheFormatNumber() throws {
        let bytes = try newFile()
        #expect(bytes[8 ..< 12].elementsEqual([0, 0, 1, 0]) && FileHeader.format == "0.1")
        try open(bytes)
    }

    /// Newer and older ones alike, and before anything else of the file is believed.
    @Test(arguments: [(8, 1), (8, 2), (9, 1), (10, 0), (10, 2), (11, 1)] as [(Int, UInt8)])
    func otherFormatNumbersAreRefused(place: Int, byte: UInt8) throws {
        var bytes = try newFile()
        bytes[place] = byte
        let number = "\(Int(bytes[8]) | Int(bytes[9]) << 8).\(Int(bytes[10]) | Int(bytes[11]) << 8)"
        for fits in [false, true] {
            if fits { HostileFile.sealHead(&bytes) }
            let error = try failure { try open(bytes) }
            #expect(error.code == .unsupportedFormat && error.message.contains("has file format \(number)"))
            #expect(error.message.contains("format 0.1 only; open it with"))
        }
    }

    @Test func whatIsReservedInTheHeadIsZero() throws {
        let sound = try newFile()
        for place in Array(20 ..< 24) + Array(40 ..< 128) + [16, 18] {
            var bytes = sound
            bytes[place] = 2
            #expect(try failure { try open(bytes) }.code == .corrupted, "\(place)")
            HostileFile.sealHead(&bytes)
            #expect(try failure { try open(bytes) }.code == .unsupportedFormat, "\(place)")
        }
    }

    @Test func whatIsReservedInTheHeaderRecordIsZero() throws {
        let sound = try FileHeader.new(rowGroupSize: 100, pageBytes: 4096).encoded()
        func decode(_ bytes: [UInt8]) throws {
            _ = try bytes.withBytes { bytes throws(DatabaseError) in try FileHeader(decoding: bytes, path: "x") }
        }
        try decode(sound)
        let reserved = [6 ..< 12, 16 ..< 40, 76 ..< 88, 104 ..< 124].joined()
        for place in reserved {
            var bytes = sound
            bytes[place] = 1
            #expect(try failure { try decode(bytes) }.code == .corrupted, "\(place)")
            bytes.store(motte_shim_crc32c(0, bytes, 124), at: 124)
            #expect(try failure { try decode(bytes) }.code == .unsupportedFormat, "\(place)")
        }
    }
}

extension [UInt8] {
    fileprivate mutating func store(_ value: UInt32, at place: Int) {
        for byte in 0 ..< 4 { self[place + byte] = UInt8(truncatingIfNeeded: value >> (8 * UInt32(byte))) }
    }
}
