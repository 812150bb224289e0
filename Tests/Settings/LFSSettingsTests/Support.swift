import Foundation
import GRDB
import LFSSecretService
import LFSSettings
import Logging
import Synchronization
import TestSupport
import Testing

/// A folder with a database and the keys that secrets need.
struct Place: Sendable {
    let folder: URL
    let database: DatabasePool

    var options: StorageOptions {
        StorageOptions(
            rootKey: .keyFile(folder.child("keys").child("root").path), keychain: keychain)
    }

    /// The key chain of the place: a sealed file, or the keyring under `Tests/Keyring/session with gnome`.
    var keychain: KeychainBackend {
        #if os(Linux)
        if ProcessInfo.processInfo.environment["LFS_KEYRING"] != nil { return .secretService() }
        #endif
        return .sealedFile(at: folder.child("sealed").path, key: .keyFile(folder.child("keys").child("sealed").path))
    }

    /// Returns the folder with values in files.
    func filesFolder() throws -> URL {
        let parent = folder.child("app.sqlite.settings")
        return parent.child(try #require(try names(in: parent).first { $0.hasPrefix("settings-") }))
    }

    func open(
        _ options: StorageOptions? = nil, version: Int = 1, steps: [DataStep] = [],
        @CatalogBuilder _ keys: () -> [any CatalogEntry]
    ) async throws -> StorageRouter {
        try await StorageRouter.open(
            database, catalogs: [StorageCatalog("app", version: version, steps: steps, keys: keys)],
            options: options ?? self.options)
    }

    /// Returns another connection to the same database, like that of another process.
    func otherDatabase(busyMode: Database.BusyMode = .timeout(600)) throws -> DatabasePool {
        try Self.database(in: folder, busyMode: busyMode)
    }

    static func database(in folder: URL, busyMode: Database.BusyMode = .timeout(600)) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.busyMode = busyMode
        let database = try DatabasePool(path: folder.child("app.sqlite").path, configuration: configuration)
        var migrator = DatabaseMigrator()
        migrator.registerLFSSettingsMigrations()
        try migrator.migrate(database)
        return database
    }

    /// Returns the bytes of a value as they are stored in the database.
    func bytes(of name: String) async throws -> Data? {
        try await database.read { db in
            try Data.fetchOne(db, sql: "SELECT value FROM lfs_setting WHERE name = ?", arguments: [name])
        }
    }

    func execute(_ sql: String, arguments: StatementArguments = []) async throws {
        try await database.write { db in try db.execute(sql: sql, arguments: arguments) }
    }
}

/// Runs a test in its own place and checks that no unfinished file is left.
func withPlace(_ body: (Place) async throws -> Void) async throws {
    try await withTemporaryFolder { folder in
        let place = Place(folder: folder, database: try Place.database(in: folder))
        try await body(place)
        try place.database.close()
        let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
        #expect(paths.filter { $0.hasSuffix(".unfinished") } == [])
    }
}

/// A combination of domain and security in which a value can be stored.
enum Store: String, CaseIterable, Sendable {
    case database, durable, encrypted, chaCha, file, encryptedFile, keychain, memory

    var domain: StorageDomain {
        switch self {
        case .database, .encrypted, .chaCha: .database
        case .durable: .database(durability: .full)
        case .file, .encryptedFile: .file()
        case .keychain: .keychain()
        case .memory: .memory
        }
    }

    var security: StorageSecurity {
        switch self {
        case .encrypted, .encryptedFile: .encrypted
        case .chaCha: .encryptedWithChaCha20
        default: .none
        }
    }

    var limit: Int {
        switch self {
        case .file, .encryptedFile: 16 << 20
        case .keychain: 4 << 10
        default: 64 << 10
        }
    }

    /// The stores that persist after the router is released.
    static var kept: [Store] { allCases.filter { $0 != .memory } }
    static var files: [Store] { [.file, .encryptedFile] }

    func key<Value: Codable & Sendable>(_ name: String, default value: Value? = nil) -> StorageKey<Value> {
        StorageKey(name, default: value, domain: domain, security: security)
    }

    func data(_ name: String) -> StorageKey<Data> {
        StorageKey(name, domain: domain, security: security, serializer: .data)
    }
}

/// Expects a settings error with a code.
func expectFailure(
    _ code: SettingsError.Code, comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> Void
) async {
    do {
        try await body()
        Issue.record("No error was thrown; \(code) is expected. \(comment ?? "")", sourceLocation: sourceLocation)
    } catch let error as SettingsError {
        #expect(error.code == code, comment ?? Comment(rawValue: error.message), sourceLocation: sourceLocation)
    } catch {
        Issue.record("\(error) is no SettingsError; \(code) is expected.", sourceLocation: sourceLocation)
    }
}

/// A recorder of log lines.
final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(lines: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let lines: LogLines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.MetadataValue? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            lines.lines.withLock { $0.append("\(event.message) \(event.metadata ?? [:])") }
        }
    }
}
