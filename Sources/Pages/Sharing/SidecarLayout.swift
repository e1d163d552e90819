/// The bytes of the sidecar `x.motte-shared`, which the processes that have the file open share in memory:
///
///        0  "MOTTESHR"                          128 + 64 * i   slot i of 126, one per process
///        8  u32 layout number                             0  u32 process id, u32 number of the claim; 0: free
///       12  u32 bytes of the sidecar                      8  u64 start time of the process
///       16  u64 x 2  UUID of the file, 0: not yet known  16  u64 nonce of the library image
///       32  u32 low 32 bits of the version: futex word   24  u64 oldest observed version + 1, 0: none
///       36  u32 counts releases of the write lock: futex word
///       40  u64 latest committed version
///       48  u32 processes waiting for the write lock
///       56  u64 latest version known to be durable + 1, 0: none known
///       64  u64 1: some process has opened the file since, so that what stands at 40 means something
///       72  u64 device of the file, 80 u64 its inode, 0: not yet known
///       96  u32 counts claims of slots, before and behind each
///      104  u64 latest version in which a compaction has moved values, 0: none since the sidecar was set up
///     8192 + 512 * i: 64 words, the versions that process i pins (see `PagePins`)
///
/// Byte locks of the sidecar (of the open file description, so the kernel drops them when the process dies):
/// 0 write lock, 1 turnstile before it, 2 attached (shared; exclusively: the right to set the sidecar up),
/// 3 claiming slots, 4 opening or making the file, 256 + i: slot i is in use.
/// The contents mean something only while somebody is attached.
///
/// Whoever has the file open also holds one byte of the file itself for reading, far behind its end: which one is
/// identified by device and inode of the sidecar. Somebody with another sidecar, because the first was deleted or the
/// file has two names, holds another byte and is found by that; see `FilePresence`.
package enum SidecarLayout {
    package static let magic: UInt64 = 0x5248_5345_5454_4F4D  // "MOTTESHR", little-endian
    package static let number: UInt32 = 5
    package static let byteCount = pinsOffset + slotCount * pinRowBytes
    static let slotCount = 126

    package static let magicOffset = 0
    package static let numberOffset = 8
    static let byteCountOffset = 12
    static let uuidOffset = 16
    static let versionWordOffset = 32
    static let releasesOffset = 36
    package static let versionOffset = 40
    static let waitersOffset = 48
    static let durableOffset = 56
    package static let openedOffset = 64
    static let deviceOffset = 72
    static let inodeOffset = 80
    static let claimsOffset = 96
    static let movedOffset = 104
    static let pinsOffset = 8192
    static let pinRowBytes = 512

    package static func slotOffset(_ slot: Int) -> Int { 128 + 64 * slot }
    package static func pinRowOffset(_ slot: Int) -> Int { pinsOffset + pinRowBytes * slot }
    package static let slotProcess = 0
    static let slotStart = 8
    static let slotNonce = 16
    static let slotOldest = 24

    static let writeLockByte: Int64 = 0
    static let turnstileByte: Int64 = 1
    package static let attachByte: Int64 = 2
    static let claimByte: Int64 = 3
    static let openingByte: Int64 = 4
    package static func slotByte(_ slot: Int) -> Int64 { 256 + Int64(slot) }
}
