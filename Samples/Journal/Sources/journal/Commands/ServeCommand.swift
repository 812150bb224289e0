import ArgumentParser
import CoreMetrics
import Foundation
import JournalStorage
import JournalWeb
import LFS
import LFSBackup
import LFSCache
import LFSServer
import LFSSettings
import Logging
import MetricsText
import ServiceLifecycle
import UnixSignals

/// The command that serves a journal to browsers.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serves the journal of a database or a folder to the browser.",
        usage: "journal serve (--database <file> | --folder <folder>) --storage <storage> [<options>]",
        discussion: """
            An address that other machines can reach requires a password and TLS. All
            devices of --sync need the same storage. SIGTERM and SIGINT lose no data.
            """)

    @OptionGroup var served: ServedJournal

    @OptionGroup var web: WebArguments

    @OptionGroup var devices: SyncArguments

    @OptionGroup var folders: BackupArguments

    func run() async throws {
        // A free port would be another one after a restart.
        if web.demo, Supervisor.restarts == nil, ListenAddress(web.listen)?.port != 0 {
            return try await Supervisor().run()
        }
        let logger = Logger(label: "journal") { QuotingLogHandler.standardError(label: $0) }
        var options = try web.options(logger: logger)
        // Set this before the manager opens: its instruments are created by the factory that is then in effect.
        let metrics = TextMetrics()
        MetricsSystem.bootstrap(metrics)
        options.metrics = { metrics.text() }
        while let demand = try await serveOnce(options, logger: logger) { try await remove(demand, logger: logger) }
    }

    /// Removes the journal from this device. More pictures than the user has confirmed are not lost: the journal is
    /// served again then, and its page shows the new number.
    private func remove(_ demand: RemovalRequest.Demand, logger: Logger) async throws {
        let pool = try await DatabaseStorageService.openDatabase(at: URL(filePath: served.path))
        let settings = try await JournalSettings.open(pool, secrets: served.secrets.folder(), logger: logger)
        do {
            try await demand.removal.perform(pool, settings: settings) { lost in
                guard lost <= demand.lost else { throw MorePicturesLost() }
            }
        } catch is MorePicturesLost {
            logger.warning("The journal was not removed: more pictures than confirmed are not on the storage.")
        }
    }

    private struct MorePicturesLost: Error {}

    /// Serves the journal until a signal ends the process, or until a page requests its removal.
    private func serveOnce(_ given: WebOptions, logger: Logger) async throws -> RemovalRequest.Demand? {
        var options = given
        let removal = RemovalRequest()
        // A removal would leave the folder, which the next start would take again.
        if served.folder == nil { options.removal = removal }
        let argument = try StorageArgument(parsing: served.storage)
        options.storageName = argument.kind
        let file = URL(filePath: served.path)
        let pool = try await DatabaseStorageService.openDatabase(at: file)
        let settings = try await JournalSettings.open(pool, secrets: served.secrets.folder(), logger: logger)
        var storage = try await argument.open(creates: served.createBucket) { settings }
        if web.demo {
            let faults = DemoStorage(storage)
            options.faults = faults
            if let restarts = Supervisor.restarts {
                Supervisor.followSupervisor()
                options.restarts = restarts
                options.killDemo = { Supervisor.requestKill() }
            }
            storage = faults
        }
        var lfsOptions = LFSOptions(storage: storage, logger: logger)
        lfsOptions.logger.logLevel = .notice
        lfsOptions.shutdownTimeout = .seconds(5)
        let journal = try await DatabaseStorageService.open(pool, options: lfsOptions)
        try await closing(journal.close) {
            let mirror = try await served.mirror(journal)
            let filler = DemoFiller(journal, logger: logger)
            if web.demo { filler.request() }
            options.fillDemo = { _ in filler.request() }
            let cache = try await MediaCache.open(for: journal.database, options: .journal(logger: logger))
            // An open cache would prevent the reset of its folder.
            try await closing(cache.close) {
                try await serve(
                    journal, settings: settings, cache: cache, filler: filler, mirror: mirror, options: options,
                    logger: logger)
            }
            // The changes of the last requests.
            try await mirror?.give()
        }
        return removal.demand
    }

    private func serve(
        _ journal: DatabaseStorageService, settings: StorageRouter, cache: MediaCache, filler: DemoFiller,
        mirror: FolderMirror?, options: WebOptions, logger: Logger
    ) async throws {
        let scheme = options.tls == nil ? "http" : "https"
        let sync = try await devices.open(journal, settings: settings, logger: logger)
        let backup = folders.open(
            journal, settings: settings, excluding: try ownPaths(), isOnFolder: try storageFolder() != nil,
            logger: logger)
        // Check the conditions before the manager runs, so that no upload begins that has to wait.
        try await backup?.look()
        // It reports no stop: after a removal the process serves again.
        let notifier = ServiceManagerNotifier(logger: logger)
        let server = try await SecretsCommand.explaining {
            try await JournalServer(
                journal, settings: settings, options: options, cache: cache, sync: sync, backup: backup
            ) { address in
                Console.print("\(scheme)://\(address)/")
                notifier.reportReady()
            }
        }
        var services: [any Service] = [journal.lfs]
        if let sync { services.append(sync) }
        if let backup { services.append(backup) }
        if let mirror {
            services.append(FolderService(mirror: mirror, database: journal.database, logger: logger))
        }
        services += [filler, server]
        var configuration = ServiceGroupConfiguration(
            services: services, gracefulShutdownSignals: EndSignals.all(), logger: logger)
        // Ten seconds altogether, since service managers kill the process soon afterwards.
        configuration.maximumGracefulShutdownDuration = .seconds(7)
        configuration.maximumCancellationDuration = .seconds(3)
        let group = ServiceGroup(configuration: configuration)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { [removal = options.removal] in
                await removal?.wait()
                if removal?.demand != nil { await group.triggerGracefulShutdown() }
            }
            defer { tasks.cancelAll() }
            try await group.run()
        }
    }

    private func storageFolder() throws -> String? {
        guard case .directory(let path) = try StorageArgument(parsing: served.storage) else { return nil }
        return path
    }

    /// Returns the journal's own paths, which no backup includes.
    private func ownPaths() throws -> [String] {
        let file = served.path
        let own: [String?] = [
            file, file + "-wal", file + "-shm", file + ".lfs", served.folder, try storageFolder(),
            try served.secrets.folder().url.path,
            web.passwordFile, web.tlsKey, devices.syncTokenFile,
        ]
        return own.compactMap { $0 }.map { URL(filePath: $0).path }
    }
}
