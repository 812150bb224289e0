import LFSDatabase
import LFSStorage
public import LFSSystem
import LFSTransfer

extension LFSManager {
    /// Compares rows, local files and remote objects, and reports every deviation from the rows.
    ///
    /// The app, uploads, deletions and other processes may continue during the call. A finding is reported only if a
    /// second check immediately before still shows it. Memory use does not grow with the number of files or objects.
    ///
    /// With ``VerifyOptions/repairs`` it repairs everything that can be repaired without data loss. Uploads and
    /// deletions are queued for the background work, so a running manager carries them out. A file without correct
    /// bytes anywhere is recorded as lost. From then on the finding is *known*: it is reported again but not counted as
    /// unrepaired, until the row is deleted.
    ///
    /// - Parameters:
    ///   - verifyOptions: what is compared, and whether it is repaired.
    ///   - onFinding: receives each finding, after its repair if there is one. The search continues when it returns.
    ///   - onProgress: receives the progress after each page of about a thousand files or objects, from any thread.
    /// - Returns: the counts.
    /// - Throws: ``LFSError/Code/storage`` when the storage fails, and any error that `onFinding` throws. A stop also
    ///   ends a running call, and the error is ``LFSError/Code/notRunning``. When a place is not the one that was used,
    ///   the error is ``LFSError/Code/wrongStore`` or ``LFSError/Code/wrongStorage``, and nothing is changed from then
    ///   on.
    @discardableResult
    public func verify(
        _ verifyOptions: VerifyOptions = VerifyOptions(),
        onFinding: @escaping @Sendable (VerifyFinding) async throws -> Void = { _ in },
        onProgress: @escaping @Sendable (VerifyProgress) -> Void = { _ in }
    ) async throws -> VerifyReport {
        let verifier = Verifier(
            options: verifyOptions, runner: runner, places: places, namespace: namespace, storage: reader.storage,
            repairer: repairer, readBack: reader.readBack, wallClock: options.wallClock,
            longestWait: options.longestWait, longestBackoff: options.backoff.cap,
            stagingGracePeriod: options.temporaryFileGracePeriod, onProgress: onProgress, onFinding: onFinding)
        return try await LFSError.catching {
            try await lifecycle.calls.run("verify") {
                var verifier = verifier
                return try await verifier.run()
            }
        }
    }

    /// Downloads the objects of some files completely and compares their size and SHA-256 with the rows.
    /// ``VerifyOptions/readsRemote`` does this for all objects at once.
    ///
    /// The bytes are not kept. The results are recorded. So the next verification reports damage without reading the
    /// object again, and the local bytes of a damaged object are no longer evicted. The caller keeps track of what was
    /// read when.
    ///
    /// - Parameter ids: the files, at most about a page of them, because all their rows are in memory at once.
    /// - Returns: the result for each file, in any order. Files that are not on the storage according to their rows, or
    ///   whose upload is pending, are left out.
    /// - Throws: ``LFSError/Code/storage`` when the storage gives none of them now, ``LFSError/Code/notRunning`` after
    ///   a stop, which also ends a running call, and ``LFSError/Code/cancelled``.
    public func readBack(_ ids: [FileID]) async throws -> [ObjectReading] {
        let (runner, readBack) = (runner, reader.readBack)
        return try await LFSError.catching {
            try await lifecycle.calls.run("read objects") {
                let rows = try await runner.read { db in try FileTable.settledRemote(ids, db) }
                return try await readBack.read(rows.compactMap(\.readable))
            }
        }
    }

    /// Reads the local copy of a file and compares it with the recorded SHA-256. If it is damaged, the correct bytes
    /// are downloaded to replace it, when the storage has them. Use it when a reader got wrong bytes, without verifying
    /// all files.
    ///
    /// The damaged bytes are kept in the folder `quarantine` until the correct ones are on this device. When the
    /// storage reports that it has no object, they stay in their place.
    ///
    /// Calls for one file run one after the other.
    ///
    /// - Returns: whether this call has downloaded correct bytes. False when the local copy is correct by now, or does
    ///   not exist.
    /// - Throws: ``LFSError/Code/sourceChanged`` when the copy is damaged and the storage has no correct bytes either,
    ///   ``LFSError/Code/storage`` when the download fails, ``LFSError/Code/notRunning`` after a stop,
    ///   ``LFSError/Code/unknownFile``, ``LFSError/Code/noSpace``, and ``LFSError/Code/cancelled``.
    @discardableResult
    public func repairLocalCopy(of id: FileID) async throws -> Bool {
        let repairer = repairer
        return try await LFSError.catching(about: id) {
            try await lifecycle.calls.run("repair a local copy") { try await repairer.mendCopy(of: id) }
        }
    }
}
