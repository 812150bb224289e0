import CPostgres
import LFSSyncServer

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The address of a database in the form of libpq: `postgres://user@host/database?sslmode=verify-full`.
///
/// The address must not contain a password, because process lists and logs show it.
struct PostgresURL: Sendable {
    /// The use of the database's sessions by the connections to the URL.
    enum Pooling {
        /// Each connection is a session. Connections through a pooler are refused.
        case none
        /// Each connection is a session, also through a pooler.
        case bySession
        /// A connection pooler may run each transaction of a connection in another session.
        case byTransaction
    }

    let text: String
    let pooling: Pooling

    /// - Throws: `SQLFailure` if the URL is invalid or has a password, or if it refers to another machine and no
    ///   `sslmode` is set.
    init(_ text: String, pooling: Pooling = .none) throws {
        guard ["postgres://", "postgresql://"].contains(where: text.hasPrefix) else {
            throw SQLFailure(
                .unusable, message: "The URL of a PostgreSQL database has the form postgres://user@host/database.")
        }
        var words: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(text, &words) else {
            // The message of libpq repeats parts of the URL.
            PQfreemem(words)
            throw SQLFailure(
                .unusable,
                message: "The URL of the database cannot be read, or has an option that libpq does not know.")
        }
        defer { PQconninfoFree(options) }
        let values = Self.values(options)
        guard values["password"] == nil, values["sslpassword"] == nil else {
            throw SQLFailure(
                .unusable,
                message:
                    "The URL of the database has a password, which others can see there. Put it into the environment "
                    + "as PGPASSWORD, or into the file that PGPASSFILE names (~/.pgpass).")
        }
        try Self.requireChoice(values)
        self.text = text
        self.pooling = pooling
    }

    /// Requires that the operator sets `sslmode` for a database on another machine. By default, libpq encrypts only if
    /// the server offers TLS, and does not verify certificates. An attacker on the network could then read all data.
    ///
    /// - Throws: `SQLFailure` if the database is on another machine and no `sslmode` is set.
    private static func requireChoice(_ values: [String: String]) throws {
        var defaults: [String: String] = [:]
        if let options = PQconndefaults() {
            defaults = Self.values(options)
            PQconninfoFree(options)
        }
        // The default value of libpq does not count as a setting.
        let isChosen = values["sslmode"] != nil || getenv("PGSSLMODE").map { $0.pointee != 0 } == true
        func value(_ key: String) -> String? { values[key] ?? defaults[key] }
        let isService = values["service"] != nil && value("host") == nil
        let hosts = (value("hostaddr") ?? value("host") ?? "").split(separator: ",").map(String.init)
        guard isChosen || (!isService && hosts.allSatisfy(isLocal)) else {
            throw SQLFailure(
                .unusable,
                message: "The database is on another machine, and no sslmode is set. Add "
                    + "?sslmode=verify-full to the URL, with sslrootcert if you have your own certificate authority. "
                    + "Use another sslmode only if the network is safe.")
        }
    }

    /// Returns true for the folder or name of a Unix socket, and for the loopback addresses of this machine.
    private static func isLocal(_ host: String) -> Bool {
        host.hasPrefix("/") || host.hasPrefix("@") || ["localhost", "::1"].contains(host.lowercased())
            || (host.hasPrefix("127.") && host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (48...57).contains($0) })
    }

    private static func values(_ options: UnsafeMutablePointer<PQconninfoOption>) -> [String: String] {
        var values: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val, value.pointee != 0 {
                values[String(cString: keyword)] = String(cString: value)
            }
            option += 1
        }
        return values
    }
}
