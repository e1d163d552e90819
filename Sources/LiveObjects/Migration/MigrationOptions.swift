/// What opening may do to a file whose schema is not the declared one.
import MotteSchemaModel
import MotteStorage
import MotteValues

package struct MigrationOptions: Sendable {
    /// Rather an empty file than a migration, for data that can be fetched again.
    package var deletesInsteadOfMigrating = false
    /// Whether a property that is new or gone takes a new schema version; otherwise it is added, or stays.
    package var fixesProperties = false
    /// Known beforehand; the step can name more.
    package var renames = SchemaRenames()
    /// Classes that go with their objects if they are not declared; others stay in the file.
    package var deletedTypes: [String] = []
    /// Called when the declared version is higher than the file's. What it throws leaves the file as it was.
    package var step: (@Sendable (Migration) throws(DatabaseError) -> Void)?
    package var progress: (@Sendable (MigrationProgress) throws(DatabaseError) -> Void)?

    package init() {}
}
