import Foundation
import GRDB
import LFS
import LFSStorage
import TestSupport

/// An app with a database in a folder and a manager on a storage.
struct ReadingHost: Sendable {
    let folder: URL
    let database: DatabasePool
    let lfs: LFSManager

    /// Opens the database of a folder, runs the body, and closes everything.
    static func with(
        _ folder: URL, storage: any RemoteStorage, _ body: (ReadingHost) async throws -> Void
    ) async throws {
        let database = try DatabasePool(path: folder.child("app.sqlite").path)
        var migrator = DatabaseMigrator()
        migrator.registerLFSMigrations()
        try migrator.migrate(database)
        var options = LFSOptions(storage: storage)
        options.backoff = Backoff(base: .milliseconds(1), cap: .milliseconds(20))
        let lfs = try await LFSManager.open(database, options: options)
        do {
            try lfs.start()
            try await body(ReadingHost(folder: folder, database: database, lfs: lfs))
        } catch {
            try await lfs.stop()
            try database.close()
            throw error
        }
        try await lfs.stop()
        try database.close()
    }

    /// Makes files that are on the storage without local copies.
    func remoteFiles(_ contents: [[UInt8]]) async throws -> [FileData] {
        let files = try await keptFiles(contents)
        for file in files { try await lfs.evict(file.id) }
        return files
    }

    /// Makes files that are on the storage and have local copies.
    func keptFiles(_ contents: [[UInt8]]) async throws -> [FileData] {
        var files: [FileData] = []
        for bytes in contents { files.append(try await lfs.makeFile(from: .bytes(bytes))) }
        let made = files
        try await database.write { db in for file in made { try file.insert(db) } }
        try await lfs.waitForUploads()
        return files
    }

    func read(_ file: FileData) async throws -> [UInt8] {
        guard let contents = try await lfs.contents(of: file) else { return [] }
        var bytes: [UInt8] = []
        for try await chunk in contents { bytes += chunk }
        return bytes
    }

    /// The remains of unfinished downloads.
    var unfinished: [String] {
        get throws { try names(in: folder.child("app.sqlite.lfs/incoming")) }
    }

    var kept: [FileID] {
        get throws { try names(in: folder.child("app.sqlite.lfs")).compactMap { FileID($0) } }
    }
}
