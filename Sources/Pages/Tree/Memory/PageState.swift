/// The word that says what the memory of a page holds. Beside these it is the identity of the reference that the page
/// was checked against (`PageRef.identity`), alone or with `givenUp`.
package enum PageState {
    package static let empty: UInt64 = 0
    /// The writer of this process is at it.
    static let building: UInt64 = 1
    /// Read, but not checked yet, and not decrypted.
    static let unchecked: UInt64 = 2
    /// The rest of a value.
    package static let continued: UInt64 = 3

    /// In an identity: keeps it apart from the numbers above.
    static let mark: UInt64 = 1 << 5
    /// In an identity: memory is wanted for something else. Who asks for the page takes it back.
    static let givenUp: UInt64 = 1 << 6

    /// In an identity: what it is the identity of does not lie in its region (`PageRegions`).
    static let apart: UInt64 = 1 << 7

    /// Without what is said beside it.
    static func identity(of state: UInt64) -> UInt64 { state & ~(givenUp | apart) }

    static func isIdentity(_ state: UInt64) -> Bool { state & mark != 0 }
}
