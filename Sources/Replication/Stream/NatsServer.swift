/// NATS JetStream by its requests: https://docs.nats.io/reference/reference-protocols/nats_api_reference. Of the
/// answers, which are JSON, only some numbers are needed.
import CMotteNats
import CMotteShim
import MotteValues
import Synchronization

package final class NatsServer: LogServer {
    package let place: String
    private let names: NatsPlace
    private let options: NatsOptions
    private let connection: OpaquePointer
    private static let package = "libnats3.4 of Debian, or cnats"
    /// For the names and numbers that go with a message, and for what an answer adds to it.
    private static let roomForHeaders = 4_096
    /// Larger ones make a server wait for others.
    private static let largestUseful = 1 << 19
    private static let duplicateSeconds = 120
    private var isListening = false

    package init(_ text: String, _ options: NatsOptions) throws(DatabaseError) {
        let names = try NatsPlace(text)
        self.names = names
        place = names.text
        self.options = options
        guard motte_nats_load() == 0 else {
            throw DatabaseError(
                .unsupported,
                "servers of NATS are reached by libnats, which could not be loaded: install \(Self.package) "
                    + "(\(String(cString: motte_nats_problem())))")
        }
        var wanted = motte_nats_options()
        wanted.needs_tls = names.needsTLS ? 1 : 0
        wanted.timeout = options.timeoutMilliseconds
        var connection: OpaquePointer?
        let status = names.servers.joined(separator: ",").withCString { servers in
            wanted.servers = servers
            return Self.withCStrings(
                [
                    options.credentials, options.authorities, options.certificate, options.key, names.user,
                    names.password,
                ]
            ) { texts in
                wanted.credentials = texts[0]
                wanted.authorities = texts[1]
                wanted.certificate = texts[2]
                wanted.key = texts[3]
                (wanted.user, wanted.password) = (texts[4], texts[5])
                return motte_nats_connect(&wanted, &connection)
            }
        }
        guard status == 0, let connection else { throw Self.error(status, "connect to", place) }
        self.connection = connection
    }

    deinit { motte_nats_close(connection) }

    private static func withCStrings<Result>(
        _ texts: [String?], _ body: ([UnsafePointer<CChar>?]) -> Result
    ) -> Result {
        func next(_ index: Int, _ done: [UnsafePointer<CChar>?]) -> Result {
            guard index < texts.count else { return body(done) }
            guard let text = texts[index] else { return next(index + 1, done + [nil]) }
            return text.withCString { next(index + 1, done + [$0]) }
        }
        return next(0, [])
    }

    private static func error(_ status: Int32, _ action: String, _ place: String) -> DatabaseError {
        let code: ErrorCode =
            switch Int(status) {
            case MOTTE_NATS_REFUSED, MOTTE_NATS_NOT_PERMITTED: .permissionDenied
            case MOTTE_NATS_NO_MEMORY: .outOfMemory
            case MOTTE_NATS_INVALID: .invalidArgument
            case MOTTE_NATS_TIMEOUT, MOTTE_NATS_NO_RESPONDERS: .timeout
            default: .inputOutput
            }
        let hint = Int(status) == MOTTE_NATS_NO_RESPONDERS ? "; is JetStream enabled there?" : ""
        return DatabaseError(
            code, "could not \(action) '\(place)': \(String(cString: motte_nats_text(status)))\(hint)", path: place)
    }

    package var largestMessage: Int {
        max(1_024, min(Int(motte_nats_largest_message(connection)) - Self.roomForHeaders, Self.largestUseful))
    }

    package var milliseconds: Int64 { monotonicMilliseconds() }

    // MARK: Requests

    private struct Answer {
        var bytes: [UInt8]
        var status: String?
        var subject: String?
        var number: UInt64?
    }

    private enum Outcome {
        case answer(Answer)
        case failed(Int32)
    }

    private func ask(_ subject: String, _ bytes: [UInt8], headers: [String] = []) -> Outcome {
        var message: OpaquePointer?
        let status = Self.withCStrings(headers + [nil]) { headers in
            headers.withUnsafeBufferPointer { headers in
                bytes.withUnsafeBytes { bytes in
                    motte_nats_request(
                        connection, subject, bytes.baseAddress, bytes.count, headers.baseAddress,
                        options.timeoutMilliseconds, &message)
                }
            }
        }
        guard status == 0, let message else { return .failed(status) }
        defer { motte_nats_message_free(message) }
        var size = 0
        let start = motte_nats_message_bytes(message, &size)
        func header(_ name: String) -> String? { motte_nats_message_header(message, name).map { String(cString: $0) } }
        return .answer(
            Answer(
                bytes: start.map { [UInt8](UnsafeRawBufferPointer(start: $0, count: size)) } ?? [],
                status: header("Status"), subject: header("Nats-Subject"),
                number: header("Nats-Sequence").flatMap { UInt64($0) }))
    }

    /// What comes is JSON, also where it is an error.
    private func askForText(_ subject: String, _ text: String, _ action: String) throws(DatabaseError) -> JSONNumbers {
        switch ask(subject, Array(text.utf8)) {
        case .failed(let status): throw Self.error(status, action, place)
        case .answer(let answer): return JSONNumbers(answer.bytes)
        }
    }

    private func refusal(_ answer: JSONNumbers, _ action: String) -> DatabaseError {
        DatabaseError(
            .inputOutput, "'\(place)' refused to \(action): \(answer.text("description") ?? "unknown")", path: place)
    }

    // MARK: Streams

    private func name(_ stream: LogStream) -> String {
        "MOTTE_" + names.name + (stream == .log ? "" : "_SNAPSHOTS")
    }

    /// No database has a bucket of the second kind.
    private var bucket: String { leaseNumber == 1 ? "MOTTE_\(names.name)" : "MOTTE-\(leaseNumber)_\(names.name)" }
    private var leaseSubject: String { "$KV.\(bucket).leader" }
    private var tellSubject: String { "motte.\(names.name).new" }

    /// The stream's identity is in the names of its subjects: what is meant for one that is gone reaches none.
    private func subject(_ subject: LogSubject, _ identity: String) -> String {
        "motte.\(names.name).\(identity).\(subject)"
    }

    private static func newIdentity() -> String {
        var number: UInt64 = 0
        withUnsafeMutableBytes(of: &number) { _ = motte_shim_random($0.baseAddress, $0.count) }
        return String(number, radix: 16)
    }

    package func prepare() throws(DatabaseError) {
        let replicas = options.replicas ?? (names.servers.count >= 3 ? 3 : 1)
        let common = """
            "retention":"limits","max_consumers":-1,"max_msgs":-1,"max_bytes":-1,"max_age":0,"max_msg_size":-1,\
            "storage":"file","discard":"new","num_replicas":\(replicas),\
            "duplicate_window":\(Self.duplicateSeconds)000000000,"allow_direct":true
            """
        for stream in LogStream.allCases where try range(of: stream) == nil {
            let subjects: [LogSubject] = stream == .log ? [.leader, .changes, .snapshot] : [.chunk]
            let identity = Self.newIdentity()
            let list = subjects.map { "\"\(subject($0, identity))\"" }.joined(separator: ",")
            try make(name(stream), "{\"name\":\"\(name(stream))\",\"subjects\":[\(list)],\(common)}")
        }
    }

    private func make(_ name: String, _ configuration: String) throws(DatabaseError) {
        let answer = try askForText("$JS.API.STREAM.CREATE.\(name)", configuration, "make a stream in")
        guard let code = answer.number("err_code") else { return }
        // Somebody else has just made it.
        if code != JetStreamCode.nameInUse { throw refusal(answer, "make a stream") }
    }

    /// What the server says of a stream; nil where there is none.
    private func information(on stream: String, _ purpose: String) throws(DatabaseError) -> JSONNumbers? {
        let answer = try askForText("$JS.API.STREAM.INFO.\(stream)", "", "ask")
        guard let code = answer.number("err_code") else { return answer }
        if code == JetStreamCode.streamNotFound { return nil }
        guard JetStreamCode.isPassing(code) else { throw refusal(answer, purpose) }
        throw DatabaseError(
            .timeout, "'\(place)' has no leader at the moment: \(answer.text("description") ?? "")", path: place)
    }

    package func range(of stream: LogStream) throws(DatabaseError) -> LogRange? {
        guard let answer = try information(on: name(stream), "say what it has") else { return nil }
        guard let last = answer.number("last_seq"), let first = answer.number("first_seq"),
            let count = answer.number("messages"), let subject = answer.firstText("subjects")
        else { throw refusal(answer, "say what it has") }
        return LogRange(
            identity: try parts(subject).identity, first: count == 0 ? last + 1 : max(first, 1), last: last)
    }

    package func add(
        _ bytes: [UInt8], _ subject: LogSubject, name: String, in identity: String, after last: UInt64
    ) throws(DatabaseError) -> AddOutcome {
        let headers = [
            "Nats-Msg-Id", name, "Nats-Expected-Last-Sequence", "\(last)", "Nats-Expected-Stream",
            self.name(subject.stream),
        ]
        switch ask(self.subject(subject, identity), bytes, headers: headers) {
        case .failed(let status):
            return .unknown(String(cString: motte_nats_text(status)))
        case .answer(let answer):
            let numbers = JSONNumbers(answer.bytes)
            if let code = numbers.number("err_code") {
                if code == JetStreamCode.wrongLastSequence { return .refused }
                return .unknown(numbers.text("description") ?? "error \(code)")
            }
            guard let number = numbers.number("seq") else { return .unknown("its answer is none") }
            return numbers.isTrue("duplicate") ? .known(number: number) : .added(number: number)
        }
    }

    package func message(_ number: UInt64, in stream: LogStream) throws(DatabaseError) -> LogMessage? {
        try message(stream, "{\"seq\":\(number)}")
    }

    package func next(_ subject: LogSubject, from number: UInt64) throws(DatabaseError) -> LogMessage? {
        try message(
            subject.stream, "{\"seq\":\(max(1, number)),\"next_by_subj\":\"\(self.subject(subject, "*"))\"}")
    }

    package func last(_ subject: LogSubject) throws(DatabaseError) -> LogMessage? {
        try message(subject.stream, "{\"last_by_subj\":\"\(self.subject(subject, "*"))\"}")
    }

    private func message(_ stream: LogStream, _ request: String) throws(DatabaseError) -> LogMessage? {
        guard let found = try askLeader(of: name(stream), request) else { return nil }
        return try message(found.number, found.subject, found.bytes)
    }

    package func chunk(_ number: UInt64) throws(DatabaseError) -> LogMessage? {
        switch ask("$JS.API.DIRECT.GET.\(name(.chunks))", Array("{\"seq\":\(number)}".utf8)) {
        case .failed(let status):
            // Who gives messages directly is there as long as the stream is.
            if try range(of: .chunks) == nil { return nil }
            throw Self.error(status, "read from", place)
        case .answer(let answer):
            if answer.status == "404" { return nil }
            guard let number = answer.number, let subject = answer.subject else {
                throw DatabaseError(
                    .inputOutput, "'\(place)' did not give a message: \(answer.status ?? "no number")", path: place)
            }
            return try message(number, subject, answer.bytes)
        }
    }

    private func message(_ number: UInt64, _ subject: String, _ bytes: [UInt8]) throws(DatabaseError) -> LogMessage {
        let (identity, kind) = try parts(subject)
        return LogMessage(in: identity, number: number, subject: kind, bytes: bytes)
    }

    private func parts(_ subject: String) throws(DatabaseError) -> (identity: String, kind: LogSubject) {
        let parts = subject.parts(between: ".")
        let kind = [LogSubject.leader, .changes, .snapshot, .chunk].first { "\($0)" == parts.last }
        guard parts.count == 4, parts[0] == "motte", parts[1].hasSameBytes(as: names.name), let kind else {
            throw DatabaseError(.corrupted, "'\(place)' has a message of a strange kind: \(subject)", path: place)
        }
        return (parts[2], kind)
    }

    /// A message as the leader of a stream has it, and so a majority: a replica that led, was cut off and comes back
    /// may give for a moment what nobody else ever had (nats-server 2.9.10).
    private func askLeader(
        of stream: String, _ request: String
    ) throws(DatabaseError) -> (number: UInt64, subject: String, bytes: [UInt8])? {
        let answer = try askForText("$JS.API.STREAM.MSG.GET.\(stream)", request, "read from")
        if let code = answer.number("err_code") {
            if code == JetStreamCode.streamNotFound || code == JetStreamCode.noMessage { return nil }
            guard JetStreamCode.isPassing(code) else { throw refusal(answer, "give a message") }
            throw DatabaseError(
                .timeout, "'\(place)' has no leader at the moment: \(answer.text("description") ?? "")", path: place)
        }
        guard let number = answer.number("seq"), let subject = answer.text("subject") else {
            throw refusal(answer, "give a message")
        }
        // Without content there is none in the answer either.
        guard let bytes = Base64.decoded(answer.text("data") ?? "") else {
            throw DatabaseError(.inputOutput, "'\(place)' gave a message that cannot be read", path: place)
        }
        return (number, subject, bytes)
    }

    /// One by one: before 2.9.18 a server that has been asked to remove what is before a number, and is begun again,
    /// removes everything that there was then (nats-server issue 4196).
    package func remove(_ numbers: Range<UInt64>, in stream: LogStream) throws(DatabaseError) -> Bool {
        let requests = numbers.map { "{\"seq\":\($0),\"no_erase\":true}" }
        let wanted = ["\"success\":true"] + JetStreamCode.notThere.map { "\"err_code\":\($0)" } + [nil]
        var answered = 0
        let status = Self.withCStrings(requests) { requests in
            Self.withCStrings(wanted) { wanted in
                motte_nats_request_all(
                    connection, "$JS.API.STREAM.MSG.DELETE.\(name(stream))", requests, requests.count, wanted,
                    options.timeoutMilliseconds, &answered)
            }
        }
        return status == 0 && answered == requests.count
    }

    // MARK: The note

    private var noteStream: String { name(.log) + "_NOTE" }
    private var noteSubject: String { "motte.\(names.name).note" }

    package func setNote(_ bytes: [UInt8]) throws(DatabaseError) {
        func outcome() -> JSONNumbers? {
            if case .answer(let answer) = ask(noteSubject, bytes) { JSONNumbers(answer.bytes) } else { nil }
        }
        if outcome()?.number("seq") != nil { return }
        let replicas = options.replicas ?? (names.servers.count >= 3 ? 3 : 1)
        try make(
            noteStream,
            """
            {"name":"\(noteStream)","subjects":["\(noteSubject)"],"retention":"limits","max_consumers":-1,\
            "max_msgs":1,"max_bytes":-1,"max_age":0,"max_msg_size":-1,"storage":"file","discard":"old",\
            "num_replicas":\(replicas),"allow_direct":true}
            """)
        _ = outcome()
    }

    package func note() throws(DatabaseError) -> [UInt8]? {
        try askLeader(of: noteStream, "{\"last_by_subj\":\"\(noteSubject)\"}")?.bytes
    }

    // MARK: Waiting

    package func tell() throws(DatabaseError) {
        // Who is not notified looks by himself a little later.
        _ = motte_nats_tell(connection, tellSubject)
    }

    package func wait(milliseconds: Int64) throws(DatabaseError) {
        if !isListening { isListening = motte_nats_listen(connection, tellSubject) == 0 }
        let status = isListening ? motte_nats_wait(connection, milliseconds) : Int32(MOTTE_NATS_TIMEOUT)
        // Not the time, but something that would come again at once.
        if status != 0, Int(status) != MOTTE_NATS_TIMEOUT { pause(milliseconds: milliseconds) }
    }

    package func pause(milliseconds: Int64) { sleepMilliseconds(milliseconds) }

    // MARK: The lease

    /// The thread that renews the lease while the other one is busy looks at it, too.
    private let number = Atomic<UInt64>(1)
    package var leaseNumber: UInt64 {
        get { number.load(ordering: .relaxed) }
        set { number.store(newValue, ordering: .relaxed) }
    }

    package func lease() throws(DatabaseError) -> LogLease? {
        let found = try askLeader(of: "KV_\(bucket)", "{\"last_by_subj\":\"\(leaseSubject)\"}")
        guard let found else { return nil }
        return LogLease(holder: String(decoding: found.bytes, as: UTF8.self), revision: found.number)
    }

    package func leaseMilliseconds() throws(DatabaseError) -> Int64? {
        // 0: for ever.
        guard let answer = try information(on: "KV_\(bucket)", "say how long a lease lasts"),
            let nanoseconds = answer.number("max_age"), nanoseconds > 0
        else { return nil }
        return Int64(min(nanoseconds / 1_000_000, UInt64(Int32.max)))
    }

    package func takeLease(
        _ holder: String, seconds: Int, after revision: UInt64
    ) throws(DatabaseError) -> UInt64? {
        if revision == 0 { try makeBucket(seconds) }
        let headers = ["Nats-Expected-Last-Subject-Sequence", "\(revision)"]
        switch ask(leaseSubject, Array(holder.utf8), headers: headers) {
        case .failed(let status): throw Self.error(status, "take the lease in", place)
        case .answer(let answer):
            let numbers = JSONNumbers(answer.bytes)
            if numbers.number("err_code") != nil { return nil }
            return numbers.number("seq")
        }
    }

    package func leaveLease(after revision: UInt64) throws(DatabaseError) {
        _ = ask(leaseSubject, [], headers: ["Nats-Expected-Last-Subject-Sequence", "\(revision)"])
    }

    package func dropLease() {
        _ = ask("$JS.API.STREAM.DELETE.KV_\(bucket)", [])
    }

    private func makeBucket(_ seconds: Int) throws(DatabaseError) {
        let replicas = options.replicas ?? (names.servers.count >= 3 ? 3 : 1)
        try make(
            "KV_\(bucket)",
            """
            {"name":"KV_\(bucket)","subjects":["$KV.\(bucket).>"],"retention":"limits","max_consumers":-1,\
            "max_msgs":-1,"max_bytes":-1,"max_age":\(seconds)000000000,"max_msgs_per_subject":1,"max_msg_size":-1,\
            "storage":"file","discard":"new","num_replicas":\(replicas),"duplicate_window":\(seconds)000000000,\
            "allow_rollup_hdrs":true,"deny_delete":true,"allow_direct":true}
            """)
    }
}

/// Those of JetStream's errors that are looked at.
private enum JetStreamCode {
    static let nameInUse: UInt64 = 10_058
    static let streamNotFound: UInt64 = 10_059
    static let wrongLastSequence: UInt64 = 10_071
    static let noMessage: UInt64 = 10_037
    /// What is to be removed.
    static let notThere: [UInt64] = [10_043, 10_057]

    /// No leader of the servers, or of the stream; or the server is only about to begin.
    static func isPassing(_ code: UInt64) -> Bool { [10_004, 10_008, 10_009, 10_010, 10_118].contains(code) }
}
