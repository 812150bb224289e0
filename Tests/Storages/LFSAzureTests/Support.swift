import Foundation
import LFSHTTP
import LFSStorage
import Synchronization
import TestSupport
import Testing

@testable import LFSAzure

func plainOptions() -> AzureOptions {
    var options = AzureOptions()
    options.allowsPlainHTTP = true
    return options
}

/// Returns the storage error of a call, or nil after success.
func storageError(_ body: () async throws -> some Sendable) async throws -> StorageError? {
    do {
        _ = try await body()
        return nil
    } catch let error as StorageError {
        return error
    }
}

extension AzureStorage {
    /// Returns the bytes of an object or of a range of it.
    func contents(_ key: ObjectKey, range: Range<Int64>? = nil) async throws -> [UInt8] {
        let bytes = Mutex<[UInt8]>([])
        let sink = DownloadSink { piece in bytes.withLock { $0 += piece } }
        _ = try await download(DownloadRequest(key, range: range), into: sink)
        return bytes.withLock { $0 }
    }
}

/// A session that records checkpoints and progress.
final class Notes: Sendable {
    private let state = Mutex<(saved: [UploadCheckpoint], most: Int64)>(([], 0))

    var saved: [UploadCheckpoint] { state.withLock { $0.saved } }
    var most: Int64 { state.withLock { $0.most } }

    func session(_ checkpoint: UploadCheckpoint? = nil, replaces: Bool = false) -> UploadSession {
        UploadSession(
            checkpoint: checkpoint, replacesObject: replaces,
            onProgress: { count in self.state.withLock { $0.most = max($0.most, count) } },
            onSave: { checkpoint in self.state.withLock { $0.saved.append(checkpoint) } })
    }
}
