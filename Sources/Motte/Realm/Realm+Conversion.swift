/// Files of Realm itself (`.realm`), converted into files that this library opens.
import Foundation
import MotteExchange
import MotteSchemaModel
import MotteValues

extension Realm {
    /// What became of a Realm file.
    public struct ConversionSummary: Sendable, CustomStringConvertible {
        /// A class, and how many objects of it there are.
        public struct ConvertedClass: Sendable {
            /// As in the new file.
            public let name: String
            /// Those that are in the new file.
            public let objectCount: Int
            /// Those that have a column.
            public let propertyCount: Int
        }

        /// Something that is not as it was in the Realm file, and why.
        public struct Note: Sendable, CustomStringConvertible {
            /// As in the new file.
            public let className: String
            /// nil: it is about the class.
            public let propertyName: String?
            /// What was done, and why.
            public let reason: String
            /// How many values or objects it is about; 0 where it is about the declaration.
            public let count: Int
            /// The first object concerned, by its key in the Realm file.
            public let firstKey: Int64?
            /// All of it as a sentence.
            public let description: String
        }

        /// Sorted by name.
        public let classes: [ConvertedClass]
        /// Empty where the new file holds everything exactly as the Realm file did.
        public let notes: [Note]

        /// Objects in all classes.
        public var objectCount: Int { classes.reduce(0) { $0 + $1.objectCount } }

        /// A line for each class and each note.
        public var description: String {
            (classes.map { "\($0.name): \($0.objectCount) objects" } + notes.map(\.description))
                .joined(separator: "\n")
        }

        init(_ summary: RealmSummary) {
            classes = summary.classes.map {
                ConvertedClass(name: $0.name, objectCount: $0.created, propertyCount: $0.properties)
            }
            notes = summary.notes.map {
                Note(
                    className: $0.className, propertyName: $0.propertyName, reason: $0.reason, count: $0.count,
                    firstKey: $0.firstKey, description: $0.text)
            }
        }
    }

    /// Makes a new file from a Realm file (formats 20 to 24), which is only read: all classes with all objects, in
    /// their order, and the schema version. Throws `fileExists` where there is something at the destination. The new
    /// file is compared with the Realm file object by object before it gets its name; a failure leaves nothing.
    ///
    /// - Parameters:
    ///   - sourceKey: the 64 bytes that the Realm file is encrypted with.
    ///   - encryptionKey: 64 bytes to encrypt the new file with.
    ///   - objectTypes: classes whose properties the file is to have beside its own. They have to fit it; without them
    ///     the file is as it was, and opening it with them migrates it.
    ///   - isStrict: throws where something would be noted as changed or left out.
    ///   - progress: called with the number of steps done, two for each object, and of all; returning false stops.
    @discardableResult
    public static func convert(
        fromRealmFile source: URL, to destination: URL, sourceKey: Data? = nil, encryptionKey: Data? = nil,
        objectTypes: [ObjectBase.Type]? = nil, isStrict: Bool = false, progress: ((Int, Int) -> Bool)? = nil
    ) throws -> ConversionSummary {
        guard !FileManager.default.fileExists(atPath: destination.path) else {
            throw Error(.fileExists, "there is a file at '\(destination.path)' already", path: destination.path)
        }
        for key in [sourceKey, encryptionKey].compactMap({ $0 }) where key.count != 64 {
            throw Error(.invalidInput, "Encryption key must be exactly 64 bytes long; this one has \(key.count)")
        }
        var options = RealmConversion.Options()
        options.sourceKey = sourceKey.map { [UInt8]($0) }
        options.key = encryptionKey.map { [UInt8]($0) }
        options.schema = try objectTypes.map { try RealmOpening.declaredSchema(DeclaredClasses.distinct($0)) }
        options.isStrict = isStrict
        if let progress {
            options.progress = { (done, total) throws(DatabaseError) in
                guard progress(done, total) else {
                    throw DatabaseError(.callback, "the conversion was stopped by its progress function")
                }
            }
        }
        return try translating(source.path) {
            ConversionSummary(try RealmConversion.convert(source.path, to: destination.path, options))
        }
    }
}
