// A second process for tests: this test executable started again, with a command in its environment that only the test
// `runsTheCommandGiven` below looks at. It reports lines through descriptor 3 and waits for its parent on descriptor 4.
import CMotteShim
import MottePages
import MotteValues
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

final class HelperProcess {
    private(set) var process: pid_t = 0
    private var reports: Int32 = -1
    private var orders: Int32 = -1
    private var buffered: [UInt8] = []

    init(_ command: String, _ path: String, environment more: [String] = []) throws {
        var up: [Int32] = [0, 0]
        var down: [Int32] = [0, 0]
        #expect(pipe(&up) == 0 && pipe(&down) == 0)
        // Both ends clear of 3 and 4, which they become in the child.
        let childOut = fcntl(up[1], F_DUPFD_CLOEXEC, 100)
        let childIn = fcntl(down[0], F_DUPFD_CLOEXEC, 100)
        reports = fcntl(up[0], F_DUPFD_CLOEXEC, 100)
        orders = fcntl(down[1], F_DUPFD_CLOEXEC, 100)
        for descriptor in up + down { close(descriptor) }
        defer {
            close(childOut)
            close(childIn)
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, childOut, 3)
        posix_spawn_file_actions_adddup2(&actions, childIn, 4)
        let silence = "/dev/null"
        posix_spawn_file_actions_addopen(&actions, 1, silence, O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, silence, O_WRONLY, 0)

        let executable = try #require(realpath("/proc/self/exe", nil))
        defer { free(executable) }
        let arguments = [
            String(cString: executable), "--testing-library", "swift-testing", "--filter", "HelperProcessCommands",
        ]
        var environment = ["MOTTE_PAGES_COMMAND=\(command)", "MOTTE_PAGES_FILE=\(path)"] + more
        for name in ["PATH", "LD_LIBRARY_PATH", "HOME", "TMPDIR"] {
            if let value = getenv(name) { environment.append("\(name)=\(String(cString: value))") }
        }
        var argv = arguments.map { strdup($0) } + [nil]
        var envp = environment.map { strdup($0) } + [nil]
        defer { for text in argv + envp { free(text) } }
        try #require(posix_spawn(&process, executable, &actions, nil, &argv, &envp) == 0)
    }

    deinit {
        close(reports)
        close(orders)
        if process != 0 { kill() }
    }

    /// The next line of the helper, or nil when it has ended.
    func line() -> String? {
        while true {
            if let end = buffered.firstIndex(of: UInt8(ascii: "\n")) {
                defer { buffered.removeFirst(end + 1) }
                return String(decoding: buffered[..<end], as: UTF8.self)
            }
            var bytes = [UInt8](repeating: 0, count: 256)
            let count = read(reports, &bytes, bytes.count)
            if count <= 0 { return nil }
            buffered.append(contentsOf: bytes[..<count])
        }
    }

    /// Lets the helper go on after a `pause`.
    func goOn() { _ = write(orders, "\n", 1) }

    func kill() {
        Glibc.kill(process, SIGKILL)
        join()
    }

    func join() {
        var status: Int32 = 0
        if process != 0 { waitpid(process, &status, 0) }
        process = 0
    }
}

@Suite struct HelperProcessCommands {
    @Test func runsTheCommandGiven() throws {
        guard let command = getenv("MOTTE_PAGES_COMMAND"), let path = getenv("MOTTE_PAGES_FILE") else { return }
        do {
            try run(String(cString: command), String(cString: path))
        } catch let error as DatabaseError {
            report("error \(error.code) \(error.message)")
        }
    }

    private func run(_ command: String, _ path: String) throws {
        switch command {
        case "fork": return try forkWithOpenStore()
        case "limit-memory": setLimit(Int32(RLIMIT_AS.rawValue), addressSpace() + 24 << 20)
        case "limit-file":
            signal(SIGXFSZ, SIG_IGN)
        case "make-without-space":
            signal(SIGXFSZ, SIG_IGN)
            setLimit(Int32(RLIMIT_FSIZE.rawValue), 4_096)
        default: break
        }
        var options = try TestStore.options(path)
        if command == "seal" { options.encryptionKey = TestStore.key }
        let store = try PageStore.open(options)
        switch command {
        case "hold":
            let lock = try store.lockForWriting(timeoutMilliseconds: 10_000)
            report("locked")
            pause()
            lock.release()
        case "count":
            report("ready")
            pause()
            for _ in 0 ..< 50 { try increment(store) }
        case "commit-and-die":
            try increment(store)
            let lock = try store.lockForWriting(timeoutMilliseconds: 10_000)
            report("locked")
            withExtendedLifetime(lock) { pause() }
        case "observe":
            let slot = try store.claimObserverSlot(at: Version(3))
            let snapshot = try store.snapshot()
            report("observing")
            withExtendedLifetime((slot, snapshot)) { pause() }
        case "limit-memory":
            let snapshot = try store.snapshot()
            var bytes = 0
            for index in UInt8(0) ..< 64 {
                bytes += try snapshot.get([5, index])?.bytes.filter { $0 == index }.count ?? 0
                snapshot.hold?.renew()
            }
            report("read \(bytes)")
        case "limit-file":
            setLimit(Int32(RLIMIT_FSIZE.rawValue), 256 << 10)
            var batch = PageBatch()
            batch.put([9], [UInt8](repeating: 1, count: 2 << 20))
            do {
                try store.commitNext(batch)
                report("committed")
            } catch let error as DatabaseError {
                report("refused \(error.code) at \(try store.snapshot().version.rawValue)")
            }
            try increment(store)
            report("at \(try store.snapshot().version.rawValue)")
        case "fill-and-empty":
            var batch = PageBatch()
            for number in 0 ..< 200 { batch.put([9, UInt8(number)], [UInt8](repeating: 1, count: 40_000)) }
            try store.commitNext(batch)
            batch = PageBatch()
            for number in 0 ..< 200 { batch.delete([9, UInt8(number)]) }
            try store.commitNext(batch)
        case "empty":
            var batch = PageBatch()
            for number in 0 ..< 200 { batch.delete([9, UInt8(number)]) }
            try store.commitNext(batch)
            for number in 0 ..< 4 { try store.commitNext([("b", [UInt8(number)])]) }
        case "memory":
            var batch = PageBatch()
            let value = [UInt8](repeating: 1, count: 16_000)
            for number in 0 ..< 4_000 { batch.put([9, UInt8(number >> 8), UInt8(number & 255)], value) }
            try store.commitNext(batch)
            batch = PageBatch()
            report("\(residentKilobytes())")
            let isRight = try isEach(value, of: 4_000, in: store)
            report(isRight ? "\(residentKilobytes())" : "another value")
            for number in 0 ..< 4_000 { batch.delete([9, UInt8(number >> 8), UInt8(number & 255)]) }
            try store.commitNext(batch)
            for _ in 0 ..< 3 { try increment(store) }
            report("\(residentKilobytes())")
        default: report("unknown command")
        }
        report("done")
    }

    /// In a process of few threads: what another thread holds of the Swift runtime at a fork, the child waits for.
    private func forkWithOpenStore() throws {
        let name = try #require(getenv("MOTTE_PAGES_FORM"))
        let form = try #require(StoreForm(rawValue: String(cString: name)))
        let test = try TestStore(form)
        try test.commit([("a", [1])])
        let snapshot = try test.store.snapshot()
        let cursor = try snapshot.makeCursor()
        _ = try cursor.seek([])
        // Swift hides fork; the child only asks and leaves.
        let address = try #require(dlsym(nil, "fork"))
        let fork = unsafeBitCast(address, to: (@convention(c) () -> pid_t).self)

        // Here, too, so that the child finds everything made that asking needs.
        report("parent \(refusals(of: test.store, snapshot, plain: false))")
        let child = fork()
        if child == 0 {
            let answers = refusals(of: test.store, snapshot, plain: form == .memory)
            test.store.close()
            _exit(answers)
        }
        var status: Int32 = 0
        waitpid(child, &status, 0)
        report(status & 0x7F == 0 ? "child \((status >> 8) & 0xFF)" : "child died of signal \(status & 0x7F)")
        report(try snapshot.value("a").map { "\($0[0])" } ?? "nothing")
        try test.commit([("b", [2])])
        report("done")
    }

    /// A bit for a new snapshot, for the write lock, and for reading the snapshot there was; plain memory may be read.
    private func refusals(of store: PageStore, _ snapshot: PageSnapshot, plain: Bool) -> Int32 {
        var answers: Int32 = 0
        do throws(DatabaseError) { _ = try store.snapshot() } catch {
            if error.code == .forked { answers |= 1 }
        }
        do throws(DatabaseError) { try store.lockForWriting(timeoutMilliseconds: 0).release() } catch {
            if error.code == .forked { answers |= 2 }
        }
        do throws(DatabaseError) {
            _ = try snapshot.get([1])
            if plain { answers |= 4 }
        } catch {
            if error.code == .forked { answers |= 4 }
        }
        return answers
    }

    private func increment(_ store: PageStore) throws {
        let lock = try store.lockForWriting(timeoutMilliseconds: 20_000)
        defer { lock.release() }
        let snapshot = try store.snapshot()
        let count = try snapshot.value("count").map { Int(String(decoding: $0, as: UTF8.self)) ?? -1 } ?? 0
        var batch = PageBatch()
        batch.put(Array("count".utf8), Array("\(count + 1)".utf8))
        try store.commit(batch, lock: lock, version: Version(snapshot.version.rawValue + 1))
    }

    private func isEach(_ value: [UInt8], of count: Int, in store: PageStore) throws -> Bool {
        let snapshot = try store.snapshot()
        return try (0 ..< count).allSatisfy { number in
            try snapshot.get([9, UInt8(number >> 8), UInt8(number & 255)]).map { [UInt8]($0.bytes) } == value
        }
    }

    /// Of memory that is no file's.
    private func residentKilobytes() -> Int {
        guard let file = fopen("/proc/self/status", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, 256, file) != nil {
            let text = line.withUnsafeBytes { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            guard text.hasPrefix("RssAnon:") else { continue }
            return Int(text.filter(\.isNumber)) ?? 0
        }
        return 0
    }

    /// Bytes that this process has now.
    private func addressSpace() -> UInt {
        var text = [UInt8](repeating: 0, count: 64)
        let file = Glibc.open("/proc/self/statm", O_RDONLY)
        defer { close(file) }
        let count = read(file, &text, text.count)
        let pages = text.prefix(max(0, count)).prefix { $0 != UInt8(ascii: " ") }
        return (UInt(String(decoding: pages, as: UTF8.self)) ?? 0) * UInt(sysconf(Int32(_SC_PAGESIZE)))
    }

    private func setLimit(_ resource: Int32, _ bytes: UInt) {
        var limit = rlimit(rlim_cur: bytes, rlim_max: bytes)
        setrlimit(__rlimit_resource_t(UInt32(resource)), &limit)
    }

    private func report(_ line: String) { _ = write(3, line + "\n", line.utf8.count + 1) }

    private func pause() {
        var byte: UInt8 = 0
        _ = read(4, &byte, 1)
    }
}
