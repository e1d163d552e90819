/// Where a database's streams are: `nats://HOST:PORT/NAME`, also with a user and a password, or `tls://`, and with
/// further servers that share their streams behind commas: `nats://ADA:SECRET@one:4222,two:4222,three:4222/people`.
/// `%` and two digits stand for a byte in both, as in any address.
import MotteValues

package struct NatsPlace: Equatable, Sendable {
    /// As libnats takes them, without a login.
    package let servers: [String]
    /// One is that of all servers; without a password it is a token.
    package let user: String?
    package let password: String?
    /// Of the database among those that the servers have.
    package let name: String
    package let needsTLS: Bool
    /// For messages and for what is kept: without passwords.
    package let text: String

    package static func isOne(_ place: String) -> Bool {
        place.beginsWithBytes(of: "nats://") || place.beginsWithBytes(of: "tls://")
    }

    package init(_ place: String) throws(DatabaseError) {
        guard let scheme = ["nats://", "tls://"].first(where: { place.beginsWithBytes(of: $0) }) else {
            throw Self.malformed(place, "it begins with nats:// or tls://")
        }
        needsTLS = scheme == "tls://"
        // By scalars: a mark that combines with a sign of the address belongs to the name or password behind it.
        let rest = place.unicodeScalars.dropFirst(scheme.unicodeScalars.count)
        // names: ASCII
        guard let slash = rest.lastIndex(of: "/") else {
            throw Self.malformed(place, "behind the server comes the name of the database")
        }
        name = String(rest[rest.index(after: slash)...])
        guard !name.isEmpty, name.utf8.count <= 100, name.utf8.allSatisfy(Self.isAllowed) else {
            throw Self.malformed(place, "the name of the database has letters, digits, - and _ alone")
        }
        var servers: [String] = []
        var shown: [String] = []
        var login: Substring.UnicodeScalarView?
        for server in rest[..<slash].split(separator: ",", omittingEmptySubsequences: false) {
            let at = server.lastIndex(of: "@")
            let host = at.map { server[server.index(after: $0)...] } ?? server
            if let at { login = server[..<at] }
            guard !host.isEmpty else { throw Self.malformed(place, "there is no server between :// and the name") }
            servers.append(scheme + String(host))
            shown.append(String(host))
        }
        guard !servers.isEmpty else { throw Self.malformed(place, "there is no server between :// and the name") }
        self.servers = servers
        let parts = login?.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false) ?? []
        (user, password) = (parts.first.map(Self.decoded), parts.count > 1 ? Self.decoded(parts[1]) : nil)
        text = scheme + shown.joined(separator: ",") + "/" + name
    }

    /// What is no byte of two digits stays as it is.
    private static func decoded(_ text: Substring.UnicodeScalarView) -> String {
        var bytes: [UInt8] = []
        var rest = Substring(text).utf8[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            guard byte == UInt8(ascii: "%"), digits.count == 2, digits.allSatisfy(Self.isHexDigit),
                let decoded = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            else {
                bytes.append(byte)
                continue
            }
            bytes.append(decoded)
            rest = rest.dropFirst(2)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0") ... UInt8(ascii: "9"), UInt8(ascii: "a") ... UInt8(ascii: "f"),
            UInt8(ascii: "A") ... UInt8(ascii: "F"):
            true
        default: false
        }
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a") ... UInt8(ascii: "z"), UInt8(ascii: "A") ... UInt8(ascii: "Z"),
            UInt8(ascii: "0") ... UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func malformed(_ place: String, _ why: String) -> DatabaseError {
        // It may have a password.
        let shown = place.lastIndex(of: "@").map { "...@" + place[place.index(after: $0)...] } ?? place
        return DatabaseError(
            .invalidArgument, "'\(shown)' is no place like nats://HOST:4222/NAME: \(why)")
    }
}

/// How to get in.
package struct NatsOptions: Equatable, Sendable {
    /// File with a token and a seed, as `nsc` writes it.
    package var credentials: String?
    /// File with certificates of those who vouch for servers.
    package var authorities: String?
    /// Certificate of the client, and its key.
    package var certificate: String?
    package var key: String?
    /// On how many servers each message is; nil: on three where so many are named, else on one.
    package var replicas: Int?
    package var timeoutMilliseconds: Int64 = 2_000

    package init() {}
}
