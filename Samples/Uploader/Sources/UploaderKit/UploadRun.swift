import ArgumentParser
import CommandLineOptions
import Foundation
import GRDB
import LFS
import LFSBackup
import LFSStorage
import LFSSync

/// A run of a command that uploads. It opens all components, does the command's work, waits for the uploads, stops, and
/// prints a summary.
struct UploadRun: Sendable {
    let database: any DatabaseWriter
    let table: DocumentTable
    let lfs: LFSManager
    let report: Report
    /// The files and folders that the run itself writes to.
    let ownPaths: [String]
    /// Files whose local bytes are lost or differ from the recorded ones, as an earlier upload found.
    let damaged: Set<FileData.ID>
    /// The damaged files without any local bytes, which cannot become old versions.
    let lost: Set<FileData.ID>
    /// The client that shares rows with other devices. Nil without a sync server.
    let sync: SyncClient?
    /// Stores a copy of the database on the storage, if that was chosen.
    let saver: DatabaseSaver
    /// True if the storage is a folder, which needs no network.
    let isOnFolder: Bool
    let began = Date()
    /// The path of the database.
    let path: String
    /// True if the run has made the database.
    let isFirst: Bool
    /// The staging folder of new files, if it is not next to the database.
    let stagingFolder: String?
    /// The steps after all files are uploaded.
    private(set) var ending = ExitActions()
    let purpose: Purpose
    /// True if deletions that the storage rejects do not count as failures.
    let keepsRemovedObjects: Bool
    private var patience: StallTimeout

    /// The attacher, which records new and changed files in the database.
    var attacher: Attacher {
        Attacher(
            database: database, table: table, lfs: lfs, report: report, excluded: ownPaths, damaged: damaged,
            lost: lost,
            room: DiskRoom(
                lfs: lfs, database: database, report: report, store: path + ".lfs", staging: stagingFolder,
                frees: ending.freesUploaded))
    }

    /// Does the command's work, and then waits until all files are uploaded.
    ///
    /// - Throws: `ExitCode` if the run is incomplete. Other errors if the command could not do its job.
    static func run(
        _ databaseOptions: DatabaseOptions, transfer: TransferOptions, output: OutputOptions, access: Access,
        about purpose: Purpose = .uploading, sync: SyncArgument? = nil, endless: Bool = false,
        _ work: @escaping @Sendable (UploadRun) async throws -> Void
    ) async throws {
        try await run(
            databaseOptions, transfer: transfer, output: output, access: access, about: purpose, sync: sync,
            endless: endless
        ) { _ in
            Preparation(extra: ())
        } _: { run, _ in
            try await work(run)
        }
    }

    /// Runs like the function above, with a preparation such as conditions for uploads.
    ///
    /// - Parameter prepare: runs before any upload can start.
    static func run<Extra: Sendable>(
        _ databaseOptions: DatabaseOptions, transfer: TransferOptions, output: OutputOptions, access: Access,
        about purpose: Purpose = .uploading, sync: SyncArgument? = nil, endless: Bool = false,
        preparing prepare: @escaping @Sendable (UploadRun) async throws -> Preparation<Extra>,
        _ work: @escaping @Sendable (UploadRun, Extra) async throws -> Void
    ) async throws {
        let report = try reportingErrors { try Report(output, about: purpose) }
        let main = Task {
            let patience = StallTimeout(endless ? nil : transfer.giveUpAfter.duration)
            let run = try await open(
                databaseOptions, transfer: transfer, report: report, access: access, purpose: purpose, sync: sync,
                patience: patience)
            try await run.perform(prepare, work)
        }
        let interruption = Interruption(log: report.options.log) { _ in
            report.message("Stopping after current transfers. A second signal stops at once. Run it again to continue.")
            report.stops()
            main.cancel()
        } onStatus: {
            report.showProgressNow()
        }
        let result = await main.result
        report.endProgress()
        if let status = interruption.exitStatus {
            report.summary()
            throw ExitCode(status)
        }
        do {
            try result.get()
        } catch is GaveUp {
            report.summary()
            throw ExitCode(3)
        } catch let error as ValidationError {
            throw error
        } catch {
            report.error(error)
            report.summary(tellsNothing: false)
            throw ExitCode(1)
        }
        report.summary()
        if report.tally.hasFailures { throw ExitCode(3) }
    }

    /// The kind of database that a command needs.
    enum Access {
        /// The uploader's own database, created if it is missing. The folder of a storage is created as well.
        case making
        /// The uploader's own database, created if it is missing. The folder of a storage must exist.
        case joining
        /// The uploader's own database, which must exist.
        case own
        /// Any database that contains LFS.
        case any
    }

    private static func open(
        _ databaseOptions: DatabaseOptions, transfer: TransferOptions, report: Report, access: Access,
        purpose: Purpose, sync: SyncArgument?, patience: StallTimeout
    ) async throws -> UploadRun {
        let file = try DatabaseFile(at: databaseOptions.database)
        if access != .making, access != .joining { try file.requireThere() }
        if access == .any { try file.requireFiles() } else { try file.requireOurs() }
        // The token is checked before the database is marked as shared.
        try sync?.requireToken()
        let opened = try await transfer.openStorage(
            for: file, makes: access == .making, writes: purpose != .pulling)
        let database =
            access == .any ? try DocumentDatabase.openAny(file) : try DocumentDatabase.open(file, isSynced: sync != nil)
        var options = transfer.managerOptions(opened.storage)
        options.maxDownloads = Restorer.parallel
        // A file without a record is useless after this process ends, because its id is lost.
        options.temporaryFileGracePeriod = .zero
        // SQLite resolves links, so the other files of the database are next to the resolved file.
        let path = try await database.read { db in
            try String.fetchOne(db, sql: "SELECT file FROM pragma_database_list WHERE name = 'main'")
                ?? databaseOptions.database
        }
        let damaged = try await database.read { db in Set(try Upload.all().damaged().fetchAll(db).map(\.id)) }
        let client = try await sync?.open(database, connection: try transfer.http.connection)
        var isThere = true
        if access != .any || file.isOurs && transfer.changeStorage {
            isThere = try await StoragePresence.require(
                database, storage: opened.storage, location: opened.location,
                goesOn: transfer.changeStorage && purpose == .uploading, sync: client, report: report)
        }
        let lfs: LFSManager
        do {
            lfs = try await LFSManager.open(database, options: options)
        } catch let error as LFSError where error.code == .wrongStore {
            // An empty database at this path would prevent the right one from being restored.
            if file.isNew { try DocumentDatabase.remove(database, at: path) }
            throw error
        }
        let table = DocumentTable(isOurs: access != .any || file.isOurs)
        if table.isOurs, access != .any || transfer.changeStorage {
            try await database.write { db in try StorageMemory.remember(opened.location, given: opened.given, db) }
        }
        if purpose == .uploading, table.isOurs, isThere,
            let warning = try await database.read(StorageMemory.unverified)
        {
            report.message(warning)
        }
        var lost = damaged
        for id in damaged where try await lfs.hasLocalCopy(of: id) { lost.remove(id) }
        return UploadRun(
            database: database, table: table, lfs: lfs, report: report,
            ownPaths: transfer.ownPaths(database: path, opened.given.argument) + report.ownPaths,
            damaged: damaged, lost: lost, sync: client,
            saver: DatabaseSaver(
                database: database, storage: opened.storage, location: opened.location.description,
                store: path + ".lfs", reminds: report.showsReminders
            ) { report.worked() },
            isOnFolder: opened.given.argument.localPath != nil, path: path, isFirst: file.isNew,
            stagingFolder: transfer.persistenceLocation, purpose: purpose,
            keepsRemovedObjects: transfer.keepRemovedObjects, patience: patience)
    }

    /// Does the work and shows progress. Stops the manager in any case.
    private func perform<Extra: Sendable>(
        _ prepare: @escaping @Sendable (UploadRun) async throws -> Preparation<Extra>,
        _ work: @escaping @Sendable (UploadRun, Extra) async throws -> Void
    ) async throws {
        let events = lfs.events(bufferingPolicy: .unbounded)
        let (uploads, isUploaded) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        // An unstructured task, because an interruption cancels the current one, and later events are reported too.
        let telling = Task { await tell(events, isUploaded: isUploaded) }
        // This task is also unstructured. It ends with this scope.
        let showing = Task { await report.showProgress() }
        defer { showing.cancel() }
        let result = await Result {
            let prepared = try await prepare(self)
            var run = self
            run.patience = StallTimeout(patience.limit.map { $0 + prepared.delay })
            run.ending = prepared.ending
            return try await run.offload(prepared.gate, { try await work($0, prepared.extra) }, uploads: uploads)
        }
        await sync?.shutdown()
        if case .failure(let error as GaveUp) = result {
            let status = try await lfs.status()
            let waiting = try await database.read { db in try Upload.all().queued().fetchCount(db) }
            let delay = try await delay(error.reason)
            report.gaveUp(
                error, paths: try await paths(of: report.waiting), waiting: waiting,
                hold: status.hold?.reason ?? delay)
        }
        if case .failure(is CancellationError) = result, purpose == .uploading, table.isOurs { await saveAtEnd() }
        let settled = try await settled(result)
        // The stop ends the event stream. All events are reported before the rows are read for the remaining results.
        try await lfs.stop()
        await telling.value
        // Closes the database explicitly instead of with its last reference, so that SQLite's extra files are removed
        // before the process ends.
        try DocumentDatabase.close(database)
        if let (summary, paths, advice) = settled { report.settle(summary, paths: paths, advice: advice) }
        _ = try result.get()
    }

    private func tell(_ events: AsyncStream<LFSEvent>, isUploaded: AsyncStream<Void>.Continuation) async {
        for await event in events {
            report.handle(event, path: await path(of: event), advice: await advice(on: event))
            if case .uploaded = event { isUploaded.yield() }
        }
    }

    /// Returns the path of the file that an event concerns, if it is reported. People do not know ids.
    private func path(of event: LFSEvent) async -> FilePath? {
        let id: FileData.ID? =
            switch event {
            case .failed(let id, _, _): id
            case .uploaded(let id, _, _) where report.namesFiles: id
            case .progress(let id, _) where report.wantsPath(of: id): id
            case .downloading(let id, _) where report.wantsPath(of: id): id
            default: nil
            }
        guard let id else { return nil }
        // Without the database, only the id can be reported.
        do { return try await database.read { [table] db in try table.path(of: id, db) } } catch { return nil }
    }

    /// Returns what to do about an old version whose upload was given up. Nil for any other event.
    private func advice(on event: LFSEvent) async -> String? {
        guard table.isOurs, case .failed(let id, _, nil) = event else { return nil }
        // Without the database, only the id can be reported.
        do { return try await database.read { db in try VersionTable.advice(on: id, db) } } catch { return nil }
    }

    private func paths(of ids: some Sequence<FileData.ID>) async throws -> [FileData.ID: FilePath] {
        let ids = Array(ids)
        return try await database.read { [table] db in try table.paths(of: ids, db) }
    }

    private func settled(
        _ result: Result<UploadSummary?, any Error>
    ) async throws -> (UploadSummary, [FileData.ID: FilePath], advice: [FileData.ID: String])? {
        guard case .success(let summary?) = result else { return nil }
        let ids = summary.failures.map(\.fileID)
        let advice = try await database.read { db -> [FileData.ID: String] in
            try ids.reduce(into: [:]) { advice, id in advice[id] = try VersionTable.advice(on: id, db) }
        }
        return (summary, try await paths(of: ids), advice)
    }

    /// - Returns: a summary of the uploads. Nil if the run starts no uploads, as in the database of another app.
    private func offload(
        _ gate: UploadGate?, _ work: @escaping @Sendable (UploadRun) async throws -> Void, uploads: AsyncStream<Void>
    ) async throws -> UploadSummary? {
        guard table.isOurs else {
            // No background work, because this run must not start the uploads of another app.
            try await patience.run(lfs, advance: report.advance) { try await work(self) }
            return nil
        }
        guard purpose == .uploading else {
            // A pull leaves the background work to other processes, because only one process at a time uploads for all.
            // A removal needs it for its deletions. Pending uploads are not part of either command.
            if purpose == .removing {
                if !keepsRemovedObjects { try await lfs.retryDeletions() }
                try lfs.start()
            }
            try await patience.run(lfs, advance: report.advance) {
                try await work(self)
                if purpose == .removing { try await saveDatabase() }
            }
            return nil
        }
        if try await versions.hasUnusableChoice() {
            report.message(
                "the database has no valid time to keep old versions for, so all stay: give --keep-versions to 'push'")
        }
        // Completes the removals of a run that was killed before it carried them out.
        try await removeOldVersions(isThorough: true)
        try await mover.settleUnfinished()
        try await lfs.retry()
        if !keepsRemovedObjects { try await lfs.retryDeletions() }
        let status = try await lfs.status()
        report.pending(files: status.local, bytes: status.pendingBytes, first: try await queuedFiles())
        try lfs.start()
        return try await patience.run(lfs, advance: report.advance) {
            try await work(self)
            if let delayed = try await delayed() { report.result(delayed.words) }
            await shareRows(isLast: false)
            // The rows show the result for each file, even if another process has uploaded it.
            try await lfs.waitForUploads()
            let summary = try await finish()
            try await saveDatabase()
            return summary
        } beside: {
            try await watch(gate, uploads: uploads)
        }
    }

    /// Runs next to the work: checks the conditions, and removes replaced files.
    private func watch(_ gate: UploadGate?, uploads: AsyncStream<Void>) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            if let gate { tasks.addTask { try await gate.run() } }
            tasks.addTask { try await removeReplaced(uploads) }
            defer { tasks.cancelAll() }
            while try await tasks.next() != nil {}
        }
    }

    private func removeReplaced(_ uploads: AsyncStream<Void>) async throws {
        // This runs during the uploads, because a full storage may need the space of old versions.
        for await _ in uploads {
            try await removeOldVersions(isThorough: false)
            // Many uploads end within a moment. One removal covers all of them.
            try await Task.sleep(for: .milliseconds(200))
        }
    }
}

extension Result where Failure == any Error {
    /// Captures the result of an asynchronous body.
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
