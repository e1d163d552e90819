// Reading a file whole: every value of every object, looked at; what a test or a measurement of any file does.
import MotteRealmFile
import MotteValues

struct WholeRead {
    private(set) var objects = 0
    private(set) var values = 0
    /// Depends on everything that was read.
    private(set) var sum: UInt64 = 0

    init(_ file: RealmFile, keeping: Bool = false) throws {
        for table in file.tables { try read(table, keeping: keeping) }
    }

    private mutating func read(_ table: RealmTable, keeping: Bool) throws {
        var cursor = try table.cursor()
        while let cluster = try cursor.next() {
            objects += cluster.count
            for (column, property) in table.columns.enumerated() {
                for row in 0 ..< cluster.count {
                    if property.collection == .none {
                        look(try cluster.value(column, row))
                        if cluster.heldBytes > 1 << 20 { cluster.release() }
                    } else {
                        _ = try cluster.elementCount(column, row)
                        try cluster.elements(column, row, keeping: keeping) { key, value in
                            look(.string(key))
                            look(value)
                        }
                    }
                }
            }
        }
    }

    private mutating func look(_ view: ValueView) {
        values += 1
        switch view.kind {
        case .string, .data, .list, .map:
            for byte in view.bytes { sum = sum &* 31 &+ UInt64(byte) }
        default: sum = sum &* 31 &+ view.low ^ view.high ^ UInt64(view.aux)
        }
    }
}
