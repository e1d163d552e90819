/// Changes of the schema while a session is open, each a commit of its own: classes and properties that come, as in
/// opening, and a class that goes. Other sessions take over what they do not rely on when they advance.
import MotteSchemaModel
import MotteStorage
import MotteValues

extension Session {
    /// Adds what is declared and the file lacks. What would need a migration is refused.
    package func addSchema(_ declared: Schema) throws(DatabaseError) -> SchemaPlan {
        let declared = try declared.validated()
        return try changingSchema { snapshot throws(DatabaseError) in
            let plan = try database.reconcile(SchemaRequest(declared), on: snapshot)
            snapshot.reliance = snapshot.reliance?.adding(declared, in: snapshot.schema)
            return plan
        }
    }

    /// Deletes a class with its objects; false if there is none. Refused while another class has a property for it.
    package func deleteType(_ name: String) throws(DatabaseError) -> Bool {
        try changingSchema { snapshot throws(DatabaseError) in try database.deleteType(name, on: snapshot) }
    }

    private func changingSchema<Result>(
        _ change: (Snapshot) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        try checkMayWrite()
        try checkIsNotDelivering("change the schema")
        try checkIsNotMigrating("change the schema")
        guard !isInGroup else {
            throw DatabaseError(
                .alreadyInWrite, "cannot change the schema while writes are collected; flush them first", path: path)
        }
        try refresh()
        var result: Result?
        try movingToNewest { snapshot throws(DatabaseError) in result = try change(snapshot) }
        deliver(hook, at: .refresh)
        guard let result else { throw DatabaseError(.internal, "a change of the schema ended without an answer") }
        return result
    }
}
