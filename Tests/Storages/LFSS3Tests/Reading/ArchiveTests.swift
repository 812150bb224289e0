import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSS3

/// Tests of archived objects. The fake server takes a request to restore one for the completion of an upload, so each
/// test answers it.
@Suite("Archived objects", .timeLimit(.minutes(10)))
struct ArchiveTests {
    @Test("A download of an archived object fails with its own code, which is not retried")
    func download() async throws {
        try await withFakeS3 { fake, storage in
            fake.fail(.get) { try $0.refuse(.error(403, code: "InvalidObjectState")) }
            let error = try await failure { try await storage.perform(.get) }
            #expect(error.code == .archived)
            #expect(!error.isRetryable && !error.isAboutStorage)
        }
    }

    @Test("A restore is requested with its days and its tier")
    func request() async throws {
        try await withFakeS3 { fake, storage in
            let received = Mutex<[String]>([])
            fake.fail(.complete) { exchange in
                let body = String(decoding: try exchange.connection.readBody(of: exchange.request), as: UTF8.self)
                received.withLock { $0 = [exchange.path, exchange.request.target, body] }
                try exchange.send(FakeReply(202, headers: ["x-amz-request-id": "1"]))
            }
            let state = try await storage.restore(.sample(), days: 3, tier: .bulk)
            #expect(state == .requested)
            let request = received.withLock { $0 }
            try #require(request.count == 3)
            #expect(request[0] == "/folder/file")
            #expect(request[1].contains("?restore"))
            #expect(request[2].contains("<Days>3</Days>") && request[2].contains("<Tier>Bulk</Tier>"))
        }
    }

    @Test("A restore of a tiered object has no days")
    func withoutDays() async throws {
        try await withFakeS3 { fake, storage in
            let received = Mutex("")
            fake.fail(.complete) { exchange in
                let body = String(decoding: try exchange.connection.readBody(of: exchange.request), as: UTF8.self)
                received.withLock { $0 = body }
                try exchange.send(FakeReply(202))
            }
            _ = try await storage.restore(.sample(), days: nil)
            let body = received.withLock { $0 }
            #expect(!body.contains("Days") && body.contains("<Tier>Standard</Tier>"))
        }
    }

    @Test("A repeated request reports the state of the restore")
    func repeated() async throws {
        try await withFakeS3 { fake, storage in
            let key = try ObjectKey.sample()
            fake.fail(.complete) { try $0.refuse(.error(409, code: "RestoreAlreadyInProgress")) }
            #expect(try await storage.restore(key) == .inProgress)
            fake.fail(.complete) { try $0.refuse(FakeReply(200)) }
            #expect(try await storage.restore(key) == .available)
        }
    }

    @Test("A restore of an object that is not archived, or for no day, is refused")
    func refusals() async throws {
        try await withFakeS3 { fake, storage in
            fake.fail(.complete) { try $0.refuse(.error(403, code: "InvalidObjectState")) }
            let error = try await failure { try await storage.restore(.sample()) }
            #expect(error.code == .invalidRequest && error.message.contains("not archived"))
            let none = try await failure { try await storage.restore(.sample(), days: 0) }
            #expect(none.code == .invalidRequest)
            #expect(fake.operations == [.complete])
        }
    }
}
