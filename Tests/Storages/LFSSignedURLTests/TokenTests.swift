import LFSHTTP
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSSignedURL

@Suite("Tokens of the signing server", .timeLimit(.minutes(10)))
struct TokenTests {
    private struct SignedOut: Error {}

    @Test("Concurrent refusals replace a token once and pass it to the app")
    func storm() async throws {
        let told = Mutex<[String?]>([])
        let fake = FakeSigner()
        fake.state.withLock { $0.objects["space/file"] = [1] }
        let storage = try fake.storage(
            authorization: .bearer { refused in
                told.withLock { $0.append(refused) }
                return refused == nil ? "old" : Canary.token
            })
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    if number.isMultiple(of: 2) {
                        _ = try await storage.head(.sample())
                    } else {
                        _ = try await storage.put([UInt8(number)], name: "f\(number)")
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(told.withLock { $0 } == [nil, "old"])
    }

    @Test("A token refused again is an error about the storage, without repeated requests")
    func refused() async throws {
        let asked = Mutex(0)
        let fake = FakeSigner()
        let storage = try fake.storage(
            authorization: .bearer { _ in
                asked.withLock { $0 += 1 }
                return "canarytoken-of-nobody"
            })
        for error in [
            try await storageError { try await storage.put([1]) },
            try await storageError { try await storage.head(.sample()) },
            try await storageError { try await storage.delete(.sample(), abandoning: nil) },
            try await storageError { try await storage.list(ListRequest(prefix: "space/")) },
        ] {
            #expect(error?.code == .unauthorized)
            #expect(error?.isAboutStorage == true)
        }
        #expect(fake.requests.count <= 8, "no request is sent again with the same token")
    }

    @Test("A missing or malformed token is an error without any request")
    func signedOut() async throws {
        let fake = FakeSigner()
        let storage = try fake.storage(authorization: .bearer { _ in throw SignedOut() })
        let error = try await storageError { try await storage.put([1]) }
        #expect(error?.code == .unauthorized)
        #expect(error?.cause is SignedOut)
        #expect(fake.requests.isEmpty)
        for token in ["", "a b", "a\r\nx: y", String(repeating: "a", count: 20_000)] {
            let storage = try fake.storage(authorization: .bearer { _ in token })
            #expect(try await storageError { try await storage.requireToken() }?.code == .unauthorized)
        }
    }

    @Test("A missing or refused LFS_TOKEN is reported with a hint")
    func environment() async throws {
        let fake = FakeSigner()
        let missing = try fake.storage(authorization: .environment([:]))
        let error = try await storageError { try await missing.requireToken() }
        #expect(error?.code == .unauthorized)
        #expect(error?.message.contains("LFS_TOKEN") == true)
        let wrong = try fake.storage(authorization: .environment(["LFS_TOKEN": "canarytokenX"]))
        let refused = try await storageError { try await wrong.head(.sample()) }
        #expect(refused?.code == .unauthorized)
        #expect(refused?.message.contains("refuses") == true)
        let right = try fake.storage(authorization: .environment(["LFS_TOKEN": Canary.token]))
        _ = try await right.put([1])
    }

    @Test("The token is sent only to the server's own origin")
    func origin() async throws {
        let fake = FakeSigner { request, fake in
            guard request.origin.host == "app", request.target != "/lfs" else { return nil }
            var request = request
            request.origin = .init(isSecure: true, host: "store", port: nil)
            return try fake.answer(request, FakeSigner.bytes(of: request.body))
        }
        let storage = try fake.storage()
        _ = try await storage.put([1, 2])
        _ = try await storage.contents()
        for request in fake.requests where request.target != "/lfs" {
            #expect(request.headers["authorization"] == nil)
        }
        #expect(fake.requests.filter { $0.target == "/lfs" }.allSatisfy { $0.origin.description == "https://app" })
    }
}
