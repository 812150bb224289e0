import Foundation
import LFSHTTP
import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSWebDAV

@Suite("On a WebDAV server", .enabled(if: DAVServer.areThere), .timeLimit(.minutes(10)))
struct ServerTests {
    private let key = Result { try ObjectKey("0f3a/0199-7e") }

    private func names(_ storage: WebDAVStorage, _ folder: String = "0f3a/") async throws -> [String] {
        let found = Mutex<[String]>([])
        _ = try await storage.client.properties(of: storage.client.place.root + folder, depth: 1, about: nil) { file in
            if let name = file.name { found.withLock { $0.append(name) } }
        }
        return found.withLock { $0.sorted() }
    }

    @Test("wrong credentials, and none, are told as such", arguments: DAVServer.all)
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

    @Test("a folder that is not there is told as such, and nothing is missing", arguments: DAVServer.all)
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

    /// A server may notice that the connection was cut after we have asked for the removal, and show the beginning of
    /// the file only then. The name of it is noted, for the next try or the deletion.
    @Test("an upload that is cut leaves no object, and nothing beside it once it is deleted", arguments: DAVServer.all)
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
        let checkpoint = try #require(saved.withLock { $0 }, "a large file's place is noted")
        #expect(try await storage.list(ListRequest(prefix: "")).objects.isEmpty)
        repeat {
            do {
                try await storage.delete(key, abandoning: checkpoint)
            } catch let error as StorageError where error.isRetryable {
                // SeaweedFS still holds the lock of the upload that was cut.
            }
        } while try await !names(storage).isEmpty
        await storage.shutdown()
    }

    @Test(
        "what a killed upload has left goes with the next try, with the deletion, or by its age",
        arguments: DAVServer.all)
    func leftovers(_ server: DAVServer) async throws {
        let storage = try await server.storage()
        let (key, place) = (try key.get(), storage.client.place)
        try await storage.client.makeFolders(of: key)
        func leave() async throws -> UploadCheckpoint {
            let unfinished = UnfinishedFile()
            var put = storage.client.request(.put, place.path(of: key, unfinished: unfinished.token))
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

    /// Another program has written the row.
    @Test("a folder whose name a key has stays, with all that is in it", arguments: DAVServer.all)
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

    @Test("another client reads what we write, and we read what it writes", arguments: DAVServer.all)
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
        let run = try runTool("curl", ["--silent", "--show-error", "--fail"] + arguments)
        #expect(run)
    }

    @Test(
        "bytes that change on the disk are found out by reading back",
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
