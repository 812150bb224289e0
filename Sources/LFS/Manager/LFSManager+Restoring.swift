import Foundation
import LFSDatabase
import LFSFiles
public import LFSSystem
import LFSTransfer

extension LFSManager {
    /// Gives a file its right bytes back, from wherever they still are, and sends them to the storage again.
    ///
    /// For files whose bytes were lost or damaged, here or on the storage: ``UploadFailure/damagedFiles(_:)`` names those
    /// that are known. The note of the loss ends; a file that is moved in is copied, and stays where it is.
    ///
    /// - Parameter onProgress: takes the number of bytes that are in so far, from any thread.
    /// - Throws: ``LFSError/Code/sourceChanged`` when the size or the SHA-256 is not the recorded one, with nothing changed;
    ///   ``LFSError/Code/unknownFile``; as ``makeFile(from:name:contentType:onProgress:)``.
    public func restore(
        _ id: FileID, from source: FileSource, onProgress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws {
        do {
            guard let file = try await runner.read({ db in try FileTable.fetch(id, db) })
            else { throw LFSError(.unknownFile, "There is no file '\(id)' in the database.", fileID: id) }
            let staged = try await ingest(Self.copying(source), as: FileID.make(at: options.wallClock()), onProgress)
            do {
                guard staged.byteCount == file.byteCount, staged.sha256 == file.sha256 else {
                    throw LFSError(.sourceChanged, "These are not the bytes that were recorded.", fileID: id)
                }
                let places = places
                try await BlockingPool.shared.run { _ in try places.replace(id, with: staged.id) }
            } catch {
                let staging = places.staging
                try await BlockingPool.shared.run { _ in _ = try staging.remove(staged.id) }
                throw error
            }
            try await reader.requireRow(id, "restored")
            try await repairer.upload(id)
        } catch {
            throw LFSError.wrapping(error, fileID: id)
        }
    }

    var repairer: Repairer {
        let (pool, tombstones) = (pool, tombstones)
        return Repairer(
            runner: runner, places: places, orphans: Orphans(runner: runner), namespace: namespace,
            reader: reader, wallClock: options.wallClock,
            wake: {
                pool.wake()
                tombstones.notify()
            })
    }

    /// Bytes that turn out to be others must not have been taken from where they were.
    private static func copying(_ source: FileSource) -> IngestSource {
        if case .moving(let path) = source.ingest { .copying(path: path) } else { source.ingest }
    }
}
