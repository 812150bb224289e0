import Foundation
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

@Suite("A server that hangs", .serialized, .timeLimit(.minutes(1)))
struct HangTests {
    private static let deadline = Duration.milliseconds(400)

    /// The server cannot see when: what was sent and not read stands before the end of the connection.
    @Test("without reading the body ends the try") func beforeTheBody() async throws {
        let source = try UploadSource.temporary([UInt8](repeating: 7, count: 16 << 20))
        try await expectTimeout(of: .put, isTimed: false) { exchange in
            exchange.connection.waitForEnd()
        } _: { storage in
            _ = try await storage.upload(source, to: .sample(), session: .init())
        }
    }

    @Test("after the body ends the try in time") func afterTheBody() async throws {
        try await expectTimeout(of: .put) { exchange in
            try exchange.readBody(exchange.request.byteCount)
            exchange.connection.hang()
        } _: { storage in
            _ = try await storage.upload(.temporary([1, 2, 3]), to: .sample(), session: .init())
        }
    }

    @Test("in the middle of an object ends the download in time") func inADownload() async throws {
        try await expectTimeout(of: .get) { exchange in
            try exchange.connection.send("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 100\r\n\r\nbeginning")
            exchange.connection.hang()
        } _: { storage in
            _ = try await storage.download(DownloadRequest(.sample()), into: DownloadSink { _ in })
        }
    }

    @Test("ends every other request in time") func elsewhere() async throws {
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
        of operation: FakeS3.Operation, isTimed: Bool = true, _ fault: @escaping FakeS3.Fault,
        _ body: (S3Storage) async throws -> Void
    ) async throws {
        try await withFakeS3 {
            $0.stallTimeout = Self.deadline
        } _: { fake, storage in
            // The first large body of all waits a second for the server's consent.
            _ = try await storage.upload(.temporary([1]), to: ObjectKey("warm"), session: .init())
            fake.forgetOperations()
            // The server's thread sees the end of the connection at once, however busy the tests beside this one are.
            let durations = EventLog<Duration>()
            fake.fail(operation) { exchange in
                let start = ContinuousClock.now
                try fault(exchange)
                durations.add(ContinuousClock.now - start)
            }
            let error = try await failure { try await body(storage) }
            if isTimed { await durations.wait { !$0.isEmpty } }
            #expect(error.code == .timeout, "\(error)")
            #expect(error.isRetryable)
            let range = Self.deadline / 2..<Self.deadline + .seconds(1)
            #expect(durations.events.allSatisfy { range.contains($0) }, "\(durations.events)")
            #expect(fake.operations == [operation])
        }
    }
}
