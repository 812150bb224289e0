import LFSDatabase
import LFSStorage
public import LFSSystem
import LFSTransfer

extension LFSManager {
    /// Compares rows, local files and remote objects, and tells what is not as the rows say.
    ///
    /// The app may go on meanwhile, and so may uploads, deletions and other processes: a finding is told only if a
    /// second look right before it still shows it. Memory does not grow with the number of files or objects.
    ///
    /// With ``VerifyOptions/repairs`` it mends what can be mended without a loss. Uploads and deletions are queued for
    /// the background work, so a manager that runs carries them out. A file of which no right bytes are left anywhere
    /// is noted as lost, and from then on it is *known*: it is told again and not counted as left, until its row is
    /// deleted.
    ///
    /// - Parameters:
    ///   - verifyOptions: what is compared, and whether it is mended.
    ///   - onFinding: takes each finding, after its repair if there is one; the next is not looked for before it
    ///     returns.
    ///   - onProgress: takes how far it is, after each page of about a thousand files or objects, from any thread.
    /// - Returns: the numbers.
    /// - Throws: ``LFSError/Code/notRunning`` after a stop, which ends it too;
    ///   ``LFSError/Code/wrongStore`` and ``LFSError/Code/wrongStorage`` when a place is not the one that was used,
    ///   with nothing changed from then on; ``LFSError/Code/storage`` when the storage fails; what `onFinding` throws.
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

    /// Reads the objects of some files to their end and compares their size and SHA-256 with the recorded ones: a part
    /// of what ``VerifyOptions/readsRemote`` reads at once.
    ///
    /// Nothing of the bytes is kept. What is seen is noted, so that the next verification tells damage without reading
    /// it again, and local bytes of a damaged object are not evicted any more. Who calls it notes what was read when.
    ///
    /// - Parameter ids: the files, a page of them: their rows are in memory at once.
    /// - Returns: what came of each, in any order. Files that are not on the storage by their rows, or wait for an
    ///   upload, are not among them.
    /// - Throws: ``LFSError/Code/storage`` when the storage gives none of them now; ``LFSError/Code/notRunning`` after
    ///   a stop, which ends it too; ``LFSError/Code/cancelled``.
    public func readBack(_ ids: [FileID]) async throws -> [ObjectReading] {
        let (runner, readBack) = (runner, reader.readBack)
        return try await LFSError.catching {
            try await lifecycle.calls.run("read objects") {
                let rows = try await runner.read { db in try FileTable.settledRemote(ids, db) }
                return try await readBack.read(rows.compactMap(\.readable))
            }
        }
    }

    /// Reads the local copy of a file and compares it with the recorded SHA-256. In the place of a damaged one it
    /// fetches the right bytes, where the storage has them: what a reader can do that was given wrong bytes, without a
    /// verification of all files.
    ///
    /// The damaged bytes are kept aside in the folder `quarantine` until the right ones are here. Where the storage
    /// says that it has none, they stay where they are.
    ///
    /// Calls for one file wait for each other.
    ///
    /// - Returns: whether this call has fetched right bytes; false when the local copy is right by now, or there is
    ///   none.
    /// - Throws: ``LFSError/Code/sourceChanged`` when it is damaged and the storage has no right bytes either;
    ///   ``LFSError/Code/storage`` when fetching fails; ``LFSError/Code/unknownFile``; ``LFSError/Code/notRunning``
    ///   after a stop; ``LFSError/Code/noSpace``, ``LFSError/Code/cancelled``.
    @discardableResult
    public func mendLocalCopy(of id: FileID) async throws -> Bool {
        let repairer = repairer
        return try await LFSError.catching(about: id) {
            try await lifecycle.calls.run("mend a local copy") { try await repairer.mendCopy(of: id) }
        }
    }
}
