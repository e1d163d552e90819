/// Temporary files for what does not fit into memory: blocks come back as they went in, the file has no name, and of an
/// encrypted database nothing legible is in it.
import MottePages
import MotteValues
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct ScratchFileTests {
    private static let needle = Array("what nobody else writes into a file 4711".utf8)

    /// Whether any file without a name that this process has open has the needle in it.
    private func isLegible() throws -> Bool {
        for descriptor in 3 ..< 1_024 {
            var target = [UInt8](repeating: 0, count: 4_096)
            let count = target.withUnsafeMutableBytes { target -> Int in
                guard let base = target.baseAddress?.assumingMemoryBound(to: CChar.self) else { return -1 }
                return readlink("/proc/self/fd/\(descriptor)", base, 4_095)
            }
            guard count > 0, String(decoding: target.prefix(count), as: UTF8.self).contains(".motte-spill-") else {
                continue
            }
            var bytes = [UInt8](repeating: 0, count: 1 << 20)
            let found = bytes.withUnsafeMutableBytes { pread(Int32(descriptor), $0.baseAddress, $0.count, 0) }
            let text = String(decoding: bytes.prefix(max(0, found)), as: UTF8.self)
            if text.contains(String(decoding: Self.needle, as: UTF8.self)) { return true }
        }
        return false
    }

    @Test(.serialized, arguments: [true, false]) func blocksComeBack(isEncrypted: Bool) throws {
        let folder = TemporaryDirectory()
        let file = try ScratchFile(beside: folder.file("a.motte"), isEncrypted: isEncrypted)
        #expect(folder.names.isEmpty)
        let block = UnsafeMutableRawPointer.allocate(byteCount: ScratchFile.wholeBytes, alignment: 8)
        defer { block.deallocate() }
        for number in 0 ..< 5 {
            for index in 0 ..< file.blockBytes {
                let byte = Self.needle[index % Self.needle.count] &+ UInt8(index < 1_000 ? 0 : number)
                block.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
            }
            try file.append(block)
        }
        #expect(file.blockCount == 5)
        #expect(try isLegible() == !isEncrypted)
        for number in [4, 0, 3] {
            try file.read(number, into: block)
            let last = file.blockBytes - 1
            let expected = Self.needle[last % Self.needle.count] &+ UInt8(number)
            #expect(block.load(fromByteOffset: last, as: UInt8.self) == expected)
            #expect(block.load(as: UInt8.self) == Self.needle[0])
        }
        #expect(throws: DatabaseError.self) { try file.read(5, into: block) }
    }

    @Test func aDatabaseInMemoryHasOneToo() throws {
        let store = try PageStore.open(PageStoreOptions(location: .memory(identifier: nil)))
        defer { store.close() }
        let snapshot = try store.snapshot()
        #expect(!snapshot.exceedsMemory && snapshot.memoryBytes == .max)
        let file = try snapshot.makeScratchFile()
        let block = UnsafeMutableRawPointer.allocate(byteCount: ScratchFile.wholeBytes, alignment: 8)
        defer { block.deallocate() }
        block.initializeMemory(as: UInt8.self, repeating: 7, count: ScratchFile.wholeBytes)
        try file.append(block)
        block.initializeMemory(as: UInt8.self, repeating: 0, count: ScratchFile.wholeBytes)
        try file.read(0, into: block)
        #expect(block.load(fromByteOffset: ScratchFile.wholeBytes - 1, as: UInt8.self) == 7)
    }
}
