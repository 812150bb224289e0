import Foundation
import Synchronization
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Removal of objects by the server", .timeLimit(.minutes(10)))
struct FileRemovalTests {
    /// A storage that records removal requests. The mutex owns its state.
    private final class Store: Sendable {
        struct Silence: Error {}

        private struct State {
            var removed: [String] = []
            var isSilent = false
            var refuses = false
        }

        private let state = Mutex(State())

        /// The removed keys, sorted.
        var removed: [String] { state.withLock { $0.removed.sorted() } }

        func isSilent(_ silent: Bool) { state.withLock { $0.isSilent = silent } }
        func refuses(_ refuses: Bool) { state.withLock { $0.refuses = refuses } }

        /// - Returns: the number of removed objects.
        @discardableResult func empty(_ service: SyncService) async throws -> Int {
            try await service.removeObjects { [self] key, account in try remove(key, of: account) }
        }

        private func remove(_ key: String, of account: String) throws -> Bool {
            try state.withLock { state in
                if state.isSilent { throw Silence() }
                if state.refuses { return false }
                state.removed.append(key)
                return true
            }
        }
    }

    /// Runs a body with Ann's phone, which has the files f1 and f2, her laptop, and Bob's phone with b1.
    private func run(
        rowBytes: Int64 = AccountQuota().rowBytes,
        _ body: (TestServer, Store, ManualClock, _ phone: TestDevice, _ laptop: TestDevice, _ bob: TestDevice)
            async throws -> Void
    ) async throws {
        let (store, clock) = (Store(), ManualClock())
        var options = clock.options
        options.removalDelay = .seconds(86_400)
        options.quota.rowBytes = rowBytes
        try await TestServer.run(schema: SharingServer.schema, options: options) { server in
            let phone = try await server.device()
            let laptop = try await server.device()
            let bob = try await server.device(of: "bob")
            for (device, name, key) in [(phone, "f1", "phone/1"), (phone, "f2", "phone/2"), (bob, "b1", "bob/1")] {
                #expect(try await file(device, name: name, key: key).isApplied)
            }
            try await body(server, store, clock, phone, laptop, bob)
        }
    }

    @discardableResult private func file(
        _ device: TestDevice, name: String, key: String
    ) async throws -> SyncMutationResult.Outcome {
        try await device.put(
            "FileV1", key: name,
            values: [
                "byteCount": .integer(1), "sha256": .text(String(repeating: "a", count: 64)), "key": .text(key),
                "createdAt": .text("2026"), "status": .text("local"),
            ]
        ).outcome
    }

    @discardableResult private func delete(_ device: TestDevice, name: String) async throws -> Bool {
        try await device.push(.delete, type: "FileV1", key: name).outcome.isApplied
    }

    @Test("The object of a deleted file is removed once after a day")
    func goes() async throws {
        try await run { server, store, clock, phone, laptop, bob in
            #expect(try await delete(phone, name: "f1"))
            #expect(try await store.empty(server.service) == 0)
            clock.advance(days: 0.99)
            #expect(try await store.empty(server.service) == 0)
            clock.advance(days: 0.02)
            // Another process continues after a restart, because the database records the removal.
            let next = try await SyncService(
                server.database, schema: SharingServer.schema, options: server.service.options)
            #expect(try await store.empty(next) == 1)
            #expect(try await store.empty(server.service) == 0)
            #expect(store.removed == ["phone/1"])
            #expect(try await server.count("sync_removal") == 0)
        }
    }

    @Test("An unconfirmed removal is retried with growing delays")
    func unconfirmed() async throws {
        try await run { server, store, clock, phone, laptop, bob in
            try await delete(phone, name: "f1")
            store.isSilent(true)
            clock.advance(days: 1.01)
            for minutes in [1.0, 2, 4] {
                #expect(try await store.empty(server.service) == 0)
                clock.advance(days: (minutes - 0.5) / 1_440)
                store.isSilent(false)
                #expect(try await store.empty(server.service) == 0)
                store.isSilent(true)
                clock.advance(days: 1 / 1_440)
            }
            store.isSilent(false)
            #expect(try await store.empty(server.service) == 1)
            #expect(store.removed == ["phone/1"])
            #expect([0, 1, 100].map(SyncService.delay) == [60_000, 120_000, 86_400_000])
        }
    }

    @Test("A recreated file keeps its object, and a removal in progress blocks its key")
    func madeAgain() async throws {
        try await run { (server, store, clock, phone, laptop, bob) async throws in
            try await delete(phone, name: "f1")
            #expect(try await file(laptop, name: "f1", key: "phone/1").isApplied)
            clock.advance(days: 2)
            #expect(try await store.empty(server.service) == 0)
            // The next deletion starts a new day of delay.
            try await delete(laptop, name: "f1")
            #expect(try await store.empty(server.service) == 0)
            store.isSilent(true)
            clock.advance(days: 2)
            #expect(try await store.empty(server.service) == 0)
            #expect(try await file(laptop, name: "f1", key: "phone/1").code == "missing")
            #expect(try await file(laptop, name: "f3", key: "phone/1").code == "missing")
            store.isSilent(false)
            clock.advance(days: 1)
            #expect(try await store.empty(server.service) == 1)
            // The object is confirmed as removed, so a new upload may use its key.
            #expect(try await file(laptop, name: "f1", key: "phone/1").isApplied)
            #expect(try await store.empty(server.service) == 0)
            #expect(store.removed == ["phone/1"])
        }
    }

    @Test("An account with too many pending removals has to wait before it adds files")
    func tooMany() async throws {
        try await run(rowBytes: 1_000) { server, store, clock, phone, laptop, bob in
            // Each removal counts 108 bytes.
            for number in 10...19 {
                let isApplied = try await file(phone, name: "n\(number)", key: "phone/\(number)").isApplied
                let isDeleted = try await delete(phone, name: "n\(number)")
                #expect(isApplied && isDeleted)
            }
            #expect(try await file(phone, name: "n20", key: "phone/20").code == "quota_exceeded")
            // Deletions, other rows and other accounts go on.
            #expect(try await delete(phone, name: "f1"))
            #expect(try await phone.put("NoteV1", key: "n1", values: ["text": .text("x")]).outcome.isApplied)
            #expect(try await file(bob, name: "b2", key: "bob/2").isApplied)
            let pending = "name = 'ann' AND removalBytes = 1187"
            #expect(try await server.count("sync_account", where: pending) == 1)
            try await server.execute("UPDATE sync_account SET removalBytes = 5")
            _ = try await server.service.recount()
            #expect(try await server.count("sync_account", where: pending) == 1)
            clock.advance(days: 1.01)
            #expect(try await store.empty(server.service) == 11)
            #expect(try await server.count("sync_account", where: "removalBytes = 0") == 2)
            #expect(try await file(phone, name: "n20", key: "phone/20").isApplied)
        }
    }

    @Test("A file whose removal is pending can be recreated despite too many removals")
    func madeAgainDespiteTooMany() async throws {
        try await run(rowBytes: 1_000) { server, store, clock, phone, laptop, bob in
            for number in 10...19 {
                let isApplied = try await file(phone, name: "n\(number)", key: "phone/\(number)").isApplied
                let isDeleted = try await delete(phone, name: "n\(number)")
                #expect(isApplied && isDeleted)
            }
            #expect(try await file(phone, name: "n20", key: "phone/20").code == "quota_exceeded")
            #expect(try await file(phone, name: "n10", key: "phone/10").isApplied)
            clock.advance(days: 1.01)
            #expect(try await store.empty(server.service) == 9)
            #expect(!store.removed.contains("phone/10"))
        }
    }

    @Test("After a restore no object is removed for 30 days, and files with a row stay")
    func restored() async throws {
        try await run { (server, store, clock, phone, laptop, bob) async throws in
            for name in ["f1", "f2"] { try await delete(phone, name: name) }
            clock.advance(days: 2)
            try await server.service.restored()
            #expect(try await store.empty(server.service) == 0)
            // The file was recreated after the backup.
            #expect(try await file(try await server.device(), name: "f1", key: "phone/1").isApplied)
            clock.advance(days: 29.9)
            #expect(try await store.empty(server.service) == 0)
            clock.advance(days: 0.2)
            #expect(try await store.empty(server.service) == 1)
            #expect(store.removed == ["phone/2"])
        }
    }

    @Test("An object shared by two rows is removed with the last one")
    func twoRows() async throws {
        try await run { server, store, clock, phone, laptop, bob in
            try await file(laptop, name: "copy", key: "phone/1")
            try await delete(phone, name: "f1")
            clock.advance(days: 2)
            #expect(try await store.empty(server.service) == 0)
            try await delete(phone, name: "copy")
            clock.advance(days: 2)
            #expect(try await store.empty(server.service) == 1)
            #expect(store.removed == ["phone/1"])
        }
    }

    @Test("A refused or ineffective deletion leaves the object")
    func refused() async throws {
        try await run { server, store, clock, phone, laptop, bob in
            // Bob cannot see f1, so the deletion has no effect.
            #expect(try await delete(bob, name: "f1"))
            try await phone.put("NoteV1", key: "n1", values: ["fileID": .text("f2")])
            #expect(try await delete(phone, name: "f2") == false)
            #expect(try await server.count("sync_removal") == 0)
            clock.advance(days: 2)
            #expect(try await store.empty(server.service) == 0)
            #expect(store.removed == [])
        }
    }

    @Test("No device can make the server remove another account's object")
    func hostile() async throws {
        try await run { (server, store, clock, phone, laptop, bob) async throws in
            // Bob tries a new id, the id that he has deleted, and a change of an existing row.
            #expect(try await file(bob, name: "evil", key: "phone/1").code == "forbidden")
            try await delete(bob, name: "b1")
            #expect(try await file(bob, name: "b1", key: "phone/1").code == "forbidden")
            #expect(try await file(bob, name: "b2", key: "bob/2").isApplied)
            #expect(
                try await bob.push(.patch, type: "FileV1", key: "b2", values: ["key": .text("phone/1")]).outcome.code
                    == "forbidden")
            try await delete(bob, name: "b2")
            // A manual change put a row into Bob's account. He may delete the row, but its object still belongs to Ann.
            let scope = try await server.scope(of: "bob")
            try await server.execute("UPDATE lfs_file SET scopeID = '\(scope)' WHERE id = 'f2'")
            #expect(try await delete(bob, name: "f2"))
            clock.advance(days: 2)
            #expect(try await store.empty(server.service) == 2)
            #expect(store.removed == ["bob/1", "bob/2"])
        }
    }

    @Test("A removal that the storage refuses is not repeated")
    func notTheirs() async throws {
        try await run { server, store, clock, phone, laptop, bob in
            try await delete(phone, name: "f1")
            store.refuses(true)
            clock.advance(days: 2)
            #expect(try await store.empty(server.service) == 0)
            store.refuses(false)
            clock.advance(days: 2)
            #expect(try await store.empty(server.service) == 0)
            #expect(try await server.count("sync_removal") == 0)
        }
    }

    @Test("A server without access to the storage records no removals")
    func without() async throws {
        try await TestServer.run(schema: SharingServer.schema) { server in
            let phone = try await server.device()
            try await file(phone, name: "f1", key: "phone/1")
            try await delete(phone, name: "f1")
            #expect(try await server.count("sync_removal") == 0)
            #expect(try await Store().empty(server.service) == 0)
        }
    }

    @Test("Concurrent servers request the removal of each object once")
    func many() async throws {
        try await run { server, store, clock, phone, laptop, bob in
            for number in 10..<260 {
                try await file(phone, name: "f\(number)", key: "phone/\(number)")
                try await delete(phone, name: "f\(number)")
            }
            clock.advance(days: 2)
            let service = server.service
            async let first = store.empty(service)
            async let second = store.empty(service)
            #expect(try await first + second == 250)
            #expect(store.removed == (10..<260).map { "phone/\($0)" }.sorted())
        }
    }

    @Test("An account may read an object only through a row of its owner that it sees")
    func readable() async throws {
        try await TestServer.run(schema: SharingServer.schema) { server in
            let (ann, bob, eve) = (
                try await server.person("ann"), try await server.person("bob"), try await server.person("eve")
            )
            try await file(ann.device, name: "f1", key: "phone/1")
            try await file(ann.device, name: "f2", key: "phone/2")
            try await ann.album("x")
            try await ann.link("x", file: "f1")
            try await ann.share("x", other: bob)
            let service = server.service
            #expect(try await service.owner(ofObject: "phone/1", readableBy: bob.id) == ann.id)
            for (key, reader) in [
                ("phone/2", bob), ("phone/1", eve), ("phone/3", bob), ("phone", bob), ("", bob), ("claims/phone", bob),
            ] {
                #expect(try await service.owner(ofObject: key, readableBy: reader.id) == nil, "\(key) \(reader.name)")
            }
            // A manually inserted row in Eve's account does not let her read Ann's object.
            let scope = try await server.scope(of: "eve")
            try await server.execute(
                """
                INSERT INTO lfs_file (id, "byteCount", sha256, key, "createdAt", status, scopeID)
                VALUES ('evil', 1, 'a', 'phone/1', '2026', 'remote', '\(scope)')
                """)
            #expect(try await service.owner(ofObject: "phone/1", readableBy: eve.id) == nil)
            try await ann.unshare("x", other: bob)
            #expect(try await service.owner(ofObject: "phone/1", readableBy: bob.id) == nil)
        }
    }
}
