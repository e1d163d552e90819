/// Finding the program's `Object` subclasses without Objective-C: the runtime lists the type records of every loaded
/// image, and those of non-generic classes are asked for their metadata.
import MotteValues

#if canImport(Glibc)
import Glibc
#endif

enum ClassDiscovery {
    private static let cached = Locked<[ObjectBase.Type]?>(ofProcess: nil)

    /// In no particular order. Looked up once; images loaded later are not seen.
    static func objectTypes() -> [ObjectBase.Type] {
        if let known = cached.withLock({ $0 }) { return known }
        var found: [ObjectBase.Type] = []
        withUnsafeMutablePointer(to: &found) { pointer in
            swift_enumerateAllMetadataSections(
                { sections, context in
                    guard let sections, let context else { return true }
                    let found = context.assumingMemoryBound(to: [ObjectBase.Type].self)
                    ClassDiscovery.appendTypes(of: sections, to: &found.pointee)
                    return true
                }, UnsafeMutableRawPointer(pointer))
        }
        cached.withLock { $0 = found }
        return found
    }

    private static let byName = Locked<[NameKey: ObjectBase.Type]>(ofProcess: [:])

    /// The class of that name in the store, for realms of all the program's classes; nil when there is none.
    static func type(named name: String) -> ObjectBase.Type? {
        if let known = byName.withLock({ $0[NameKey(name)] }) { return known }
        let found = objectTypes().first {
            $0.shouldIncludeInDefaultSchema() && $0.className().hasSameBytes(as: name)
        }
        guard let found else { return nil }
        byName.withLock { $0[NameKey(name)] = found }
        return found
    }

    /// The start of the runtime's description of an image: version, base, two reserved words, then (start, size) of
    /// protocols, conformances and types.
    private static let typesOffset = 8 * MemoryLayout<UInt>.size

    private static func appendTypes(of sections: UnsafeRawPointer, to found: inout [ObjectBase.Type]) {
        let start = sections.load(fromByteOffset: typesOffset, as: UInt.self)
        let size = sections.load(fromByteOffset: typesOffset + MemoryLayout<UInt>.size, as: UInt.self)
        guard let records = UnsafeRawPointer(bitPattern: start) else { return }
        for offset in stride(from: 0, to: Int(size), by: 4) {
            let field = records + offset
            let relative = field.load(as: Int32.self)
            // The low two bits tell direct references (0) from indirect ones (1).
            guard relative & 3 == 0, let descriptor = Optional(field + Int(relative)) else { continue }
            if let type = objectType(descriptor) { found.append(type) }
        }
    }

    private static func objectType(_ descriptor: UnsafeRawPointer) -> ObjectBase.Type? {
        let flags = descriptor.load(as: UInt32.self)
        let isClass = flags & 0x1F == 16
        let isGeneric = flags & 0x80 != 0
        guard isClass, !isGeneric, !isInSystemModule(descriptor) else { return nil }
        let accessField = descriptor + 12
        let access = unsafeBitCast(
            accessField + Int(accessField.load(as: Int32.self)), to: (@convention(c) (UInt) -> UnsafeRawPointer).self)
        let type = unsafeBitCast(access(0), to: Any.Type.self)
        guard let object = type as? ObjectBase.Type, object != ObjectBase.self, object != Object.self,
            object != EmbeddedObject.self
        else { return nil }
        return object
    }

    /// The runtime's own classes are many and never models.
    private static func isInSystemModule(_ descriptor: UnsafeRawPointer) -> Bool {
        var context = descriptor
        for _ in 0 ..< 16 {
            if context.load(as: UInt32.self) & 0x1F == 0 {
                let nameField = context + 8
                let name = String(
                    cString: (nameField + Int(nameField.load(as: Int32.self))).assumingMemoryBound(to: CChar.self))
                return name == "Swift" || name.hasPrefix("_") || name.hasPrefix("Foundation") || name == "Dispatch"
                    || name == "XCTest" || name == "Testing" || name == "Synchronization"
            }
            let parentField = context + 4
            let relative = parentField.load(as: Int32.self)
            guard relative != 0 else { return false }
            let target = parentField + Int(relative & ~1)
            guard relative & 1 != 0 else {
                context = target
                continue
            }
            guard let indirect = UnsafeRawPointer(bitPattern: target.load(as: UInt.self)) else { return false }
            context = indirect
        }
        return false
    }
}

@_silgen_name("swift_enumerateAllMetadataSections")
private func swift_enumerateAllMetadataSections(
    _ body: @convention(c) (UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Bool, _ context: UnsafeMutableRawPointer?)
