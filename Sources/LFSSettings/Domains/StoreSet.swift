import Foundation
import LFSDatabase
import LFSSystem

/// The stores, by domain.
struct StoreSet: Sendable {
    let runner: BackgroundRunner
    let installID: FileID
    /// The file of the database; empty for one in memory.
    let databasePath: String
    let keychain: KeychainStore?
    let now: @Sendable () -> Int64
    let memory = MemoryStore()
    /// By their paths: a folder may be named in several ways.
    private let files: [String: FileStore]

    /// - Parameter domains: those of the registered keys.
    /// - Throws: ``SettingsError/Code/notConfigured`` for one that is not there.
    init(
        _ runner: BackgroundRunner, installID: FileID, databasePath: String, keychain: KeychainStore?,
        domains: Set<StorageDomain>, now: @escaping @Sendable () -> Int64
    ) throws {
        (self.runner, self.installID, self.databasePath) = (runner, installID, databasePath)
        (self.keychain, self.now) = (keychain, now)
        var files: [String: FileStore] = [:]
        for domain in domains {
            guard case .file(let location) = domain.kind else { continue }
            let store = try Self.file(location, databasePath, installID, runner)
            files[store.path] = store
        }
        self.files = files
    }

    /// The stores of files, of the registered keys.
    var fileStores: [FileStore] { files.values.sorted { $0.path < $1.path } }

    /// The stores of files that have ever been in use, also of keys that are registered no more.
    func usedFileStores() async throws -> [FileStore] {
        var paths: Set<String> = []
        return try await runner.read(FolderTable.all).compactMap { note in
            try Self.location(ofNote: NotedPath.path(ofNote: note, databasePath: databasePath)).map(file)
        }.filter { paths.insert($0.path).inserted }
    }

    private func file(_ location: StorageDomain.FileLocation) throws -> FileStore {
        let store = try Self.file(location, databasePath, installID, runner)
        return files[store.path] ?? store
    }

    /// All that keep values beside the database.
    func beside() async throws -> [any SettingsStore] {
        try await usedFileStores() + [memory] + (keychain.map { [$0] } ?? [])
    }

    func store(for domain: StorageDomain) throws -> any SettingsStore {
        switch domain.kind {
        case .database(let isDurable): return DatabaseStore(runner: runner, isDurable: isDurable, now: now)
        case .file(let location):
            return try file(location)
        case .keychain:
            guard let keychain else {
                throw SettingsError(
                    .notConfigured,
                    """
                    A key is in the key chain, and the options name none. Set StorageOptions.keychain, such as \
                    .sealedFile(at:key:).
                    """)
            }
            return keychain
        case .userDefaults(let suite): return UserDefaultsStore(suite: suite)
        case .foreign(let item): return ForeignStore(item: item)
        case .memory: return memory
        }
    }

    private static func file(
        _ location: StorageDomain.FileLocation, _ databasePath: String, _ installID: FileID, _ runner: BackgroundRunner
    ) throws -> FileStore {
        let (path, note) = try place(of: location, databasePath)
        let notes = FolderNotes(runner: runner, folder: note, path: path)
        return FileStore(location: path, installID: installID, notes: notes)
    }

    private static let besideSuffix = ".settings"
    private static let besideNote = "beside the database"
    private static let groupNote = "app group "

    private static func location(ofNote note: String) -> StorageDomain.FileLocation? {
        if note == besideNote { return .besideDatabase }
        if note.hasPrefix(groupNote) { return .appGroup(String(note.dropFirst(groupNote.count))) }
        return note.hasPrefix("/") ? .folder(note) : nil
    }

    /// The path, and what the database notes of it.
    private static func place(
        of location: StorageDomain.FileLocation, _ databasePath: String
    ) throws -> (path: String, note: String) {
        switch location {
        case .besideDatabase:
            guard !databasePath.isEmpty else {
                throw SettingsError(
                    .notConfigured, "The database is in memory and has no folder beside it. Name one: .file(in: …).")
            }
            return (databasePath + besideSuffix, besideNote)
        case .folder(let path):
            try Path.requireAbsolute(path, "The folder of .file(in:)")
            let path = Path.canonical(path)
            if !databasePath.isEmpty, path == databasePath + besideSuffix { return (path, besideNote) }
            return (path, NotedPath.note(of: path, databasePath: databasePath))
        case .appGroup(let id):
            #if canImport(Darwin)
            guard let url = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: id) else {
                throw SettingsError(
                    .missingEntitlement, "The app has no app group \(id). Add it to its entitlements.")
            }
            return (url.appendingPathComponent("lfs-settings").path, groupNote + id)
            #else
            throw SettingsError(
                .notConfigured,
                "There are no app groups on this platform (\(id)). Name a folder: .file(in: .folder(…)).")
            #endif
        }
    }
}
