/// What a store must do to take part. Every count and sum is compared between engines, so that none is fast by being
/// wrong.
protocol Engine {
    var name: String { get }

    /// W1: five properties, no primary key, one durable transaction into a fresh file.
    func bulkInsert(_ data: PersonData, in folder: String) throws -> Double
    /// W2: the same with an integer primary key; `path` without an ending.
    func bulkInsertWithKey(_ data: PersonData, _ ids: [Int64], areAscending: Bool, in path: String) throws -> Double
    /// W2f: whole persons, links and lists included. Leaves its file open for all that follow.
    func load(_ data: PersonData, in folder: String) throws -> Double

    /// W3: one durable commit of one new person; called many times.
    func commitOne(id: Int64, _ data: PersonData) throws
    /// W4: age and score of the person with this primary key.
    func find(id: Int64) throws -> (age: Int64, score: Double)?
    /// W5: ages and name lengths of all persons.
    func iterate() throws -> Int64
    /// W6
    func countOlder(than age: Int64) throws -> Int
    /// W7; W7i once there is an index.
    func count(city: [UInt8]) throws -> Int
    func indexCities() throws
    /// W11
    func sumScores() throws -> Double
    /// W12
    func countFriendsOlder(than age: Int64) throws -> Int
    /// W13: one property of many persons in one durable transaction.
    func updateAges(ids: [Int64]) throws
    /// W3t: the name of one person in one durable transaction.
    func rename(id: Int64, to name: [UInt8]) throws
    /// W14: with the links to them, where an engine knows links.
    func delete(ids: [Int64]) throws
    /// W19: called on another thread; what it gives counts those older than 50 in the newest version, on that thread.
    func makeReader() throws -> () throws -> Void
    /// W17
    func fileSize() throws -> Int
    func close()
    /// W16: opens the file that was loaded once more.
    func reopen() throws

    /// What has been written since the file was opened; nil where nobody counts.
    func writeCounts() throws -> WriteCounts?
}

struct WriteCounts {
    var bytes: Int
    var calls: Int
    var flushes: Int
}

extension Engine {
    func writeCounts() throws -> WriteCounts? { nil }
}

struct BenchError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
