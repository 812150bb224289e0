import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSS3

@Suite("Multipart uploads to a server", .enabled(if: TestServer.isAvailable), .timeLimit(.minutes(10)))
struct ServerMultipartTests {
    private static let bytes = SampleBytes.make(15 << 20)

    @Test("After an interruption an upload sends only the missing parts", arguments: TestServer.multipart)
    func resume(_ server: TestServer) async throws {
        let source = try UploadSource.temporary(Self.bytes)
        let key = try TestServer.newKey()
        let saved = SavedCheckpoint()
        let (first, firstSent) = try await server.counted()
        try await interrupt(first, source: source, key: key, saved: saved)
        await first.shutdown()
        try await #expect(first.openUploadsAgain(server, key: key).count == 1)

        let (second, sent) = try await server.counted()
        let object = try await second.upload(source, to: key, session: saved.session)
        #expect(object.sha256 == source.sha256)
        #expect(firstSent.partNumbers.first == 1)
        #expect(!sent.partNumbers.contains(1))
        #expect(sent.partNumbers.contains(3))
        // At most the part in progress was sent twice.
        #expect((firstSent.partNumbers + sent.partNumbers).count <= 4)
        try await #expect(second.contents(key) == Self.bytes)
        try await #expect(second.openUploads(key) == [])
        await second.shutdown()
    }

    private static let withCRC64 = TestServer.multipart.filter { server in
        server.secureEndpoint != nil && S3Provider.named(server.profile)?.fullObjectCRC64 == true
    }

    @Test("Over TLS an upload resumes with a CRC-64 of the object that the server stores", arguments: withCRC64)
    func overTLS(_ server: TestServer) async throws {
        let source = try UploadSource.recorded(Self.bytes)
        let key = try TestServer.newKey()
        let saved = SavedCheckpoint()
        let (first, _) = try await server.counted(overTLS: true)
        try await interrupt(first, source: source, key: key, saved: saved)
        await first.shutdown()
        let noted = try #require(saved.value)
        #expect(noted.checksum == .crc64NVME)

        let (second, sent) = try await server.counted(overTLS: true)
        let object = try await second.upload(source, to: key, session: saved.session)
        #expect(object.sha256 == source.sha256)
        #expect(!sent.partNumbers.contains(1))
        let word = try ServerChecksum.check(.crc64NVME, hex: #require(source.crc64))
        try await #expect(second.client.stored(key).words.contains(word))
        try await #expect(second.contents(key) == Self.bytes)
        // The server itself refuses bytes that do not match the CRC-64.
        let other = try UploadSource.recorded(Array(Self.bytes.reversed()))
        var request = S3Request(
            .put, key: key, query: [("partNumber", "1"), ("uploadId", try await second.begin(key))])
        try request.headers.set(crc64: source.crc64)
        request.body = .source(other, range: 0..<other.byteCount)
        request.payloadHash = SignatureV4.unsignedPayload
        let refused = request
        let error = try await #require(throws: S3Failure.self) { try await second.client.send(refused) }
        #expect(error.status == 400)
        await second.shutdown()
    }

    @Test("Deleting an object aborts its unfinished upload", arguments: TestServer.multipart)
    func delete(_ server: TestServer) async throws {
        let (storage, _) = try await server.counted()
        let key = try TestServer.newKey()
        let saved = SavedCheckpoint()
        try await interrupt(storage, source: .temporary(Self.bytes), key: key, saved: saved)
        try await #expect(storage.openUploads(key).count == 1)
        try await storage.delete(key, abandoning: saved.last)
        try await #expect(storage.openUploads(key) == [])
        // A second deletion has no effect.
        try await storage.delete(key, abandoning: saved.last)
        await storage.shutdown()
    }

    @Test("An upload whose creation reply was lost is aborted by the next one", arguments: TestServer.multipart)
    func lostBeginning(_ server: TestServer) async throws {
        let (lost, _) = try await server.counted()
        let key = try TestServer.newKey()
        _ = try await lost.client.createMultipart(key, fields: [:])
        try await #expect(lost.openUploads(key).count == 1)
        await lost.shutdown()

        let (storage, sent) = try await server.counted()
        let bytes = Array(Self.bytes.prefix(100_000))
        _ = try await storage.upload(.temporary(bytes), to: key, session: .init())
        #expect(sent.partNumbers == [1])
        try await #expect(storage.contents(key) == bytes)
        try await #expect(storage.openUploads(key) == [])
        await storage.shutdown()
    }

    @Test("Only uploads older than the limit are aborted", arguments: TestServer.multipart)
    func sweep(_ server: TestServer) async throws {
        let (storage, _) = try await server.counted()
        let namespace = "sweep-\(UUID().uuidString.lowercased())"
        let (key, other) = (try TestServer.newKey(namespace), try TestServer.newKey(namespace + "-other"))
        for key in [key, other] { _ = try await storage.client.createMultipart(key, fields: [:]) }
        try await #expect(storage.abandonUploads(below: namespace + "/", olderThan: .seconds(3_600)) == 0)
        try await #expect(storage.openUploads(key).count == 1)
        // With a limit in the future every upload is older.
        try await #expect(storage.abandonUploads(below: namespace + "/", olderThan: .seconds(-3_600)) == 1)
        try await #expect(storage.openUploads(key) == [])
        try await #expect(storage.openUploads(other).count == 1)
        try await storage.abandonUploads(below: namespace, olderThan: .seconds(-3_600))
        await storage.shutdown()
    }

    /// Ends an upload like a kill after its first part was recorded.
    private func interrupt(
        _ storage: S3Storage, source: UploadSource, key: ObjectKey, saved: SavedCheckpoint
    ) async throws {
        let session = UploadSession(checkpoint: nil) { _ in
        } onSave: { checkpoint in
            try await saved.session.save(checkpoint)
            if saved.value?.parts.isEmpty == false { throw StorageError(.cancelled, message: "interrupted") }
        }
        let error = try await storageError { try await storage.upload(source, to: key, session: session) }
        #expect(error?.code == .cancelled)
        #expect(saved.value?.parts.keys.contains(1) == true)
    }
}

extension S3Storage {
    /// Begins an upload with a CRC-64 of the whole object.
    fileprivate func begin(_ key: ObjectKey) async throws -> String {
        var fields = HTTPHeaders()
        try MultipartChecksum.crc64NVME.announce(in: &fields)
        return try await client.createMultipart(key, fields: fields)
    }

    /// Calls ``openUploads(_:)`` over another connection, because this one may be closed.
    fileprivate func openUploadsAgain(_ server: TestServer, key: ObjectKey) async throws -> [String] {
        let (storage, _) = try await server.counted()
        let uploads = try await storage.openUploads(key)
        await storage.shutdown()
        return uploads
    }
}
