import ArgumentParser
import Foundation
import GRDB
import LFS
import LFSStorage
import Logging

/// One run that uploads: opens everything, does the command's work, waits, stops, sums up.
struct UploadRun: Sendable {
    let database: DatabasePool
    let lfs: LFSManager
    let report: Report
    /// The files and folders that the run writes to itself.
    let ownPaths: [String]
    /// Files whose local bytes are lost or not the recorded ones, as an earlier upload found.
    let damaged: Set<FileData.ID>

    /// Runs the command's own work, then waits until everything is offloaded.
    ///
    /// - Throws: `ExitCode` when something was left undone; other errors when the command could not do its job.
    static func run(
        _ databaseOptions: DatabaseOptions, _ transfer: TransferOptions, _ output: OutputOptions, mustExist: Bool,
        about purpose: Purpose = .uploading, _ work: @escaping @Sendable (UploadRun) async throws -> Void
    ) async throws {
        let report = Report(output, about: purpose)
        let main = Task {
            let run = try await open(databaseOptions, transfer, report, mustExist: mustExist)
            try await run.perform(work)
        }
        let interruption = Interruption { _ in
            report.message("Stopping: finishing what is under way; again stops at once. Nothing is lost.")
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
        } catch {
            report.error(error)
            report.summary(tellsNothing: false)
            throw ExitCode(1)
        }
        report.summary()
        if report.tally.hasFailures { throw ExitCode(3) }
    }

    private static func open(
        _ databaseOptions: DatabaseOptions, _ transfer: TransferOptions, _ report: Report, mustExist: Bool
    ) async throws -> UploadRun {
        let storage = try await transfer.to.open(transfer)
        let database = try DocumentDatabase.open(databaseOptions.database, mustExist: mustExist)
        var options = LFSOptions(storage: storage, maxExecutors: transfer.maxExecutors)
        options.maxDownloads = Restorer.parallel
        options.persistenceLocation = transfer.persistenceLocation.map { URL(fileURLWithPath: $0, isDirectory: true) }
        // What happens to files is told by the report; the library's log would say it twice.
        options.logger.logLevel = .critical
        // A file without a record is of no use after this process: nobody else knows its id.
        options.temporaryFileGracePeriod = .zero
        // SQLite resolves links, and what belongs to the database lies beside the file that it found.
        let path = try await database.read { db in
            try String.fetchOne(db, sql: "SELECT file FROM pragma_database_list WHERE name = 'main'")
                ?? databaseOptions.database
        }
        let failures = try await database.read { db in try UploadFailure.fetchAll(db) }
        return UploadRun(
            database: database, lfs: try await LFSManager.open(database, options: options), report: report,
            ownPaths: transfer.ownPaths(database: path),
            damaged: Set(failures.filter { $0.code == .sourceChanged }.map(\.fileID)))
    }

    /// Does the work with progress shown, and stops the manager whatever happens.
    private func perform(_ work: @escaping @Sendable (UploadRun) async throws -> Void) async throws {
        let events = lfs.events(bufferingPolicy: .unbounded)
        // A task of its own: an interruption cancels this one, and what ends after it is told too.
        let telling = Task { await tell(events) }
        // Ends with this scope.
        async let _: Void = report.showProgress()
        let result = await Result { try await offload(work) }
        // Ends the events, so that every one of them is told before the rows are asked for what no event told.
        try await lfs.stop()
        await telling.value
        report.settle(try result.get())
    }

    private func tell(_ events: AsyncStream<LFSEvent>) async {
        for await event in events { report.handle(event) }
    }

    private func offload(_ work: @Sendable (UploadRun) async throws -> Void) async throws -> UploadSummary {
        try await lfs.retry()
        try await lfs.retryDeletions()
        let status = try await lfs.status()
        report.pending(files: status.local, bytes: status.pendingBytes)
        try lfs.start()
        try await work(self)
        // The rows tell what became of the files, also when another process has uploaded them.
        return try await lfs.waitForUploads()
    }
}

extension Result where Failure == any Error {
    /// What an asynchronous body returns or throws.
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
