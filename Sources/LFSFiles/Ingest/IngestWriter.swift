import LFSSystem
import Synchronization

/// The file that one ingest writes: bytes go in, size and checksum come out, and on an error nothing stays.
///
/// One task writes at a time, from a thread that may block.
final class IngestWriter: Sendable {
    private let directory: Directory
    private let name: String
    private let file: Descriptor
    private let state = Mutex((hash: ContentHash(), writeback: EarlyWriteback()))
    private let onProgress: @Sendable (Int64) -> Void

    init(
        _ name: String, in directory: Directory, onProgress: @escaping @Sendable (Int64) -> Void
    ) throws(FileError) {
        self.directory = directory
        self.name = name
        self.onProgress = onProgress
        do {
            file = try directory.create(name)
        } catch {
            throw FileError.keeping(error, at: directory.path)
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
        do {
            try file.write(bytes)
        } catch {
            throw FileError.keeping(error, at: directory.path)
        }
        let (count, due) = state.withLock { state in
            state.hash.update(bytes)
            return (state.hash.byteCount, state.writeback.next(state.hash.byteCount))
        }
        if let due { file.beginWriteback(due) }
        onProgress(count)
    }

    /// Makes the file durable, content and name.
    func finish(as id: FileID) throws(FileError) -> IngestedFile {
        let (counted, sha256) = state.withLock { ($0.hash.byteCount, $0.hash.hex) }
        let kept: Int64
        do {
            try file.synchronize()
            kept = try file.status().byteCount
            try directory.synchronize()
        } catch {
            throw FileError.keeping(error, at: directory.path)
        }
        guard kept == counted else {
            throw FileError(
                .system, "\(directory.path) took \(kept) of \(counted) bytes without an error.", path: directory.path)
        }
        return IngestedFile(id: id, byteCount: counted, sha256: sha256)
    }

    /// Removes what was written, after an error.
    func discard() throws(FileError) {
        do {
            try directory.remove(name)
            // The bytes go now, not when the last thread lets go of the file: the disk may be full.
            try file.truncate(to: 0)
        } catch {
            throw FileError.keeping(error, at: directory.path)
        }
    }
}
