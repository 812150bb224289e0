import Foundation
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

@Suite("Hanging servers", .serialized, .timeLimit(.minutes(10)))
struct HangTests {
    private static let deadline = Duration.milliseconds(400)

    @Test("A server that does not read the body causes a timeout") func beforeTheBody() async throws {
        let source = try UploadSource.temporary([UInt8](repeating: 7, count: 16 << 20))
        try await expectTimeout(of: .put) { exchange in
            exchange.connection.waitForEnd()
        } _: { storage in
            _ = try await storage.upload(source, to: .sample(), session: .init())
        }
    }

    @Test("A server that hangs after the body causes a timeout") func afterTheBody() async throws {
        try await expectTimeout(of: .put) { exchange in
            try exchange.readBody(exchange.request.byteCount)
            exchange.connection.hang()
        } _: { storage in
            _ = try await storage.upload(.temporary([1, 2, 3]), to: .sample(), session: .init())
        }
    }

    @Test("A server that hangs within an object causes a timeout of the download") func inADownload() async throws {
        try await expectTimeout(of: .get) { exchange in
            try exchange.connection.send("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 100\r\n\r\nbeginning")
            exchange.connection.hang()
        } _: { storage in
            _ = try await storage.download(DownloadRequest(.sample()), into: DownloadSink { _ in })
        }
    }

    @Test("A server that hangs causes a timeout of every other request") func elsewhere() async throws {
        try await expectTimeout(of: .head) {
            $0.connection.hang()
        } _: {
            _ = try await $0.head(.sample())
        }
        try await expectTimeout(of: .delete) {
            $0.connection.hang()
        } _: {
            try await $0.delete(.sample(), abandoning: nil)
        }
        try await expectTimeout(of: .list) {
            $0.connection.hang()
        } _: {
            _ = try await $0.list(ListRequest(prefix: ""))
        }
    }

    private func expectTimeout(
        of operation: FakeS3.Operation, _ fault: @escaping FakeS3.Fault, _ body: (S3Storage) async throws -> Void
    ) async throws {
        try await withFakeS3 {
            $0.stallTimeout = Self.deadline
        } _: { fake, storage in
            // The first large body waits a second for the server's consent. A busy machine may need more attempts.
            var isWarm = false
            while !isWarm {
                do {
                    _ = try await storage.upload(.temporary([1]), to: ObjectKey("warm"), session: .init())
                    isWarm = true
                } catch let error as StorageError where error.code == .timeout {
                    try Task.checkCancellation()
                }
            }
            fake.forgetOperations()
            let arrivals = EventLog<FakeS3.Operation>()
            fake.fail(operation) { exchange in
                arrivals.add(operation)
                try fault(exchange)
            }
            let start = ContinuousClock.now
            let error = try await failure { try await body(storage) }
            // The timeout must not come early. How late it comes depends on the machine. No other limit has this text.
            #expect(ContinuousClock.now - start >= Self.deadline)
            #expect(error.code == .timeout)
            #expect(error.message.contains("has not sent or accepted a byte for 0.4 s"), "\(error)")
            #expect(error.isRetryable)
            // A slow server may find the request in its connection later.
            await arrivals.wait { !$0.isEmpty }
            #expect(fake.operations == [operation])
        }
    }
}
