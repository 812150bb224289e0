import Dispatch
import Foundation
import LFSStorage
import LFSSystem
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSigningServer

@Suite("Limits of request bodies", .timeLimit(.minutes(10)))
struct BodyLimitTests {
    @Test func `A URL accepts only one body at a time`() async throws {
        try await withStore { store, open, service in
            let sample = Sample(1_000)
            let action = try #require(
                try await service.ask(.upload, object: sample.object("space/one")).action(for: .upload))
            let request = try bytesRequest(action, byteCount: 1_000)
            let begun = Signal()
            let gate = Latch()
            let slow = AsyncStream<[UInt8]>(unfolding: {
                begun.notify()
                await gate.wait()
                return nil
            })
            let first = Task { await service.put(request, body: slow).status }
            await begun.wait()
            #expect(await service.put(request, body: AsyncStream([sample.bytes])).status == 429)
            gate.open()
            #expect(await first.value == 400, "it was cut off")
            #expect(await service.put(request, body: AsyncStream([sample.bytes])).status == 200)
            #expect(store.unwritten.isEmpty)
        }
    }

    @Test func `A body that would reduce the free space below the reserve is refused`() async throws {
        let free = Mutex<Int64>(1_999)
        try await withStore(reserve: 1_000, free: { free.withLock { $0 } }) { _, open, service in
            let sample = Sample(1_000)
            let action = try #require(
                try await service.ask(.upload, object: sample.object("space/one")).action(for: .upload))
            #expect(try await open.send(action, sample.bytes, service: service).status == 507)
            free.withLock { $0 = 2_000 }
            #expect(try await open.send(action, sample.bytes, service: service).status == 200)
        }
    }

    @Test func `Concurrent bodies leave the reserve free together`() async throws {
        try await withStore(reserve: 1_000, free: { 2_500 }) { store, open, service in
            let samples = [Sample(1_000), Sample(1_000, seed: 2)]
            var actions: [SigningAction] = []
            for (index, sample) in samples.enumerated() {
                let answer = try await service.ask(.upload, object: sample.object("space/\(index)"))
                actions.append(try #require(answer.action(for: .upload)))
            }
            let request = try bytesRequest(actions[0], byteCount: 1_000)
            let (body, source) = AsyncStream<[UInt8]>.makeStream()
            let first = Task { await service.put(request, body: body).status }
            try await yield(while: store.unwritten.isEmpty)
            #expect(try await open.send(actions[1], samples[1].bytes, service: service).status == 507)
            source.yield(samples[0].bytes)
            source.finish()
            #expect(await first.value == 200)
            #expect(try await open.send(actions[1], samples[1].bytes, service: service).status == 200)
        }
    }

    @Test func `Joined parts leave the reserve free together with a body`() async throws {
        let free = Mutex(Int64.max)
        try await withStore(reserve: 1_000, free: { free.withLock { $0 } }) { store, open, service in
            let sample = Sample((2 << 20) + 1_000)
            let small = Sample(1_000)
            let parts = try #require(try await service.ask(.upload, object: sample.object("space/large")).parts)
            try await sendParts(sample, parts: parts, open: open, service: service)
            let done = sample.completion(parts.partSize, of: parts.upload)
            let action = try #require(
                try await service.ask(.upload, object: small.object("space/small")).action(for: .upload))
            let request = try bytesRequest(action, byteCount: 1_000)
            let (body, source) = AsyncStream<[UInt8]>.makeStream()
            free.withLock { $0 = Int64(sample.bytes.count) + 1_500 }
            let first = Task { await service.put(request, body: body).status }
            try await yield(while: store.unwritten.isEmpty)
            #expect(try await service.ask(.complete, object: done).error?.code == .noSpace)
            source.yield(small.bytes)
            source.finish()
            #expect(await first.value == 200)
            #expect(try await service.ask(.complete, object: done).object?.size == Int64(sample.bytes.count))
            #expect(store.unwritten.isEmpty)
        }
    }

    @Test func `Parts that are not what was announced are dropped, and the attempt is charged`() async throws {
        try await withStore { store, open, _ in
            let sample = Sample((2 << 20) + 1_000)
            let size = Int64(sample.bytes.count)
            // The limit covers the parts and one attempt, and not one more byte.
            let service = try open.service(uptime: { .zero }) {
                $0.openBytes = 2 * size
                $0.creationBytes = 0
            }
            var object = sample.object("space/large")
            object.sha256 = Digests.sha256([1])
            let parts = try #require(try await service.ask(.upload, object: object).parts)
            try await sendParts(sample, parts: parts, open: open, service: service)
            let done = sample.completion(parts.partSize, of: parts.upload)
            #expect(try await service.ask(.complete, object: done).error?.code == .integrity)
            #expect(try await service.ask(.complete, object: done).error?.code == .lostUpload)
            #expect(try names(in: store).isEmpty)
            let small = try #require(
                try await service.ask(.upload, object: Sample(1).object("space/small")).action(for: .upload))
            #expect(try await open.send(small, Sample(1).bytes, service: service).status == 429)
        }
    }

    @Test func `Downloads do not wait for joins`() async throws {
        try await withStore { store, open, service in
            let sample = Sample((2 << 20) + 1_000)
            let small = Sample(1_000)
            let upload = try #require(
                try await service.ask(.upload, object: small.object("space/small")).action(for: .upload))
            #expect(try await open.send(upload, small.bytes).isSuccess)
            let download = try #require(
                try await service.ask(.download, object: SigningObject(key: "space/small")).action(for: .download))
            let parts = try #require(try await service.ask(.upload, object: sample.object("space/large")).parts)
            try await sendParts(sample, parts: parts, open: open, service: service)
            let gate = DispatchSemaphore(value: 0)
            for _ in 0..<2 { store.joinThreads.start { gate.wait() } }
            let join = Task {
                try await service.ask(.complete, object: sample.completion(parts.partSize, of: parts.upload))
            }
            #expect(try await open.send(download).body == small.bytes)
            for _ in 0..<2 { gate.signal() }
            #expect(try await join.value.object?.size == Int64(sample.bytes.count))
        }
    }

    @Test func `An account joins one upload at a time, and does not hold up others`() async throws {
        try await withStore { _, open, service in
            let sample = Sample((2 << 20) + 1_000)
            var completions: [String: SigningObject] = [:]
            for caller in ["alice", "bob"] {
                let parts = try #require(
                    try await service.ask(.upload, object: sample.object("\(caller)/large"), as: caller).parts)
                try await sendParts(sample, parts: parts, open: open, service: service, as: caller)
                completions[caller] = sample.completion(parts.partSize, of: parts.upload)
            }
            let alice = try #require(completions["alice"])
            let bob = try #require(completions["bob"])
            try await service.work.joins.withTurn("alice") {
                let waiting = Task { try await service.ask(.complete, object: alice) }
                while service.work.joins.waiterCount("alice") == 0 { await Task.yield() }
                let object = try await service.ask(.complete, object: bob, as: "bob").object
                #expect(object != nil)
                #expect(service.work.joins.waiterCount("alice") == 1)
                waiting.cancel()
            }
            #expect(try await service.ask(.complete, object: alice).object != nil)
        }
    }

    @Test func `An upload cannot be deleted while its parts are joined`() async throws {
        try await withStore { store, open, service in
            let sample = Sample((2 << 20) + 1_000)
            let parts = try #require(try await service.ask(.upload, object: sample.object("space/large")).parts)
            try await sendParts(sample, parts: parts, open: open, service: service)
            let name = try #require(try names(in: store).first)
            var object = SigningObject(key: "space/large")
            object.upload = parts.upload
            store.joining.withLock { _ = $0.insert(name) }
            #expect(try await service.ask(.delete, object: object).error?.code == .throttled)
            store.joining.withLock { _ = $0.remove(name) }
            let done = sample.completion(parts.partSize, of: parts.upload)
            #expect(try await service.ask(.complete, object: done).object != nil)
            #expect(try await service.ask(.delete, object: object) == .done)
            #expect(try await service.ask(.head, object: SigningObject(key: "space/large")).error?.code == .missing)
        }
    }

    // MARK: Support

    private func sendParts(
        _ sample: Sample, parts: SigningAnswer.Parts, open: OpenStore, service: SigningService,
        as caller: String = "alice"
    ) async throws {
        for number in 1...3 {
            let (object, bytes) = sample.part(number, size: parts.partSize, of: parts.upload)
            let action = try #require(try await service.ask(.parts, object: object, as: caller).action(for: .parts))
            #expect(try await open.send(action, bytes, service: service).isSuccess)
        }
    }

    private func bytesRequest(_ action: SigningAction, byteCount: Int) throws -> BytesRequest {
        let halves = action.href.split(separator: "?", maxSplits: 1).map(String.init)
        let mark = try #require(halves[0].range(of: "/bytes/"))
        return BytesRequest(
            key: String(halves[0][mark.upperBound...]), query: halves[1],
            headers: ["content-length": String(byteCount)])
    }

    private func names(in store: FolderStore) throws -> [String] {
        var names: [String] = []
        try store.uploads().forEachFile { name in
            if UUID(uuidString: name) != nil { names.append(name) }
            return true
        }
        return names
    }

    private func withStore(
        reserve: Int64 = 0, free: @escaping @Sendable () -> Int64 = { .max },
        _ body: (FolderStore, OpenStore, SigningService) async throws -> Void
    ) async throws {
        try await withTemporaryFolder { folder in
            let secret = try SigningSecret(Data(repeating: 7, count: 32))
            let clock = TestClock(0)
            let links = FolderLinks(
                publicURL: try #require(URL(string: "http://app.example/lfs")), secret: secret, now: { clock.now })
            let store = try FolderStore(
                at: folder, links, parts: FolderPartOptions(threshold: 1 << 20, size: 1 << 20), reserve: reserve,
                freeByteCount: { _ in free() })
            let open = OpenStore(backend: .directory(store), secret: secret, clock: clock)
            try await body(store, open, open.service())
        }
    }
}
