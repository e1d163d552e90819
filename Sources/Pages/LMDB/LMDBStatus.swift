/// LMDB's return codes as errors of ours; the only place that knows them.
import CLMDB
import MotteValues

enum LMDBStatus {
    /// `action` completes "could not ...".
    static func check(_ status: Int32, _ action: String, _ path: String) throws(DatabaseError) {
        guard status == 0 else { throw error(status, action, path) }
    }

    static func error(_ status: Int32, _ action: String, _ path: String) -> DatabaseError {
        func make(_ code: ErrorCode, _ why: String) -> DatabaseError {
            DatabaseError(code, "could not \(action) '\(path)': \(why)", path: path)
        }
        switch status {
        case MDB_MAP_FULL, MDB_MAP_RESIZED:
            return make(
                .mapFull,
                "the file needs more than the address space reserved for it; open it with a larger 'map_size'"
                    + " (or MOTTE_MAP_SIZE) in every process")
        case MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_CURSOR_FULL, MDB_BAD_TXN, MDB_BAD_RSLOT:
            return make(.corrupted, "the file is damaged; run 'motte verify' and restore from a copy")
        case MDB_PANIC:
            return make(.inputOutput, "an earlier write failed half-way; close the file everywhere and open it again")
        case MDB_INVALID: return make(.notAMotteFile, "it is not a Motte file")
        case MDB_VERSION_MISMATCH: return make(.unsupportedFormat, "it was written by another version of the pager")
        case MDB_READERS_FULL: return make(.busy, "too many versions are pinned; release frozen objects")
        case MDB_TXN_FULL: return make(.valueTooLarge, "the transaction is too large; write it in parts")
        case MDB_BAD_VALSIZE: return make(.valueTooLarge, "a key or value has a size that cannot be stored")
        case ..<0: return make(.internal, String(cString: mdb_strerror(status)))
        default: return SystemError.error(status, action, path)
        }
    }
}

extension MDB_val {
    init(_ bytes: UnsafeRawBufferPointer) {
        self.init(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: mv_data, count: mv_size) }
}
