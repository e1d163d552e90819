/// The first byte of every key says what the value is; all of them live in one ordered map.
package enum KeySpace {
    package static let header: UInt8 = 0x00
    package static let catalog: UInt8 = 0x01
    package static let tableStates: UInt8 = 0x02
    package static let openGroups: UInt8 = 0x03
    package static let chunks: UInt8 = 0x04
    package static let liveBitmaps: UInt8 = 0x05
    package static let longLists: UInt8 = 0x06
    package static let indexBlocks: UInt8 = 0x07
    package static let longValues: UInt8 = 0x08
    // 0x09 is reserved for statistics, 0x0A for kinds of index that need keys of their own.
    package static let replication: UInt8 = 0x0B
    package static let changeLog: UInt8 = 0x7F

    /// Says from where on the change log is kept: of the file itself, as the log is.
    package static let keptChanges: [UInt8] = [replication, 0xFF, 0xFF, 0xFF, 0xFF]

    /// Keys are 1 to 511 bytes in every store.
    package static let longestKey = 511
}

/// The little that this layer knows of chunks' bytes; the rest is `ChunkHeader`'s, which is not below it.
package enum ChunkMark {
    /// In the first byte of chunks of lists, sets and maps; the other bits are the kind of their elements.
    package static let list: UInt8 = 0x40
}
