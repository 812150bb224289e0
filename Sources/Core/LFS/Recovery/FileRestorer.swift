import LFSDatabase
import LFSFiles
import LFSSystem

/// The replacement of lost or damaged bytes of a file with correct bytes from any source.
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
                throw LFSError(.sourceChanged, message: "These are not the bytes that were recorded.", fileID: id)
            }
            try await BlockingPool.shared.run { _ in try places.replace(id, with: staged.id) }
        } catch {
            let staging = places.staging
            try await BlockingPool.shared.run { _ in _ = try staging.remove(staged.id) }
            throw error
        }
        try await reader.requireRow(id, participle: "restored")
        try await uploads.queue(id)
    }

    /// The source is copied, never moved: its bytes may turn out to be different ones and must stay in their place.
    private static func copying(_ source: FileSource) -> IngestSource {
        switch source.ingest {
        case .moving(let path): .copying(path: path)
        case .original(let original): original.copied
        default: source.ingest
        }
    }
}
