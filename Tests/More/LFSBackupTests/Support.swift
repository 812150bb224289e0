import Foundation
import GRDB
import LFS
import LFSBackup
import LFSDatabase
import LFSSettings
import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// An app with a table of photos, a storage, and folders to back up.
struct PhotoApp: Sendable {
    let folder: URL
    let database: DatabasePool
    let storage: CountingStorage
    let lfs: LFSManager

    var pictures: URL { folder.appendingPathComponent("pictures") }

    /// Inserts a photo for each original, or gives the existing photo its new file.
    var host: BackupHost {
        BackupHost(
            records: { assets, db in
                var found: [AssetName: BackupHost.Record] = [:]
                for asset in assets {
                    let sql = "SELECT fileId FROM photo WHERE path = ?"
                    if let id = try FileData.ID.fetchOne(db, sql: sql, arguments: [asset.id.text]) {
                        found[asset.id] = .present(id)
                    }
                }
                return found
            },
            insert: { attachment, db in try insert(attachment, db) })
    }

    func insert(_ attachment: BackupAttachment, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO photo (path, fileId) VALUES (?1, ?2)
                ON CONFLICT (path) DO UPDATE SET fileId = excluded.fileId
                """,
            arguments: [attachment.asset.id.text, attachment.file.id])
    }

    // MARK: Files

    @discardableResult
    func write(_ name: String, bytes: [UInt8]) throws -> URL {
        let url = pictures.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: url)
        return url
    }

    /// Overwrites a file in place and restores its modification time.
    func overwriteInSecret(_ name: String, bytes: [UInt8]) throws {
        let path = pictures.appendingPathComponent(name).path
        var status = stat()
        #expect(stat(path, &status) == 0 && Int(status.st_size) == bytes.count)
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try handle.write(contentsOf: bytes)
        #if canImport(Darwin)
        var times = [status.st_atimespec, status.st_mtimespec]
        #else
        var times = [status.st_atim, status.st_mtim]
        #endif
        #expect(futimens(handle.fileDescriptor, &times) == 0)
        try handle.close()
    }

    // MARK: Backing up

    /// - Parameter groups: paths below the pictures, or nil for all of them.
    @discardableResult
    func backUp(
        _ groups: [BackupGroup]? = nil, options: BackupOptions = BackupOptions(),
        onEvent: @escaping @Sendable (BackupEvent) -> Void = { _ in }
    ) async throws -> BackupReport {
        let groups = groups ?? [BackupGroup(".", mode: .include)]
        let source = FolderSource(groups, from: pictures.path)
        return try await Backup(lfs, database: database, source: source, groups: groups, host: host, options: options)
            .run(onEvent: onEvent)
    }

    // MARK: Contents

    func run(_ sql: String, arguments: StatementArguments = []) async throws {
        try await database.write { db in try db.execute(sql: sql, arguments: arguments) }
    }

    /// The paths of the photos below the pictures.
    func names() async throws -> Set<String> {
        let length = pictures.path.utf8.count + 1
        return try await database.read { db in
            Set(try String.fetchAll(db, sql: "SELECT path FROM photo").map { String($0.utf8.dropFirst(length))! })
        }
    }

    func file(_ name: String) async throws -> FileData? {
        let path = pictures.appendingPathComponent(name).path
        return try await database.read { db in
            try FileData.fetchOne(
                db, sql: "SELECT f.* FROM lfs_file f JOIN photo p ON p.fileId = f.id WHERE p.path = ?",
                arguments: [path])
        }
    }

    func bytes(_ name: String) async throws -> [UInt8]? {
        guard let file = try await file(name), let contents = try await lfs.contents(of: file) else { return nil }
        var bytes: [UInt8] = []
        for try await chunk in contents { bytes += chunk }
        return bytes
    }

    func count(_ sql: String) async throws -> Int {
        try await database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(sql)") ?? -1 }
    }
}

/// Runs a test with an app in a temporary folder, then stops its manager and removes the folder.
func withPhotoApp(
    starts: Bool = true, configure: (inout LFSOptions) -> Void = { _ in }, _ body: (PhotoApp) async throws -> Void
) async throws {
    // The current folder of a process has no links in its path, and the tests compare paths.
    let parent = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
    let folder = parent.appendingPathComponent("lfs-test-\(UUID())")
    try FileManager.default.createDirectory(
        at: folder.appendingPathComponent("pictures"), withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    var configuration = Configuration()
    configuration.busyMode = .timeout(600)
    let database = try DatabasePool(
        path: folder.appendingPathComponent("photos.sqlite").path, configuration: configuration)
    var migrator = DatabaseMigrator()
    migrator.registerLFSMigrations()
    migrator.registerLFSSettingsMigrations()
    migrator.registerMigration("photos") { db in
        try db.execute(
            sql: """
                CREATE TABLE photo (
                    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, fileId TEXT NOT NULL REFERENCES lfs_file
                )
                """)
        try FileData.deletedWithOwner("photo", column: "fileId", in: db)
    }
    try migrator.migrate(database)
    let storage = CountingStorage()
    var options = LFSOptions(storage: storage)
    options.backoff = Backoff(base: .milliseconds(1), cap: .milliseconds(20))
    options.pollInterval = .milliseconds(20)
    configure(&options)
    let lfs = try await LFSManager.open(database, options: options)
    do {
        if starts { try lfs.start() }
        try await body(PhotoApp(folder: folder, database: database, storage: storage, lfs: lfs))
    } catch {
        try await lfs.stop()
        throw error
    }
    try await lfs.stop()
    try database.close()
}

/// An in-memory storage that counts uploads. The mutex owns the count.
final class CountingStorage: StorageWrapper {
    let memory = InMemoryStorage()
    var base: any RemoteStorage { memory }
    private let count = Mutex(0)
    var uploads: Int { count.withLock { $0 } }

    func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        count.withLock { $0 += 1 }
        return try await memory.upload(source, to: key, session: session)
    }
}

/// The reported values, in order. The mutex owns them.
final class Heard<Value: Sendable>: Sendable {
    private let list = Mutex<[Value]>([])
    var values: [Value] { list.withLock { $0 } }
    func add(_ value: Value) { list.withLock { $0.append(value) } }
}

func someBytes(_ count: Int = 1_000) -> [UInt8] { SampleBytes.make(count, seed: .random(in: 0 ... .max)) }

/// Returns the backup error that the body throws, or nil for another error or none.
func backupError(_ body: () async throws -> BackupReport) async -> BackupError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? BackupError
    }
}
