public import Foundation
public import JournalStorage
import LFS
public import LFSBackup
public import LFSSettings
public import Logging
public import ServiceLifecycle

/// Backs up the pictures of folders, as a service: when somebody asks for it, and by itself where that is set.
///
/// Folders and conditions are settings; in which folders they may lie says whoever runs the server.
public final class FolderBackup: Service {
    struct State: Hashable, Sendable {
        var isRunning = false
        /// Of the last run that came to its end.
        var report: BackupReport?
        /// Why the last run came to nothing, or left something out.
        var trouble: String?
    }

    let roots: BackupRoots
    /// Whether the storage is a folder, for which a network costs nothing.
    let isOnFolder: Bool
    private let journal: DatabaseStorageService
    private let settings: StorageRouter
    private let timeZone: TimeZone
    private let interval: Duration
    private let logger: Logger
    private let gate: UploadGate
    private let watched = Watched(State())
    private let (requests, asked) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(4))

    /// A backup that does nothing yet.
    ///
    /// - Parameters:
    ///   - journal: what pictures become part of.
    ///   - settings: folders, conditions and the delay: `BackupSettings`.
    ///   - roots: in which folders pictures may be looked for.
    ///   - isOnFolder: whether the storage is a folder.
    ///   - timeZone: in whose clocks days are.
    ///   - interval: between two runs, where it runs by itself.
    ///   - device: how this device is connected.
    ///   - logger: is told what could not be backed up.
    public init(
        _ journal: DatabaseStorageService, settings: StorageRouter, roots: BackupRoots, isOnFolder: Bool,
        timeZone: TimeZone = .current, interval: Duration = .seconds(900),
        device: @escaping @Sendable () throws -> DeviceState = { try SystemState().read() }, logger: Logger
    ) {
        (self.journal, self.settings, self.roots, self.isOnFolder) = (journal, settings, roots, isOnFolder)
        (self.timeZone, self.interval, self.logger) = (timeZone, interval, logger)
        gate = UploadGate(
            journal.lfs,
            conditions: {
                // A journal that backs up nothing by itself waits for nothing.
                guard try await settings.get(.backupAutomatic) else { return [] }
                let conditions = try await BackupSettings.conditions(settings)
                return isOnFolder ? conditions.subtracting(.unmetered) : conditions
            }, device: device)
    }

    /// Looks whether uploads may begin: before the manager runs, so that none does that must wait.
    ///
    /// - Returns: what they wait for.
    /// - Throws: `SettingsError`, `LFSError`.
    @discardableResult public func look() async throws -> String? { try await gate.look() }

    var state: State { watched.value }

    /// Tells whenever the state has changed, until nobody listens.
    func changes() -> AsyncStream<Void> { watched.changes() }

    /// Asks for a run.
    func request() { asked.yield(true) }

    /// Backs up until the group stops.
    public func run() async throws {
        try await cancelWhenGracefulShutdown { [self] in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { [self] in try await gate.run() }
                group.addTask { [self] in
                    for try await isOn in settings.values(of: .backupAutomatic) where isOn { asked.yield(false) }
                }
                group.addTask { [self] in
                    while true {
                        try await Task.sleep(for: interval)
                        asked.yield(false)
                    }
                }
                defer { group.cancelAll() }
                for await isAsked in requests {
                    let isDue = try await settings.get(.backupAutomatic)
                    if isAsked || isDue { await backUp() }
                    if Task.isCancelled { break }
                }
            }
        }
    }

    // MARK: One run

    /// Goes through all folders once.
    func backUp() async {
        watched.change { $0.isRunning = true }
        var (report, trouble): (BackupReport?, String?)
        var whole: Set<BackupGroup.ID> = []
        do {
            let resolved = roots.resolved()
            var groups: [BackupGroup] = []
            for group in try await settings.get(.backupGroups) where group.mode != .none {
                do throws(WebError) {
                    groups.append(BackupGroup(try resolved.folder(group.id), group.mode))
                    if group.mode == .include { whole.insert(group.id) }
                } catch {
                    // What should stay here would be sent without it.
                    guard group.mode == .include else { throw error }
                    trouble = error.message
                }
            }
            var options = BackupOptions()
            options.delay = try await settings.get(.backupDelay)
            let result = try await Backup(
                journal.lfs, journal.database, PictureSource(groups, in: resolved),
                DatabaseStorageService.backupHost(in: timeZone), options: options
            ).run { [logger] event in Self.log(event, logger) }
            report = result
            if result.failed > 0 { whole = [] }
        } catch is CancellationError {
            whole = []
        } catch {
            (whole, trouble) = ([], "\(error)")
        }
        if let trouble { logger.warning("Folders could not be backed up.", metadata: ["reason": "\(trouble)"]) }
        watched.change { [report, trouble] in $0 = State(isRunning: false, report: report, trouble: trouble) }
        await note(whole)
    }

    private func note(_ whole: Set<BackupGroup.ID>) async {
        if whole.isEmpty { return }
        do {
            try await BackupSettings.noteBackup(of: whole, at: Date(), settings)
        } catch {
            logger.warning("A backup could not be noted.", metadata: ["reason": "\(error)"])
        }
    }

    private static func log(_ event: BackupEvent, _ logger: Logger) {
        switch event {
        case .unreadable(let name, let reason), .failed(let name, let reason):
            logger.notice("A picture could not be backed up.", metadata: ["name": "\(name)", "reason": "\(reason)"])
        default: break
        }
    }
}
