/// Hand-coded records in LMDB: what a key-value store costs, with no schema, types or notifications above it.
///
///     record: i64 age | f64 score | i64 created | i64 best friend | u8 active | u8 name size | u8 city size
///             | name | city
import CLMDB
import Glibc

final class LMDBEngine: Engine {
    let name = "LMDB"
    private var environment: OpaquePointer?
    private var rows: MDB_dbi = 0
    private var cities: MDB_dbi = 0
    private var path = ""
    private var hasIndex = false

    private func check(_ code: Int32) throws {
        guard code == 0 else { throw BenchError(String(cString: mdb_strerror(code))) }
    }

    private func open(_ path: String) throws {
        close()
        self.path = path
        try check(mdb_env_create(&environment))
        try check(mdb_env_set_mapsize(environment, 4 << 30))
        try check(mdb_env_set_maxdbs(environment, 4))
        try check(mdb_env_open(environment, path, UInt32(MDB_NOSUBDIR | MDB_NOTLS), 0o644))
        try write { transaction in
            try check(mdb_dbi_open(transaction, "rows", UInt32(MDB_CREATE | MDB_INTEGERKEY), &rows))
            try check(
                mdb_dbi_open(
                    transaction, "cities", UInt32(MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP), &cities))
        }
    }

    private func write(_ body: (OpaquePointer?) throws -> Void) throws {
        var transaction: OpaquePointer?
        try check(mdb_txn_begin(environment, nil, 0, &transaction))
        do { try body(transaction) } catch {
            mdb_txn_abort(transaction)
            throw error
        }
        try check(mdb_txn_commit(transaction))
    }

    private func read<T>(_ body: (OpaquePointer?) throws -> T) throws -> T {
        var transaction: OpaquePointer?
        try check(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction))
        defer { mdb_txn_abort(transaction) }
        return try body(transaction)
    }

    private func record(_ row: Int, _ data: PersonData, into buffer: UnsafeMutableRawPointer) -> Int {
        buffer.storeBytes(of: data.ages[row], toByteOffset: 0, as: Int64.self)
        buffer.storeBytes(of: data.scores[row], toByteOffset: 8, as: Double.self)
        buffer.storeBytes(of: data.created[row], toByteOffset: 16, as: Int64.self)
        buffer.storeBytes(of: data.bestFriends[row], toByteOffset: 24, as: Int64.self)
        let name = data.names[row]
        let city = data.cityColumn[row]
        buffer.storeBytes(of: data.active[row] ? 1 : 0, toByteOffset: 32, as: UInt8.self)
        buffer.storeBytes(of: UInt8(name.count), toByteOffset: 33, as: UInt8.self)
        buffer.storeBytes(of: UInt8(city.count), toByteOffset: 34, as: UInt8.self)
        UnsafeMutableRawBufferPointer(start: buffer + 35, count: name.count).copyMemory(from: name)
        UnsafeMutableRawBufferPointer(start: buffer + 35 + name.count, count: city.count).copyMemory(from: city)
        return 35 + name.count + city.count
    }

    /// With ids that do not ascend, or without.
    private func insertAll(_ data: PersonData, _ ids: [Int64]? = nil) throws {
        try write { transaction in
            let buffer = UnsafeMutableRawPointer.allocate(byteCount: 256, alignment: 8)
            defer { buffer.deallocate() }
            for row in 0 ..< data.count {
                var id = ids?[row] ?? Int64(row)
                let size = record(row, data, into: buffer)
                try withUnsafeMutableBytes(of: &id) { key in
                    var key = MDB_val(mv_size: 8, mv_data: key.baseAddress)
                    var value = MDB_val(mv_size: size, mv_data: buffer)
                    try check(mdb_put(transaction, rows, &key, &value, ids == nil ? UInt32(MDB_APPEND) : 0))
                }
            }
        }
    }

    func bulkInsert(_ data: PersonData, in folder: String) throws -> Double {
        try open(folder + "/w1.lmdb")
        return try seconds { try insertAll(data) }
    }

    func bulkInsertWithKey(_ data: PersonData, _ ids: [Int64], areAscending: Bool, in path: String) throws -> Double {
        try open(path + ".lmdb")
        return try seconds { try insertAll(data, areAscending ? nil : ids) }
    }

    func load(_ data: PersonData, in folder: String) throws -> Double {
        try open(folder + "/person.lmdb")
        return try seconds { try insertAll(data) }
    }

    func commitOne(id: Int64, _ data: PersonData) throws {
        try write { transaction in
            try withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { buffer in
                guard let start = buffer.baseAddress else { return }
                var id = id
                let size = record(Int(id) % data.count, data, into: start)
                try withUnsafeMutableBytes(of: &id) { key in
                    var key = MDB_val(mv_size: 8, mv_data: key.baseAddress)
                    var value = MDB_val(mv_size: size, mv_data: start)
                    try check(mdb_put(transaction, rows, &key, &value, 0))
                }
            }
        }
    }

    private var reader: OpaquePointer?

    func find(id: Int64) throws -> (age: Int64, score: Double)? {
        if reader == nil {
            try check(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &reader))
        } else {
            try check(mdb_txn_renew(reader))
        }
        defer { mdb_txn_reset(reader) }
        var id = id
        return withUnsafeMutableBytes(of: &id) { key in
            var key = MDB_val(mv_size: 8, mv_data: key.baseAddress)
            var value = MDB_val()
            guard mdb_get(reader, rows, &key, &value) == 0, let found = value.mv_data else { return nil }
            return (found.loadUnaligned(as: Int64.self), found.loadUnaligned(fromByteOffset: 8, as: Double.self))
        }
    }

    private func scan(_ body: (UnsafeMutableRawPointer) -> Void) throws {
        try read { transaction in
            var cursor: OpaquePointer?
            try check(mdb_cursor_open(transaction, rows, &cursor))
            defer { mdb_cursor_close(cursor) }
            var key = MDB_val()
            var value = MDB_val()
            while mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0 { if let found = value.mv_data { body(found) } }
        }
    }

    func iterate() throws -> Int64 {
        var sum: Int64 = 0
        try scan { sum &+= $0.loadUnaligned(as: Int64.self) &+ Int64($0.load(fromByteOffset: 33, as: UInt8.self)) }
        return sum
    }

    func countOlder(than age: Int64) throws -> Int {
        var count = 0
        try scan { if $0.loadUnaligned(as: Int64.self) > age { count += 1 } }
        return count
    }

    func count(city: [UInt8]) throws -> Int {
        if hasIndex { return try countByIndex(city) }
        var count = 0
        try city.withUnsafeBytes { wanted in
            guard let wantedStart = wanted.baseAddress else { return }
            try scan { found in
                let nameSize = Int(found.load(fromByteOffset: 33, as: UInt8.self))
                guard Int(found.load(fromByteOffset: 34, as: UInt8.self)) == wanted.count else { return }
                if memcmp(found + 35 + nameSize, wantedStart, wanted.count) == 0 { count += 1 }
            }
        }
        return count
    }

    private func countByIndex(_ city: [UInt8]) throws -> Int {
        var city = city
        return try read { transaction in
            var cursor: OpaquePointer?
            try check(mdb_cursor_open(transaction, cities, &cursor))
            defer { mdb_cursor_close(cursor) }
            return city.withUnsafeMutableBytes { bytes in
                var key = MDB_val(mv_size: bytes.count, mv_data: bytes.baseAddress)
                var value = MDB_val()
                guard mdb_cursor_get(cursor, &key, &value, MDB_SET) == 0 else { return 0 }
                var count = 0
                mdb_cursor_count(cursor, &count)
                return count
            }
        }
    }

    func indexCities() throws {
        var entries: [(city: [UInt8], id: Int64)] = []
        var id: Int64 = 0
        try scan { found in
            let nameSize = Int(found.load(fromByteOffset: 33, as: UInt8.self))
            let citySize = Int(found.load(fromByteOffset: 34, as: UInt8.self))
            entries.append((Array(UnsafeRawBufferPointer(start: found + 35 + nameSize, count: citySize)), id))
            id += 1
        }
        let order = entries.indices.sorted { left, right in
            entries[left].city == entries[right].city
                ? entries[left].id < entries[right].id
                : entries[left].city.lexicographicallyPrecedes(entries[right].city)
        }
        try write { transaction in
            for index in order {
                var (name, id) = entries[index]
                try name.withUnsafeMutableBytes { city in
                    try withUnsafeMutableBytes(of: &id) { idBytes in
                        var key = MDB_val(mv_size: city.count, mv_data: city.baseAddress)
                        var value = MDB_val(mv_size: 8, mv_data: idBytes.baseAddress)
                        try check(mdb_put(transaction, cities, &key, &value, 0))
                    }
                }
            }
        }
        hasIndex = true
    }

    func sumScores() throws -> Double {
        var sum = 0.0
        try scan { sum += $0.loadUnaligned(fromByteOffset: 8, as: Double.self) }
        return sum
    }

    func countFriendsOlder(than age: Int64) throws -> Int {
        var count = 0
        try read { transaction in
            try scan { found in
                var friend = found.loadUnaligned(fromByteOffset: 24, as: Int64.self)
                guard friend >= 0 else { return }
                withUnsafeMutableBytes(of: &friend) { key in
                    var key = MDB_val(mv_size: 8, mv_data: key.baseAddress)
                    var value = MDB_val()
                    guard mdb_get(transaction, rows, &key, &value) == 0, let other = value.mv_data else { return }
                    if other.loadUnaligned(as: Int64.self) > age { count += 1 }
                }
            }
        }
        return count
    }

    func updateAges(ids: [Int64]) throws {
        try rewrite(ids) { record, _ in record.storeBytes(of: record.load(as: Int64.self) + 1, as: Int64.self) }
    }

    func rename(id: Int64, to name: [UInt8]) throws {
        try rewrite([id]) { record, size in
            let city = 35 + Int(record.load(fromByteOffset: 33, as: UInt8.self))
            (record + 35 + name.count).copyMemory(from: record + city, byteCount: size - city)
            (record + 35).copyMemory(from: name, byteCount: name.count)
            record.storeBytes(of: UInt8(name.count), toByteOffset: 33, as: UInt8.self)
            size += 35 + name.count - city
        }
    }

    private func rewrite(_ ids: [Int64], _ change: (UnsafeMutableRawPointer, inout Int) -> Void) throws {
        try write { transaction in
            try withUnsafeTemporaryAllocation(byteCount: 512, alignment: 8) { buffer in
                guard let start = buffer.baseAddress else { return }
                for id in ids {
                    var id = id
                    try withUnsafeMutableBytes(of: &id) { key in
                        var key = MDB_val(mv_size: 8, mv_data: key.baseAddress)
                        var value = MDB_val()
                        try check(mdb_get(transaction, rows, &key, &value))
                        guard let found = value.mv_data else { return }
                        start.copyMemory(from: found, byteCount: value.mv_size)
                        change(start, &value.mv_size)
                        value.mv_data = start
                        try check(mdb_put(transaction, rows, &key, &value, 0))
                    }
                }
            }
        }
    }

    func delete(ids: [Int64]) throws {
        try write { transaction in
            for id in ids {
                var id = id
                try withUnsafeMutableBytes(of: &id) { key in
                    var key = MDB_val(mv_size: 8, mv_data: key.baseAddress)
                    try check(mdb_del(transaction, rows, &key, nil))
                }
            }
        }
    }

    func makeReader() throws -> () throws -> Void {
        { [self] in _ = try countOlder(than: 50) }
    }

    func reopen() throws {
        let hadIndex = hasIndex
        try open(path)
        hasIndex = hadIndex
    }

    func fileSize() throws -> Int { sizeOfFile(path) }

    func close() {
        guard environment != nil else { return }
        mdb_txn_abort(reader)
        reader = nil
        mdb_env_close(environment)
        environment = nil
        hasIndex = false
    }
}
