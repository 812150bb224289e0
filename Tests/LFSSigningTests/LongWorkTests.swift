import LFSStorage
import LFSSystem
import LFSTesting
import LFSWire
import Logging
import TestSupport
import Testing

@testable import LFSSigning

@Suite("What a server does for minutes", .timeLimit(.minutes(10)))
struct LongWorkTests {
    private let sample = Sample((2 << 20) + 1_000)
    private let clock = ManualClock()

    /// A service over a folder that does nothing long before the gate is open.
    private func gated(
        _ change: (inout SigningLimits) -> Void = { _ in },
        _ body: (GatedStore, OpenStore, SigningService) async throws -> Void
    ) async throws {
        try await TestStore().open { open in
            let store = GatedStore(try #require(open.backend.folder))
            var limits = SigningLimits()
            change(&limits)
            let service = try SigningService(
                store.backend(open), open.access, open.secret, limits, .init(label: "test"), uptime: { .zero },
                clock: clock)
            try await body(store, open, service)
            await service.shutdown()
        }
    }

    /// Sends the parts; returns the ask that puts them together.
    private func send(_ open: OpenStore, _ service: SigningService, _ key: String = "space/large") async throws
        -> SigningObject
    {
        let parts = try #require(try await service.ask(.upload, sample.object(key)).parts)
        for number in 1...3 {
            let (object, bytes) = sample.part(number, parts.partSize, of: parts.upload)
            let action = try #require(try await service.ask(.parts, object).action(for: .parts))
            #expect(try await open.send(action, bytes).isSuccess)
        }
        return sample.completion(parts.partSize, of: parts.upload)
    }

    @Test("to put parts together is done once, whoever leaves or asks again")
    func completion() async throws {
        try await gated { store, open, service in
            let done = try await send(open, service)
            let first = Task { try await service.ask(.complete, done) }
            await store.begun.wait()
            first.cancel()
            _ = try await first.value
            let second = Task { try await service.ask(.complete, done) }
            await clock.waitForSleepers { $0.contains(SigningWork.patience) }
            clock.advance(by: SigningWork.patience)
            let told = try await second.value.error
            #expect(told?.code == .inProgress && told?.retryAfter == SigningWork.pause)
            async let third = service.ask(.complete, done)
            store.gate.open()
            #expect(try await third.object?.sha256 == Digests.sha256(sample.bytes))
            #expect(store.counts == .init(completions: 1, creations: 1))
            // Its answer may be lost as well.
            #expect(try await service.ask(.complete, done).object?.size == Int64(sample.bytes.count))
        }
    }

    @Test("leaves what needs no reading: the digest of what was put together is durable")
    func recorded() async throws {
        try await gated { store, open, service in
            store.gate.open()
            _ = try await service.ask(.complete, try await send(open, service))
            #expect(try await service.ask(.confirm, sample.object("space/large")).object != nil)
            let other = Sample(sample.bytes.count, seed: 2)
            #expect(try await service.ask(.confirm, other.object("space/large")).error?.code == .integrity)
            // Nor after a restart, to begin the same once more.
            #expect(try await open.service().ask(.upload, sample.object("space/large")).object != nil)
            #expect(store.counts.reads == 0)
        }
    }

    @Test("to read an object is done once as well, and never again for a large one")
    func reading() async throws {
        try await gated { store, open, service in
            let folder = store.base
            try await folder.run(try ObjectKey("space/large")) { [bytes = sample.bytes] _ in
                let uploads = try folder.uploads()
                try uploads.create("found").write(bytes)
                _ = try folder.publish("found", in: uploads, as: ObjectKey("space/large"), replaces: false)
            }
            let object = sample.object("space/large")
            _ = try await service.ask(.upload, Sample(9).object("space/small"))
            let first = Task { try await service.ask(.confirm, object) }
            await store.begun.wait()
            first.cancel()
            _ = try await first.value
            async let second = service.ask(.confirm, object)
            store.gate.open()
            #expect(try await second.object?.sha256 == object.sha256)
            #expect(store.counts.reads == 1)
            #expect(try await open.service().ask(.confirm, object).object != nil)
            let key = try ObjectKey("space/large")
            #expect(try folder.record(of: key)?.sha256 == object.sha256)
            // Of a copy, such as one that was put back from a backup, nothing is known.
            try await folder.run(key) { [bytes = sample.bytes] _ in
                let uploads = try folder.uploads()
                try uploads.create("copy").write(bytes)
                _ = try folder.publish("copy", in: uploads, as: key, replaces: true)
            }
            #expect(try folder.record(of: key) == nil)
            #expect(try await service.ask(.confirm, object).object != nil)
            #expect(store.counts.reads == 2)
            #expect(try await service.ask(.delete, SigningObject(key: "space/large")) == .done)
            #expect(try folder.digests.record(of: key) == nil)
        }
    }

    @Test(
        "to find out that an object is wrong ends with its removal, and with that of no other",
        arguments: [false, true])
    func wrong(_ isReplaced: Bool) async throws {
        try await TestStore().open { open in
            let folder = try #require(open.backend.folder)
            let key = try ObjectKey("space/large")
            let store = GatedStore(folder) {
                guard isReplaced else { return Digests.sha256([0]) }
                try await folder.run(key) { _ in
                    let uploads = try folder.uploads()
                    try uploads.create("other").write([1, 2, 3])
                    _ = try folder.publish("other", in: uploads, as: key, replaces: true)
                }
                return Digests.sha256([0])
            }
            store.gate.open()
            let service = try SigningService(
                store.backend(open), open.access, open.secret, SigningLimits(), .init(label: "test"),
                uptime: { .zero }, clock: clock)
            let done = try await send(open, service)
            #expect(try await service.ask(.complete, done).error?.code == .integrity)
            let left = try await service.ask(.head, SigningObject(key: "space/large"))
            #expect(left.object?.size == (isReplaced ? 3 : nil))
            #expect(left.error?.code == (isReplaced ? nil : .missing))
            await service.shutdown()
        }
    }

    @Test("to read objects counts as open bytes, and so many are read at once and no more")
    func limits() async throws {
        try await gated({ limits in
            (limits.openBytes, limits.wholeReads) = (2_500, 1)
        }) { store, open, service in
            let samples = (1...4).map { Sample(1_000, seed: UInt64($0)) }
            for (index, sample) in samples.enumerated() {
                let key = "space/\(index)"
                // Another's budget pays for it.
                let action = try #require(
                    try await open.service().ask(.upload, sample.object(key)).action(for: .upload))
                #expect(try await open.send(action, sample.bytes).isSuccess)
            }
            let first = Task { try await service.ask(.confirm, samples[0].object("space/0")) }
            await store.begun.wait()
            let second = Task { try await service.ask(.confirm, samples[1].object("space/1")) }
            await clock.waitForSleepers { $0.count == 2 }
            #expect(try await service.ask(.confirm, samples[2].object("space/2")).error?.code == .throttled)
            #expect(store.counts.reads == 1, "the second waits for the first")
            store.gate.open()
            #expect(try await first.value.object != nil)
            #expect(try await second.value.object != nil)
            #expect(store.counts.reads == 2)
            // What was read costs nothing.
            #expect(try await service.ask(.confirm, samples[1].object("space/1")).object != nil)
        }
    }
}
