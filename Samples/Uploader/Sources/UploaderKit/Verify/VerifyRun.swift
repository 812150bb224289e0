import ArgumentParser
import CommandLineOptions
import GRDB
import LFS
import LFSStorage

/// A run of a verification. It opens all components, compares, waits for the transfers of a repair, and prints a
/// summary.
struct VerifyRun: Sendable {
    private let databaseOptions: DatabaseOptions
    private let transfer: TransferOptions
    private let options: VerifyOptions
    private let reading: Reading
    private let report: VerifyReporter

    /// The objects to read back.
    enum Reading: Sendable {
        case nothing
        case all
        case share(ReadShare)
    }

    init(
        _ databaseOptions: DatabaseOptions, transfer: TransferOptions, output: OutputOptions,
        options: VerifyOptions, reading: Reading
    ) throws {
        self.databaseOptions = databaseOptions
        self.transfer = transfer
        self.options = options
        self.reading = reading
        report = try VerifyReporter(output, asksStorage: options.checksRemote)
    }

    /// - Throws: `ExitCode` if a problem is left, or if the command could not do its job.
    func run() async throws {
        let main = Task { try await verify() }
        let interruption = Interruption(log: report.log) { _ in
            report.message("Stopping. A second signal stops at once. Finished reads and repairs are kept.")
            main.cancel()
        } onStatus: {
            report.showProgressNow()
        }
        let result = await main.result
        report.endProgress()
        if let status = interruption.exitStatus { throw ExitCode(status) }
        do {
            if try !result.get() { throw ExitCode(5) }
        } catch let error where error is ExitCode || error is ValidationError {
            throw error
        } catch let error as GaveUp {
            report.gaveUp("\(error.words). 'resume' continues with the rest.")
            throw ExitCode(3)
        } catch {
            report.error(error)
            throw ExitCode(1)
        }
    }

    /// Returns true if no problem is left.
    private func verify() async throws -> Bool {
        let file = try DatabaseFile(at: databaseOptions.database)
        try file.requireThere()
        try file.requireFiles()
        // A local verification does not access the storage.
        let opened =
            options.checksRemote || options.repairs
            ? try await transfer.openStorage(for: file, makes: false, writes: options.repairs) : nil
        let storage = opened?.storage ?? InMemoryStorage()
        let database = try DocumentDatabase.openAny(file)
        let table = DocumentTable(isOurs: file.isOurs)
        let lfs = try await LFSManager.open(database, options: transfer.managerOptions(storage))
        do {
            let presence = options.checksRemote ? try await StoragePresence.look(database, storage: storage) : .unknown
            // A storage without any of the files, or an unavailable one, may be a mistake.
            if transfer.changeStorage, !options.acceptsEmpty, let opened { try presence.require(opened.location) }
            if table.isOurs, transfer.changeStorage, let opened, options.acceptsEmpty || presence == .found {
                try await database.write { db in try StorageMemory.remember(opened.location, given: opened.given, db) }
            }
            // The progress display ends with this scope.
            async let _: Void = report.showProgress()
            var verified: StorageMemory.Verified?
            if table.isOurs, options.checksRemote, let opened {
                verified = try await database.read { db in try StorageMemory.beginVerifying(opened.location, db) }
            }
            let isClean = try await verify(lfs, database: database, presence: presence, table: table)
            if let verified { try await database.write { db in try StorageMemory.note(verified, db) } }
            try await lfs.stop()
            try DocumentDatabase.close(database)
            return isClean
        } catch {
            try await lfs.stop()
            throw error
        }
    }

    private func verify(
        _ lfs: LFSManager, database: any DatabaseWriter, presence: StoragePresence, table: DocumentTable
    ) async throws -> Bool {
        var uploads: UploadSummary?
        var deletions = 0
        var options = options
        if table.isOurs { options.originals = Originals(database: database).sources(of:) }
        // A storage without any of the files is not read. The verification reports this.
        var isEmpty = false
        if case .missing = presence { isEmpty = !options.acceptsEmpty }
        let read = isEmpty ? nil : try await readObjects(lfs, database: database, table: table, options: &options)
        // Nothing is uploaded before the storage is known to be the right one.
        let result = try await lfs.verify(options) { finding in
            let (path, isVersion) = try await database.read { db in
                (
                    try finding.fileID.flatMap { try table.path(of: $0, db) },
                    try finding.fileID.map { try VersionTable.isVersion($0, db) } ?? false
                )
            }
            // The file at the path of an old version has other bytes.
            report.tell(finding, path: path, hasOriginal: table.isOurs && path != nil && !isVersion)
        } onProgress: { progress in
            report.advance(progress)
        }
        if options.repairs {
            (uploads, deletions) = try await repaired(lfs)
        }
        let failed = (uploads?.failures ?? []).map(\.fileID)
        let (paths, waiting) = try await database.read { db in
            (try table.paths(of: failed, db), try WaitingDeletions.count(db))
        }
        return report.summary(
            result, read: read, uploads: uploads, deletions: deletions, waitingDeletions: waiting, paths: paths,
            mayHaveOriginals: table.isOurs && !options.repairs)
    }

    /// Reads objects back before the rows are examined. Both kinds of findings then appear in one report.
    ///
    /// - Returns: the result. Nil if no objects were to be read, or if the verification itself reads all of them.
    private func readObjects(
        _ lfs: LFSManager, database: any DatabaseWriter, table: DocumentTable, options: inout VerifyOptions
    ) async throws -> ObjectReader.Progress? {
        let share: ReadShare?
        switch reading {
        case .nothing: return nil
        case .all where !table.isOurs:
            options.readsRemote = true
            return nil
        case .all: share = nil
        case .share(let part):
            guard table.isOurs else {
                throw UploaderError(
                    """
                    Only the uploader's own databases record which objects were read when. Read all objects of this \
                    one with --read-data.
                    """)
            }
            share = part
        }
        let report = report
        defer { report.reading(nil) }
        return try await ObjectReader(database: database, lfs: lfs).run(share) { unread in
            report.unread(unread, path: try await database.read { db in try table.path(of: unread.fileID, db) })
        } onProgress: { progress in
            report.reading(progress)
        }
    }

    /// Waits for the transfers of the repairs, while there is progress.
    private func repaired(_ lfs: LFSManager) async throws -> (UploadSummary?, Int) {
        let (advance, patience) = (ProgressMeter(), StallTimeout(transfer.giveUpAfter.duration))
        let events = lfs.events(bufferingPolicy: .unbounded)
        try lfs.start()
        return try await patience.run(lfs, advance: advance) {
            let uploads = try await lfs.waitForUploads()
            return (uploads, try await lfs.waitForDeletions())
        } beside: {
            for await event in events { advance.handle(event) }
        }
    }
}
