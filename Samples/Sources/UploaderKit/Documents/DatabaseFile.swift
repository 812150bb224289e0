import Foundation
import GRDB

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// What a file that is given as database is, seen without writing to it.
struct DatabaseFile: Sendable {
    enum Owner: Sendable {
        /// There is no file, or nothing is in it.
        case nobody
        case uploader
        /// An app, with LFS in its database or without.
        case another(hasLFS: Bool)
    }

    /// Returns an argument as a path. SQLite takes a text that begins with `file:` for a URI, and `:memory:` for no
    /// file at all.
    static func path(of argument: String) -> String {
        argument.hasPrefix("file:") || argument.hasPrefix(":") ? "./" + argument : argument
    }

    let path: String
    let owner: Owner
    /// The storage that its files are on, as a run before wrote it down: see ``StorageMemory``.
    let storage: String?
    /// The storage as a later command line may have it, also while nothing is on it; nil when none is remembered.
    let remembered: String?

    /// - Throws: ``UploaderError`` when it cannot be read, or was written by a newer version.
    init(at path: String) throws {
        self.path = path
        guard FileManager.default.fileExists(atPath: path) else {
            (owner, storage, remembered) = (.nobody, nil, nil)
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
            throw DocumentDatabase.explained(error, path)
        }
    }

    var isOurs: Bool { if case .uploader = owner { true } else { false } }

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

    // MARK: What a command needs of it

    func requireThere() throws {
        guard FileManager.default.fileExists(atPath: path) else {
            throw UploaderError("There is no database at \(path). Run 'push' first, or check --database.")
        }
    }

    /// For commands that write records of the uploader.
    func requireOurs() throws {
        guard case .another = owner else { return }
        throw UploaderError(
            """
            \(path) is the database of another program, and nothing was written to it. Give --database a path of its \
            own; 'push' makes it there. 'status', 'list', 'verify', 'pull' and 'free' serve any database that has LFS \
            in it.
            """
        )
    }

    /// For commands that read what LFS keeps.
    func requireFiles() throws {
        switch owner {
        case .uploader, .another(hasLFS: true): return
        case .nobody, .another: break
        }
        throw UploaderError(
            "\(path) has no files of LFS in it. Check --database; 'push' into a path of its own makes a database.")
    }
}
