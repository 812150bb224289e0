import ArgumentParser
import GRDB
import LFS
import LFSStorage

/// One verification: opens everything, compares, waits for what a repair has queued, sums up.
struct VerifyRun: Sendable {
    private let databaseOptions: DatabaseOptions
    private let transfer: TransferOptions
    private let options: VerifyOptions
    private let reading: Reading
    private let report: VerifyReporter

    /// What of the objects is read back.
    enum Reading: Sendable {
        case nothing
        case all
        case share(ReadShare)
    }

    init(
        _ databaseOptions: DatabaseOptions, _ transfer: TransferOptions, _ output: OutputOptions,
        _ options: VerifyOptions, _ reading: Reading
    ) throws {
        self.databaseOptions = databaseOptions
        self.transfer = transfer
        self.options = options
        self.reading = reading
        report = try VerifyReporter(output, asksStorage: options.checksRemote)
    }

    /// - Throws: `ExitCode` when something is left, or when the command could not do its job.
    func run() async throws {
        let main = Task { try await verify() }
        let interruption = Interruption(log: report.log) { _ in
            report.message("Stopping: what was read and mended stays so; again stops at once.")
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
            report.gaveUp("\(error.words). 'resume' goes on with what is left.")
            throw ExitCode(3)
        } catch {
            report.error(error)
            throw ExitCode(1)
        }
    }

    /// Returns whether nothing is left.
    private func verify() async throws -> Bool {
        let file = try DatabaseFile(at: databaseOptions.database)
        try file.requireThere()
        try file.requireFiles()
        // Nothing is asked of the storage by a look at what is here.
        let opened =
            options.checksRemote || options.repairs
            ? try await transfer.openStorage(for: file, makes: false, writes: options.repairs) : nil
        let storage = opened?.storage ?? InMemoryStorage()
        let database = try DocumentDatabase.openAny(file)
        let table = DocumentTable(isOurs: file.isOurs)
        let lfs = try await LFSManager.open(database, options: transfer.managerOptions(storage))
        do {
            let presence = options.checksRemote ? try await StoragePresence.look(database, storage) : .unknown
            // One that has none of the files, or is away, may be a mistake.
            if transfer.changeStorage, !options.acceptsEmpty, let opened { try presence.require(opened.location) }
            if table.isOurs, transfer.changeStorage, let opened, options.acceptsEmpty || presence == .found {
                try await database.write { db in try StorageMemory.remember(opened.location, opened.given, db) }
            }
            // Ends with this scope.
            async let _: Void = report.showProgress()
            var verified: StorageMemory.Verified?
            if table.isOurs, options.checksRemote, let opened {
                verified = try await database.read { db in try StorageMemory.beginVerifying(opened.location, db) }
            }
            let isClean = try await verify(lfs, database, presence, table)
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
        _ lfs: LFSManager, _ database: any DatabaseWriter, _ presence: StoragePresence, _ table: DocumentTable
    ) async throws -> Bool {
        var uploads: UploadSummary?
        var deletions = 0
        var options = options
        if table.isOurs { options.originals = Originals(database: database).sources(of:) }
        // Of a storage that has none of the files nothing is read: the verification says so.
        var isEmpty = false
        if case .missing = presence { isEmpty = !options.acceptsEmpty }
        let read = isEmpty ? nil : try await readObjects(lfs, database, table, &options)
        // Nothing is uploaded before it is known that the storage is the right one.
        let result = try await lfs.verify(options) { finding in
            let (path, isVersion) = try await database.read { db in
                (
                    try finding.fileID.flatMap { try table.path(of: $0, db) },
                    try finding.fileID.map { try VersionTable.isVersion($0, db) } ?? false
                )
            }
            // What is at the path of an old version has other bytes.
            report.tell(finding, path, hasOriginal: table.isOurs && path != nil && !isVersion)
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
            result, read, uploads, deletions: deletions, waitingDeletions: waiting, paths: paths,
            mayHaveOriginals: table.isOurs && !options.repairs)
    }

    /// Reads objects back before the rows are looked at, so that what it notes is told with them.
    ///
    /// - Returns: what has come of it; nil when nothing was to be read, or the verification itself reads all.
    private func readObjects(
        _ lfs: LFSManager, _ database: any DatabaseWriter, _ table: DocumentTable, _ options: inout VerifyOptions
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
                    What was read when is noted in the uploader's own databases only, so this one can only be read as \
                    a whole: --read-data.
                    """)
            }
            share = part
        }
        let report = report
        defer { report.reading(nil) }
        return try await ObjectReader(database: database, lfs: lfs).run(share) { unread in
            report.unread(unread, try await database.read { db in try table.path(of: unread.fileID, db) })
        } onProgress: { progress in
            report.reading(progress)
        }
    }

    /// Waits for what the repairs have queued, as long as something of it gets done.
    private func repaired(_ lfs: LFSManager) async throws -> (UploadSummary?, Int) {
        let (advance, patience) = (Advance(), Patience(transfer.giveUpAfter.duration))
        let events = lfs.events(bufferingPolicy: .unbounded)
        try lfs.start()
        return try await patience.run(lfs, advance) {
            let uploads = try await lfs.waitForUploads()
            return (uploads, try await lfs.waitForDeletions())
        } beside: {
            for await event in events { advance.handle(event) }
        }
    }
}
