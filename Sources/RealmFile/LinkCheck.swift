/// Links against backlinks: each link, also in a collection or nested in a mixed value, has its backlink in the class
/// it leads to, and the reverse. An embedded object has exactly one.
///
/// Both sides are added up by a hash of origin and target that depends on a random number, so that a file of any size
/// is compared in one pass and in no memory; that a difference goes unnoticed has a chance of 2^-128.
import MotteValues

extension RealmFile {
    /// Compares all links with all backlinks of the file.
    package func checkBacklinks() throws(DatabaseError) { try LinkComparison(tables).run(tables) }
}

extension RealmTable {
    /// Compares the links of this class with the backlinks of the classes that they lead to.
    package func checkBacklinks() throws(DatabaseError) { try LinkComparison(ofSameFile).run([self]) }
}

extension RealmTable {
    /// All classes of the file, by index.
    fileprivate var ofSameFile: [RealmTable] {
        file.layouts.enumerated().map { RealmTable($0.element, index: $0.offset, count: 0, file) }
    }
}

private struct LinkSum: Equatable {
    private(set) var count = 0
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    mutating func add(_ origin: Int64, _ target: Int64, _ seed: UInt64) {
        count += 1
        let first = Self.mix(UInt64(bitPattern: origin) &+ seed)
        low &+= Self.mix(first ^ UInt64(bitPattern: target))
        high &+= Self.mix(first &+ 0x9E37_79B9_7F4A_7C15 ^ UInt64(bitPattern: target) &* 0xD6E8_FEB8_6659_FD93)
    }

    private static func mix(_ value: UInt64) -> UInt64 {
        var mixed = value
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

private final class LinkComparison {
    private static let mostHeldBytes = 1 << 20

    private let tables: [RealmTable]
    private let seed = UInt64.random(in: .min ... .max)
    /// By table and column of backlinks.
    private var links: [[LinkSum]]
    private var backlinks: [[LinkSum]]

    init(_ tables: [RealmTable]) {
        self.tables = tables
        links = tables.map { [LinkSum](repeating: LinkSum(), count: $0.layout.backlinks.count) }
        backlinks = links
    }

    func run(_ origins: [RealmTable]) throws(DatabaseError) {
        for table in origins { try addLinks(of: table) }
        let chosen = Set(origins.map(\.index))
        for table in tables {
            let wanted = table.layout.backlinks.indices.filter {
                !table.layout.backlinks[$0].isLeftBehind
                    && table.file.index(ofTable: table.layout.backlinks[$0].origin.table).map(chosen.contains) ?? false
            }
            let isOwned = chosen.contains(table.index) && table.kind == .embedded
            if !wanted.isEmpty || isOwned { try addBacklinks(of: table, wanted, isOwned: isOwned) }
            for number in wanted { try compare(table, number) }
        }
    }

    private func compare(_ table: RealmTable, _ number: Int) throws(DatabaseError) {
        let (forward, back) = (links[table.index][number], backlinks[table.index][number])
        guard forward != back else { return }
        let origin = table.layout.backlinks[number].origin
        let owner = table.file.index(ofTable: origin.table).map { tables[$0] } ?? table
        let name = owner.layout.column(origin.column)?.name
        let what =
            forward.count == back.count
            ? "backlinks in \(table.name) are not those of the links"
            : "\(forward.count) links lead to \(table.name), which has \(back.count) backlinks"
        throw Place(path: table.file.path, className: owner.name, propertyName: name).adding(to: Damage.found(what))
    }

    // MARK: Links

    private func addLinks(of table: RealmTable) throws(DatabaseError) {
        let columns = table.layout.columns.indices.filter {
            [.link, .typedLink, .mixed].contains(table.layout.columns[$0].element.stored)
        }
        guard !columns.isEmpty else { return }
        var cursor = try table.cursor()
        while let cluster = try cursor.next() {
            for column in columns {
                let isSingle = table.layout.columns[column].collection == .none
                for row in 0 ..< cluster.count {
                    let origin = Origin(table: table, column: column, key: cluster.key(row))
                    if isSingle {
                        try add(cluster.value(column, row), origin)
                        if cluster.heldBytes > Self.mostHeldBytes { cluster.release() }
                    } else {
                        try cluster.elements(column, row, keeping: false) { (_, value) throws(DatabaseError) in
                            try self.add(value, origin)
                        }
                    }
                }
            }
        }
    }

    private struct Origin {
        let table: RealmTable
        let column: Int
        let key: Int64
    }

    private func add(_ value: ValueView, _ origin: Origin) throws(DatabaseError) {
        switch value.kind {
        case .link:
            let link = value.linkValue
            let target = Int(link.table.rawValue)
            let layout = origin.table.layout
            let column = layout.columns[origin.column]
            guard let number = tables[target].layout.backlinks(from: layout.key, column.key.rawValue) else {
                let place = Place(
                    path: origin.table.file.path, className: origin.table.name, propertyName: column.name,
                    key: origin.key)
                throw place.adding(
                    to: Damage.found("a link to \(tables[target].name), which has no backlinks for it"))
            }
            links[target][number].add(origin.key, link.key.rawValue, seed)
        case .list, .map:
            let document = NestedDocument(trusted: value.bytes)
            for index in 0 ..< document.count { try add(document.value(at: index), origin) }
        default: break
        }
    }

    // MARK: Backlinks

    private func addBacklinks(of table: RealmTable, _ wanted: [Int], isOwned: Bool) throws(DatabaseError) {
        let columns =
            isOwned ? table.layout.backlinks.indices.filter { !table.layout.backlinks[$0].isLeftBehind } : wanted
        var cursor = try table.cursor()
        var owners = [Int](repeating: 0, count: ClusterNode.most)
        while let cluster = try cursor.next() {
            for row in owners.indices { owners[row] = 0 }
            for number in columns {
                do throws(DatabaseError) {
                    try cluster.forEachBacklink(number) { (row, origin) in
                        backlinks[table.index][number].add(origin, cluster.key(row), seed)
                        owners[row] += 1
                    }
                } catch {
                    throw table.place.adding(to: error)
                }
            }
            guard isOwned, let row = (0 ..< cluster.count).first(where: { owners[$0] != 1 }) else { continue }
            throw Place(path: table.file.path, className: table.name, key: cluster.key(row))
                .adding(to: Damage.found("an embedded object has \(owners[row]) owners"))
        }
    }
}

extension RealmCluster {
    func forEachBacklink(_ number: Int, _ body: (_ row: Int, _ origin: Int64) -> Void) throws(DatabaseError) {
        let slots = try backlinks(number)
        let scopes = borrowScopes()
        defer { giveBack(scopes) }
        for row in 0 ..< count {
            switch slots.slot(row) {
            case .nothing: break
            // Unsigned, unlike other numbers there.
            case .tagged: body(row, Int64(bitPattern: UInt64(bitPattern: slots[row]) >> 1))
            case .ref(let root):
                try scopes.readKeys(root, visited) { origin in body(row, origin) }
                scopes.end()
            }
        }
    }
}
