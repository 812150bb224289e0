import Foundation
import GRDB
import LFSStorage
import LFSSystem
import TestSupport
import Testing

@testable import LFS

@Suite("Temporary URLs of files", .timeLimit(.minutes(10)))
struct TemporaryURLTests {
    /// A storage in memory with URLs that contain the key and the time.
    private struct LinkingStorage: TemporaryURLStorage {
        let base = InMemoryStorage()
        var capabilities: StorageCapabilities { base.capabilities }

        func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
            try await base.upload(source, to: key, session: session)
        }
        func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
            try await base.download(request, into: sink)
        }
        func head(_ key: ObjectKey) async throws -> RemoteObject { try await base.head(key) }
        func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
            try await base.delete(key, abandoning: checkpoint)
        }
        func list(_ request: ListRequest) async throws -> ListPage { try await base.list(request) }

        func downloadURL(for key: ObjectKey, expires: Duration) async throws -> URL {
            try #require(URL(string: "https://store.example/\(key.rawValue)?seconds=\(expires.components.seconds)"))
        }
    }

    @Test("An uploaded file has a URL with its key and the requested time")
    func uploaded() async throws {
        try await withLFS(storage: LinkingStorage()) { host, lfs in
            let file = try await lfs.makeFile(from: .bytes([1, 2, 3]))
            try await host.database.write { try file.insert($0) }
            try await lfs.waitForUploads()
            let url = try await lfs.temporaryURL(for: file, expires: .seconds(60))
            #expect(url?.absoluteString == "https://store.example/\(file.key)?seconds=60")
        }
    }

    @Test("A file that is not uploaded yet has no URL")
    func pending() async throws {
        try await withLFS(storage: LinkingStorage()) { host, lfs in
            lfs.pause()
            let file = try await lfs.makeFile(from: .bytes([1, 2, 3]))
            try await host.database.write { try file.insert($0) }
            #expect(try await lfs.temporaryURL(for: file) == nil)
            lfs.resume()
        }
    }

    @Test("A storage without URLs and a file without a row are errors")
    func errors() async throws {
        try await withLFS(storage: InMemoryStorage()) { host, lfs in
            let file = try await lfs.makeFile(from: .bytes([1, 2, 3]))
            let other = try await lfs.makeFile(from: .bytes([4]))
            try await host.database.write { try file.insert($0) }
            try await lfs.waitForUploads()
            let refused = await #expect(throws: LFSError.self) { try await lfs.temporaryURL(for: file) }
            #expect(refused?.code == .storage, "\(refused as Any)")
            let unknown = await #expect(throws: LFSError.self) { try await lfs.temporaryURL(for: other) }
            #expect(unknown?.code == .unknownFile, "\(unknown as Any)")
            try await lfs.discard(other)
        }
    }
}
