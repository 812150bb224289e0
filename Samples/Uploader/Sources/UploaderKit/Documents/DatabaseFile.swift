import Foundation
import GRDB

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A file that was given as the database, examined without a write.
struct DatabaseFile: Sendable {
    enum Owner: Sendable {
        /// The file is missing or empty.
        case nobody
        case uploader
        /// An app, with or without LFS in its database.
        case another(hasLFS: Bool)
    }

    /// Returns an argument as a path. SQLite interprets a text that starts with `file:` as a URI, and `:memory:` as an
    /// in-memory database.
    static func path(of argument: String) -> String {
        argument.hasPrefix("file:") || argument.hasPrefix(":") ? "./" + argument : argument
    }

    let path: String
    let owner: Owner
    /// The storage with its files, as an earlier run recorded it. See ``StorageMemory``.
    let storage: String?
    /// The storage as a later command line may give it, even before it has files. Nil if no storage is
    /// recorded.
    let remembered: String?

    /// - Throws: ``UploaderError`` if the file cannot be read, or was written by a newer version.
    init(at path: String) throws {
        self.path = path
        guard FileManager.default.fileExists(atPath: path) else {
            owner = .nobody
            storage = nil
            remembered = nil
            return
        }
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue {
            throw UploaderError("\(path) is a folder. Give --database the path of a file.")
        }
        do {
            let database = try DocumentDatabase.connection(toRead: path)
            (owner, storage, remembered) = try database.read { db in
                if try DocumentSchema.isNewer(db) { throw Self.isNewer(path) }
                return (
                    try Self.owner(db), try StorageMemory.bindingLocation(db), try StorageMemory.argument(db)
                )
            }
            try database.close()
        } catch {
            throw DocumentDatabase.explained(error, path: path)
        }
    }

    var isOurs: Bool { if case .uploader = owner { true } else { false } }
    /// True if no program has made tables in the file, or if it does not exist.
    var isNew: Bool { if case .nobody = owner { true } else { false } }

    private static func owner(_ db: Database) throws -> Owner {
        if try db.tableExists(DocumentSchema.ownTable) { return .uploader }
        let sql = "SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND name <> 'grdb_migrations'"
        if try Row.fetchOne(db, sql: sql) == nil { return .nobody }
        return .another(hasLFS: try db.tableExists("lfs_file") && db.tableExists("lfs_state"))
    }

    private static func isNewer(_ path: String) -> UploaderError {
        UploaderError(
            """
            \(path) was written by a newer version: it has migrations that this uploader does not know. \
            Update uploader.
            """
        )
    }

    // MARK: Requirements of commands

    func requireThere() throws {
        guard FileManager.default.fileExists(atPath: path) else {
            throw UploaderError("There is no database at \(path). Run 'push' first, or check --database.")
        }
    }

    /// Requires that the database does not belong to another program. Commands call it before they write records.
    func requireOurs() throws {
        guard case .another = owner else { return }
        throw UploaderError(
            """
            \(path) is the database of another program, and nothing was written to it. Give --database another \
            path, where 'push' creates a database. 'status', 'list', 'verify', 'pull' and 'free' work on any database \
            that uses LFS.
            """
        )
    }

    /// Requires that the database has the tables of LFS. Commands call it before they read them.
    func requireFiles() throws {
        switch owner {
        case .uploader, .another(hasLFS: true): return
        case .nobody, .another: break
        }
        throw UploaderError(
            "\(path) has no files of LFS in it. Check --database. 'push' creates a database at a new path.")
    }
}
