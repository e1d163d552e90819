/// Objects that are added one after the other get their rows together, as long as they are of one class: a row at a
/// time costs the engine several times what a row of many does.
///
/// Nobody can tell the difference: the objects are at hand, so that nothing runs between them but their own initial
/// values, and where one does not fit all are added again one by one, to those before it and with its own message.
/// Then whoever began undoes all of it.
import MotteLiveObjects
import MotteValues

struct AddingRun {
    private static let longest = 512
    /// The row of an object that waits here.
    private static let waiting: Int64 = -1

    private let core: RealmSession
    private let update: Realm.UpdatePolicy
    private let encoder: _Encoder
    private var type: ObjectBase.Type?
    private var binding: ClassBinding?
    private var objects: [Object] = []
    private var late: [[RealmSession.Late]] = []

    init(_ core: RealmSession, _ update: Realm.UpdatePolicy) {
        self.core = core
        self.update = update
        encoder = _Encoder(core)
    }

    /// False for an object that is to be added by itself, after `finish()`.
    mutating func takes(_ object: Object) throws(DatabaseError) -> Bool {
        guard object._objectHome == nil, object._objectRow != Self.waiting, core.session.isInWrite else { return false }
        let type = Swift.type(of: object)
        if self.type != type {
            try finish()
            self.type = type
            binding = core.binding(for: type)
            // Finishing may have reached it.
            guard object._objectHome == nil else { return false }
        }
        guard let binding, update == .error else { return false }
        if !binding.late.isEmpty { late.append(core.gather(object, binding)) }
        core.encode(object, binding, encoder)
        object._objectRow = Self.waiting
        objects.append(object)
        if objects.count == Self.longest { try finish() }
        return true
    }

    mutating func finish() throws(DatabaseError) {
        guard let binding, !objects.isEmpty else { return }
        let (objects, late) = (objects, late)
        self.objects.removeAll(keepingCapacity: true)
        self.late.removeAll(keepingCapacity: true)
        defer { encoder.reset() }
        do throws(DatabaseError) {
            if let failure = encoder.failure { throw failure }
            let first = try core.session.insertBatch(
                binding.table, columns: binding.scalarColumns, rows: encoder.rows.baseAddress,
                rowCount: objects.count)
            attach(objects, from: first, binding)
        } catch {
            for object in objects { object._objectRow = 0 }
            for object in objects { try core.added(object, policy: update.engine) }
            return
        }
        if core.attachments != nil {
            for (index, object) in objects.enumerated() {
                core.attachments?.note(object, binding, late.isEmpty ? [] : late[index])
            }
        }
        for (object, late) in zip(objects, late) {
            guard let live = object.live else { continue }
            try core.write(late, of: object, live, binding, isNew: true, policy: update.engine)
        }
    }

    private func attach(_ objects: [Object], from first: ObjectKey, _ binding: ClassBinding) {
        guard let type else { return }
        let birth = core.session.newHandle(binding.table, first).birth
        let home = core.home(of: type, binding.table, core.session)
        for (offset, object) in objects.enumerated() {
            home.attach(object, key: first.rawValue + Int64(offset), birth: birth)
        }
    }
}
