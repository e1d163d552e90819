// The checksum of pages and the encryption of units against the test vectors that were published with them.
import CMotteShim
import Testing

@Suite struct ChecksumTests {
    /// What the vectors of xxHash are over: `XSUM_fillTestBuffer` of its sanity check.
    private static func sanityBuffer(_ count: Int) -> [UInt8] {
        var generator: UInt64 = 2_654_435_761
        return (0 ..< count).map { _ in
            defer { generator = generator &* 11_400_714_785_074_694_797 }
            return UInt8(truncatingIfNeeded: generator >> 56)
        }
    }

    /// Entries of `XSUM_XXH3_testdata` (xxHash 0.8.3) without a seed, of every class of lengths.
    @Test(
        arguments: [
            (0, 0x2D06_8005_38D3_94C2), (1, 0xC44B_DFF4_074E_ECDB), (2, 0x7A99_7804_4CB8_A8BB),
            (3, 0x5424_7382_A8D6_B94D),
            (4, 0xE5DC_74BC_5184_8A51), (6, 0x27B5_6A84_CD2D_7325), (8, 0x24CC_C9AC_AA9F_65E4),
            (9, 0x14D5_001C_15DD_3F2B),
            (12, 0xA713_DAF0_DFBB_77E7), (16, 0x981B_17D3_6C74_98C9), (17, 0x796F_5ACD_3A60_F862),
            (24, 0xA3FE_70BF_9D35_10EB), (48, 0x397D_A259_ECBA_1F11), (64, 0x9CB4_8487_720E_C49D),
            (80, 0xBCDE_FBBB_2C47_C90A), (128, 0xFCFF_2412_6754_D861), (129, 0x98F1_B0A6_79A2_CA29),
            (195, 0xCD94_217E_E362_EC3A), (222, 0xB916_3B55_8664_D356), (240, 0x81C3_C2B6_7F56_8CCF),
            (241, 0xC5A6_39EC_D203_0E5E), (403, 0xCDEB_804D_65C6_DEA4), (512, 0x617E_4959_9013_CB6B),
            (2048, 0xDD59_E2C3_A5F0_38E0), (2099, 0xC6B9_D9B3_FC9A_C765), (2240, 0x6E73_A905_39CF_2948),
            (2367, 0xCB37_AEB9_E5D3_61ED),
        ] as [(Int, UInt64)])
    func publishedVectorsOfXXH3(count: Int, expected: UInt64) {
        #expect(motte_shim_xxh3(Self.sanityBuffer(count), count) == expected)
    }

    /// A checksum does not depend on where the bytes lie.
    @Test func anyAlignmentGivesTheSame() {
        let bytes = Self.sanityBuffer(4088)
        let expected = motte_shim_xxh3(bytes, bytes.count)
        for shift in 1 ..< 16 {
            let shifted = [UInt8](repeating: 0, count: shift) + bytes
            let found = shifted.withUnsafeBytes { motte_shim_xxh3($0.baseAddress.map { $0 + shift }, bytes.count) }
            #expect(found == expected)
        }
    }

    /// CRC-32C bit by bit, as it is defined, beside ours: of lengths around the runs that go side by side.
    @Test func sumsOfRunsAreThoseOfTheirBytes() {
        func defined(_ seed: UInt32, _ bytes: ArraySlice<UInt8>) -> UInt32 {
            var sum = ~seed
            for byte in bytes {
                sum ^= UInt32(byte)
                for _ in 0 ..< 8 { sum = sum >> 1 ^ (sum & 1 == 0 ? 0 : 0x82F6_3B78) }
            }
            return ~sum
        }
        let bytes = Self.sanityBuffer(6_000)
        var lengths = Set(0 ..< 40)
        for edge in [512, 1_536, 3_072, 4_608] { lengths.formUnion(edge - 9 ... edge + 9) }
        for count in lengths {
            for (start, seed) in [(0, 0), (3, 0xDEAD_BEEF)] as [(Int, UInt32)] {
                let part = bytes[start ..< start + count]
                #expect(part.withUnsafeBytes { motte_shim_crc32c(seed, $0.baseAddress, count) } == defined(seed, part))
            }
        }
        #expect(Array("123456789".utf8).withUnsafeBytes { motte_shim_crc32c(0, $0.baseAddress, 9) } == 0xE306_9283)
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// The vectors of c2sp.org/XAES-256-GCM: one for each top bit of what CMAC's subkey is made of.
    @Test(
        arguments: [
            (1, "", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"),
            (3, "c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"),
        ] as [(UInt8, String, String)])
    func publishedVectorsOfXAES(byte: UInt8, data: String, expected: String) throws {
        try #require(motte_shim_cipher_load() == 0)
        let cipher = try #require(motte_shim_cipher_make([UInt8](repeating: byte, count: 32)))
        defer { motte_shim_cipher_free(cipher) }
        let nonce = Array("ABCDEFGHIJKLMNOPQRSTUVWX".utf8), plain = Array("XAES-256-GCM".utf8)
        // In two runs, which count as one.
        let first = Array(data.utf8.prefix(5)), second = Array(data.utf8.dropFirst(5))
        func run(_ body: (UnsafePointer<motte_shim_associated_data>) -> Int32) -> Int32 {
            first.withUnsafeBytes { first in
                second.withUnsafeBytes { second in
                    var associated = motte_shim_associated_data(
                        first: first.baseAddress, first_size: first.count, second: second.baseAddress,
                        second_size: second.count)
                    return body(&associated)
                }
            }
        }
        var sealed = [UInt8](repeating: 0, count: plain.count), tag = [UInt8](repeating: 0, count: 16)
        #expect(run { motte_shim_seal(cipher, nonce, $0, plain, plain.count, &sealed, &tag) } == 0)
        #expect(Self.hex(sealed + tag) == expected)

        var opened = [UInt8](repeating: 0, count: plain.count)
        #expect(run { motte_shim_unseal(cipher, nonce, $0, sealed, sealed.count, &opened, tag) } == 1)
        #expect(opened == plain)
        tag[3] ^= 1
        #expect(run { motte_shim_unseal(cipher, nonce, $0, sealed, sealed.count, &opened, tag) } == 0)
        #expect(opened == [UInt8](repeating: 0, count: plain.count))
    }
}
