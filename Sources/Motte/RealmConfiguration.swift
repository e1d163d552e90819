/// What a user may set about a realm.
import Foundation
import Synchronization

extension Realm {
    public struct Configuration: Sendable {
        /// Where the file is. Setting it clears `inMemoryIdentifier`.
        public var fileURL: URL? {
            didSet { if fileURL != nil, inMemoryIdentifier != nil { inMemoryIdentifier = nil } }
        }
        /// A store in memory, shared by the process under this name. Setting it clears `fileURL`.
        public var inMemoryIdentifier: String? {
            didSet { if inMemoryIdentifier != nil, fileURL != nil { fileURL = nil } }
        }
        public var readOnly: Bool
        public var schemaVersion: UInt64
        /// The classes in the realm; nil takes every `Object` subclass of the program.
        public var objectTypes: [ObjectBase.Type]?

        public init(
            fileURL: URL? = Configuration.defaultFileURL, inMemoryIdentifier: String? = nil, readOnly: Bool = false,
            schemaVersion: UInt64 = 0, objectTypes: [ObjectBase.Type]? = nil
        ) {
            self.fileURL = inMemoryIdentifier == nil ? fileURL : nil
            self.inMemoryIdentifier = inMemoryIdentifier
            self.readOnly = readOnly
            self.schemaVersion = schemaVersion
            self.objectTypes = objectTypes
        }

        /// `default.motte` in the folder for application data.
        public static var defaultFileURL: URL {
            let folder = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
                ?? URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
            return folder.appendingPathComponent("default.motte")
        }

        private static let shared = Mutex<Configuration?>(nil)

        /// What `Realm()` opens.
        public static var defaultConfiguration: Configuration {
            get { shared.withLock { $0 } ?? Configuration() }
            set { shared.withLock { $0 = newValue } }
        }
    }
}
