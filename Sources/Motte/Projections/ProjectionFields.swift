/// The projected properties of a projection class: found once by looking through an instance.
import Foundation
import MotteValues

struct ProjectionFields: Sendable {
    struct Field: @unchecked Sendable {  // @unchecked: immutable; key paths are of model classes and capture nothing
        let label: String
        let property: any ProjectedProperty
        let paths: [String]
    }

    let fields: [Field]

    func field(labeled label: String) -> Field? { fields.first { $0.label.hasSameBytes(as: label) } }

    /// Everything that is projected, each path once.
    var allPaths: [String] {
        var seen: Set<NameKey> = []
        return fields.flatMap(\.paths).filter { seen.insert(NameKey($0)).inserted }
    }

    /// Labels and paths of the root as paths of the root. nil after misuse: what is not projected changes unseen.
    func paths(observing names: [String], of type: Any.Type) -> [String]? {
        var paths: [String] = []
        for name in names {
            if let field = field(labeled: name) {
                paths += field.paths
            } else if allPaths.contains(where: {
                $0.hasSameBytes(as: name) || $0.isBehind(name) || name.isBehind($0)
            }) {
                paths.append(name)
            } else {
                let labels = fields.map { "'\($0.label)'" }.joined(separator: ", ")
                misuse(
                    "Invalid property name: property '\(name)' not found in object of type '\(type)': it is not "
                        + "projected; observe \(labels), or the root object", .invalidInput)
                return nil
            }
        }
        return paths
    }

    private static let known = Locked<[ObjectIdentifier: ProjectionFields]>(ofProcess: [:])

    static func of<P: ProjectionObservable>(_ type: P.Type) -> ProjectionFields {
        if let found = known.withLock({ $0[ObjectIdentifier(type)] }) { return found }
        let found = ProjectionFields(fields: discover(type.init(projecting: P.Root._prototype(KeyPathNames()))))
        known.withLock { $0[ObjectIdentifier(type)] = found }
        return found
    }

    /// Those of superclasses first, each class's in the order of their declaration.
    private static func discover(_ projection: Any) -> [Field] {
        var mirrors: [Mirror] = []
        var next: Mirror? = Mirror(reflecting: projection)
        while let mirror = next {
            mirrors.insert(mirror, at: 0)
            next = mirror.superclassMirror
        }
        return mirrors.flatMap(\.children).compactMap { child in
            guard let property = child.value as? any ProjectedProperty, let stored = child.label else { return nil }
            // A wrapper is stored under its property's name with an underscore before it.
            let label = stored.hasPrefix("_") ? String(stored.dropFirst()) : stored
            return Field(label: label, property: property, paths: property.paths)
        }
    }
}

extension String {
    /// Whether this path goes on where the other one ends.
    fileprivate func isBehind(_ other: String) -> Bool { beginsWithBytes(of: other + ".") }
}

extension ProjectedPaths {
    /// nil after misuse, for a key path that reads nothing stored.
    static func paths<P: ProjectionObservable>(observing keyPaths: [PartialKeyPath<P>]) -> [String]? {
        var all: [String] = []
        for keyPath in keyPaths {
            let paths = paths(projected: keyPath)
            guard !paths.isEmpty else {
                misuse(
                    "\(keyPath) does not read a persisted property of \(P.Root.className()); observe a projected one",
                    .invalidInput)
                return nil
            }
            all += paths
        }
        return all
    }
}
