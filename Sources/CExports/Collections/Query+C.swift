/// Queries as handles of their own: compiled once, run often.
import CMotte
import MotteLiveObjects
import MotteQueryEngine
import MotteSchemaModel
import MotteValues

final class QueryBox: RealmMemberBox {
    let query: PreparedQuery

    init(_ query: PreparedQuery, _ core: RealmCore) {
        self.query = query
        super.init(kind: .query, core)
    }

    /// Shares its arguments with the original: both handles are the same query.
    override func clone() throws(DatabaseError) -> Box { QueryBox(query, core) }
}

extension Handles {
    @inline(__always)
    static func query(_ handle: OpaquePointer?) throws(DatabaseError) -> Pinned<QueryBox> {
        let pinned = try any(handle, .query, as: QueryBox.self)
        try pinned.box.session.check()
        return pinned
    }
}

@_cdecl("motte_query_parse") @implementation
public func motte_query_parse(
    _ realm: OpaquePointer?, _ cls: motte_class, _ text: UnsafePointer<CChar>?, _ text_size: Int,
    _ args: UnsafePointer<motte_value>?, _ arg_count: Int, _ out_query: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_query)
        let realm = try Handles.realm(realm)
        _ = try realm.box.session.schema.type(cls)
        let parsed = realm.box.core.publicNames.query(
            try ParsedQuery.parse(try requiredText(text, text_size, "the query text")), of: TableKey(cls),
            in: try realm.box.session.schema)
        let query = try PreparedQuery(
            realm.box.session, TableKey(cls), parsed, try queryArguments(args, arg_count, in: realm.box.session))
        try Handles.make(QueryBox(query, realm.box.core), out)
        return .ok
    }
}

@_cdecl("motte_query_bind") @implementation
public func motte_query_bind(
    _ query: OpaquePointer?, _ position: Int, _ value: UnsafePointer<motte_value>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let query = try Handles.query(query)
        let value = try checkedValue(value, in: query.box.session).owned
        try checkNotHuge(position)
        try query.box.query.bind(position, to: value)
        return .ok
    }
}

@_cdecl("motte_query_bind_named") @implementation
public func motte_query_bind_named(
    _ query: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ name_size: Int, _ value: UnsafePointer<motte_value>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let query = try Handles.query(query)
        let value = try checkedValue(value, in: query.box.session).owned
        try query.box.query.bind(try requiredText(name, name_size, "the name of the argument"), to: value)
        return .ok
    }
}

@_cdecl("motte_query_arg_count") @implementation
public func motte_query_arg_count(_ query: OpaquePointer?, _ out_count: UnsafeMutablePointer<Int>?) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_count, zero: 0)
        out.pointee = try Handles.query(query).box.query.argumentCount
        return .ok
    }
}

@_cdecl("motte_query_describe") @implementation
public func motte_query_describe(
    _ query: OpaquePointer?, _ out_text: UnsafeMutablePointer<motte_buf>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_text, zero: emptyBuffer)
        out.pointee = try makeBuffer(try Handles.query(query).box.query.describe())
        return .ok
    }
}

@_cdecl("motte_query_outline") @implementation
public func motte_query_outline(
    _ text: UnsafePointer<CChar>?, _ text_size: Int, _ out_json: UnsafeMutablePointer<motte_buf>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_json, zero: emptyBuffer)
        let query = try ParsedQuery.parse(try requiredText(text, text_size, "the query text"))
        out.pointee = try makeBuffer(QueryOutline(query).json)
        return .ok
    }
}

@_cdecl("motte_query_explain") @implementation
public func motte_query_explain(
    _ query: OpaquePointer?, _ out_text: UnsafeMutablePointer<motte_buf>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_text, zero: emptyBuffer)
        out.pointee = try makeBuffer(try Handles.query(query).box.query.explain())
        return .ok
    }
}

@_cdecl("motte_coll_explain") @implementation
public func motte_coll_explain(
    _ coll: OpaquePointer?, _ flags: UInt32, _ out_text: UnsafeMutablePointer<motte_buf>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_text, zero: emptyBuffer)
        let coll = try Handles.collection(coll)
        out.pointee = try makeBuffer(
            try explained(flags) { isAnalyzed throws(DatabaseError) in
                try coll.box.collection.explain(isAnalyzed: isAnalyzed)
            })
        return .ok
    }
}

@_cdecl("motte_groups_explain") @implementation
public func motte_groups_explain(
    _ groups: OpaquePointer?, _ flags: UInt32, _ out_text: UnsafeMutablePointer<motte_buf>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_text, zero: emptyBuffer)
        let groups = try Handles.groups(groups)
        out.pointee = try makeBuffer(
            try explained(flags) { isAnalyzed throws(DatabaseError) in
                try groups.box.groups.explain(isAnalyzed: isAnalyzed)
            })
        return .ok
    }
}

private func explained(
    _ flags: UInt32, _ explain: (Bool) throws(DatabaseError) -> PlanReport
) throws(DatabaseError) -> String {
    try checkFlags(flags, allowed: UInt32(MOTTE_EXPLAIN_ANALYZE | MOTTE_EXPLAIN_JSON))
    let report = try explain(flags & UInt32(MOTTE_EXPLAIN_ANALYZE) != 0)
    return flags & UInt32(MOTTE_EXPLAIN_JSON) != 0 ? report.json : report.text
}

/// The query and how it is evaluated now.
private func planText(_ query: PreparedQuery) -> String {
    do throws(DatabaseError) { return "\(try query.describe()): \(try query.explain())" } catch { return error.message }
}

@_cdecl("motte_query_count") @implementation
public func motte_query_count(_ query: OpaquePointer?, _ out_count: UnsafeMutablePointer<Int>?) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_count, zero: 0)
        let query = try Handles.query(query).box.query
        out.pointee = try query.count()
        Log.write(.trace, "query", planText(query))
        return .ok
    }
}

@_cdecl("motte_query_first") @implementation
public func motte_query_first(
    _ query: OpaquePointer?, _ out_object: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_object)
        let query = try Handles.query(query)
        guard let object = try query.box.query.first() else { return .notFound }
        try Handles.make(object, query.box.core, out)
        return .ok
    }
}

@_cdecl("motte_query_run") @implementation
public func motte_query_run(
    _ query: OpaquePointer?, _ out_coll: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_coll)
        let query = try Handles.query(query)
        try Handles.make(try query.box.query.results(), query.box.core, out)
        Log.write(.trace, "query", planText(query.box.query))
        return .ok
    }
}
