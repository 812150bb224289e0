import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSAzure

@Suite("Uploads to Azure", .enabled(if: AzureServer.isAvailable), .timeLimit(.minutes(10)))
struct ServerUploadTests {
    private let key = Result { try ObjectKey("0f3a/0199-7e") }
    private let bytes = SampleBytes.make((3 << 20) + 77)

    private func blocks(_ options: inout AzureOptions) {
        options.multipartThreshold = 1
        options.partSize = 1 << 20
        options.maxConcurrentParts = 1
    }

    @Test("The service's checksum proves an upload in one request or in blocks", arguments: AzureServer.all)
    func proof(_ server: AzureServer) async throws {
        let place = try await server.place()
        for isLarge in [false, true] {
            let storage = try place.storage { if isLarge { blocks(&$0) } }
            let notes = Notes()
            let source = try UploadSource.temporary(bytes)
            let object = try await storage.upload(source, to: key.get(), session: notes.session())
            #expect(object.sha256 == source.sha256 && object.byteCount == source.byteCount)
            #expect(notes.most == source.byteCount)
            #expect(try await storage.contents(key.get()) == bytes)
            #expect(try await storage.head(key.get()).entityTag == object.entityTag)
            await storage.shutdown()
        }
        // The second upload found a blob. It tried to create one, compared, and replaced it.
        #expect(try await place.count("PUT - 201") == 2, "the container and the blob")
        #expect(try await place.count("PUT blocklist 409") == 1)
        #expect(try await place.count("PUT blocklist 201") == 1)
    }

    @Test("A wrong recorded checksum is detected, and the upload succeeds", arguments: AzureServer.all)
    func wrongRow(_ server: AzureServer) async throws {
        let place = try await server.place()
        let storage = try place.storage()
        let sha256 = SampleBytes.sha256(bytes)
        let source = UploadSource(
            byteCount: Int64(bytes.count), sha256: sha256, crc64: "0123456789abcdef", contentType: nil, name: nil
        ) { [bytes] buffer, offset in
            let piece = bytes[Int(offset)...].prefix(buffer.count)
            piece.withUnsafeBytes { buffer.copyMemory(from: $0) }
            return piece.count
        }
        #expect(try await storage.upload(source, to: key.get(), session: UploadSession()).sha256 == sha256)
        #expect(try await place.count("PUT - 400") == 1)
        await storage.shutdown()
    }

    @Test("An upload of changed bytes is refused, and the old blob stays", arguments: AzureServer.all, [false, true])
    func rot(_ server: AzureServer, isLarge: Bool) async throws {
        let storage = try await server.place().storage { if isLarge { blocks(&$0) } }
        _ = try await storage.upload(.temporary([1, 2]), to: key.get(), session: UploadSession())
        let source = try UploadSource.temporary(bytes, sha256: SampleBytes.sha256([9]))
        let error = try await storageError {
            try await storage.upload(source, to: key.get(), session: UploadSession())
        }
        #expect(error?.code == .sourceChanged)
        #expect(try await storage.contents(key.get()) == [1, 2])
        await storage.shutdown()
    }

    @Test("An upload resumes from the service's block list without a checkpoint", arguments: AzureServer.all)
    func resume(_ server: AzureServer) async throws {
        let place = try await server.place()
        let storage = try place.storage { blocks(&$0) }
        try await place.order(["fault": "error", "method": "PUT", "comp": "block", "after": 2])
        let error = try await storageError {
            try await storage.upload(.temporary(bytes), to: key.get(), session: UploadSession())
        }
        #expect(error?.code == .serverError)
        #expect(try await place.count("PUT block 201") == 2)
        await storage.shutdown()

        // Another process whose database has no record of the upload.
        let second = try place.storage { blocks(&$0) }
        let notes = Notes()
        let object = try await second.upload(.temporary(bytes), to: key.get(), session: notes.session())
        #expect(object.sha256 == SampleBytes.sha256(bytes))
        #expect(try await place.count("PUT block 201") == 4, "two of four blocks were on the server")
        #expect(notes.most == Int64(bytes.count))
        #expect(try await second.contents(key.get()) == bytes)
        await second.shutdown()
    }

    @Test("Blocks of other content or size are not reused", arguments: AzureServer.all)
    func otherBlocks(_ server: AzureServer) async throws {
        let place = try await server.place()
        let storage = try place.storage { blocks(&$0) }
        try await place.order(["fault": "error", "method": "PUT", "comp": "block", "after": 3])
        let other = [UInt8](repeating: 7, count: bytes.count)
        _ = try await storageError { try await storage.upload(.temporary(other), to: key.get(), session: .init()) }
        #expect(try await place.count("PUT block 201") == 3)
        _ = try await storage.upload(.temporary(bytes), to: key.get(), session: UploadSession())
        #expect(try await place.count("PUT block 201") == 7)
        #expect(try await storage.contents(key.get()) == bytes)
        await storage.shutdown()
    }

    @Test("A commit whose reply was lost is found without resending blocks", arguments: AzureServer.all)
    func lostCommit(_ server: AzureServer) async throws {
        let place = try await server.place()
        let storage = try place.storage { blocks(&$0) }
        // The engine itself repeats a request that a reused connection has lost.
        try await place.order(["fault": "lose", "method": "PUT", "comp": "blocklist", "count": 2])
        let error = try await storageError {
            try await storage.upload(.temporary(bytes), to: key.get(), session: UploadSession())
        }
        #expect(error?.isRetryable == true)
        let object = try await storage.upload(.temporary(bytes), to: key.get(), session: UploadSession())
        #expect(object.sha256 == SampleBytes.sha256(bytes))
        #expect(try await place.count("PUT block 201") == 4)
        #expect(try await place.requests().filter { $0.contains("PUT blocklist") }.prefix(1) == ["PUT blocklist 201"])
        #expect(try await place.count("PUT blocklist 201") == 1)
        await storage.shutdown()
    }

    @Test("A single upload whose reply was lost is found by the service's MD5", arguments: AzureServer.all)
    func lostPut(_ server: AzureServer) async throws {
        let place = try await server.place()
        let storage = try place.storage()
        try await place.order(["fault": "lose", "method": "PUT", "comp": NSNull()])
        let error = try await storageError {
            try await storage.upload(.temporary(bytes), to: key.get(), session: UploadSession())
        }
        #expect(error?.isRetryable == true)
        let object = try await storage.upload(.temporary(bytes), to: key.get(), session: UploadSession())
        #expect(object.sha256 == SampleBytes.sha256(bytes))
        #expect(try await place.requests().suffix(4) == ["PUT - 201", "PUT - 409", "HEAD - 200", "GET blocklist 200"])
        await storage.shutdown()
    }

    @Test("A damaged blob is replaced with all of its bytes", arguments: AzureServer.all, [false, true])
    func replaces(_ server: AzureServer, isLarge: Bool) async throws {
        let place = try await server.place()
        let storage = try place.storage { if isLarge { blocks(&$0) } }
        for replaces in [false, true] {
            _ = try await storage.upload(
                .temporary(bytes), to: key.get(), session: Notes().session(replaces: replaces))
        }
        #expect(try await place.count(isLarge ? "PUT block 201" : "PUT - 201") == (isLarge ? 8 : 3))
        #expect(try await storage.contents(key.get()) == bytes)
        await storage.shutdown()
    }

    @Test("Deleting a file removes the blocks of its abandoned upload", arguments: AzureServer.all)
    func abandoned(_ server: AzureServer) async throws {
        let place = try await server.place()
        let storage = try place.storage { blocks(&$0) }
        let notes = Notes()
        try await place.order(["fault": "error", "method": "PUT", "comp": "block", "after": 2])
        _ = try await storageError {
            try await storage.upload(.temporary(bytes), to: key.get(), session: notes.session())
        }
        #expect(notes.saved.count == 1, "the checkpoint is saved before the first block")
        #expect(try await storage.list(ListRequest(prefix: "")).objects.isEmpty)
        #expect(try await storage.client.blocks(of: key.get())?.uncommitted.count == 2)
        try await storage.delete(key.get(), abandoning: notes.saved.last)
        #expect(try await storage.client.blocks(of: key.get()) == nil)
        #expect(try await storage.client.find(key.get()) == nil, "the empty blob that removes them is deleted too")
        await storage.shutdown()
    }

    @Test("Sweeping removes old abandoned uploads below a prefix", arguments: AzureServer.all)
    func swept(_ server: AzureServer) async throws {
        let place = try await server.place()
        let storage = try place.storage(prefix: "p") { blocks(&$0) }
        try await place.order(["fault": "error", "method": "PUT", "comp": "block", "after": 1])
        _ = try await storageError { try await storage.upload(.temporary(bytes), to: key.get(), session: .init()) }
        let empty = try ObjectKey("0f3a/empty")
        _ = try await storage.upload(.temporary([]), to: empty, session: UploadSession())
        #expect(try await storage.abandonUploads(below: "", olderThan: .seconds(3_600)) == 0)
        #expect(try await storage.abandonUploads(below: "other/", olderThan: .seconds(-60)) == 0)
        #expect(try await storage.abandonUploads(below: "0f3a/", olderThan: .seconds(-60)) == 1)
        #expect(try await storage.client.blocks(of: key.get()) == nil)
        #expect(try await storage.head(empty).byteCount == 0)
        await storage.shutdown()
    }

    @Test(
        "Sweeping completes an interrupted abandonment of an upload",
        arguments: AzureServer.all)
    func halfGivenUp(_ server: AzureServer) async throws {
        let place = try await server.place()
        let storage = try place.storage { blocks(&$0) }
        let notes = Notes()
        try await place.order(["fault": "error", "method": "PUT", "comp": "block", "after": 2])
        _ = try await storageError {
            try await storage.upload(.temporary(bytes), to: key.get(), session: notes.session())
        }
        // The first DELETE is for the object, the second for the empty blob that dropped the blocks.
        try await place.order(["fault": "error", "method": "DELETE", "after": 1])
        let error = try await storageError { try await storage.delete(key.get(), abandoning: notes.saved.last) }
        #expect(error?.isRetryable == true)
        #expect(try await storage.head(key.get()).byteCount == 0)
        for name in ["0f3a/typed", "0f3a/plain"] {
            var request = AzureRequest(.put, key: try ObjectKey(name))
            try request.headers.set("x-ms-blob-type", value: "BlockBlob")
            if name == "0f3a/typed" { try request.headers.set("x-ms-blob-content-type", value: "text/plain") }
            request.body = .bytes([])
            _ = try await storage.client.send(request)
        }
        #expect(try await storage.abandonUploads(below: "", olderThan: .seconds(3_600)) == 0)
        #expect(try await storage.abandonUploads(below: "", olderThan: .seconds(-60)) == 1)
        #expect(
            try await storage.list(ListRequest(prefix: "")).objects.map(\.key.rawValue) == ["0f3a/plain", "0f3a/typed"])
        await storage.shutdown()
    }

    @Test("An empty blob is proven, described, found and read", arguments: AzureServer.all, [false, true])
    func noBytes(_ server: AzureServer, isLarge: Bool) async throws {
        let place = try await server.place()
        let storage = try place.storage { if isLarge { blocks(&$0) } }
        try await place.order(["fault": "lose", "method": "PUT", "comp": NSNull()])
        let source = try UploadSource.temporary([])
        _ = try await storageError { try await storage.upload(source, to: key.get(), session: UploadSession()) }
        for replaces in [false, true] {
            let object = try await storage.upload(source, to: key.get(), session: Notes().session(replaces: replaces))
            #expect(object.byteCount == 0 && object.sha256 == SampleBytes.sha256([]))
        }
        #expect(try await place.count("PUT - 409") == 1, "the service's MD5 shows that the object is there")
        #expect(try await storage.head(key.get()).byteCount == 0)
        #expect(try await storage.contents(key.get()) == [])
        #expect(try await storage.contents(key.get(), range: 0..<1) == [], "a range after the end")
        // The empty upload replaces other content.
        _ = try await storage.upload(.temporary([1]), to: key.get(), session: UploadSession())
        _ = try await storage.upload(source, to: key.get(), session: UploadSession())
        #expect(try await storage.contents(key.get()) == [])
        await storage.shutdown()
    }

    @Test("Uncommitted blocks of another client are dropped", arguments: AzureServer.all)
    func otherLength(_ server: AzureServer) async throws {
        let place = try await server.place()
        let storage = try place.storage { blocks(&$0) }
        var foreign = AzureRequest(.put, key: try key.get(), query: [("comp", "block"), ("blockid", "AAAA")])
        foreign.body = .bytes([1])
        _ = try await storage.client.send(foreign)
        let error = try await storageError {
            try await storage.upload(.temporary(bytes), to: key.get(), session: UploadSession())
        }
        #expect(error?.isRetryable == true)
        _ = try await storage.upload(.temporary(bytes), to: key.get(), session: UploadSession())
        #expect(try await storage.contents(key.get()) == bytes)
        await storage.shutdown()
    }

    @Test("A blob stores the file's name, content type and digest", arguments: AzureServer.all, [false, true])
    func fields(_ server: AzureServer, isLarge: Bool) async throws {
        let storage = try await server.place().storage { if isLarge { blocks(&$0) } }
        try await withTemporaryFolder { folder in
            try Data(bytes).write(to: folder.appending(path: "file"))
            let source = try UploadSource(
                file: folder.appending(path: "file"), byteCount: Int64(bytes.count), sha256: SampleBytes.sha256(bytes),
                contentType: "image/x-test", name: "Grüße 文件.bin")
            _ = try await storage.upload(source, to: key.get(), session: UploadSession())
            let head = try await storage.client.send(AzureRequest(.head, key: key.get())).head
            #expect(head.headers["content-type"] == "image/x-test")
            #expect(head.headers["x-ms-meta-lfssha256"] == source.sha256)
            #expect(head.headers["x-ms-meta-lfsname"]?.removingPercentEncoding == "Grüße 文件.bin")
        }
        await storage.shutdown()
    }
}
