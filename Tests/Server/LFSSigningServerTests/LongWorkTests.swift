import LFSStorage
import LFSSystem
import LFSTesting
import LFSWire
import Logging
import TestSupport
import Testing

@testable import LFSSigningServer

@Suite("Long operations of a server", .timeLimit(.minutes(10)))
struct LongWorkTests {
    private let sample = Sample((2 << 20) + 1_000)
    private let clock = ManualClock()

    /// Runs a body with a service over a folder that does no long work before the gate opens.
    private func gated(
        _ change: (inout SigningLimits) -> Void = { _ in },
        _ body: (GatedStore, OpenStore, SigningService) async throws -> Void
    ) async throws {
        try await TestStore().open { open in
            let store = GatedStore(try #require(open.backend.folder))
            var limits = SigningLimits()
            change(&limits)
            let service = try SigningService(
                store.backend(open), access: open.access, secret: open.secret, limits: limits,
                logger: .init(label: "test"), uptime: { .zero },
                clock: clock)
            try await body(store, open, service)
            await service.shutdown()
        }
    }

    /// Sends the parts and returns the request that completes the upload.
    private func send(_ open: OpenStore, service: SigningService, key: String = "space/large") async throws
        -> SigningObject
    {
        let parts = try #require(try await service.ask(.upload, object: sample.object(key)).parts)
        for number in 1...3 {
            let (object, bytes) = sample.part(number, size: parts.partSize, of: parts.upload)
            let action = try #require(try await service.ask(.parts, object: object).action(for: .parts))
            #expect(try await open.send(action, bytes).isSuccess)
        }
        return sample.completion(parts.partSize, of: parts.upload)
    }

    @Test("Joining parts runs once although requests leave and repeat")
    func completion() async throws {
        try await gated { store, open, service in
            let done = try await send(open, service: service)
            let first = Task { try await service.ask(.complete, object: done) }
            await store.begun.wait()
            first.cancel()
            _ = try await first.value
            let second = Task { try await service.ask(.complete, object: done) }
            await clock.waitForSleepers { $0.contains(SigningWork.patience) }
            clock.advance(by: SigningWork.patience)
            let told = try await second.value.error
            #expect(told?.code == .inProgress && told?.retryAfter == SigningWork.pause)
            async let third = service.ask(.complete, object: done)
            store.gate.open()
            #expect(try await third.object?.sha256 == Digests.sha256(sample.bytes))
            #expect(store.counts == .init(completions: 1, creations: 1))
            // The reply may be lost again.
            #expect(try await service.ask(.complete, object: done).object?.size == Int64(sample.bytes.count))
        }
    }

    @Test("The digest of a joined upload is stored, so confirming it reads no bytes")
    func recorded() async throws {
        try await gated { store, open, service in
            store.gate.open()
            _ = try await service.ask(.complete, object: try await send(open, service: service))
            #expect(try await service.ask(.confirm, object: sample.object("space/large")).object != nil)
            let other = Sample(sample.bytes.count, seed: 2)
            #expect(try await service.ask(.confirm, object: other.object("space/large")).error?.code == .integrity)
            // After a restart, beginning the same upload again reads nothing either.
            #expect(try await open.service().ask(.upload, object: sample.object("space/large")).object != nil)
            #expect(store.counts.reads == 0)
        }
    }

    @Test("Reading an object for its digest runs once and is stored for a large object")
    func reading() async throws {
        try await gated { store, open, service in
            let folder = store.base
            try await folder.run(try ObjectKey("space/large")) { [bytes = sample.bytes] _ in
                let uploads = try folder.uploads()
                try uploads.create("found").write(bytes)
                _ = try folder.publish("found", in: uploads, as: ObjectKey("space/large"), replaces: false)
            }
            let object = sample.object("space/large")
            _ = try await service.ask(.upload, object: Sample(9).object("space/small"))
            let first = Task { try await service.ask(.confirm, object: object) }
            await store.begun.wait()
            first.cancel()
            _ = try await first.value
            async let second = service.ask(.confirm, object: object)
            store.gate.open()
            #expect(try await second.object?.sha256 == object.sha256)
            #expect(store.counts.reads == 1)
            #expect(try await open.service().ask(.confirm, object: object).object != nil)
            let key = try ObjectKey("space/large")
            #expect(try folder.record(of: key)?.sha256 == object.sha256)
            // The digest of a copy, such as one restored from a backup, is unknown.
            try await folder.run(key) { [bytes = sample.bytes] _ in
                let uploads = try folder.uploads()
                try uploads.create("copy").write(bytes)
                _ = try folder.publish("copy", in: uploads, as: key, replaces: true)
            }
            #expect(try folder.record(of: key) == nil)
            #expect(try await service.ask(.confirm, object: object).object != nil)
            #expect(store.counts.reads == 2)
            #expect(try await service.ask(.delete, object: SigningObject(key: "space/large")) == .done)
            #expect(try folder.digests.record(of: key) == nil)
        }
    }

    @Test(
        "An object found to be wrong is removed, and a replacement stays",
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
                store.backend(open), access: open.access, secret: open.secret, limits: SigningLimits(),
                logger: .init(label: "test"),
                uptime: { .zero }, clock: clock)
            let done = try await send(open, service: service)
            #expect(try await service.ask(.complete, object: done).error?.code == .integrity)
            let left = try await service.ask(.head, object: SigningObject(key: "space/large"))
            #expect(left.object?.size == (isReplaced ? 3 : nil))
            #expect(left.error?.code == (isReplaced ? nil : .missing))
            await service.shutdown()
        }
    }

    /// Runs a body with a service whose store suspects each object. Other callers may read, and nothing else.
    private func suspecting(
        openBytes: Int64, _ body: (GatedStore, SigningService) async throws -> Void
    ) async throws {
        try await TestStore().open { open in
            let store = GatedStore(try #require(open.backend.folder), suspects: true)
            store.gate.open()
            var limits = SigningLimits()
            limits.openBytes = openBytes
            let service = try SigningService(
                store.backend(open), access: .claimedNamespaces(sharing: { $0.verb == .read }), secret: open.secret,
                limits: limits, logger: .init(label: "test"), uptime: { .zero }, clock: clock)
            for key in ["space/one", "space/two"] {
                let sample = Sample(1_000)
                // Another service's budget covers the upload.
                let action = try #require(
                    try await open.service().ask(.upload, object: sample.object(key)).action(for: .upload))
                #expect(try await open.send(action, sample.bytes).isSuccess)
            }
            try await body(store, service)
            await service.shutdown()
        }
    }

    @Test("A false size in a confirmation makes the server read within the limits")
    func falseSize() async throws {
        try await suspecting(openBytes: 1_500) { store, service in
            var lie = Sample(1_000).object("space/one")
            lie.size = 7
            for _ in 0..<2 {
                let answer = try await service.ask(.confirm, object: lie)
                #expect(answer.error?.code == .integrity)
            }
            #expect(store.counts.reads == 1, "the digest is kept")
            lie.key = "space/two"
            #expect(try await service.ask(.confirm, object: lie).error?.code == .throttled)
            #expect(store.counts.reads == 1)
            for key in ["space/one", "space/two"] {
                #expect(try await service.ask(.head, object: SigningObject(key: key)).object != nil)
            }
        }
    }

    @Test("Only a confirmation of a caller who may write removes a wrong object")
    func suspected() async throws {
        try await suspecting(openBytes: 1 << 20) { store, service in
            let right = Sample(7, seed: 2).object("space/one")
            let there = SigningObject(key: "space/one")
            let session = try await service.ask(.confirm, object: right, rights: .reading)
            #expect(session.error?.code == .integrity)
            #expect(try await service.ask(.confirm, object: right, as: "bob").error?.code == .integrity)
            #expect(store.counts.reads == 0)
            #expect(try await service.ask(.head, object: there).object != nil)
            #expect(try await service.ask(.confirm, object: right).error?.code == .integrity)
            #expect(store.counts.reads == 1)
            #expect(try await service.ask(.head, object: there).error?.code == .missing)
        }
    }

    @Test("Reads of objects count as open bytes, and their number at once is limited")
    func limits() async throws {
        try await gated({ limits in
            limits.openBytes = 2_500
            limits.wholeReads = 1
        }) { store, open, service in
            let samples = (1...4).map { Sample(1_000, seed: UInt64($0)) }
            for (index, sample) in samples.enumerated() {
                let key = "space/\(index)"
                // Another service's budget covers the upload.
                let action = try #require(
                    try await open.service().ask(.upload, object: sample.object(key)).action(for: .upload))
                #expect(try await open.send(action, sample.bytes).isSuccess)
            }
            let first = Task { try await service.ask(.confirm, object: samples[0].object("space/0")) }
            await store.begun.wait()
            let second = Task { try await service.ask(.confirm, object: samples[1].object("space/1")) }
            await clock.waitForSleepers { $0.count == 2 }
            #expect(try await service.ask(.confirm, object: samples[2].object("space/2")).error?.code == .throttled)
            #expect(store.counts.reads == 1, "the second waits for the first")
            store.gate.open()
            #expect(try await first.value.object != nil)
            #expect(try await second.value.object != nil)
            #expect(store.counts.reads == 2)
            // A stored digest costs nothing.
            #expect(try await service.ask(.confirm, object: samples[1].object("space/1")).object != nil)
        }
    }
}
