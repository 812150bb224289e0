import CPostgres
import LFSSyncServer

/// Where a database is, in the words of libpq: `postgres://user@host/database?sslmode=verify-full`.
///
/// It never holds a password, for it is seen in lists of processes and in logs.
struct PostgresURL: Sendable {
    let text: String

    /// - Throws: `SQLFailure` for a text that is no URL, and for one with a password.
    init(_ text: String) throws {
        guard ["postgres://", "postgresql://"].contains(where: text.hasPrefix) else {
            throw SQLFailure(.unusable, "A database of PostgreSQL is written as postgres://user@host/database.")
        }
        var words: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(text, &words) else {
            // libpq's own words repeat parts of the URL.
            PQfreemem(words)
            throw SQLFailure(.unusable, "The URL of the database cannot be read, or has an option that libpq lacks.")
        }
        defer { PQconninfoFree(options) }
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val, value.pointee != 0,
                ["password", "sslpassword"].contains(String(cString: keyword))
            {
                throw SQLFailure(
                    .unusable,
                    "The URL of the database has a password, which others can see there. Put it into the environment "
                        + "as PGPASSWORD, or into the file that PGPASSFILE names (~/.pgpass).")
            }
            option += 1
        }
        self.text = text
    }
}
