public import Foundation
public import JournalStorage
public import LFSBackup
public import LFSSettings
public import Logging
public import ServiceLifecycle

/// A service that backs up the pictures of folders: on request, and automatically if that setting is on.
///
/// Folders and conditions are settings. The operator of the server determines the roots in which the folders may be.
public final class FolderBackup: Service {
    struct State: Hashable, Sendable {
        var isRunning = false
        /// The report of the last complete run.
        var report: BackupReport?
        /// The reason why the last run failed or left something out.
        var trouble: String?
    }

    let roots: BackupRoots
    /// Indicates that the storage is a folder, for which network costs do not matter.
    let isOnFolder: Bool
    private let journal: DatabaseStorageService
    private let settings: StorageRouter
    private let timeZone: TimeZone
    private let interval: Duration
    private let logger: Logger
    private let gate: UploadGate
    let state = Watched(State())
    private let (requests, asked) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(4))

    /// Creates a backup that has not started.
    ///
    /// - Parameters:
    ///   - journal: The journal that the pictures are added to.
    ///   - settings: The folders, the conditions and the delay: `BackupSettings`.
    ///   - roots: The folders that may contain pictures.
    ///   - isOnFolder: Indicates that the storage is a folder.
    ///   - timeZone: The time zone that determines the days.
    ///   - interval: The time between two automatic runs.
    ///   - device: A closure that returns the state of the device's network and power.
    ///   - logger: The logger for failures.
    public init(
        _ journal: DatabaseStorageService, settings: StorageRouter, roots: BackupRoots, isOnFolder: Bool,
        timeZone: TimeZone = .current, interval: Duration = .seconds(900),
        device: @escaping @Sendable () throws -> DeviceState = { try SystemState().read() }, logger: Logger
    ) {
        self.journal = journal
        self.settings = settings
        self.roots = roots
        self.isOnFolder = isOnFolder
        self.timeZone = timeZone
        self.interval = interval
        self.logger = logger
        gate = UploadGate(
            journal.lfs,
            conditions: {
                // A journal without automatic backup has no conditions.
                guard try await settings.get(.backupAutomatic) else { return [] }
                let conditions = try await BackupSettings.conditions(settings)
                return isOnFolder ? conditions.subtracting(.unmetered) : conditions
            }, device: device)
    }

    /// Checks the conditions for uploads. Call this before the manager starts, so that no upload begins that has to
    /// wait.
    ///
    /// - Returns: The condition that uploads wait for, or nil.
    /// - Throws: `SettingsError`, `LFSError`.
    @discardableResult public func look() async throws -> String? { try await gate.look() }

    /// Requests a run.
    func request() { asked.yield(true) }

    /// Performs backups until the service group stops.
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

    /// Backs up all folders once.
    func backUp() async {
        state.change { $0.isRunning = true }
        var (report, trouble): (BackupReport?, String?)
        var whole: Set<BackupGroup.ID> = []
        do {
            let resolved = roots.resolved()
            var groups: [BackupGroup] = []
            for group in try await settings.get(.backupGroups) where group.mode != .none {
                do throws(WebError) {
                    groups.append(BackupGroup(try resolved.folder(group.id), mode: group.mode))
                    if group.mode == .include { whole.insert(group.id) }
                } catch {
                    // A group that excludes pictures must not be missing: its pictures would be uploaded.
                    guard group.mode == .include else { throw error }
                    trouble = error.message
                }
            }
            var options = BackupOptions()
            options.delay = try await settings.get(.backupDelay)
            let result = try await Backup(
                journal.lfs, database: journal.database, source: PictureSource(groups, in: resolved),
                host: DatabaseStorageService.backupHost(in: timeZone), options: options
            ).run { [logger] event in Self.log(event, to: logger) }
            report = result
            if result.failed > 0 { whole = [] }
        } catch is CancellationError {
            whole = []
        } catch {
            whole = []
            trouble = "\(error)"
        }
        if let trouble { logger.warning("Folders could not be backed up.", metadata: ["reason": "\(trouble)"]) }
        state.change { [report, trouble] in $0 = State(isRunning: false, report: report, trouble: trouble) }
        await note(whole)
    }

    private func note(_ whole: Set<BackupGroup.ID>) async {
        if whole.isEmpty { return }
        do {
            try await BackupSettings.noteBackup(of: whole, at: Date(), settings)
        } catch {
            logger.warning("The time of a backup could not be stored.", metadata: ["reason": "\(error)"])
        }
    }

    private static func log(_ event: BackupEvent, to logger: Logger) {
        switch event {
        case .unreadable(let name, let reason), .failed(let name, let reason):
            logger.notice("A picture could not be backed up.", metadata: ["name": "\(name)", "reason": "\(reason)"])
        default: break
        }
    }
}
