import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

/// Tests of replies before the end of the body. The bodies exceed the buffers of a connection, so that unread bytes
/// cannot count as sent. With its default buffers the system accepts up to 32 MB that the server has not read.
@Suite("Replies before the end of the body", .serialized, .timeLimit(.minutes(10)))
struct EarlyReplyTests {
    private static let byteCount = 48 << 20
    private static let receiveBuffer: Int32 = 256 << 10
    private let bytes = [UInt8](repeating: 7, count: byteCount)

    @Test("A 200 reply after 1 % of the body counts as a failure", arguments: [S3Provider.strict, .plain])
    func earlySuccess(_ provider: S3Provider) async throws {
        let source = try UploadSource.temporary(bytes)
        let md5 = try await SourceDigester(source, kinds: .md5).next(source.byteCount).md5 ?? ""
        for tag in ["\"\(md5)\"", "\"other\"", nil] {
            try await withFakeS3(provider, receiveBuffer: Self.receiveBuffer) { fake, storage in
                fake.fail(.put) { exchange in
                    try exchange.readBody(exchange.request.byteCount / 100)
                    try exchange.send(FakeReply(200, headers: tag.map { ["ETag": $0] } ?? [:]))
                    exchange.connection.reset()
                }
                let error = try await failure { try await storage.upload(source, to: .sample(), session: .init()) }
                #expect([.serverError, .integrity].contains(error.code), "\(error)")
                #expect(error.isRetryable)
                #expect(fake.operations == [.put])
            }
        }
    }

    @Test("A 200 reply after half of the body on an open connection counts as a failure", arguments: [true, false])
    func halfTheBody(_ hasRightTag: Bool) async throws {
        let source = try UploadSource.temporary(bytes)
        let md5 = try await SourceDigester(source, kinds: .md5).next(source.byteCount).md5 ?? ""
        try await withFakeS3(.plain, receiveBuffer: Self.receiveBuffer) {
            $0.stallTimeout = .milliseconds(500)
        } _: { fake, storage in
            let arrivals = EventLog<FakeS3.Operation>()
            fake.fail(.put) { exchange in
                arrivals.add(.put)
                try exchange.readBody(exchange.request.byteCount / 2)
                try exchange.send(FakeReply(200, headers: ["ETag": "\"\(hasRightTag ? md5 : "other")\""]))
                // The rest of the body is not a request, so the server waits for the client to disconnect.
                exchange.connection.waitForEnd()
            }
            let error = try await failure { try await storage.upload(source, to: .sample(), session: .init()) }
            #expect([.serverError, .timeout].contains(error.code), "\(error)")
            #expect(error.isRetryable)
            await arrivals.wait { !$0.isEmpty }
            #expect(fake.operations == [.put])
        }
    }

    /// The client sees either the reply or the reset first. This test covers the reply.
    @Test("A 200 reply counts only if all bytes were sent") func countedBytes() async throws {
        let source = try UploadSource.temporary([1, 2, 3])
        var options = S3Options()
        options.allowsPlainHTTP = true
        options.provider = .strict
        let location = try S3Location(bucket: "bucket", prefix: "", endpoint: nil, addressing: .path)
        for (count, isWhole) in [(3, true), (2, false), (0, false)] as [(Int64, Bool)] {
            options.transport = EarlyTransport(bytesSent: count, sha256: source.sha256)
            let storage = try S3Storage(
                location, region: nil, credentials: .static(Canary.credentials), options: options,
                clock: SigningClock())
            let key = try ObjectKey.sample()
            if isWhole {
                _ = try await storage.upload(source, to: key, session: .init())
            } else {
                let error = try await failure { try await storage.upload(source, to: key, session: .init()) }
                #expect(error.code == .serverError)
            }
        }
    }

    @Test("A 200 reply before the end of a part does not store the part") func earlySuccessOfAPart() async throws {
        let source = try UploadSource.temporary(bytes)
        try await withFakeS3(receiveBuffer: Self.receiveBuffer) {
            $0.multipartThreshold = 1
            $0.partSize = 24 << 20
        } _: { fake, storage in
            fake.fail(.part) { exchange in
                try exchange.readBody(exchange.request.byteCount / 100)
                try exchange.send(FakeReply(200, headers: ["ETag": "\"part\""]))
                exchange.connection.reset()
            }
            let saved = SavedCheckpoint()
            let error = try await failure {
                try await storage.upload(source, to: .sample(), session: saved.session)
            }
            #expect(error.code == .serverError, "\(error)")
            #expect(fake.operations == [.head, .uploads, .create, .part])
            #expect(saved.value?.uploadID == "upload-1")
            #expect(saved.value?.parts == [:])
        }
    }

    @Test("A reset connection fails the attempt, and the next one succeeds", arguments: [0.0, 0.5, 1.0])
    func reset(_ share: Double) async throws {
        let bytes = SampleBytes.make(3 << 20)
        try await withFakeS3(receiveBuffer: Self.receiveBuffer) { fake, storage in
            fake.fail(.put) { exchange in
                try exchange.readBody(Int(Double(exchange.request.byteCount) * share))
                exchange.connection.reset()
            }
            let source = try UploadSource.temporary(bytes)
            let error = try await failure { try await storage.upload(source, to: .sample(), session: .init()) }
            #expect(error.code == .serverError, "\(error)")
            #expect(error.isRetryable)
            #expect(fake.operations == [.put])
            #expect(fake.stored == nil)
            _ = try await storage.upload(source, to: .sample(), session: .init())
            #expect(fake.stored == bytes)
        }
    }

    /// The next attempt finds the object of the first one.
    @Test("A reset after the object was stored is found by the next attempt") func lostReply() async throws {
        let bytes = SampleBytes.make(100_000)
        try await withFakeS3(receiveBuffer: Self.receiveBuffer) { fake, storage in
            fake.fail(.put) { exchange in
                _ = try exchange.act()
                exchange.connection.reset()
            }
            let source = try UploadSource.temporary(bytes)
            let error = try await failure { try await storage.upload(source, to: .sample(), session: .init()) }
            #expect(error.code == .serverError)
            let object = try await storage.upload(source, to: .sample(), session: .init())
            #expect(object.sha256 == source.sha256)
            #expect(fake.operations == [.put, .put, .head])
            #expect(fake.stored == bytes)
        }
    }
}

/// A transport that replies 200 with the right checksum after some of the bytes.
private struct EarlyTransport: HTTPTransport {
    let bytesSent: Int64
    let sha256: String

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        var head = HTTPResponseHead(status: 200)
        try head.headers.set(.sha256, sha256: sha256, md5: nil)
        return HTTPResponse(head: head, bytesSent: bytesSent)
    }

    func shutdown() async {}
}
