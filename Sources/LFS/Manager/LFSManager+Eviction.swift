import LFSDatabase
import LFSFiles
public import LFSSystem

extension LFSManager {
    // MARK: One file

    /// Evicts a file that is on the remote storage: its local bytes go. They are fetched again when they are needed.
    ///
    /// Returns when the row that allows it is durable and the bytes are gone; a reader that has them open keeps them. Where
    /// the storage vouches for the number of the bytes alone (``FileData/proof``), the object is read back first.
    /// - Throws: ``LFSError/Code/notUploaded`` while the upload is not proven; ``LFSError/Code/pinned`` as long as the file
    ///   is pinned; ``LFSError/Code/unknownFile``.
    public func evict(_ id: FileID) async throws {
        try await evicting { [self] in
            // Only what every policy keeps is kept from a caller who names the file.
            switch try await remover.remove([id: 0], EvictionPolicy(), passesUsed: false)[id] ?? nil {
            case nil: return
            case .orphaned: throw Self.unknown(id)
            case .pinned:
                throw LFSError(.pinned, "The file is pinned. Unpin it before its local copy is removed.", fileID: id)
            case .unproven:
                throw LFSError(
                    .notUploaded,
                    "The storage vouches for the number of its bytes alone, and they could not be read back now.",
                    fileID: id)
            default:
                throw LFSError(
                    .notUploaded, "The upload of this file is not proven yet, and these are its only bytes.",
                    fileID: id)
            }
        }
    }

    // MARK: Pins

    /// Keeps the local copies of files from being evicted, until ``unpin(_:)``. It does not fetch them:
    /// ``prefetch(_:)`` does.
    ///
    /// - Throws: ``LFSError/Code/unknownFile`` when a file has no row; none is pinned then.
    public func pin(_ ids: some Sequence<FileID> & Sendable) async throws {
        // The sequence may give its elements once, and the transaction may be made again.
        let ids = Array(ids)
        try await runner.write { db in
            for id in ids {
                guard try FileTable.contains(id, db) else { throw Self.unknown(id) }
                try CopyTable.pin(id, db)
            }
        }
    }

    /// Lets the local copies of files go again when copies are evicted. A file that is not pinned is passed over.
    public func unpin(_ ids: some Sequence<FileID> & Sendable) async throws {
        let ids = Array(ids)
        try await runner.write { db in for id in ids { try CopyTable.unpin(id, db) } }
        for id in ids { places.ledger.allow(id) }
    }

    /// Whether the local copy of a file is kept from being evicted.
    public func isPinned(_ id: FileID) async throws -> Bool {
        try await runner.read { db in try CopyTable.isPinned(id, db) }
    }

    // MARK: Many files

    /// Evicts local copies until a policy's aims are met, those that were not used for the longest time first.
    ///
    /// Only a copy whose upload is proven, by a row that no power cut can take back, goes. Anything may go on meanwhile,
    /// reading too: what is needed again is fetched again. ``LFSOptions/eviction`` does the same all the time.
    ///
    /// - Parameter onCopy: takes each copy when it is gone; the next page waits until it returns.
    /// - Returns: what went and what stays. When it throws, what was told to `onCopy` is gone.
    /// - Throws: ``LFSError/Code/notRunning`` after a stop, which ends it too; what `onCopy` throws.
    @discardableResult
    public func evict(
        _ policy: EvictionPolicy, onCopy: @escaping @Sendable (EvictedCopy) async throws -> Void = { _ in }
    ) async throws -> EvictionReport {
        try await evicting { [self] in try await run(policy, isPreview: false, onCopy).run() }
    }

    /// Tells what ``evict(_:onCopy:)`` would do now, and evicts nothing.
    public func previewEviction(
        _ policy: EvictionPolicy, onCopy: @escaping @Sendable (EvictedCopy) async throws -> Void = { _ in }
    ) async throws -> EvictionReport {
        try await evicting { [self] in try await run(policy, isPreview: true, onCopy).run() }
    }

    /// Evicts every local copy that may go, and what unfinished downloads have left. Pinned files stay.
    @discardableResult
    public func evictAll() async throws -> EvictionReport {
        try await evicting { [self] in
            var report = try await run(EvictionPolicy(maxByteCount: 0), isPreview: false) { _ in }.run()
            let store = places.store
            report.unfinishedByteCount = try await BlockingPool.shared.run { _ in try store.clearUnfinished() }
            return report
        }
    }

    private var remover: CopyRemover {
        CopyRemover(runner: runner, places: places, readBack: reader.readBack, wallClock: options.wallClock)
    }

    private func run(
        _ policy: EvictionPolicy, isPreview: Bool, _ onCopy: @escaping @Sendable (EvictedCopy) async throws -> Void
    ) -> EvictionRun {
        EvictionRun(
            runner: runner, places: places, uses: uses, remover: remover, policy: policy, isPreview: isPreview,
            onCopy: onCopy)
    }

    private func evicting<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        do {
            return try await lifecycle.calls.run("free space", body)
        } catch let error as SystemError {
            throw LFSError.wrapping(FileError.keeping(error, at: places.store.path))
        } catch {
            throw LFSError.wrapping(error)
        }
    }

    private static func unknown(_ id: FileID) -> LFSError {
        LFSError(.unknownFile, "There is no file '\(id)' in the database.", fileID: id)
    }
}
