/// The workloads by name, with what SQLite (or LMDB) did when the targets were set.

/// A workload: the figure SQLite (or LMDB) had when the targets were set, and the first target.
struct Workload {
    let key: String
    let title: String
    let unit: String
    let reference: Double
    let referenceEngine: String
    let target: Double
    /// A rate, not a time or a size.
    var isMoreBetter = false

    static let all: [Workload] = [
        Workload(
            key: "W1", title: "bulk insert, 5 properties", unit: "ns/object", reference: 827, referenceEngine: "SQLite",
            target: 240),
        Workload(
            key: "W2", title: "the same with an ascending primary key", unit: "ns/object", reference: 920,
            referenceEngine: "SQLite", target: 400),
        Workload(
            key: "W2r", title: "the same with random primary keys", unit: "ns/object", reference: 2_278,
            referenceEngine: "SQLite", target: 1_600),
        Workload(
            key: "W2f", title: "bulk insert of whole persons", unit: "ns/object", reference: 956,
            referenceEngine: "SQLite", target: 1_500),
        Workload(
            key: "W3", title: "durable commit of one object, p50", unit: "us", reference: 51, referenceEngine: "SQLite",
            target: 160),
        Workload(
            key: "W3 p99", title: "durable commit of one object, p99", unit: "us", reference: 102,
            referenceEngine: "SQLite", target: 320),
        Workload(
            key: "W3 bytes", title: "bytes written by such a commit", unit: "KB", reference: 1, referenceEngine: "",
            target: 33),
        Workload(
            key: "W3 calls", title: "writes of such a commit", unit: "", reference: 1, referenceEngine: "", target: 4),
        Workload(
            key: "W3 flushes", title: "flushes of such a commit", unit: "", reference: 1, referenceEngine: "",
            target: 1),
        Workload(
            key: "W3a", title: "the same after W13 and W14, p50", unit: "us", reference: 41, referenceEngine: "SQLite",
            target: 160),
        Workload(
            key: "W3i", title: "durable change of one int, p50", unit: "us", reference: 51, referenceEngine: "SQLite",
            target: 160),
        Workload(
            key: "W3i bytes", title: "bytes written by that", unit: "KB", reference: 1, referenceEngine: "",
            target: 33),
        Workload(
            key: "W3t", title: "durable change of one text, p50", unit: "us", reference: 51, referenceEngine: "SQLite",
            target: 160),
        Workload(
            key: "W3t bytes", title: "bytes written by that", unit: "KB", reference: 1, referenceEngine: "",
            target: 33),
        Workload(
            key: "W4", title: "get by primary key, read 2 properties", unit: "ns", reference: 1_425,
            referenceEngine: "SQLite", target: 1_300),
        Workload(
            key: "W5", title: "iterate all, read age and name", unit: "ns/object", reference: 108,
            referenceEngine: "SQLite", target: 100),
        Workload(key: "W6", title: "count age > 50", unit: "ms", reference: 43, referenceEngine: "SQLite", target: 2),
        Workload(
            key: "W7", title: "count city == X, no index", unit: "ms", reference: 51, referenceEngine: "SQLite",
            target: 4),
        Workload(
            key: "W7i", title: "count city == X, index", unit: "us", reference: 25, referenceEngine: "SQLite",
            target: 30),
        Workload(
            key: "W7i build", title: "build the city index", unit: "ms", reference: 1_339, referenceEngine: "SQLite",
            target: 900),
        Workload(key: "W11", title: "sum(score)", unit: "ms", reference: 47, referenceEngine: "SQLite", target: 4),
        Workload(
            key: "W12", title: "count best_friend.age > 90", unit: "ms", reference: 559, referenceEngine: "SQLite",
            target: 80),
        Workload(
            key: "W13", title: "update one int of a tenth of the objects", unit: "ms", reference: 362,
            referenceEngine: "SQLite", target: 150),
        Workload(
            key: "W14", title: "delete a tenth of the objects", unit: "ms", reference: 316, referenceEngine: "SQLite",
            target: 800),
        Workload(
            key: "W16", title: "open the file and get one object", unit: "us", reference: 119,
            referenceEngine: "SQLite", target: 1_000),
        Workload(key: "open", title: "of that, opening", unit: "us", reference: 1, referenceEngine: "", target: 200),
        Workload(
            key: "W17", title: "file size after W2f", unit: "MB", reference: 60, referenceEngine: "SQLite", target: 90),
        Workload(
            key: "W18", title: "peak memory of that load, a process of its own", unit: "MB", reference: 63,
            // Memory does not depend on how fast the machine is.
            referenceEngine: "", target: 400),
        Workload(
            key: "W18q", title: "memory of its own after W4 to W12", unit: "MB", reference: 40, referenceEngine: "",
            target: 40),
        Workload(
            key: "W19 reads", title: "counts a second beside a writer", unit: "1/s", reference: 17,
            referenceEngine: "SQLite", target: 60, isMoreBetter: true),
        Workload(
            key: "W19 commits", title: "commits of 100 updates a second beside it", unit: "1/s", reference: 774,
            referenceEngine: "SQLite", target: 400, isMoreBetter: true),
    ]
}
