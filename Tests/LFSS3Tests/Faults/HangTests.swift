import Foundation
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

@Suite("A server that hangs", .serialized, .timeLimit(.minutes(10)))
struct HangTests {
    private static let deadline = Duration.milliseconds(400)

    @Test("without reading the body ends the try") func beforeTheBody() async throws {
        let source = try UploadSource.temporary([UInt8](repeating: 7, count: 16 << 20))
        try await expectTimeout(of: .put) { exchange in
            exchange.connection.waitForEnd()
        } _: { storage in
            _ = try await storage.upload(source, to: .sample(), session: .init())
        }
    }

    @Test("after the body ends the try") func afterTheBody() async throws {
        try await expectTimeout(of: .put) { exchange in
            try exchange.readBody(exchange.request.byteCount)
            exchange.connection.hang()
        } _: { storage in
            _ = try await storage.upload(.temporary([1, 2, 3]), to: .sample(), session: .init())
        }
    }

    @Test("in the middle of an object ends the download") func inADownload() async throws {
        try await expectTimeout(of: .get) { exchange in
            try exchange.connection.send("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 100\r\n\r\nbeginning")
            exchange.connection.hang()
        } _: { storage in
            _ = try await storage.download(DownloadRequest(.sample()), into: DownloadSink { _ in })
        }
    }

    @Test("ends every other request") func elsewhere() async throws {
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
            // The first large body of all waits a second for the server's consent. A busy machine may need more tries.
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
            // Not before; how long after says more of the machine than of us. No other limit has this text.
            #expect(ContinuousClock.now - start >= Self.deadline)
            #expect(error.code == .timeout)
            #expect(error.message.contains("has not moved a byte for 0.4 s"), "\(error)")
            #expect(error.isRetryable)
            // A server that was slow to look finds the request in its connection still.
            await arrivals.wait { !$0.isEmpty }
            #expect(fake.operations == [operation])
        }
    }
}
