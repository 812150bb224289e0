import Foundation
import LFSDatabase
import LFSSystem

struct StoreSet: Sendable {
    let runner: BackgroundRunner
    let installID: FileID
    let databasePath: String
    let keychain: KeychainStore?
    let memory = MemoryStore()
    /// The file stores of registered keys. A folder that is named in several ways has one.
    private(set) var fileStores: [FileStore] = []

    /// - Parameter domains: the domains of the registered keys.
    /// - Throws: ``SettingsError/Code/notConfigured`` for a domain that is not available.
    init(
        _ runner: BackgroundRunner, installID: FileID, databasePath: String, keychain: KeychainStore?,
        domains: Set<StorageDomain>
    ) throws {
        self.runner = runner
        self.installID = installID
        self.databasePath = databasePath
        self.keychain = keychain
        var stores: [String: FileStore] = [:]
        for case .file(let location) in domains.map(\.kind) {
            let store = try file(location)
            stores[store.path] = store
        }
        fileStores = stores.values.sorted { $0.path < $1.path }
    }

    /// Returns the file stores that were ever used, including those of keys that are no longer registered.
    func usedFileStores() async throws -> [FileStore] {
        var paths: Set<String> = []
        return try await runner.read(FolderTable.all).compactMap { note in
            try Self.location(ofNote: StoredPath.path(ofStored: note, databasePath: databasePath)).map(file)
        }.filter { paths.insert($0.path).inserted }
    }

    private func file(_ location: StorageDomain.FileLocation) throws -> FileStore {
        let (path, note) = try place(of: location)
        return FileStore(runner: runner, location: path, note: note, installID: installID)
    }

    func beside() async throws -> [any SettingsStore] {
        try await usedFileStores() + [memory] + (keychain.map { [$0] } ?? [])
    }

    func store(for domain: StorageDomain) throws -> any SettingsStore {
        switch domain.kind {
        case .file(let location): return try file(location)
        case .keychain:
            guard let keychain else { throw SettingsError.noKeychain }
            return keychain
        case .userDefaults(let suite): return UserDefaultsStore(suite: suite)
        case .foreign(let item): return item
        case .memory: return memory
        case .database:
            throw SettingsError(
                .system, message: "The database has no separate store. Read its keys through the router.")
        }
    }

    private static let besideSuffix = ".settings"
    private static let besideNote = "beside the database"
    private static let groupNote = "app group "

    private static func location(ofNote note: String) -> StorageDomain.FileLocation? {
        if note == besideNote { return .besideDatabase }
        if note.hasPrefix(groupNote) { return .appGroup(String(note.dropFirst(groupNote.count))) }
        return note.hasPrefix("/") ? .folder(note) : nil
    }

    /// Returns the path, and the form that the database records.
    private func place(of location: StorageDomain.FileLocation) throws -> (path: String, note: String) {
        switch location {
        case .besideDatabase:
            guard !databasePath.isEmpty else {
                throw SettingsError(
                    .notConfigured,
                    message: "The database is in memory and has no folder next to it. Name one: .file(in: …).")
            }
            return (databasePath + Self.besideSuffix, Self.besideNote)
        case .folder(let path):
            try Path.requireAbsolute(path, what: "The folder of .file(in:)")
            let path = Path.canonical(path)
            if !databasePath.isEmpty, path == databasePath + Self.besideSuffix { return (path, Self.besideNote) }
            return (path, StoredPath.stored(path, databasePath: databasePath))
        case .appGroup(let id):
            #if canImport(Darwin)
            guard let url = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: id) else {
                throw SettingsError(
                    .missingEntitlement, message: "The app has no app group \(id). Add it to its entitlements.")
            }
            return (url.appendingPathComponent("lfs-settings").path, Self.groupNote + id)
            #else
            throw SettingsError(
                .notConfigured,
                message: "There are no app groups on this platform (\(id)). Name a folder: .file(in: .folder(…)).")
            #endif
        }
    }
}
