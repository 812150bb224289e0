import LFSFiles
import LFSStorage
import LFSSystem

/// Fetches the bytes of a file from the remote storage into the local store.
struct Downloader: Sendable {
    let store: LocalStore
    let storage: any RemoteStorage

    /// Returns when the bytes are checked, durable and in the store. Wrong bytes never get there.
    func fetch(_ file: FileData) async throws {
        guard let id = FileID(file.id) else {
            throw LFSError(.unknownFile, "'\(file.id)' is not a file id.", fileID: file.id)
        }
        let incoming = try await BlockingPool.shared.run { _ in
            try IncomingFile(id, byteCount: file.byteCount, in: store)
        }
        do {
            let sink = DownloadSink { try incoming.write($0) }
            _ = try await storage.download(DownloadRequest(try ObjectKey(file.key)), into: sink)
            try await incoming.finish(sha256: file.sha256)
        } catch {
            let failure = error
            try await BlockingPool.shared.run { _ in try incoming.discard() }
            throw failure
        }
    }
}
