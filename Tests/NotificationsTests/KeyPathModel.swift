// What key paths mean, said without cleverness: every object as it was and is, what was set in between, and walks down
// from each element along each path. The observers are compared with this.
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

/// All links and backlinks at one version.
struct LinkState {
    struct Place: Hashable {
        let link: ObjectLink
        let property: String
    }

    /// What a property leads to, in order, whatever it is nested in.
    private(set) var targets: [Place: [ObjectLink]] = [:]
    private(set) var objects: Set<ObjectLink> = []
    let schema: Schema

    init(_ session: Session) throws {
        schema = try session.schema
        for type in schema.objectTypes {
            guard let table = type.tableKey else { continue }
            for object in try LinkState.all(table, session) {
                objects.insert(object.link)
                for property in type.properties {
                    var links: [ObjectLink] = []
                    if property.type == .linkingObjects || property.collection != .none {
                        for value in try object.collection(property.name).allValues { value.collect(&links) }
                    } else {
                        try object.get(property.name).collect(&links)
                    }
                    targets[Place(link: object.link, property: property.name)] = links
                }
            }
        }
    }

    /// Embedded objects too, which no query gives.
    private static func all(_ table: TableKey, _ session: Session) throws -> [LiveObject] {
        try (0 ..< session.table(table).nextKey).compactMap { try session.object(table, at: ObjectKey($0)) }
    }

    func targets(_ link: ObjectLink, _ property: String) -> [ObjectLink] {
        targets[Place(link: link, property: property)] ?? []
    }
}

extension Value {
    fileprivate func collect(_ links: inout [ObjectLink]) {
        switch self {
        case .link(let link): links.append(link)
        case .list(let values): for value in values { value.collect(&links) }
        case .map(let entries): for entry in entries { entry.value.collect(&links) }
        default: break
        }
    }

    var links: [ObjectLink] {
        var links: [ObjectLink] = []
        collect(&links)
        return links
    }
}

struct NaiveChanges {
    let before: LinkState
    let after: LinkState
    /// Properties that were set or edited.
    let touched: Set<LinkState.Place>

    /// Whether the property of this very object changed.
    private func isChanged(_ link: ObjectLink, _ property: Property) -> Bool {
        guard before.objects.contains(link) else { return false }
        let place = LinkState.Place(link: link, property: property.name)
        guard property.type == .linkingObjects else { return touched.contains(place) }
        return before.targets[place] != after.targets[place]
    }

    func leads(_ link: ObjectLink, along path: ArraySlice<String>) -> Bool {
        guard let name = path.first, let property = after.schema[link.table]?.property(named: name) else {
            return false
        }
        // Where the path does not go on, it does not begin.
        guard path.count == 1 || goesOn(property, path.dropFirst()) else { return false }
        if isChanged(link, property) { return true }
        return after.targets(link, name).contains { leads($0, along: path.dropFirst()) }
    }

    private func goesOn(_ property: Property, _ rest: ArraySlice<String>) -> Bool {
        guard let name = rest.first else { return true }
        let classes: [ObjectType] =
            switch property.type {
            case .link, .linkingObjects: [property.target.flatMap { after.schema[$0] }].compactMap { $0 }
            case .mixed: after.schema.objectTypes.filter { !$0.isEmbedded }
            default: []
            }
        return classes.contains { type in type.property(named: name).map { goesOn($0, rest.dropFirst()) } ?? false }
    }

    /// Whether anything changed within some links.
    func reaches(_ link: ObjectLink, depth: Int = 4) -> Bool {
        guard let type = after.schema[link.table] else { return false }
        for property in type.storedProperties {
            if isChanged(link, property) { return true }
            guard depth > 0 else { continue }
            if after.targets(link, property.name).contains(where: { reaches($0, depth: depth - 1) }) { return true }
        }
        return false
    }

    func counts(_ link: ObjectLink, _ paths: [String]?) -> Bool {
        guard let paths else { return reaches(link) }
        return paths.contains { leads(link, along: $0.split(separator: ".").map(String.init)[...]) }
    }
}
