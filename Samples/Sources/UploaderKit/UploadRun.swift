import ArgumentParser
import Foundation
import GRDB
import LFS
import LFSStorage

/// One run that uploads: opens everything, does the command's work, waits, stops, sums up.
struct UploadRun: Sendable {
    let database: DatabasePool
    let lfs: LFSManager
    let report: Report

    /// Runs the command's own work, then waits until everything is offloaded.
    ///
    /// - Throws: `ExitCode` when something was left undone; other errors when the command could not do its job.
    static func run(
        _ databaseOptions: DatabaseOptions, _ transfer: TransferOptions, _ output: OutputOptions, mustExist: Bool,
        about purpose: Purpose = .uploading, _ work: @escaping @Sendable (UploadRun) async throws -> Void
    ) async throws {
        let report = Report(output, about: purpose)
        do {
            let run = try await open(databaseOptions, transfer, report, mustExist: mustExist)
            try await run.supervise(work)
        } catch let status as ExitCode {
            report.summary()
            throw status
        } catch {
            report.endProgress()
            report.message("\(error)")
            var event = JSONEvent("error")
            event.reason = "\(error)"
            report.tell(event, verbose: nil)
            report.summary()
            throw ExitCode(1)
        }
        report.summary()
        if report.tally.hasFailures { throw ExitCode(3) }
    }

    private static func open(
        _ databaseOptions: DatabaseOptions, _ transfer: TransferOptions, _ report: Report, mustExist: Bool
    ) async throws -> UploadRun {
        let storage = try transfer.to.open()
        let database = try DocumentDatabase.open(databaseOptions.database, mustExist: mustExist)
        var options = LFSOptions(storage: storage, maxExecutors: transfer.maxExecutors)
        options.persistenceLocation = transfer.persistenceLocation.map { URL(fileURLWithPath: $0, isDirectory: true) }
        // A file without a record is of no use after this process: nobody else knows its id.
        options.temporaryFileGracePeriod = .zero
        return UploadRun(database: database, lfs: try await LFSManager.open(database, options: options), report: report)
    }

    /// Does the work under the signals and with progress shown, and stops the manager whatever happens.
    private func supervise(_ work: @escaping @Sendable (UploadRun) async throws -> Void) async throws {
        let events = lfs.events(bufferingPolicy: .unbounded)
        let main = Task { try await perform(work) }
        let report = report
        let interruption = Interruption { signal in
            report.message(
                signal == SIGINT
                    ? "Stopping: finishing what is under way. Press Ctrl-C again to stop at once; nothing is lost."
                    : "Stopping: finishing what is under way. Nothing is lost.")
            main.cancel()
        } onStatus: {
            report.showProgressNow()
        }
        let failure: (any Error)? = await withTaskGroup(of: Void.self) { side in
            side.addTask { for await event in events { report.handle(event) } }
            let progress = Task { await report.showProgress() }
            defer { progress.cancel() }
            do {
                try await main.value
                return nil
            } catch {
                return error
            }
        }
        report.endProgress()
        if let status = interruption.exitStatus { throw ExitCode(status) }
        if let failure { throw failure }
    }

    private func perform(_ work: @Sendable (UploadRun) async throws -> Void) async throws {
        do {
            let before = try await lfs.status()
            let retried = try await lfs.retry()
            report.pending(files: before.local - before.failed - before.cancelled + retried, bytes: try await lfs.status().pendingBytes)
            try lfs.start()
            try await work(self)
            try await lfs.waitForUploads()
        } catch {
            try await lfs.stop()
            throw error
        }
        try await lfs.stop()
    }
}
