import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import Synchronization
import Testing

@testable import LFSWebDAV

struct DiskHasGone: Error {}

func plainOptions() -> WebDAVOptions {
    var options = WebDAVOptions()
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

extension WebDAVStorage {
    /// Returns the bytes of an object.
    func contents(_ key: ObjectKey) async throws -> [UInt8] {
        let bytes = Mutex<[UInt8]>([])
        _ = try await download(DownloadRequest(key), into: DownloadSink { piece in bytes.withLock { $0 += piece } })
        return bytes.withLock { $0 }
    }
}

/// A transport that changes a byte of each uploaded file on the server's disk.
struct RottingTransport: HTTPTransport {
    private let base = DefaultTransport.make(
        {
            var options = HTTPOptions()
            options.allowsPlainHTTP = true
            return options
        }())
    private let folder: URL

    init(_ folder: String) { self.folder = URL(fileURLWithPath: folder) }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let response = try await base.send(request)
        if request.method == .put, response.head.isSuccess {
            let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
            while let file = files?.nextObject() as? URL {
                guard request.target.hasSuffix("/" + file.lastPathComponent) else { continue }
                let handle = try FileHandle(forUpdating: file)
                let first = try handle.read(upToCount: 1) ?? Data([0])
                try handle.seek(toOffset: 0)
                try handle.write(contentsOf: Data([first[0] ^ 1]))
                try handle.close()
            }
        }
        return response
    }

    func shutdown() async { await base.shutdown() }
}
