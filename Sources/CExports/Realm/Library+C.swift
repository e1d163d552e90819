/// What the library says of itself, and the one function that frees plain memory.
import CMotte
import Glibc
import MotteValues

private let versionText = StaticString("0.1.0")

@_cdecl("motte_version_string") @implementation
public func motte_version_string() -> UnsafePointer<CChar>? {
    UnsafeRawPointer(versionText.utf8Start).assumingMemoryBound(to: CChar.self)
}

@_cdecl("motte_version_number") @implementation
public func motte_version_number() -> UInt32 { UInt32(MOTTE_VERSION) }

@_cdecl("motte_check_abi") @implementation
public func motte_check_abi(_ abi_version: UInt32, _ abi_layout: UInt32) -> motte_status {
    boundary { () throws(DatabaseError) in
        guard abi_version == UInt32(MOTTE_ABI_VERSION), abi_layout == UInt32(MOTTE_ABI_LAYOUT) else {
            throw DatabaseError(
                .unsupported, "this libmotte (ABI \(MOTTE_ABI_VERSION)) does not fit the motte.h it was compiled with")
        }
        return .ok
    }
}

@_cdecl("motte_has_feature") @implementation
public func motte_has_feature(_ name: UnsafePointer<CChar>?, _ name_size: Int) -> Int32 { 0 }

@_cdecl("motte_buf_dispose") @implementation
public func motte_buf_dispose(_ buf: UnsafeMutablePointer<motte_buf>?) {
    guard let buf else { return }
    free(buf.pointee.data)
    buf.pointee = emptyBuffer
}
