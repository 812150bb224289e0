import Foundation
import GRDB
import LFS
import LFSBackground
import LFSSettings
import LFSSignedURL
import LFSStorage
import LFSSync

extension StorageKey<String> {
    /// The address of `lfs-server`, such as `https://photos.example`.
    static var server: Self { .init("account.server") }
    /// The token of this device, in the Keychain.
    static var token: Self { .init("account.token", domain: .keychain()) }
}

/// The database, the manager of the files, and the sync with other devices.
///
/// Without an account the files are stored in a folder of the app, and nothing is synced.
@MainActor
final class NoteLibrary {
    let database: DatabasePool
    let lfs: LFSManager
    let settings: StorageRouter
    private let sync: SyncClient?
    private let background: BackgroundUploads?

    /// Opens the library and starts its work.
    static func open(in folder: URL, session: some BackgroundSession) async throws -> NoteLibrary {
        let database = try DatabasePool(path: folder.appending(path: "notes.sqlite").path)
        try PhotoNote.migrate(database)
        let catalog = StorageCatalog("notes") {
            StorageKey<String>.server
            StorageKey<String>.token
        }
        let settings = try await StorageRouter.open(
            database, catalogs: [catalog], options: StorageOptions(keychain: .keychain()))
        guard let server = try await settings.getIfPresent(.server).flatMap({ URL(string: $0) }) else {
            let storage = try DirectoryStorage(at: folder.appending(path: "remote"))
            let lfs = try await open(database, storage: storage)
            return NoteLibrary(database, lfs: lfs, settings: settings, sync: nil, background: nil)
        }
        // The token is read for each request, so that another login applies without a restart.
        let token: @Sendable () async throws -> String = { try await settings.get(.token) }
        let storage = try SignedURLStorage(
            server: server.appending(path: "lfs"), authorization: .bearer { _ in try await token() })
        let lfs = try await open(database, storage: storage)
        let sync = try await SyncClient.open(database, options: SyncOptions(server: server, token: token))
        let background = try BackgroundUploads(lfs, session: session)
        return NoteLibrary(database, lfs: lfs, settings: settings, sync: sync, background: background)
    }

    private static func open(_ database: DatabasePool, storage: some RemoteStorage) async throws -> LFSManager {
        let lfs = try await LFSManager.open(database, options: LFSOptions(storage: storage))
        try lfs.start()
        return lfs
    }

    private init(
        _ database: DatabasePool, lfs: LFSManager, settings: StorageRouter, sync: SyncClient?,
        background: BackgroundUploads?
    ) {
        self.database = database
        self.lfs = lfs
        self.settings = settings
        self.sync = sync
        self.background = background
    }

    /// Syncs and receives the events of background uploads until the task is cancelled.
    func run() async throws {
        let (sync, background) = (sync, background)
        try await withThrowingTaskGroup(of: Void.self) { group in
            if let sync { group.addTask { try await sync.run() } }
            if let background { group.addTask { await background.run() } }
            try await group.waitForAll()
        }
    }

    // MARK: Notes

    /// Adds a note. The bytes are on the disk before the row is inserted, and the commit queues the upload.
    func add(_ text: String, photo: Data) async throws {
        let database = database
        let source = FileSource.bytes(photo).named("photo.jpg", contentType: "image/jpeg")
        try await lfs.withFile(from: source) { file in
            try await database.write { db in
                try file.insert(db)
                try PhotoNote(text: text, fileID: file.id).insert(db)
            }
        }
    }

    func delete(_ entries: [PhotoEntry]) async throws {
        let ids = entries.map(\.id)
        _ = try await database.write { db in try PhotoNote.deleteAll(db, keys: ids) }
    }

    /// Downloads the files of all notes, and keeps them on this device, so that they can be read offline.
    func keepOffline() async throws {
        let files = FileData.joining(required: FileData.hasOne(PhotoNote.self, using: ForeignKey(["fileID"])))
        _ = try await lfs.pin(files)
        try await lfs.prefetch(files)
    }

    /// Sends the account's address and token to the settings. They apply at the next start of the app.
    func logIn(server: String, token: String) async throws {
        try await settings.set(token, for: .token)
        try await settings.set(server, for: .server)
    }

    // MARK: Life of the app

    /// Takes all locks again when the app is back on the screen.
    func appear() async throws {
        try await lfs.resumeFromSuspension()
        try await background?.refresh()
    }

    /// Hands queued uploads to the system, and releases all locks before iOS suspends the app.
    func disappear() async throws {
        var failure: (any Error)?
        do { _ = try await background?.handOver() } catch { failure = error }
        // The system ends an app that it freezes with a lock. So the suspension does not depend on the parts, and a
        // cancelled task does not stop it.
        let time = Task.isCancelled ? Duration.zero : .seconds(3)
        try await Task { [lfs] in try await lfs.suspend(finishingWithin: time) }.value
        if let failure { throw failure }
    }
}
