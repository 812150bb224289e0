import ArgumentParser
import Foundation
import GRDB
import LFS
import LFSBackup
import LFSStorage
import LFSSync

/// One run that uploads: opens everything, does the command's work, waits, stops, sums up.
struct UploadRun: Sendable {
    let database: any DatabaseWriter
    let table: DocumentTable
    let lfs: LFSManager
    let report: Report
    /// The files and folders that the run writes to itself.
    let ownPaths: [String]
    /// Files whose local bytes are lost or not the recorded ones, as an earlier upload found.
    let damaged: Set<FileData.ID>
    /// Those of them that have no bytes here: their old versions are none.
    let lost: Set<FileData.ID>
    /// How other devices get the rows; nil when none do.
    let sync: SyncClient?
    /// Keeps a copy of the database on the storage, where that was chosen.
    let saver: DatabaseSaver
    /// Whether the storage is a folder, which needs no network.
    let isOnFolder: Bool
    let began = Date()
    /// The database's file.
    let path: String
    /// Where the bytes of new files wait, if not beside the database.
    let stagingFolder: String?
    /// What comes when everything is offloaded.
    private(set) var ending = Ending()
    let purpose: Purpose
    /// Whether deletions that the storage refuses are no failures.
    let keepsRemovedObjects: Bool
    private var patience: Patience

    /// Brings what is new or has changed into the database.
    var attacher: Attacher {
        Attacher(
            database: database, table: table, lfs: lfs, report: report, excluded: ownPaths, damaged: damaged,
            lost: lost,
            room: DiskRoom(
                lfs: lfs, database: database, report: report, store: path + ".lfs", staging: stagingFolder,
                frees: ending.freesUploaded))
    }

    /// Runs the command's own work, then waits until everything is offloaded.
    ///
    /// - Throws: `ExitCode` when something was left undone; other errors when the command could not do its job.
    static func run(
        _ databaseOptions: DatabaseOptions, _ transfer: TransferOptions, _ output: OutputOptions, _ access: Access,
        about purpose: Purpose = .uploading, sync: SyncArgument? = nil, endless: Bool = false,
        _ work: @escaping @Sendable (UploadRun) async throws -> Void
    ) async throws {
        try await run(databaseOptions, transfer, output, access, about: purpose, sync: sync, endless: endless) { _ in
            Preparation(extra: ())
        } _: { run, _ in
            try await work(run)
        }
    }

    /// As the one above, with conditions for uploads.
    ///
    /// - Parameter prepare: what is done before an upload can begin.
    static func run<Extra: Sendable>(
        _ databaseOptions: DatabaseOptions, _ transfer: TransferOptions, _ output: OutputOptions, _ access: Access,
        about purpose: Purpose = .uploading, sync: SyncArgument? = nil, endless: Bool = false,
        preparing prepare: @escaping @Sendable (UploadRun) async throws -> Preparation<Extra>,
        _ work: @escaping @Sendable (UploadRun, Extra) async throws -> Void
    ) async throws {
        let report = try reportingErrors { try Report(output, about: purpose) }
        let main = Task {
            let patience = Patience(endless ? nil : transfer.giveUpAfter.duration)
            let run = try await open(databaseOptions, transfer, report, access, purpose, sync, patience)
            try await run.perform(prepare, work)
        }
        let interruption = Interruption(log: report.options.log) { _ in
            report.message("Stopping: finishing what is under way; again stops at once. The same command goes on.")
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

    /// What a command needs of the database.
    enum Access {
        /// The uploader's own, made if there is none; the folder of a storage is made as well.
        case making
        /// The uploader's own, made if there is none; the folder of a storage has to be there.
        case joining
        /// The uploader's own.
        case own
        /// Any that has LFS in it.
        case any
    }

    private static func open(
        _ databaseOptions: DatabaseOptions, _ transfer: TransferOptions, _ report: Report, _ access: Access,
        _ purpose: Purpose, _ sync: SyncArgument?, _ patience: Patience
    ) async throws -> UploadRun {
        let file = try DatabaseFile(at: databaseOptions.database)
        if access != .making, access != .joining { try file.requireThere() }
        if access == .any { try file.requireFiles() } else { try file.requireOurs() }
        // Before the database is marked as shared.
        try sync?.requireToken()
        let opened = try await transfer.openStorage(
            for: file, makes: access == .making, writes: purpose != .pulling)
        let database =
            access == .any ? try DocumentDatabase.openAny(file) : try DocumentDatabase.open(file, isSynced: sync != nil)
        var options = transfer.managerOptions(opened.storage)
        options.maxDownloads = Restorer.parallel
        // A file without a record is of no use after this process: nobody else knows its id.
        options.temporaryFileGracePeriod = .zero
        // SQLite resolves links, and what belongs to the database lies beside the file that it found.
        let path = try await database.read { db in
            try String.fetchOne(db, sql: "SELECT file FROM pragma_database_list WHERE name = 'main'")
                ?? databaseOptions.database
        }
        let damaged = try await database.read { db in Set(try Upload.all().damaged().fetchAll(db).map(\.id)) }
        let client = try await sync?.open(database)
        var isThere = true
        if access != .any || file.isOurs && transfer.changeStorage {
            isThere = try await StoragePresence.require(
                database, opened.storage, opened.location,
                goesOn: transfer.changeStorage && purpose == .uploading, client, report)
        }
        let lfs: LFSManager
        do {
            lfs = try await LFSManager.open(database, options: options)
        } catch let error as LFSError where error.code == .wrongStore {
            // An empty database in its place would keep the right one from coming back.
            if case .nobody = file.owner { try DocumentDatabase.remove(database, at: path) }
            throw error
        }
        let table = DocumentTable(isOurs: access != .any || file.isOurs)
        if table.isOurs, access != .any || transfer.changeStorage {
            try await database.write { db in try StorageMemory.remember(opened.location, opened.given, db) }
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
            saver: DatabaseSaver(database: database, storage: opened.storage, store: path + ".lfs") { report.worked() },
            isOnFolder: opened.given.argument.localPath != nil, path: path,
            stagingFolder: transfer.persistenceLocation, purpose: purpose,
            keepsRemovedObjects: transfer.keepRemovedObjects, patience: patience)
    }

    /// Does the work with progress shown, and stops the manager whatever happens.
    private func perform<Extra: Sendable>(
        _ prepare: @escaping @Sendable (UploadRun) async throws -> Preparation<Extra>,
        _ work: @escaping @Sendable (UploadRun, Extra) async throws -> Void
    ) async throws {
        let events = lfs.events(bufferingPolicy: .unbounded)
        let (uploads, isUploaded) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        // A task of its own: an interruption cancels this one, and what ends after it is told too.
        let telling = Task { await tell(events, isUploaded) }
        // As this one; it ends with this scope.
        let showing = Task { await report.showProgress() }
        defer { showing.cancel() }
        let result = await Result {
            let prepared = try await prepare(self)
            var run = self
            run.patience = Patience(patience.limit.map { $0 + prepared.delay })
            run.ending = prepared.ending
            return try await run.offload(prepared.gate, { try await work($0, prepared.extra) }, uploads)
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
        // Ends the events, so that every one of them is told before the rows are asked for what no event told.
        try await lfs.stop()
        await telling.value
        // Here, and not when the last reference goes: what SQLite keeps beside the database is gone with the process.
        try DocumentDatabase.close(database)
        if let (summary, paths) = settled { report.settle(summary, paths) }
        _ = try result.get()
    }

    private func tell(_ events: AsyncStream<LFSEvent>, _ isUploaded: AsyncStream<Void>.Continuation) async {
        for await event in events {
            report.handle(event, await path(of: event))
            if case .uploaded = event { isUploaded.yield() }
        }
    }

    /// The path of the file that an event is about, where it is told: people know no ids.
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
        // Without the database an id is all there is to tell.
        do { return try await database.read { [table] db in try table.path(of: id, db) } } catch { return nil }
    }

    private func paths(of ids: some Sequence<FileData.ID>) async throws -> [FileData.ID: FilePath] {
        let ids = Array(ids)
        return try await database.read { [table] db in try table.paths(of: ids, db) }
    }

    private func settled(
        _ result: Result<UploadSummary?, any Error>
    ) async throws -> (UploadSummary, [FileData.ID: FilePath])? {
        guard case .success(let summary?) = result else { return nil }
        return (summary, try await paths(of: summary.failures.map(\.fileID)))
    }

    /// - Returns: what became of the uploads; nil when the run begins none, as in a database of another app.
    private func offload(
        _ gate: UploadGate?, _ work: @escaping @Sendable (UploadRun) async throws -> Void, _ uploads: AsyncStream<Void>
    ) async throws -> UploadSummary? {
        guard table.isOurs else {
            // No background work: the uploads of another app are not for us to begin.
            try await patience.run(lfs, report.advance) { try await work(self) }
            return nil
        }
        guard purpose == .uploading else {
            // A pull leaves the background to others: whoever has it uploads for all, and nobody else does. A removal
            // needs it for its deletions. Files that wait for their upload are none of either's business.
            if purpose == .removing {
                if !keepsRemovedObjects { try await lfs.retryDeletions() }
                try lfs.start()
            }
            try await patience.run(lfs, report.advance) {
                try await work(self)
                if purpose == .removing { try await saveDatabase() }
            }
            return nil
        }
        if try await versions.hasUnusableChoice() {
            report.message(
                "the database has no usable time to keep old versions for, so all stay: give --keep-versions to 'push'")
        }
        // What a run has left that was killed between the two.
        try await removeOldVersions(isThorough: true)
        try await mover.settleUnfinished()
        try await lfs.retry()
        if !keepsRemovedObjects { try await lfs.retryDeletions() }
        let status = try await lfs.status()
        report.pending(files: status.local, bytes: status.pendingBytes)
        try lfs.start()
        return try await patience.run(lfs, report.advance) {
            try await work(self)
            if let delayed = try await delayed() { report.result(delayed.words) }
            await shareRows(isLast: false)
            // The rows tell what became of the files, also when another process has uploaded them.
            try await lfs.waitForUploads()
            let summary = try await finish()
            try await saveDatabase()
            return summary
        } beside: {
            try await watch(gate, uploads)
        }
    }

    /// Goes on beside the work: conditions are looked at, and replaced files go.
    private func watch(_ gate: UploadGate?, _ uploads: AsyncStream<Void>) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            if let gate { tasks.addTask { try await gate.run() } }
            tasks.addTask { try await removeReplaced(uploads) }
            defer { tasks.cancelAll() }
            while try await tasks.next() != nil {}
        }
    }

    private func removeReplaced(_ uploads: AsyncStream<Void>) async throws {
        // While others wait: the old versions may be what a full storage has no room for.
        for await _ in uploads {
            try await removeOldVersions(isThorough: false)
            // Many uploads end in a moment, and one look does for all of them.
            try await Task.sleep(for: .milliseconds(200))
        }
    }
}

extension Result where Failure == any Error {
    /// What an asynchronous body returns or throws.
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
