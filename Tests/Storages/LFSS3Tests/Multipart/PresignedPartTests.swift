import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

@Suite("Presigned parts of an upload", .timeLimit(.minutes(10)))
struct PresignedPartTests {
    private static func bytes(_ count: Int) -> [UInt8] { SampleBytes.make(count == 1 ? 1_000 : (2 << 20) + 77) }

    /// Sends a part as another program does.
    private func send(_ part: PresignedPart, of bytes: [UInt8]) async throws -> Int {
        let url = try #require(URL(string: part.request.url.replacing("https://", with: "http://")))
        let target = part.request.url
            .split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).last.map { "/\($0)" }
        let body = Array(bytes[Int(part.range.lowerBound)..<Int(part.range.upperBound)])
        var request = HTTPRequest(.put, origin: try HTTPOrigin(url), target: try #require(target), body: .bytes(body))
        for (name, value) in part.request.headers { try request.headers.set(name, value: value) }
        var connection = ConnectionOptions()
        connection.allowsPlainHTTP = true
        let transport = DefaultTransport.make(HTTPOptions(connection))
        let response = try await transport.send(request)
        await transport.shutdown()
        return response.status
    }

    @Test(
        "The upload sends nothing that another program has sent", arguments: [S3Provider.strict, .plain], [1, 3])
    func sent(provider: S3Provider, count: Int) async throws {
        let bytes = Self.bytes(count)
        try await withFakeS3(provider) {
            $0.multipartThreshold = 1 << 20
        } _: { fake, storage in
            let saved = SavedCheckpoint()
            let source = try UploadSource.temporary(bytes)
            let parts = try await storage.presignedParts(
                of: source, to: .sample(), session: saved.session, limit: 10, expires: .seconds(60))
            #expect(parts.map(\.number) == Array(1...count))
            for part in parts { #expect(try await send(part, of: bytes) == 200) }
            fake.forgetOperations()
            let object = try await storage.upload(source, to: .sample(), session: saved.session)
            #expect(object.sha256 == source.sha256)
            #expect(fake.stored == bytes)
            #expect(fake.count(.put) + fake.count(.part) == 0, "\(fake.operations)")
            #expect(fake.uploads.isEmpty)
        }
    }

    @Test("Only missing parts are signed, and the upload sends only them")
    func missing() async throws {
        let bytes = Self.bytes(3)
        try await withFakeS3 {
            $0.multipartThreshold = 1 << 20
        } _: { fake, storage in
            let saved = SavedCheckpoint()
            let source = try UploadSource.temporary(bytes)
            let first = try await storage.presignedParts(
                of: source, to: .sample(), session: saved.session, limit: 1, expires: .seconds(60))
            #expect(first.map(\.number) == [1])
            _ = try await send(first[0], of: bytes)
            let others = try await storage.presignedParts(
                of: source, to: .sample(), session: saved.session, limit: 10, expires: .seconds(60))
            #expect(others.map(\.number) == [2, 3])
            #expect(fake.count(.create) == 1)
            _ = try await storage.upload(source, to: .sample(), session: saved.session)
            #expect(fake.stored == bytes)
            #expect(fake.count(.part) == 3)
        }
    }

    @Test("An object that exists already needs no request, and other bytes are refused")
    func existing() async throws {
        let bytes = Self.bytes(1)
        try await withFakeS3 { fake, storage in
            let source = try UploadSource.temporary(bytes)
            let saved = SavedCheckpoint()
            let parts = try await storage.presignedParts(
                of: source, to: .sample(), session: saved.session, limit: 10, expires: .seconds(60))
            #expect(try await send(parts[0], of: SampleBytes.make(1_000, seed: 9)) == 400)
            _ = try await storage.upload(source, to: .sample(), session: UploadSession())
            let again = try await storage.presignedParts(
                of: source, to: .sample(), session: saved.session, limit: 10, expires: .seconds(60))
            #expect(again.isEmpty)
            #expect(fake.stored == bytes)
        }
    }
}
