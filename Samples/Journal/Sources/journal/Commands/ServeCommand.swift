import ArgumentParser
import CoreMetrics
import Foundation
import JournalStorage
import JournalWeb
import LFS
import LFSBackup
import LFSCache
import LFSSettings
import Logging
import MetricsText
import ServiceLifecycle
import UnixSignals

/// Shows a journal in the browser, and takes what is written there.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Shows the journal of a database in the browser.",
        discussion: """
            It serves this machine alone, unless --listen says otherwise. Then it takes a password and TLS:
            --password-file, --tls-certificate and --tls-key. With --sync it shows what the account's other devices
            write, and they what is written here, at once or when the server is there again; they have to use the same
            storage, since pictures go through that. SIGTERM and SIGINT end it, with nothing lost.
            """)

    @OptionGroup var database: DatabaseOptions

    @OptionGroup var web: WebArguments

    @OptionGroup var devices: SyncArguments

    @OptionGroup var folders: BackupArguments

    func run() async throws {
        let logger = Logger(label: "journal") { StreamLogHandler.standardError(label: $0) }
        var options = try web.options(logger: logger)
        let argument = try StorageArgument(parsing: database.storage)
        options.storageName = argument.kind
        // Before the manager opens: its instruments are made by the factory that is in effect then.
        let metrics = TextMetrics()
        MetricsSystem.bootstrap(metrics)
        options.metrics = { metrics.text() }
        let file = URL(filePath: database.database)
        let pool = try await DatabaseStorageService.openDatabase(at: file)
        let settings = try await JournalSettings.open(pool, secrets: database.secrets.folder(), logger: logger)
        let storage = try await argument.open { settings }
        var lfsOptions = LFSOptions(storage: storage, logger: logger)
        lfsOptions.logger.logLevel = .notice
        lfsOptions.shutdownTimeout = .seconds(5)
        let journal = try await DatabaseStorageService.open(pool, options: lfsOptions)
        try FormerThumbnails.remove(beside: file)
        try await journal.closing {
            let cache = try await MediaCache.open(for: journal.database, options: .journal(logger: logger))
            try await cache.closing { try await serve(journal, settings, cache, options, logger) }
        }
    }

    private func serve(
        _ journal: DatabaseStorageService, _ settings: StorageRouter, _ cache: MediaCache, _ options: WebOptions,
        _ logger: Logger
    ) async throws {
        let scheme = options.tls == nil ? "http" : "https"
        let sync = try await devices.open(journal, logger: logger)
        let backup = folders.open(
            journal, settings, excluding: try ownPaths(), isOnFolder: try storageFolder() != nil, logger)
        // Before the manager runs: none begins that has to wait.
        try await backup?.look()
        let server = try await SecretsCommand.explaining {
            try await JournalServer(
                journal, settings: settings, options: options, cache: cache, sync: sync, backup: backup
            ) { address in
                Console.print("\(scheme)://\(address)/")
            }
        }
        var configuration = ServiceGroupConfiguration(
            services: [journal.lfs] + [sync].compactMap { $0 } + [backup].compactMap { $0 } + [server],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        // Ten seconds in all: whoever asks for the end kills soon after.
        configuration.maximumGracefulShutdownDuration = .seconds(7)
        configuration.maximumCancellationDuration = .seconds(3)
        let group = ServiceGroup(configuration: configuration)
        try await group.run()
    }

    private func storageFolder() throws -> String? {
        guard case .directory(let path) = try StorageArgument(parsing: database.storage) else { return nil }
        return path
    }

    /// What no backup takes: it is the journal's own.
    private func ownPaths() throws -> [String] {
        let file = database.database
        let own: [String?] = [
            file, file + "-wal", file + "-shm", file + ".lfs", try storageFolder(),
            try database.secrets.folder().url.path,
            web.passwordFile, web.tlsKey, devices.syncTokenFile,
        ]
        return own.compactMap { $0 }.map { URL(filePath: $0).path }
    }
}
