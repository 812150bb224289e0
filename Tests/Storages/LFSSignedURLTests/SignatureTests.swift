import Foundation
import LFSHTTP
import LFSStorage
import LFSTesting
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSignedURL

@Suite("Signature reuse", .timeLimit(.minutes(10)))
struct SignatureTests {
    private let clock = ManualClock()

    @Test("A download signature is reused until four fifths of its lifetime")
    func ranges() async throws {
        let (clock, fake) = (clock, FakeSigner(clock: clock))
        fake.state.withLock { $0.objects["space/file"] = Array(0..<100) }
        let storage = try fake.storage()
        try await runningFreely(clock) {
            for start in stride(from: Int64(0), to: 100, by: 10) {
                let piece = try await storage.contents(range: start..<start + 10)
                #expect(piece == (start..<start + 10).map { UInt8($0) })
            }
        }
        #expect(fake.asked(.download) == [1])
        clock.advance(by: .seconds(719))
        _ = try await runningFreely(clock) { try await storage.contents() }
        #expect(fake.asked(.download) == [1])
        clock.advance(by: .seconds(2))
        _ = try await runningFreely(clock) { try await storage.contents() }
        #expect(fake.asked(.download) == [1, 1])
        #expect(fake.requests.filter { $0.origin.host == "store" }.allSatisfy { $0.headers["authorization"] == nil })
    }

    @Test("An upload signature made ahead is not used once it has expired")
    func oldUpload() async throws {
        let (clock, fake) = (clock, FakeSigner(clock: clock))
        let storage = try fake.storage()
        let next = try UpcomingUpload(key: .sample("next"), byteCount: 1, sha256: SampleBytes.sha256([2]))
        _ = try await runningFreely(clock) {
            try await storage.put([1], session: UploadSession(upcoming: { _ in [next] }))
        }
        #expect(storage.uploads.readyCount == 1)
        clock.advance(by: .seconds(721))
        _ = try await runningFreely(clock) { try await storage.put([2], name: "next") }
        #expect(fake.asked(.upload) == [2, 1])
        #expect(fake.requests.count { $0.origin.host == "store" } == 2, "no request was sent with an old signature")
    }

    @Test("A signature that the store refuses is renewed once", arguments: [400, 401, 403])
    func again(_ status: Int) async throws {
        let refusals = Mutex(0)
        let fake = FakeSigner { request, _ in
            guard request.origin.host == "store" else { return nil }
            let isRefused = refusals.withLock { count in
                count += 1
                return count % 2 == 1
            }
            return isRefused ? FakeSigner.reply(status, text: "<Code>ExpiredToken</Code>") : nil
        }
        let storage = try fake.storage()
        _ = try await storage.put([1, 2])
        #expect(try await storage.contents() == [1, 2])
        #expect(fake.asked(.upload) == [1, 1])
        #expect(fake.asked(.download) == [1, 1])
        fake.cut(from: 1)
        let cutting = try fake.storage { $0.maxConcurrentParts = 1 }
        _ = try await cutting.put(SampleBytes.make(3 << 20), name: "large")
        #expect(fake.asked(.parts).count == 6)
        #expect(try await cutting.contents("large") == SampleBytes.make(3 << 20))
    }

    @Test("A signature refused twice fails the call with an error about the storage", arguments: [400, 401, 403])
    func refusedTwice(_ status: Int) async throws {
        let fake = FakeSigner { request, _ in
            request.origin.host == "store"
                ? FakeSigner.reply(status, text: "<Code>No</Code> \(request.target)") : nil
        }
        let storage = try fake.storage()
        for error in [
            try await storageError { try await storage.put([1]) },
            try await storageError { try await storage.contents() },
        ] {
            #expect(error?.code == (status == 400 ? .serverError : .forbidden))
            #expect(error?.message.contains("\(status)") == true)
        }
        #expect(fake.requests.count { $0.origin.host == "store" } == 4)
    }

    @Test("Concurrent refused ranges renew the download signature once")
    func storm() async throws {
        let (clock, fake) = (clock, FakeSigner(clock: clock))
        fake.state.withLock { $0.objects["space/file"] = Array(0..<100) }
        let storage = try fake.storage()
        _ = try await runningFreely(clock) { try await storage.contents() }
        fake.state.withLock { $0.grants = [:] }
        try await runningFreely(clock) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for start in Int64(0)..<20 {
                    group.addTask { _ = try await storage.contents(range: start..<start + 1) }
                }
                try await group.waitForAll()
            }
        }
        #expect(fake.asked(.download) == [1, 1])
    }

    @Test("Changed local bytes are reported as such and not as a refused signature")
    func rotten() async throws {
        let fake = FakeSigner()
        let source = UploadSource(byteCount: 3, sha256: SampleBytes.sha256([1, 2, 3])) { buffer, offset in
            guard offset < 3 else { return 0 }
            buffer.copyBytes(from: [9, 9, 9][Int(offset)...])
            return 3 - Int(offset)
        }
        let error = try await storageError {
            try await fake.storage().upload(source, to: .sample(), session: UploadSession())
        }
        #expect(error?.code == .sourceChanged)
        #expect(fake.objects.isEmpty)
    }

    @Test("A changed object is detected by If-Match")
    func changed() async throws {
        let fake = FakeSigner()
        fake.state.withLock { $0.objects["space/file"] = [1, 2, 3] }
        let storage = try fake.storage()
        let tag = try await storage.head(.sample()).entityTag
        #expect(try await storage.contents(range: 1..<3, entityTag: tag) == [2, 3])
        fake.state.withLock { $0.objects["space/file"] = [4, 5, 6] }
        let error = try await storageError { try await storage.contents(range: 1..<3, entityTag: tag) }
        #expect(error?.code == .changed)
    }
}

@Suite("Checksums from the store", .timeLimit(.minutes(10)))
struct ProofTests {
    @Test("A wrong or missing checksum makes the server confirm the object", arguments: ["x", nil])
    func lying(_ word: String?) async throws {
        let fake = FakeSigner { request, fake in
            guard request.method == .put else { return nil }
            var reply = try fake.answer(request, FakeSigner.bytes(of: request.body))
            reply.head.headers.remove("x-amz-checksum-sha256")
            if let word { reply.head.headers.append(received: "x-amz-checksum-sha256", word) }
            return reply
        }
        _ = try await fake.storage().put([1, 2, 3])
        #expect(fake.asked(.confirm) == [1])
        // A store that stores other bytes than it received.
        let rotting = FakeSigner { request, fake in
            guard request.method == .put else { return nil }
            var reply = try fake.answer(request, FakeSigner.bytes(of: request.body))
            fake.state.withLock { $0.objects["space/file"] = [9] }
            reply.head.headers.remove("x-amz-checksum-sha256")
            if let word { reply.head.headers.append(received: "x-amz-checksum-sha256", word) }
            return reply
        }
        let error = try await storageError { try await rotting.storage().put([1, 2, 3]) }
        #expect(error?.code == .integrity)
    }

    @Test("A matching checksum needs no confirmation")
    func honest() async throws {
        let fake = FakeSigner()
        let object = try await fake.storage().put([1, 2, 3])
        #expect(fake.asked(.confirm) == [])
        #expect(object.sha256 == SampleBytes.sha256([1, 2, 3]))
        #expect(object.url.absoluteString == "https://app/lfs/space/file")
    }

    @Test("A wrong checksum of a part aborts the upload, and the next attempt starts over")
    func part() async throws {
        let lies = Mutex(true)
        let fake = FakeSigner { request, fake in
            guard request.method == .put, lies.withLock({ $0 }) else { return nil }
            var reply = try fake.answer(request, FakeSigner.bytes(of: request.body))
            fake.state.withLock { $0.uploads["upload-1"]?.parts[1] = [0] }
            reply.head.headers.remove("x-amz-checksum-sha256")
            reply.head.headers.append(received: "x-amz-checksum-sha256", "x")
            return reply
        }
        fake.cut(from: 1)
        let saved = try SavedCheckpoint()
        let storage = try fake.storage()
        let bytes = SampleBytes.make(2 << 20)
        #expect(try await storageError { try await storage.put(bytes, session: saved.session) }?.code == .integrity)
        #expect(fake.state.withLock { $0.uploads.isEmpty })
        #expect(saved.value?.upload == nil)
        lies.withLock { $0 = false }
        _ = try await storage.put(bytes, session: saved.session)
        #expect(fake.objects["space/file"] == bytes)
    }
}
