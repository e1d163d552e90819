/// The structs of the Arrow C data interface as they go out. What is in them belongs to them: each releases its own
/// memory and that of the children which nobody has moved elsewhere, on any thread.
import CMotte
import Glibc
import MotteExchange
import MotteValues

enum ArrowStructs {
    // MARK: Schemas

    /// What a schema keeps: its texts and children.
    private final class SchemaBox {
        let format, name: UnsafeMutablePointer<CChar>?
        let metadata: UnsafeMutablePointer<CChar>?
        let children: Children<ArrowSchema>

        init(_ field: ArrowField) {
            format = copyCString(field.format)
            name = copyCString(field.name)
            metadata = SchemaBox.encoded(field.metadata)
            children = Children(field.children.count)
            for (index, child) in field.children.enumerated() { ArrowStructs.fill(children.place(index), child) }
        }

        deinit {
            for text in [format, name, metadata] { free(text) }
            for index in 0 ..< children.count {
                let child = children.place(index)
                child.pointee.release?(child)
            }
        }

        /// A number of pairs, then the length and the bytes of each key and each value.
        private static func encoded(_ pairs: [(key: String, value: String)]) -> UnsafeMutablePointer<CChar>? {
            guard !pairs.isEmpty else { return nil }
            var bytes: [UInt8] = []
            func append(_ number: Int) {
                withUnsafeBytes(of: Int32(truncatingIfNeeded: number)) { bytes.append(contentsOf: $0) }
            }
            append(pairs.count)
            for (key, value) in pairs {
                for text in [key, value] {
                    append(text.utf8.count)
                    bytes.append(contentsOf: text.utf8)
                }
            }
            guard let copy = malloc(bytes.count) else { return nil }
            bytes.withUnsafeBytes { UnsafeMutableRawBufferPointer(start: copy, count: $0.count).copyMemory(from: $0) }
            return copy.assumingMemoryBound(to: CChar.self)
        }
    }

    /// Structs that stay where they are, and the array of pointers to them that C wants.
    private final class Children<Struct> {
        let count: Int
        private let structs: UnsafeMutablePointer<Struct>
        let pointers: UnsafeMutablePointer<UnsafeMutablePointer<Struct>?>

        init(_ count: Int) {
            self.count = count
            structs = .allocate(capacity: max(count, 1))
            pointers = .allocate(capacity: max(count, 1))
            for index in 0 ..< count { pointers[index] = structs + index }
        }

        func place(_ index: Int) -> UnsafeMutablePointer<Struct> { structs + index }

        deinit {
            structs.deallocate()
            pointers.deallocate()
        }
    }

    static func fill(_ out: UnsafeMutablePointer<ArrowSchema>, _ field: ArrowField) {
        let box = SchemaBox(field)
        out.initialize(
            to: ArrowSchema(
                format: UnsafePointer(box.format), name: UnsafePointer(box.name),
                metadata: UnsafePointer(box.metadata), flags: field.isNullable ? Int64(ARROW_FLAG_NULLABLE) : 0,
                n_children: Int64(box.children.count), children: box.children.pointers, dictionary: nil,
                release: { schema in
                    guard let schema, let held = schema.pointee.private_data else { return }
                    schema.pointee.private_data = nil
                    schema.pointee.release = nil
                    Unmanaged<SchemaBox>.fromOpaque(held).release()
                },
                private_data: Unmanaged.passRetained(box).toOpaque()))
    }

    // MARK: Arrays

    private final class ArrayBox {
        let bufferCount: Int
        let buffers: UnsafeMutablePointer<UnsafeRawPointer?>
        let children: Children<ArrowArray>

        init(_ data: ArrowData) {
            let taken = data.takeBuffers()
            bufferCount = taken.count
            buffers = .allocate(capacity: max(taken.count, 1))
            for (index, buffer) in taken.enumerated() { (buffers + index).initialize(to: UnsafeRawPointer(buffer)) }
            children = Children(data.children.count)
            for (index, child) in data.children.enumerated() { ArrowStructs.fill(children.place(index), child) }
        }

        deinit {
            for index in 0 ..< bufferCount { free(UnsafeMutableRawPointer(mutating: buffers[index])) }
            buffers.deallocate()
            for index in 0 ..< children.count {
                let child = children.place(index)
                child.pointee.release?(child)
            }
        }
    }

    static func fill(_ out: UnsafeMutablePointer<ArrowArray>, _ data: ArrowData) {
        let box = ArrayBox(data)
        out.initialize(
            to: ArrowArray(
                length: Int64(data.length), null_count: Int64(data.nullCount), offset: 0,
                n_buffers: Int64(box.bufferCount), n_children: Int64(box.children.count), buffers: box.buffers,
                children: box.children.pointers, dictionary: nil,
                release: { array in
                    guard let array, let held = array.pointee.private_data else { return }
                    array.pointee.private_data = nil
                    array.pointee.release = nil
                    Unmanaged<ArrayBox>.fromOpaque(held).release()
                },
                private_data: Unmanaged.passRetained(box).toOpaque()))
    }
}
