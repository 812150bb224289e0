import Foundation
import LFSHTTP
import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSWebDAV

@Suite("Operations on WebDAV servers", .enabled(if: DAVServer.isAvailable), .timeLimit(.minutes(10)))
struct ServerTests {
    private let key = Result { try ObjectKey("0f3a/0199-7e") }

    private func names(_ storage: WebDAVStorage, folder: String = "0f3a/") async throws -> [String] {
        let found = Mutex<[String]>([])
        _ = try await storage.client.properties(of: storage.client.place.root + folder, depth: 1, about: nil) { file in
            if let name = file.name { found.withLock { $0.append(name) } }
        }
        return found.withLock { $0.sorted() }
    }

    @Test("Wrong and missing credentials are reported as unauthorized", arguments: DAVServer.all)
    func credentials(_ server: DAVServer) async throws {
        for credentials in [.basic(user: server.accessKey, password: "canary"), .none] as [WebDAVCredentials] {
            let storage = try WebDAVStorage(
                url: server.endpoint, credentials: credentials, options: plainOptions())
            let error = try await storageError { try await storage.head(key.get()) }
            withKnownIssue("\(server.name) asks nobody for a password") {
                #expect(error?.code == .unauthorized)
            } when: {
                !server.asksForPassword
            }
            #expect(error.map { !String(reflecting: $0).contains("canary") } == true)
            await storage.shutdown()
        }
    }

    @Test("A missing base folder is reported as a misconfiguration", arguments: DAVServer.all)
    func noFolder(_ server: DAVServer) async throws {
        let storage = try WebDAVStorage(
            url: server.endpoint.appending(path: "not there \(UUID().uuidString)"),
            credentials: .basic(user: server.accessKey, password: server.secretKey), options: plainOptions())
        let key = try key.get()
        for error in [
            try await storageError { try await storage.head(key) },
            try await storageError { try await storage.delete(key, abandoning: nil) },
            try await storageError { try await storage.download(DownloadRequest(key), into: DownloadSink { _ in }) },
            try await storageError { try await storage.list(ListRequest(prefix: "")) },
        ] { #expect(error?.code == .misconfigured, "\(error?.message ?? "no error")") }
        let error = try await storageError {
            try await storage.upload(.temporary([1]), to: key, session: UploadSession())
        }
        withKnownIssue("\(server.name) makes all folders on the way") {
            #expect(error?.code == .misconfigured, "\(error?.message ?? "no error")")
        } when: {
            !server.wantsFolders
        }
        await storage.shutdown()
    }

    /// A server may detect the cut connection only after the client has requested the removal, and show the partial
    /// file then. Its name is recorded for the next attempt or the deletion.
    @Test("A cut upload leaves no object, and its deletion removes the partial file", arguments: DAVServer.all)
    func cut(_ server: DAVServer) async throws {
        let storage = try await server.storage()
        let key = try key.get()
        try await storage.client.makeFolders(of: key)
        let bytes = SampleBytes.make(3 << 20)
        let saved = Mutex<UploadCheckpoint?>(nil)
        let source = UploadSource(byteCount: Int64(bytes.count), sha256: SampleBytes.sha256(bytes)) { buffer, offset in
            if offset > 1 << 20 { throw DiskHasGone() }
            let piece = bytes[Int(offset)...].prefix(buffer.count)
            piece.withUnsafeBytes { buffer.copyMemory(from: $0) }
            return piece.count
        }
        let session = UploadSession(onSave: { checkpoint in saved.withLock { $0 = checkpoint } })
        let error = try await storageError { try await storage.upload(source, to: key, session: session) }
        #expect(error?.code == .sourceUnreadable)
        let checkpoint = try #require(saved.withLock { $0 }, "the checkpoint of a large file is saved")
        #expect(try await storage.list(ListRequest(prefix: "")).objects.isEmpty)
        repeat {
            do {
                try await storage.delete(key, abandoning: checkpoint)
            } catch let error as StorageError where error.isRetryable {
                // SeaweedFS still holds the lock of the cut upload.
            }
        } while try await !names(storage).isEmpty
        await storage.shutdown()
    }

    @Test(
        "A killed upload is removed by a retry, a deletion or a sweep",
        arguments: DAVServer.all)
    func leftovers(_ server: DAVServer) async throws {
        let storage = try await server.storage()
        let (key, place) = (try key.get(), storage.client.place)
        try await storage.client.makeFolders(of: key)
        func leave() async throws -> UploadCheckpoint {
            let unfinished = UnfinishedFile()
            var put = storage.client.request(.put, path: place.path(of: key, unfinished: unfinished.token))
            put.body = .bytes([1, 2, 3])
            _ = try await storage.client.send(put, about: key)
            return try unfinished.encoded()
        }
        let first = try await leave()
        #expect(try await storage.list(ListRequest(prefix: "")).objects.isEmpty)
        _ = try await storage.upload(.temporary([1]), to: key, session: UploadSession(checkpoint: first))
        #expect(try await names(storage) == [key.rawValue])

        let second = try await leave()
        try await storage.delete(key, abandoning: second)
        #expect(try await names(storage).isEmpty)

        _ = try await leave()
        _ = try await storage.upload(.temporary([1]), to: key, session: UploadSession())
        #expect(try await storage.abandonUploads(below: "", olderThan: .seconds(3_600)) == 0)
        #expect(try await storage.abandonUploads(below: "other/", olderThan: .seconds(-60)) == 0)
        #expect(try await storage.abandonUploads(below: "0f3a/", olderThan: .seconds(-60)) == 1)
        #expect(try await names(storage) == [key.rawValue])
        await storage.shutdown()
    }

    /// The row was written by another program.
    @Test("A key with the name of a folder leaves its contents unchanged", arguments: DAVServer.all)
    func keyOfFolder(_ server: DAVServer) async throws {
        let storage = try await server.storage()
        let (key, folder) = (try key.get(), try ObjectKey("0f3a"))
        _ = try await storage.upload(.temporary([1]), to: key, session: UploadSession())
        try await storage.delete(folder, abandoning: nil)
        let error = try await storageError {
            try await storage.upload(.temporary([2]), to: folder, session: UploadSession())
        }
        #expect(error != nil)
        #expect(try await storage.contents(key) == [1])
        await storage.shutdown()
    }

    @Test("Another client and this package read each other's files", arguments: DAVServer.all)
    func foreignClient(_ server: DAVServer) async throws {
        let storage = try await server.storage()
        let bytes = SampleBytes.make(300_000)
        let ours = try ObjectKey("a/ours")
        let object = try await storage.upload(.temporary(bytes), to: ours, session: UploadSession())
        try await withTemporaryFolder { folder in
            let login = "\(server.accessKey):\(server.secretKey)"
            let (copy, theirs) = (folder.appending(path: "copy"), folder.appending(path: "theirs"))
            try curl(["--user", login, "--output", copy.path, object.url.absoluteString])
            #expect(try Array(Data(contentsOf: copy)) == bytes)
            try Data(bytes.reversed()).write(to: theirs)
            let address = storage.client.place.address(storage.client.place.root + "a/theirs")
            try curl(["--user", login, "--upload-file", theirs.path, address])
        }
        #expect(try await storage.contents(ObjectKey("a/theirs")) == bytes.reversed())
        let listed = try await storage.list(ListRequest(prefix: "")).objects
        #expect(listed.map(\.key.rawValue) == ["a/ours", "a/theirs"])
        #expect(listed.map(\.byteCount) == [300_000, 300_000])
        await storage.shutdown()
    }

    private func curl(_ arguments: [String]) throws {
        let run = try runTool("curl", arguments: ["--silent", "--show-error", "--fail"] + arguments)
        #expect(run)
    }

    @Test(
        "Reading back detects bytes that change on the server's disk",
        arguments: DAVServer.all.filter { $0.data != nil })
    func rot(_ server: DAVServer) async throws {
        let transport = RottingTransport(try #require(server.data))
        for readsBack in [false, true] {
            let storage = try await server.storage {
                $0.readsBack = readsBack
                $0.transport = transport
            }
            let error = try await storageError {
                try await storage.upload(.temporary(SampleBytes.make(5_000)), to: key.get(), session: UploadSession())
            }
            #expect(error?.code == (readsBack ? .integrity : nil))
            #expect(storage.capabilities.proof == (readsBack ? .checksum : .byteCount))
            #expect(try await storage.list(ListRequest(prefix: "")).objects.count == (readsBack ? 0 : 1))
        }
        await transport.shutdown()
    }
}
