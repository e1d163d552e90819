// Writes the file with all types of properties, and what is in it as text. Part of no target here:
// Tests/Compatibility/make-files.sh copies it among the tests and runs it.
import MotteLiveObjects
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

@Suite struct AllFileWriter {
    let schema = """
        All { id: int key, b: bool, bn: bool?, i: int, in: int? indexed, f: float, fn: float?, d: double, dn: double?,
              s: string indexed, sn: string?, x: data, xn: data?, t: timestamp indexed, tn: timestamp?, l: link<All>,
              lb: list<bool>, li: list<int>, lin: list<int?>, lf: list<float>, ld: list<double?>, ls: list<string>,
              lsn: list<string?>, lx: list<data>, lt: list<timestamp>, ll: list<All>, back: inverse<All.l>,
              backs: inverse<All.ll> }
        Named { name: string key, city: string, all: link<All> }
        Many { n: int, flag: bool, word: string, when: timestamp }
        Empty { x: int }
        """

    @Test func write() throws { try CompatibilityText.makeFile("all", schema, fill) }

    private func fill(_ session: Session) throws {
        let numbers: [Int64] = [0, 1, -1, 127, -128, 40_000, -70_000, 1 << 40, .max, .min]
        let doubles: [Double] = [0, -0.0, 1.5, -2.25, .infinity, -.infinity, .nan, 1e300, 5e-324]
        let texts = [
            "", "a", "Zoë", "e\u{301}", "seven b", "more than seven bytes", String(repeating: "long ", count: 300),
        ]
        func cycled<T>(_ list: [T], _ index: Int) -> T { list[index % list.count] }
        func object(_ name: String, _ key: Value? = nil) throws -> LiveObject {
            try session.create(try session.tableKey(name), primaryKey: key).object
        }
        try session.beginWrite()
        var made: [LiveObject] = []
        for n in 0 ..< 60 {
            let one = try object("All", .int(Int64(n) * 7 - 50))
            made.append(one)
            let isFull = n % 3 != 0
            let number = cycled(numbers, n), real = cycled(doubles, n), text = cycled(texts, n)
            let time = Timestamp(seconds: number / 1000, nanoseconds: UInt32(n * 16_000_000))
            for (name, value) in [
                ("b", Value.bool(n % 2 == 0)), ("i", .int(number)), ("f", .float(Float(real))), ("d", .double(real)),
                ("s", .string(text)), ("x", .data(Array(text.utf8.reversed()))), ("t", .timestamp(time)),
            ] {
                try one.set(name, to: value)
                if isFull, name != "i", name != "s" { try one.set(name + "n", to: value) }
            }
            if isFull {
                try one.set("in", to: .int(number))
                try one.set("sn", to: .string(text))
                try one.set("l", to: .link(made[n / 2].link))
            }
            for (name, value) in [
                ("lb", Value.bool(n % 2 == 1)), ("li", .int(number)), ("lin", .null), ("lf", .float(Float(real))),
                ("ld", .double(real)), ("ls", .string(text)), ("lsn", .string(text)), ("lx", .data([1, 2, 3])),
                ("lt", .timestamp(time)), ("ll", .link(made[n / 3].link)),
            ] {
                guard let list = try one.collection(name) as? LiveList else { continue }
                for _ in 0 ..< n % 4 { try list.append(value) }
                if name == "lin" { try list.append(.int(number)) }
                if name == "lsn" { try list.append(.null) }
            }
        }
        // Lists that are too long for their chunk: in one and in several blocks, nullable, of strings and of links.
        for (row, name, count) in [(3, "li", 1300), (4, "lin", 300), (5, "ls", 513), (6, "ll", 600), (7, "li", 512)] {
            guard let list = try made[row].collection(name) as? LiveList else { continue }
            for n in 0 ..< count {
                switch name {
                case "ls": try list.append(.string("word \(n % 13)"))
                case "ll": try list.append(.link(made[n % 50].link))
                default: try list.append(name == "lin" && n % 5 == 0 ? .null : .int(Int64(n * n)))
                }
            }
        }
        for n in 0 ..< 20 {
            let named = try object("Named", .string("name \(n) that is longer than seven bytes"))
            try named.set("city", to: .string(cycled(["Oslo", "Bergen", ""], n)))
            if n % 2 == 0 { try named.set("all", to: .link(made[n].link)) }
        }
        for n in 0 ..< 1100 {
            let many = try object("Many")
            try many.set("n", to: .int(Int64(n)))
            try many.set("flag", to: .bool(n % 7 == 0))
            try many.set("word", to: .string("word \(n % 11)"))
            try many.set("when", to: .timestamp(Timestamp(seconds: Int64(n) * 60, nanoseconds: 0)))
        }
        try session.commit()
        // Deleted rows in clusters, in the tail, and of a whole cluster; the change log has these commits.
        try session.beginWrite()
        let many = try session.tableKey("Many")
        _ = try session.delete(many, Array(480 ..< 960))
        _ = try session.delete(many, [0, 17, 479, 1099])
        try made[10].delete()
        try made[59].delete()
        try session.commit()
        try session.beginWrite()
        try made[20].set("s", to: .string("changed later"))
        _ = try object("Many")
        try session.commit()
    }
}
