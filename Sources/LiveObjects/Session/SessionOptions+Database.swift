/// Session options as the store wants them.
import MotteStorage

extension SessionOptions {
    var databaseOptions: DatabaseOptions {
        var options = switch location {
        case .file(let path): DatabaseOptions(path: path)
        case .memory(let identifier): DatabaseOptions(location: .memory(identifier: identifier))
        }
        options.readOnly = isReadOnly
        options.noCreate = noCreate
        options.durability = isDurable ? .full : .relaxed
        options.mapSizeBytes = mapSizeBytes
        if let rowsPerCluster { options.rowsPerCluster = rowsPerCluster }
        return options
    }
}
