import LFSDatabase
import LFSFiles
import LFSSystem

/// Puts right bytes, from wherever the app has found them, in the place of lost or damaged ones.
struct FileRestorer: Sendable {
    let files: FileMaker
    let reader: FileReader
    let uploads: UploadQueue

    func restore(
        _ id: FileID, from source: FileSource, _ onProgress: @escaping @Sendable (Int64) -> Void
    ) async throws {
        let places = files.places
        guard let file = try await files.runner.read({ db in try FileTable.fetch(id, db) })
        else { throw LFSError.unknown(id) }
        let staged = try await files.ingest(Self.copying(source), as: FileID.make(at: files.wallClock()), onProgress)
        do {
            guard staged.byteCount == file.byteCount, staged.sha256 == file.sha256 else {
                throw LFSError(.sourceChanged, "These are not the bytes that were recorded.", fileID: id)
            }
            try await BlockingPool.shared.run { _ in try places.replace(id, with: staged.id) }
        } catch {
            let staging = places.staging
            try await BlockingPool.shared.run { _ in _ = try staging.remove(staged.id) }
            throw error
        }
        try await reader.requireRow(id, "restored")
        try await uploads.queue(id)
    }

    /// Bytes that turn out to be others must not have been taken from where they were.
    private static func copying(_ source: FileSource) -> IngestSource {
        if case .moving(let path) = source.ingest { .copying(path: path) } else { source.ingest }
    }
}
