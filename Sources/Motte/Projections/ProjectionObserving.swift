/// Observing projections: notified only of what they project, under their own labels.
///
/// The root object is observed with the paths of the projected properties. Where several labels begin with the same
/// property of the root (a city and a country of one address), which of them changed is found by an observation
/// each, delivered before the one that calls the block.
import Dispatch
import Foundation
import MotteValues

extension ProjectionObservable {
    /// Notifies of changes of projected properties, under their labels, and of the deletion of the root object.
    /// `keyPaths` are labels of the projection or paths of its root; nil stands for everything that is projected.
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil, _ block: @escaping (ObjectChange<Self>) -> Void
    ) -> NotificationToken {
        guard let watch = ProjectionWatch(type(of: self), keyPaths) else { return NotificationToken() }
        let parts = watch.ambiguous.map { index in
            rootObject._observe(watch.fields[index].paths, queue) { (change: ObjectChange<Root>) in
                watch.note(index, change)
            }
        }
        let whole = rootObject._observe(watch.paths, queue) { (change: ObjectChange<Root>) in
            if let translated = watch.translated(change) { block(translated) }
        }
        return NotificationToken(parts + [whole])
    }

    /// Notifies of changes of these projected properties, and of the deletion of the root object. A key path that reads
    /// no stored property is misuse, after which nothing is observed.
    public func observe(
        keyPaths: [PartialKeyPath<Self>], on queue: DispatchQueue? = nil,
        _ block: @escaping (ObjectChange<Self>) -> Void
    ) -> NotificationToken {
        guard let paths = ProjectedPaths.paths(observing: keyPaths) else { return NotificationToken() }
        return observe(keyPaths: paths, on: queue, block)
    }

    /// Notifies an actor of changes of projected properties, and of the deletion of the root object. Returns once
    /// observing has begun there. `keyPaths` as for the form with a queue.
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, ObjectChange<Self>) -> Void
    ) async -> NotificationToken {
        guard let watch = ProjectionWatch(type(of: self), keyPaths) else { return NotificationToken() }
        var tokens: [NotificationToken] = []
        for index in watch.ambiguous {
            let token = await rootObject._observe(watch.fields[index].paths, actor) {
                (_: isolated A, change: ObjectChange<Root>) in
                watch.note(index, change)
            }
            tokens.append(token)
        }
        let whole = await rootObject._observe(watch.paths, actor) {
            (actor: isolated A, change: ObjectChange<Root>) in
            if let translated = watch.translated(change) { block(actor, translated) }
        }
        return NotificationToken(tokens + [whole])
    }

    /// Notifies an actor of changes of these projected properties, and of the deletion of the root object. Returns once
    /// observing has begun there.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Self>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, ObjectChange<Self>) -> Void
    ) async -> NotificationToken {
        guard let paths = ProjectedPaths.paths(observing: keyPaths) else { return NotificationToken() }
        return await observe(keyPaths: paths, on: actor, block)
    }
}

extension RealmCollection where Element: ProjectionObservable {
    /// Notifies of insertions, deletions, and changes of these projected properties; the first call has the collection
    /// as it is.
    public func observe(
        keyPaths: [PartialKeyPath<Element>], on queue: DispatchQueue? = nil,
        _ block: @escaping (RealmCollectionChange<Self>) -> Void
    ) -> NotificationToken {
        guard let paths = ProjectedPaths.paths(observing: keyPaths) else { return NotificationToken() }
        return observe(keyPaths: paths, on: queue, block)
    }

    /// Notifies an actor of insertions, deletions, and changes of these projected properties; the first call has the
    /// collection as it is. Returns once observing has begun there.
    public func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Element>], on actor: A, _isolation: isolated (any Actor)? = #isolation,
        _ block: @Sendable @escaping (isolated A, RealmCollectionChange<Self>) -> Void
    ) async -> NotificationToken {
        guard let paths = ProjectedPaths.paths(observing: keyPaths) else { return NotificationToken() }
        return await observe(keyPaths: paths, on: actor, block)
    }
}

/// What one observation of a projection looks at, and which labels its next change concerns.
private final class ProjectionWatch<P: ProjectionObservable>: @unchecked Sendable {
    // @unchecked: `noted` is only touched holding its lock; the rest is immutable.
    /// The class of the very projection, which code may know by a superclass only.
    private let type: P.Type
    let fields: [ProjectionFields.Field]
    /// Of the root.
    let paths: [String]
    /// Positions of the fields that share their first property with others.
    let ambiguous: [Int]
    private let noted = Locked<Set<Int>>([])

    init?(_ type: P.Type, _ keyPaths: [String]?) {
        self.type = type
        let all = ProjectionFields.of(type)
        guard let keyPaths else {
            fields = all.fields
            paths = all.allPaths
            ambiguous = Self.ambiguous(fields)
            return
        }
        guard let observed = all.paths(observing: keyPaths, of: type) else { return nil }
        paths = observed
        let asked = Set(paths.map { NameKey($0) })
        // A path that is no label's concerns those labels that look at the same property.
        fields = all.fields.filter { field in
            !asked.isDisjoint(with: field.names)
                || asked.contains { path in
                    !all.fields.contains { $0.names.contains(path) } && field.roots.contains(path.text.root)
                }
        }
        ambiguous = Self.ambiguous(fields)
    }

    private static func ambiguous(_ fields: [ProjectionFields.Field]) -> [Int] {
        fields.indices.filter { index in
            let field = fields[index]
            return fields.indices.contains { other in
                other != index && fields[other].names != field.names
                    && !field.roots.isDisjoint(with: fields[other].roots)
            }
        }
    }

    func note(_ index: Int, _ change: ObjectChange<P.Root>) {
        if case .change = change { noted.withLock { _ = $0.insert(index) } }
    }

    /// nil when the change concerns no label.
    func translated(_ change: ObjectChange<P.Root>) -> ObjectChange<P>? {
        switch change {
        case .error(let error): return .error(error)
        case .deleted: return .deleted
        case .change(let root, let properties):
            let exact = noted.withLock { noted in
                defer { noted = [] }
                return noted
            }
            var labels: [PropertyChange] = []
            for (index, field) in fields.enumerated() {
                guard !ambiguous.contains(index) || exact.contains(index) else { continue }
                let property = properties.first { property in
                    field.roots.contains(NameKey(property.name))
                }
                if let property { labels.append(field.change(property, in: root, properties)) }
            }
            return labels.isEmpty ? nil : .change(type.init(projecting: root), labels)
        }
    }
}

extension ProjectionFields.Field {
    /// The properties of the root that its paths begin with.
    fileprivate var roots: Set<NameKey> { Set(paths.map { $0.root }) }
    fileprivate var names: [NameKey] { paths.map { NameKey($0) } }

    /// Collections have no values; what lies behind a link has only the new one.
    fileprivate func change(
        _ property: PropertyChange, in root: ObjectBase, _ all: [PropertyChange]
    ) -> PropertyChange {
        if self.property.isCollection { return PropertyChange(name: label, oldValue: nil, newValue: nil) }
        let isPassed = paths.count == 1 && self.property.isStored
        return PropertyChange(
            name: label, oldValue: isPassed ? property.oldValue : computedOld(root, all),
            newValue: self.property.value(of: root))
    }

    /// What is computed from properties of the root is computed again, from what these were.
    private func computedOld(_ root: ObjectBase, _ all: [PropertyChange]) -> Any? {
        let before = type(of: root).init()
        let fields = ClassFields.of(type(of: root))
        for path in paths {
            guard let field = fields.field(named: path), field.shape.type != .link, !field.isCollection else {
                return nil
            }
            let change = all.first { $0.name.hasSameBytes(as: path) }
            if let change, change.oldValue == nil { return nil }
            guard
                field.access.assign(
                    change.map(\.oldValue) ?? field.value(of: root), at: field.pointer(in: before), of: before)
            else { return nil }
        }
        return property.value(of: before)
    }
}

extension String {
    fileprivate var root: NameKey { NameKey(parts(between: ".", most: 1)[0]) }
}
