import LFSHTTP
import LFSStorage
import LFSTesting
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSignedURL

@Suite("Uploads in parts by signed URLs", .timeLimit(.minutes(10)))
struct PartsTests {
    private let bytes = SampleBytes.make((4 << 20) + 10)
    /// The bytes of five parts of at most 1,000 bytes each.
    private let few = SampleBytes.make(4_010)

    /// Starts an upload that is cut after a number of parts.
    private func cut(_ fake: FakeSigner, after count: Int, saved: SavedCheckpoint) async throws {
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

    @Test("An upload resumes with the stored parts after its signatures have expired")
    func expiry() async throws {
        let clock = ManualClock()
        let fake = FakeSigner(clock: clock)
        fake.cut(from: 1)
        let saved = try SavedCheckpoint()
        try await runningFreely(clock) { try await cut(fake, after: 2, saved: saved) }
        clock.advance(by: .seconds(3_600))
        let before = fake.requests.count { $0.method == .put }
        let progress = Mutex<[Int64]>([])
        let session = UploadSession(
            checkpoint: saved.all.last, onProgress: { count in progress.withLock { $0.append(count) } })
        _ = try await runningFreely(clock) { try await fake.storage().put(bytes, session: session) }
        #expect(fake.objects["space/file"] == bytes)
        #expect(fake.requests.count { $0.method == .put } - before == 3, "two of five parts were on the store")
        #expect(fake.asked(.upload) == [1] && fake.asked(.state) == [1])
        #expect(progress.withLock { $0.last } == Int64(bytes.count))
    }

    /// Signatures of a slow line, which expire while their part is being sent.
    @Test("A part whose signature expires during the upload is signed again")
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

    @Test("Only the first large body waits for the store's consent")
    func consent() async throws {
        let fake = FakeSigner()
        fake.cut(from: 1)
        let storage = try fake.storage { $0.maxConcurrentParts = 1 }
        _ = try await storage.put(bytes)
        _ = try await storage.put(bytes, name: "other")
        let waits = fake.requests.filter { $0.method == .put }.map(\.expectsContinue)
        #expect(waits == [true] + Array(repeating: false, count: 9))
    }

    @Test("The checkpoint contains the server's token and no URL")
    func checkpoint() async throws {
        let fake = FakeSigner()
        fake.cut(from: 1)
        let saved = try SavedCheckpoint()
        try await cut(fake, after: 2, saved: saved)
        #expect(saved.all.count == 1, "the checkpoint is saved once, before the first part")
        let text = String(decoding: try #require(saved.all.last).rawValue, as: UTF8.self)
        #expect(text.contains("upload-1"))
        for secret in Canary.all + ["http", "store", "?"] { #expect(!text.contains(secret), "\(secret)") }
    }

    @Test("An upload with a lost or forged token restarts")
    func lost() async throws {
        let fake = FakeSigner()
        fake.cut(from: 1)
        let saved = try SavedCheckpoint()
        try await cut(fake, after: 2, saved: saved)
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
            #expect(other.asked(.state).count == (token == "forged" ? 1 : 0), "a token that no server made is not sent")
        }
    }

    @Test("A completion whose reply was lost is found by the next attempt")
    func lostAnswer() async throws {
        let isLost = Mutex(true)
        let fake = FakeSigner { request, fake in
            guard request.method == .post, isLost.withLock({ $0 }) else { return nil }
            let body = try FakeSigner.bytes(of: request.body)
            guard String(decoding: body, as: UTF8.self).contains("\"complete\"") else { return nil }
            _ = try fake.answer(request, body)
            isLost.withLock { $0 = false }
            return FakeSigner.reply(502, text: "<html>", headers: ["content-type": "text/html"])
        }
        fake.cut(from: 1)
        let saved = try SavedCheckpoint()
        let storage = try fake.storage()
        #expect(try await storageError { try await storage.put(bytes, session: saved.session) } != nil)
        let puts = fake.requests.count { $0.method == .put }
        _ = try await storage.put(bytes, session: saved.session)
        #expect(fake.requests.count { $0.method == .put } == puts, "no part is uploaded again")
        #expect(fake.asked(.complete) == [1, 1], "the store's report on the parts may be enough")
        #expect(fake.asked(.confirm) == [1])
    }

    @Test("A completion in progress is requested again as the server asks")
    func goesOn() async throws {
        let clock = ManualClock()
        let fake = FakeSigner(clock: clock)
        fake.cut(from: 1, partSize: 1_000)
        fake.state.withLock { $0.goesOn = 3 }
        let storage = try fake.storage()
        _ = try await runningFreely(clock) { try await storage.put(few) }
        #expect(fake.objects["space/file"] == few)
        #expect(fake.asked(.complete) == [1, 1, 1, 1] && fake.asked(.state) == [])
        #expect(clock.now.offset >= .seconds(15), "the delay from the server is kept")
    }

    @Test("A completion that never ends fails the attempt with a retryable error")
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
        #expect(saved.value?.upload == "upload-1", "the next attempt resumes it")
    }

    @Test("An upload is completed although its tags only look like MD5s")
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
            state.hasOddTags = true
            state.proof = "etag"
        }
        _ = try await fake.storage().put(few)
        #expect(fake.objects["space/file"] == few)
        #expect(fake.requests.count { $0.method == .put } == 5)
        #expect(fake.asked(.complete) == [1, 1])
    }

    @Test("A damaged part fails the upload even if its tags prove nothing")
    func spoiled() async throws {
        let fake = FakeSigner { request, fake in
            guard request.method == .put else { return nil }
            let reply = try fake.answer(request, FakeSigner.bytes(of: request.body))
            // Damages the second part once, together with the last one.
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

    @Test("A part that the server finds missing is sent again")
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

    @Test("An upload of changed bytes is aborted and leaves nothing")
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

    @Test("Deleting an object aborts its upload, and an invalid token is ignored")
    func abandoned() async throws {
        let fake = FakeSigner()
        fake.cut(from: 1)
        let saved = try SavedCheckpoint()
        try await cut(fake, after: 2, saved: saved)
        try await fake.storage().delete(.sample(), abandoning: saved.all.last)
        #expect(fake.state.withLock { $0.uploads.isEmpty })
        fake.state.withLock { $0.objects["space/file"] = [1] }
        try await fake.storage().delete(.sample(), abandoning: saved.all.last)
        #expect(fake.objects.isEmpty)
    }
}
