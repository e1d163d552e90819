/// Session options as the store wants them.
import MotteStorage
import MotteValues

extension SessionOptions {
    /// With the file that a database has open, whatever the path that it was opened by leads to now: a link may have
    /// been changed since, or the folder that a path begins in.
    func placed(at database: Database) throws(DatabaseError) -> SessionOptions {
        var placed = self
        if case .file = location, let path = try database.pages.filePath { placed.location = .file(path) }
        return placed
    }

    var databaseOptions: DatabaseOptions {
        var options =
            switch location {
            case .file(let path): DatabaseOptions(path: path)
            case .memory(let identifier): DatabaseOptions(location: .memory(identifier: identifier))
            }
        options.readOnly = isReadOnly
        options.noCreate = noCreate
        options.encryptionKey = encryptionKey
        options.durability = durability
        options.lockDirectory = lockDirectory
        options.immutable = isImmutable
        options.mostFileBytes = mostFileBytes
        options.memoryBytes = memoryBytes
        options.compactsAutomatically = compactsAutomatically
        options.rowGroupSize = rowGroupSize
        options.openTimeoutMilliseconds = openTimeoutMilliseconds
        return options
    }
}
