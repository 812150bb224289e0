import LFSHTTP
import LFSStorage
import LFSTesting
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSignedURL

@Suite("An upload in parts by signed URLs", .timeLimit(.minutes(10)))
struct PartsTests {
    private let bytes = SampleBytes.make((4 << 20) + 10)
    /// In five parts of 1,000 bytes at the most.
    private let few = SampleBytes.make(4_010)

    /// A try that is cut after so many parts.
    private func cut(_ fake: FakeSigner, after count: Int, _ saved: SavedCheckpoint) async throws {
        let sent = Mutex(0)
        let cutting = CuttingTransport(base: fake) { request in
            guard request.origin.host == "store" else { return false }
            return sent.withLock { sent in
                sent += 1
                return sent > count
            }
        }
        let storage = try fake.storage {
            $0.transport = cutting
            $0.maxConcurrentParts = 1
        }
        let error = try await storageError { try await storage.put(bytes, session: saved.session) }
        #expect(error?.isRetryable == true)
    }

    @Test("goes on with the parts that are there, after its signatures have expired as well")
    func expiry() async throws {
        let clock = ManualClock()
        let fake = FakeSigner(clock: clock)
        fake.cut(from: 1)
        let saved = try SavedCheckpoint()
        try await runningFreely(clock) { try await cut(fake, after: 2, saved) }
        clock.advance(by: .seconds(3_600))
        let before = fake.requests.count { $0.method == .put }
        let progress = Mutex<[Int64]>([])
        let session = UploadSession(
            checkpoint: saved.all.last, onProgress: { count in progress.withLock { $0.append(count) } })
        _ = try await runningFreely(clock) { try await fake.storage().put(bytes, session: session) }
        #expect(fake.objects["space/file"] == bytes)
        #expect(fake.requests.count { $0.method == .put } - before == 3, "two of five were there")
        #expect(fake.asked(.upload) == [1] && fake.asked(.state) == [1])
        #expect(progress.withLock { $0.last } == Int64(bytes.count))
    }

    /// The signatures of a slow line: each ends while its part is on its way.
    @Test("whose signature ends in mid-upload has that part signed again, and no other")
    func midUpload() async throws {
        let clock = ManualClock()
        let puts = Mutex(0)
        let fake = FakeSigner(clock: clock) { request, _ in
            let isThird =
                request.method == .put
                && puts.withLock { count in
                    count += 1
                    return count == 3
                }
            if isThird { clock.advance(by: .seconds(901)) }
            return nil
        }
        fake.cut(from: 1)
        let storage = try fake.storage { $0.maxConcurrentParts = 1 }
        _ = try await runningFreely(clock) { try await storage.put(bytes) }
        #expect(fake.objects["space/file"] == bytes)
        #expect(puts.withLock { $0 } == 6)
        #expect(fake.asked(.upload) == [1])
    }

    @Test("waits for the store's consent before its first large body, and before no other")
    func consent() async throws {
        let fake = FakeSigner()
        fake.cut(from: 1)
        let storage = try fake.storage { $0.maxConcurrentParts = 1 }
        _ = try await storage.put(bytes)
        _ = try await storage.put(bytes, "other")
        let waits = fake.requests.filter { $0.method == .put }.map(\.expectsContinue)
        #expect(waits == [true] + Array(repeating: false, count: 9))
    }

    @Test("keeps the server's token, the parts' size and the content, and never a URL")
    func checkpoint() async throws {
        let fake = FakeSigner()
        fake.cut(from: 1)
        let saved = try SavedCheckpoint()
        try await cut(fake, after: 2, saved)
        #expect(saved.all.count == 1, "before the first part, and not again")
        let text = String(decoding: try #require(saved.all.last).rawValue, as: UTF8.self)
        #expect(text.contains("upload-1"))
        for secret in Canary.all + ["http", "store", "?"] { #expect(!text.contains(secret), "\(secret)") }
    }

    @Test("begins anew when the server knows its token no more, and with one that was forged")
    func lost() async throws {
        let fake = FakeSigner()
        fake.cut(from: 1)
        let saved = try SavedCheckpoint()
        try await cut(fake, after: 2, saved)
        fake.state.withLock { $0.uploads = [:] }
        _ = try await fake.storage().put(bytes, session: saved.session)
        #expect(fake.objects["space/file"] == bytes)
        #expect(saved.value?.upload != "upload-1")
        let source = try UploadSource.temporary(few)
        for token in ["forged", "../x", "", String(repeating: "a", count: 5_000), "a\nb"] {
            let other = FakeSigner()
            other.cut(from: 1, partSize: 1_000)
            let forged = try SavedCheckpoint(PartsCheckpoint(upload: token, partSize: 1_000, source))
            _ = try await other.storage().put(few, session: forged.session)
            #expect(other.objects["space/file"] == few)
            #expect(other.asked(.state).count == (token == "forged" ? 1 : 0), "what no server gives is not asked with")
        }
    }

    @Test("whose last answer was lost is found to be complete")
    func lostAnswer() async throws {
        let isLost = Mutex(true)
        let fake = FakeSigner { request, fake in
            guard request.method == .post, isLost.withLock({ $0 }) else { return nil }
            let body = try FakeSigner.bytes(of: request.body)
            guard String(decoding: body, as: UTF8.self).contains("\"complete\"") else { return nil }
            _ = try fake.answer(request, body)
            isLost.withLock { $0 = false }
            return FakeSigner.reply(502, "<html>", ["content-type": "text/html"])
        }
        fake.cut(from: 1)
        let saved = try SavedCheckpoint()
        let storage = try fake.storage()
        #expect(try await storageError { try await storage.put(bytes, session: saved.session) } != nil)
        let puts = fake.requests.count { $0.method == .put }
        _ = try await storage.put(bytes, session: saved.session)
        #expect(fake.requests.count { $0.method == .put } == puts, "nothing is sent again")
        #expect(fake.asked(.complete) == [1, 1], "the store's word on the parts may do")
        #expect(fake.asked(.confirm) == [1])
    }

    @Test("that takes the server longer than a request to put together is asked for again, and nothing else is")
    func goesOn() async throws {
        let clock = ManualClock()
        let fake = FakeSigner(clock: clock)
        fake.cut(from: 1, partSize: 1_000)
        fake.state.withLock { $0.goesOn = 3 }
        let storage = try fake.storage()
        _ = try await runningFreely(clock) { try await storage.put(few) }
        #expect(fake.objects["space/file"] == few)
        #expect(fake.asked(.complete) == [1, 1, 1, 1] && fake.asked(.state) == [])
        #expect(clock.now.offset >= .seconds(15), "as the server wants it")
    }

    @Test("that goes on for ever ends the try, which may come again")
    func goesOnForEver() async throws {
        let clock = ManualClock()
        let fake = FakeSigner(clock: clock)
        fake.cut(from: 1, partSize: 1_000)
        fake.state.withLock { $0.goesOn = .max }
        let storage = try fake.storage()
        let saved = try SavedCheckpoint()
        let error = try await runningFreely(clock) {
            try await storageError { try await storage.put(few, session: saved.session) }
        }
        #expect(error?.isRetryable == true && error?.retryAfter == .seconds(5))
        #expect(fake.asked(.complete).count == SigningClient.askLimit + 1)
        #expect(saved.value?.upload == "upload-1", "the next try goes on with it")
    }

    @Test("whose parts have tags that only look like MD5s is put together, and what was taken is not sent again")
    func oddTags() async throws {
        let fake = FakeSigner { request, fake in
            guard request.method == .put else { return nil }
            var reply = try fake.answer(request, FakeSigner.bytes(of: request.body))
            reply.head.headers.append(received: "etag", "\"\(String(repeating: "a", count: 32))\"")
            return reply
        }
        fake.cut(from: 1, partSize: 1_000)
        fake.state.withLock { state in
            state.description.digests = [.sha256, .md5]
            (state.hasOddTags, state.proof) = (true, "etag")
        }
        _ = try await fake.storage().put(few)
        #expect(fake.objects["space/file"] == few)
        #expect(fake.requests.count { $0.method == .put } == 5)
        #expect(fake.asked(.complete) == [1, 1])
    }

    @Test("whose parts the store has spoiled is not taken for whole because its tags say nothing")
    func spoiled() async throws {
        let fake = FakeSigner { request, fake in
            guard request.method == .put else { return nil }
            let reply = try fake.answer(request, FakeSigner.bytes(of: request.body))
            // Once, with the last one.
            fake.state.withLock { state in
                if state.uploads["upload-1"]?.parts[5] != nil { state.uploads["upload-1"]?.parts[2]?[0] ^= 1 }
            }
            return reply
        }
        fake.cut(from: 1, partSize: 1_000)
        fake.state.withLock { state in
            state.description.digests = [.sha256, .md5]
            state.hasOddTags = true
        }
        let storage = try fake.storage { $0.maxConcurrentParts = 1 }
        #expect(try await storageError { try await storage.put(few) } != nil)
        #expect(fake.objects.count == 0)
    }

    @Test("sends again what the server finds missing at the end")
    func incomplete() async throws {
        let loses = Mutex(true)
        let fake = FakeSigner { request, fake in
            guard request.method == .post, loses.withLock({ $0 }),
                String(decoding: try FakeSigner.bytes(of: request.body), as: UTF8.self).contains("\"complete\"")
            else { return nil }
            loses.withLock { $0 = false }
            fake.state.withLock { $0.uploads["upload-1"]?.parts[2] = nil }
            return nil
        }
        fake.cut(from: 1)
        _ = try await fake.storage().put(bytes)
        #expect(fake.objects["space/file"] == bytes)
        #expect(fake.requests.count { $0.method == .put } == 6)
    }

    @Test("of bytes that are not the recorded ones is aborted, and leaves nothing")
    func rotten() async throws {
        let fake = FakeSigner()
        fake.cut(from: 1)
        let saved = try SavedCheckpoint()
        let source = try UploadSource.temporary(bytes, sha256: SampleBytes.sha256([0]))
        let error = try await storageError {
            try await fake.storage().upload(source, to: .sample(), session: saved.session)
        }
        #expect(error?.code == .sourceChanged)
        #expect(fake.state.withLock { $0.uploads.isEmpty && $0.objects.isEmpty })
        #expect(saved.value?.upload == nil)
    }

    @Test("that was given up goes with the deletion of its object, also when its token is of no use any more")
    func abandoned() async throws {
        let fake = FakeSigner()
        fake.cut(from: 1)
        let saved = try SavedCheckpoint()
        try await cut(fake, after: 2, saved)
        try await fake.storage().delete(.sample(), abandoning: saved.all.last)
        #expect(fake.state.withLock { $0.uploads.isEmpty })
        fake.state.withLock { $0.objects["space/file"] = [1] }
        try await fake.storage().delete(.sample(), abandoning: saved.all.last)
        #expect(fake.objects.isEmpty)
    }
}
