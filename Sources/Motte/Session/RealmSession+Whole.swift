/// Calls that change the store in several steps are all or nothing: what a call did before it was refused is undone,
/// and objects that it made managed are unmanaged again, with the values they had.
import CMotteShim
import MotteLiveObjects
import MotteValues

/// What became managed in a call that may still be refused.
struct Attachments {
    struct Entry {
        let object: ObjectBase
        let binding: ClassBinding
        let late: [RealmSession.Late]
    }
    private var entries: [Entry] = []

    mutating func note(_ object: ObjectBase, _ binding: ClassBinding, _ late: [RealmSession.Late]) {
        entries.append(Entry(object: object, binding: binding, late: late))
    }

    /// The last first, in case an object was noted twice.
    func undo() {
        for entry in entries.reversed() {
            let object = entry.object
            object._objectHome = nil
            object._objectReads = nil
            object._objectRow = 0
            object._objectBirth = 0
            object._objectKeeps = false
            object.forgetHash()
            for bound in entry.binding.bound { bound.field.access.unbind(at: bound.field.pointer(in: object)) }
            for case .collection(_, let collection, let elements) in entry.late { collection._detach(elements) }
        }
    }
}

/// Broken rules that were reported in a call which goes on, by the number of the thread.
enum ReportedMisuse {
    private static let counts = Locked<[UInt64: Int]>(ofProcess: [:])

    static func begin(_ thread: UInt64) { counts.withLock { $0[thread] = 0 } }
    static func end(_ thread: UInt64) { counts.withLock { _ = $0.removeValue(forKey: thread) } }
    static func count(_ thread: UInt64) -> Int { counts.withLock { $0[thread] ?? 0 } }
    static func note(_ thread: UInt64) { counts.withLock { if let count = $0[thread] { $0[thread] = count + 1 } } }

    /// Thrown to undo a call whose misuse has been reported.
    static let error = DatabaseError(.invalidArgument, "the call was refused, as the misuse before it says")
}

extension RealmSession {
    /// Within another such call the outer one undoes everything.
    func whole<Outcome>(_ body: () throws(DatabaseError) -> Outcome) throws(DatabaseError) -> Outcome {
        guard attachments == nil, session.isInWrite else { return try body() }
        attachments = Attachments()
        // Nothing that objects keep is let go of before all of them are there.
        addings.depth += 1
        defer { attachments = nil }
        do throws(DatabaseError) {
            let outcome = try session.atomically(body)
            addings.end(isWhole: true)
            return outcome
        } catch {
            addings.end(isWhole: false)
            attachments?.undo()
            throw error
        }
    }

    /// The same where values of unknown type are assigned on the way, which reports what does not fit by itself.
    func wholeOfValues<Outcome>(_ body: () throws(DatabaseError) -> Outcome) throws(DatabaseError) -> Outcome {
        guard attachments == nil, session.isInWrite else { return try body() }
        let thread = motte_shim_thread_serial()
        ReportedMisuse.begin(thread)
        defer { ReportedMisuse.end(thread) }
        return try whole { () throws(DatabaseError) in
            let outcome = try body()
            if ReportedMisuse.count(thread) > 0 { throw ReportedMisuse.error }
            return outcome
        }
    }
}
