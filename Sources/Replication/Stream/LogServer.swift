/// What a server that keeps ordered messages offers, and all that a log in a stream takes of one: messages in a stream
/// have numbers without gaps, and one is added only if the stream ends where the sender says. NATS JetStream is one; a
/// simulation with virtual time is another.
///
/// A stream that was lost and made again counts from 1, so each has an identity of its own, and a message is added
/// to the stream of that identity or to none.
///
/// What decides is asked of the stream's leader: a replica may be behind, or have what no majority has. Nothing is read
/// from a replica but chunks, which have checksums.
import MotteValues

/// The two streams of a database.
package enum LogStream: CaseIterable, Sendable {
    /// Leaders, batches, and what says that a snapshot is whole.
    case log
    /// Files in chunks.
    case chunks
}

package enum LogSubject: Equatable, Sendable {
    case leader, changes, chunk, snapshot

    package var stream: LogStream {
        switch self {
        case .leader, .changes, .snapshot: .log
        case .chunk: .chunks
        }
    }
}

package struct LogMessage: Equatable, Sendable {
    /// Of the stream that it is in.
    package let identity: String
    package let number: UInt64
    package let subject: LogSubject
    package let bytes: [UInt8]

    package init(in identity: String, number: UInt64, subject: LogSubject, bytes: [UInt8]) {
        self.identity = identity
        self.number = number
        self.subject = subject
        self.bytes = bytes
    }
}

/// What a stream has.
package struct LogRange: Equatable, Sendable {
    package let identity: String
    /// `last` + 1 where there is nothing.
    package let first: UInt64
    package let last: UInt64

    package init(identity: String, first: UInt64, last: UInt64) {
        (self.identity, self.first, self.last) = (identity, first, last)
    }

    func has(_ number: UInt64) -> Bool { first <= number && number <= last }
}

package enum AddOutcome: Equatable, Sendable {
    case added(number: UInt64)
    /// A message with that name was there already; the server says where.
    case known(number: UInt64)
    /// The stream ends elsewhere.
    case refused
    /// No answer came: it may be there, come later, or never.
    case unknown(String)
}

/// One holder at a time, for a time that it must renew.
package struct LogLease: Equatable, Sendable {
    /// Empty: whoever held it has left it.
    package let holder: String
    /// Changes with each renewal.
    package let revision: UInt64

    package init(holder: String, revision: UInt64) {
        self.holder = holder
        self.revision = revision
    }
}

package protocol LogServer: AnyObject {
    /// Without passwords.
    var place: String { get }
    /// Bytes of the largest message.
    var largestMessage: Int { get }

    /// Of a clock that only goes forward.
    var milliseconds: Int64 { get }

    /// Makes the streams if they are not there.
    func prepare() throws(DatabaseError)
    /// nil: there is no stream.
    func range(of stream: LogStream) throws(DatabaseError) -> LogRange?
    /// Adds a message as number `last` + 1 of the stream with that identity, once for each name.
    func add(
        _ bytes: [UInt8], _ subject: LogSubject, name: String, in identity: String, after last: UInt64
    ) throws(DatabaseError) -> AddOutcome
    /// nil where there is none.
    func message(_ number: UInt64, in stream: LogStream) throws(DatabaseError) -> LogMessage?
    /// As any replica has it: nil where that is behind.
    func chunk(_ number: UInt64) throws(DatabaseError) -> LogMessage?
    /// The next one from a number on.
    func next(_ subject: LogSubject, from number: UInt64) throws(DatabaseError) -> LogMessage?
    func last(_ subject: LogSubject) throws(DatabaseError) -> LogMessage?
    /// False where it is to be tried another time; what is not there any more is no error.
    func remove(_ numbers: Range<UInt64>, in stream: LogStream) throws(DatabaseError) -> Bool

    /// Text that is there once, in place of the one before, with no promise that it lasts.
    func setNote(_ bytes: [UInt8]) throws(DatabaseError)
    func note() throws(DatabaseError) -> [UInt8]?

    /// Tells who waits that there is something new.
    func tell() throws(DatabaseError)
    func wait(milliseconds: Int64) throws(DatabaseError)
    /// Before something is tried again.
    func pause(milliseconds: Int64)

    /// Which bucket the lease is in, of those that were made one after the other.
    var leaseNumber: UInt64 { get set }
    func lease() throws(DatabaseError) -> LogLease?
    /// For how long one lasts that is taken there; nil where that is not said, or there was none yet.
    func leaseMilliseconds() throws(DatabaseError) -> Int64?
    /// Takes or renews it; nil where the revision is another by now. 0: there was none. The first one who ever takes it
    /// says for how long it lasts, for all.
    func takeLease(_ holder: String, seconds: Int, after revision: UInt64) throws(DatabaseError) -> UInt64?
    func leaveLease(after revision: UInt64) throws(DatabaseError)
    /// Removes the bucket that it is in, if it can.
    func dropLease()
}
