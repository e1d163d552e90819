/// Where programs that write to a file have their commits acknowledged before they make them: a Unix socket of the
/// process that ships. A hook before commits sends the batch there and waits for the answer. So programs need no client
/// of a server, and one process alone adds to the log, in the order of the write lock.
///
///     request: u64 how many bytes, the batch
///     answer:  u32 0 or the error's number without its sign, u32 how many bytes, the error's message
///
/// Numbers are little-endian. A connection is used for any number of commits, one after the other.
import CMotteShim
import MotteStorage
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package final class AcknowledgeSocket {
    private struct Client {
        var descriptor: Int32
        var received: [UInt8] = []
    }

    private let path: String
    private let listening: Int32
    /// Of the name, as it was made.
    private var identity: (UInt64, UInt64)?
    private var clients: [Client] = []
    /// Of requests that are not complete.
    private var receivedBytes = 0
    private static let headerSize = 8
    /// Of all clients: who asks holds the write lock, so that one alone sends at a time.
    private static let largestBatch: UInt64 = 1 << 30
    private static let blockSize = 1 << 16

    /// One that nobody listens to any more is replaced.
    package init(_ path: String) throws(DatabaseError) {
        self.path = path
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array(path.utf8)
        guard !name.isEmpty, name.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw DatabaseError(.invalidArgument, "the name of a socket has 1 to 107 bytes, and '\(path)' has not")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        listening = motte_shim_open_own_socket(AF_UNIX, Self.kind)
        guard listening >= 0 else { throw LogFolder.error("make the socket", path) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        func bound() -> Bool {
            withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listening, $0, size) == 0 }
            }
        }
        if !bound() {
            guard errno == EADDRINUSE, !Self.isHeard(&address) else {
                let error = LogFolder.error("make the socket", path)
                motte_shim_close_own(listening)
                throw error
            }
            unlink(path)
            guard bound() else {
                let error = LogFolder.error("make the socket", path)
                motte_shim_close_own(listening)
                throw error
            }
        }
        identity = Self.identity(of: path)
        guard chmod(path, 0o600) == 0, listen(listening, 16) == 0 else {
            let error = LogFolder.error("listen on the socket", path)
            motte_shim_close_own(listening)
            throw error
        }
    }

    deinit {
        for client in clients { motte_shim_close_own(client.descriptor) }
        motte_shim_close_own(listening)
        // Another process may have the name by now.
        if let identity, let now = Self.identity(of: path), now == identity { unlink(path) }
    }

    private static func identity(of path: String) -> (UInt64, UInt64)? {
        var facts = stat()
        return lstat(path, &facts) == 0 ? (UInt64(facts.st_dev), UInt64(facts.st_ino)) : nil
    }

    private static let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue)

    private static func isHeard(_ address: inout sockaddr_un) -> Bool {
        let descriptor = motte_shim_open_own_socket(AF_UNIX, kind)
        guard descriptor >= 0 else { return true }
        defer { motte_shim_close_own(descriptor) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let number = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) == 0 ? 0 : errno }
        }
        return number != ECONNREFUSED
    }

    /// Answers who asks, and returns when nobody has for that time.
    package func serve(
        milliseconds: Int32, _ acknowledge: (ChangeBatch) throws(DatabaseError) -> Void
    ) {
        while true {
            var waiting = [pollfd(fd: listening, events: Int16(POLLIN), revents: 0)]
            waiting += clients.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            let count = poll(&waiting, nfds_t(waiting.count), milliseconds)
            guard count > 0 else { return }
            for index in clients.indices.reversed() where waiting[index + 1].revents != 0 {
                guard !serve(&clients[index], acknowledge) else { continue }
                let ended = clients.remove(at: index)
                receivedBytes -= ended.received.count
                motte_shim_close_own(ended.descriptor)
            }
            if waiting[0].revents != 0 {
                let descriptor = motte_shim_accept_own(listening)
                guard descriptor >= 0 else { return }
                clients.append(Client(descriptor: descriptor))
            }
            // Others, who do not ask, are not to wait for ever either.
            if count == 1, waiting[0].revents == 0 { return }
        }
    }

    /// False where the connection is at its end.
    private func serve(
        _ client: inout Client, _ acknowledge: (ChangeBatch) throws(DatabaseError) -> Void
    ) -> Bool {
        var block = [UInt8](repeating: 0, count: Self.blockSize)
        let count = recv(client.descriptor, &block, block.count, Int32(truncatingIfNeeded: Int(MSG_DONTWAIT)))
        if count < 0 { return errno == EAGAIN || errno == EINTR }
        guard count > 0 else { return false }
        client.received.append(contentsOf: block[..<count])
        receivedBytes += count
        guard client.received.count >= Self.headerSize else { return true }
        let size: UInt64 = client.received.le(0)
        guard size <= Self.largestBatch, receivedBytes <= Int(Self.largestBatch) + Self.blockSize else { return false }
        guard client.received.count >= Self.headerSize + Int(size) else { return true }
        guard client.received.count == Self.headerSize + Int(size) else { return false }
        let bytes = Array(client.received[Self.headerSize...])
        receivedBytes -= client.received.count
        client.received.removeAll(keepingCapacity: size < Self.blockSize)
        do throws(DatabaseError) {
            try acknowledge(try ChangeBatch(bytes))
            return answer(client.descriptor, 0, "")
        } catch {
            return answer(client.descriptor, UInt32(bitPattern: -error.code.rawValue), error.message)
        }
    }

    private func answer(_ descriptor: Int32, _ code: UInt32, _ message: String) -> Bool {
        var bytes: [UInt8] = []
        let text = Array(message.utf8)
        bytes.append(le: code)
        bytes.append(le: UInt32(text.count))
        bytes += text
        return send(descriptor, bytes, bytes.count, Int32(truncatingIfNeeded: Int(MSG_NOSIGNAL))) == bytes.count
    }
}
