/// Collections in sections.
import CMotte
import MotteLiveObjects
import MotteNotifications
import MotteValues

final class SectionsBox: RealmMemberBox {
    let sections: LiveSections
    /// Of a key function, freed with the last handle.
    private let bridge: CallbackBridge?
    /// Keys that have been lent.
    private let lent = Locked<[SectionLayout.Key: Lent]>([:])

    // @unchecked: never changes.
    private struct Lent: @unchecked Sendable {
        let kept: KeptValue
    }

    init(_ sections: LiveSections, _ bridge: CallbackBridge?, _ core: RealmCore) {
        self.sections = sections
        self.bridge = bridge
        super.init(kind: .sections, core)
    }

    override func check() throws(DatabaseError) {
        try session.check()
        guard try sections.exists() else {
            throw DatabaseError(.objectDeleted, "the object that this collection belongs to has been deleted")
        }
    }

    override func clone() throws(DatabaseError) -> Box { SectionsBox(sections, bridge, core) }

    override func freeze() throws(DatabaseError) -> Box {
        let frozen = try sections.freeze()
        return SectionsBox(frozen, bridge, core.core(of: frozen.session))
    }

    /// A key whose text stays for as long as the handle.
    func lend(_ key: Value) -> motte_value {
        lent.withLock { lent in
            let name = SectionLayout.Key(key)
            if let known = lent[name] { return known.kept.value }
            let kept = KeptValue(key)
            lent[name] = Lent(kept: kept)
            return kept.value
        }
    }
}

extension Handles {
    static func sections(_ handle: OpaquePointer?) throws(DatabaseError) -> Pinned<SectionsBox> {
        let pinned = try any(handle, .sections, as: SectionsBox.self)
        try pinned.check()
        return pinned
    }
}

@_cdecl("motte_sections_by_path") @implementation
public func motte_sections_by_path(
    _ coll: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ path_size: Int, _ flags: UInt32,
    _ out_sections: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_sections)
        let coll = try Handles.collection(coll)
        try checkFlags(flags, allowed: UInt32(MOTTE_SECTIONS_FIRST_LETTER))
        let path = try coll.box.stored(try requiredText(path, path_size, "the key path"))
        let part = flags & UInt32(MOTTE_SECTIONS_FIRST_LETTER) != 0 ? SectionKey.Part.firstLetter : .whole
        let sections = try coll.box.collection.sectioned(by: path, part: part)
        try Handles.make(SectionsBox(sections, nil, coll.box.core), out)
        return .ok
    }
}

@_cdecl("motte_sections_by_callback") @implementation
public func motte_sections_by_callback(
    _ coll: OpaquePointer?, _ callback: motte_section_key_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: motte_free_fn?, _ out_sections: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary(keeping: userdata, free_userdata) { (bridge) throws(DatabaseError) in
        let out = try required(out_sections)
        let coll = try Handles.collection(coll)
        guard let callback else { throw DatabaseError(.nullArgument, "the callback is NULL") }
        let core = coll.box.core
        let names = core.publicNames
        // What is frozen, or made of a reference, asks as well, and keeps nothing of the realm that it comes from.
        let key = SectionKey { [weak core] (collection, index) throws(DatabaseError) in
            let session = collection.session
            var key = motte_value()
            var owned = Value.null
            let known = core.flatMap { $0.session === session ? $0 : nil }
            try lend(CollectionBox(collection, known ?? RealmCore(session, names))) {
                (collection) throws(DatabaseError) in
                try bridge.call { callback($0, collection, index, &key) }
                owned = try ValueView.checked(key, in: session).owned
            }
            return owned
        }
        try Handles.make(SectionsBox(coll.box.collection.sectioned(by: key), bridge, core), out)
        return .ok
    }
}

@_cdecl("motte_sections_count") @implementation
public func motte_sections_count(
    _ sections: OpaquePointer?, _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_count, zero: 0)
        out.pointee = try Handles.sections(sections).box.sections.count()
        return .ok
    }
}

@_cdecl("motte_sections_key") @implementation
public func motte_sections_key(
    _ sections: OpaquePointer?, _ index: Int, _ out_key: UnsafeMutablePointer<motte_value>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_key, zero: motte_value())
        let sections = try Handles.sections(sections)
        out.pointee = sections.box.lend(try sections.box.sections.key(at: index))
        return .ok
    }
}

@_cdecl("motte_sections_get") @implementation
public func motte_sections_get(
    _ sections: OpaquePointer?, _ index: Int, _ out_coll: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_coll)
        let sections = try Handles.sections(sections)
        try Handles.make(try sections.box.sections.section(at: index).results(), sections.box.core, out)
        return .ok
    }
}

@_cdecl("motte_sections_find") @implementation
public func motte_sections_find(
    _ sections: OpaquePointer?, _ key: UnsafePointer<motte_value>?, _ out_index: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_index, zero: 0)
        let sections = try Handles.sections(sections)
        guard let index = try sections.box.sections.find(try checkedValue(key, in: sections.box.session).owned) else {
            return .notFound
        }
        out.pointee = index
        return .ok
    }
}

@_cdecl("motte_sections_locate") @implementation
public func motte_sections_locate(
    _ sections: OpaquePointer?, _ position: Int, _ out_section: UnsafeMutablePointer<Int>?,
    _ out_index: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        // Both, also when one of them is missing.
        out_index?.pointee = 0
        let section = try required(out_section, zero: 0)
        let index = try required(out_index, zero: 0)
        let place = try Handles.sections(sections).box.sections.place(position)
        section.pointee = place.section
        index.pointee = place.item
        return .ok
    }
}

@_cdecl("motte_observe_sections") @implementation
public func motte_observe_sections(
    _ sections: OpaquePointer?, _ paths: UnsafePointer<motte_str>?, _ path_count: Int, _ flags: UInt32,
    _ callback: motte_changes_fn?, _ userdata: UnsafeMutableRawPointer?, _ free_userdata: motte_free_fn?,
    _ out_token: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    observe(
        sections, GivenPaths(paths: paths, count: path_count),
        by: Listener(flags, callback, userdata, free_userdata, out_token)
    ) {
        (sections, paths, deliver) throws(DatabaseError) in
        try sections.observe(keyPaths: paths, deliver)
    }
}

@_cdecl("motte_observe_section") @implementation
public func motte_observe_section(
    _ sections: OpaquePointer?, _ key: UnsafePointer<motte_value>?, _ paths: UnsafePointer<motte_str>?,
    _ path_count: Int, _ flags: UInt32, _ callback: motte_changes_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: motte_free_fn?, _ out_token: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    observe(
        sections, GivenPaths(paths: paths, count: path_count),
        by: Listener(flags, callback, userdata, free_userdata, out_token)
    ) {
        (sections, paths, deliver) throws(DatabaseError) in
        try sections.section(for: try checkedValue(key, in: sections.session).owned).observe(keyPaths: paths, deliver)
    }
}

/// Key paths as they come from C.
private struct GivenPaths {
    let paths: UnsafePointer<motte_str>?
    let count: Int
}

private func observe(
    _ sections: OpaquePointer?, _ given: GivenPaths, by listener: Listener,
    _ register: (LiveSections, [String]?, Observation.Callback?) throws(DatabaseError) -> Observation
) -> motte_status {
    observe(
        { () throws(DatabaseError) in (try Handles.sections(sections).box.core, nil) }, by: listener,
        allowed: UInt32(MOTTE_OBSERVE_PATHS)
    ) { (deliver) throws(DatabaseError) in
        let paths =
            listener.flags & UInt32(MOTTE_OBSERVE_PATHS) != 0
            ? try texts(given.paths, given.count, "a key path") : nil
        return try register(try Handles.sections(sections).box.sections, paths, deliver)
    }
}
