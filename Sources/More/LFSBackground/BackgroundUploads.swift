public import LFS
import LFSDatabase
import LFSFiles
import LFSHTTPStorage
public import LFSStorage
import LFSSystem
import Logging
import Synchronization

/// Uploads that continue while the app is suspended or does not run.
///
/// ```swift
/// let background = try BackgroundUploads(lfs, session: URLSessionBackground(identifier: "app.uploads"))
/// Task { await background.run() }        // once, right after launch
/// try await background.handOver()        // when the scene enters the background
/// ```
///
/// ``handOver()`` lends queued uploads to a ``BackgroundSession``. The session only moves bytes to the storage, and its
/// reports are never believed. When its tasks of a file have ended, the upload is due, and the manager asks the storage
/// for what it has, sends the rest and confirms the object as always.
///
/// One instance at a time may use a database. The mutex owns the files whose tasks have failed.
public final class BackgroundUploads: Sendable {
    let loans: Loans
    let session: any BackgroundSession
    let storage: any PresigningStorage
    let options: BackgroundOptions
    /// Lets one hand-over or comparison run at a time.
    private let handovers = AsyncSemaphore(1)
    /// Lets one caller at a time change rows together with tasks.
    let turns = AsyncSemaphore(1)
    /// The files whose tasks have failed since the launch. The app uploads them itself.
    private let failed = Mutex<Set<FileID>>([])

    /// Creates the uploads of a manager, running or not.
    ///
    /// - Parameters:
    ///   - lfs: the manager, whose storage must be able to sign requests in advance: `SignedURLStorage` or
    ///     `S3Storage`.
    ///   - session: the service. No other instance may use it.
    ///   - options: the limits.
    /// - Throws: `StorageError.Code.invalidRequest` for another storage.
    public init(
        _ lfs: LFSManager, session: any BackgroundSession, options: BackgroundOptions = BackgroundOptions()
    ) throws(StorageError) {
        guard let storage = lfs.loans.storage as? any PresigningStorage else {
            throw StorageError(
                .invalidRequest,
                message: """
                    The storage '\(lfs.loans.storage.capabilities.kind)' cannot sign requests in advance, so no other \
                    process can upload for it. Use SignedURLStorage or S3Storage without a wrapper around it.
                    """)
        }
        self.storage = storage
        self.session = session
        self.options = options.withinBounds
        loans = lfs.loans
        loans.onRecall { [weak self] ids in try await self?.takeBack(ids) }
    }

    // MARK: Handing over

    /// Lends the oldest queued uploads to the session, within its limits. Begin before the app is suspended,
    /// because reading, signing and copying take time.
    ///
    /// A file that cannot be handed over stays in the queue, and the log has the reason. If the task is cancelled, the
    /// files handed over so far stay with the session.
    ///
    /// - Returns: the number of files that were handed over.
    /// - Throws: the error of the database, the session or the disk.
    @discardableResult
    public func handOver() async throws -> Int {
        try await handovers.withPermit {
            let room = try await compare()
            let excluded = failed.withLock { $0 }
            let lent = try await loans.lend(upTo: room.taskCount, for: options.loanTime, excluding: excluded)
            options.onStep("lent")
            let handovers = await runEach(lent, atMost: Self.parallel) { upload in
                await Handover(uploads: self, upload: upload, room: room).run()
            }
            return handovers.count { $0 }
        }
    }

    /// The number of files that are prepared at a time.
    private static let parallel = 4

    // MARK: Taking back

    /// Compares the loans with the tasks of the session. Call it when the app becomes active.
    ///
    /// A task that belongs to no loan is cancelled. A loan without a task ends, for example because the system has lost
    /// the event. Part files without a loan are removed.
    ///
    /// - Throws: the error of the database, the session or the disk.
    public func refresh() async throws {
        try await handovers.withPermit { _ = try await compare() }
    }

    /// - Returns: the room for further tasks.
    private func compare() async throws -> HandoverRoom {
        try await turns.withPermit {
            let labels = try await session.labels()
            let rows = try await loans.rows()
            let running = rows.filter { $0.isLent && labels.contains(label(of: $0.part)) }
            let unknown = labels.subtracting(running.map { label(of: $0.part) })
            try await cancel(unknown)
            let over = Set(rows.filter { !$0.isLent }.map(\.part.fileID))
            if !over.isEmpty { try await loans.giveBack(over) }
            for row in rows where row.isLent && !labels.contains(label(of: row.part)) {
                try await loans.end(row.part)
                options.onStep("ended")
            }
            let kept = Set(running.map(\.part))
            let byteCount = try await removeFiles { !kept.contains($0) }
            return HandoverRoom(
                taskCount: options.maxTasks - running.count, byteCount: options.maxByteCount - byteCount)
        }
    }

    /// Cancels the tasks of files and ends their loans.
    func takeBack(_ ids: Set<FileID>) async throws {
        try await turns.withPermitThroughCancellation {
            let parts = try await loans.rows().map(\.part).filter { ids.contains($0.fileID) }
            try await cancel(Set(parts.map(label)))
            try await loans.giveBack(ids)
            try await removeFiles { ids.contains($0.fileID) }
        }
    }

    private func cancel(_ labels: Set<String>) async throws {
        if labels.isEmpty { return }
        try await session.cancel(labels)
        options.onStep("cancelled")
    }

    // MARK: Events

    /// Handles the events of the session until the task is cancelled. Call it once, right after the launch of the app,
    /// also after a launch in the background.
    public func run() async {
        let events = session.events()
        do {
            try await refresh()
        } catch {
            loans.logger.notice("loans were not compared with tasks", metadata: ["error.message": "\(error)"])
        }
        for await event in events { await handle(event) }
    }

    private func handle(_ event: BackgroundEvent) async {
        switch event {
        case .allDelivered: await session.finishEvents()
        case .ended(let label, let outcome):
            guard let part = part(label) else { return }
            do {
                try await end(part, outcome: outcome)
            } catch {
                // The next comparison ends the loan, at the latest its time does.
                loans.logger.notice("the end of a task was not recorded", metadata: ["error.message": "\(error)"])
            }
        }
    }

    /// Ends a part. Whether its task has succeeded makes no difference to the upload, which asks the storage.
    private func end(_ part: LentPart, outcome: BackgroundOutcome) async throws {
        try await turns.withPermitThroughCancellation {
            // The failure is noted first, because a file without a loan can be handed over again. A comparison may have
            // ended the loan already.
            if let failure = outcome.failure { noteFailure(of: part.fileID, reason: failure) }
            try await loans.end(part)
            options.onStep("ended")
            try await removeFiles { $0 == part }
        }
    }

    func noteFailure(of id: FileID, reason: String) {
        failed.withLock { _ = $0.insert(id) }
        loans.logger.notice(
            "a background task failed, the app uploads the file",
            metadata: ["lfs.file": "\(id)", "reason": "\(reason)"])
    }

    // MARK: Parts

    /// Returns the label of a part's task: the database, the file, the number of the part and a nonce.
    func label(of part: LentPart) -> String { "\(loans.namespace)/\(part.name)" }

    private func part(_ label: String) -> LentPart? {
        let prefix = "\(loans.namespace)/"
        return label.hasPrefix(prefix) ? LentPart(name: String(label.dropFirst(prefix.count))) : nil
    }

    /// - Returns: the total size of the other part files in bytes.
    @discardableResult
    func removeFiles(where mayGo: @escaping @Sendable (LentPart) -> Bool) async throws -> Int64 {
        guard let folder = try await loans.existingOutgoing() else { return 0 }
        let result = try await BlockingPool.shared.run { _ in try folder.removeAll(where: mayGo) }
        if result.removedCount > 0 { options.onStep("removed") }
        return result.keptByteCount
    }
}
