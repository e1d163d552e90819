/// Session options as the store wants them.
import MotteStorage

extension SessionOptions {
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
