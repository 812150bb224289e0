import Foundation
import Synchronization
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("K 21: objects of deleted files, where the server removes them", .timeLimit(.minutes(10)))
struct FileRemovalTests {
    /// A storage that notes what it is asked to remove. Owner of its state: the mutex.
    private final class Store: Sendable {
        struct Silence: Error {}

        private struct State {
            var removed: [String] = []
            var isSilent = false
            var refuses = false
        }

        private let state = Mutex(State())

        /// In the order of their keys.
        var removed: [String] { state.withLock { $0.removed.sorted() } }

        func isSilent(_ silent: Bool) { state.withLock { $0.isSilent = silent } }
        func refuses(_ refuses: Bool) { state.withLock { $0.refuses = refuses } }

        /// - Returns: how many objects are gone.
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

    /// Ann's phone with the files f1 and f2, her laptop, and Bob's phone with b1.
    private func run(
        _ body: (TestServer, Store, ManualClock, _ phone: TestDevice, _ laptop: TestDevice, _ bob: TestDevice)
            async throws -> Void
    ) async throws {
        let (store, clock) = (Store(), ManualClock())
        var options = clock.options
        options.removalDelay = .seconds(86_400)
        try await TestServer.run(schema: SharingServer.schema, options: options) { server in
            let phone = try await server.device()
            let laptop = try await server.device()
            let bob = try await server.device(of: "bob")
            for (device, name, key) in [(phone, "f1", "phone/1"), (phone, "f2", "phone/2"), (bob, "b1", "bob/1")] {
                #expect(try await file(device, name, key: key).isApplied)
            }
            try await body(server, store, clock, phone, laptop, bob)
        }
    }

    @discardableResult private func file(
        _ device: TestDevice, _ name: String, key: String
    ) async throws -> SyncMutationResult.Outcome {
        try await device.put(
            "FileV1", name,
            [
                "byteCount": .integer(1), "sha256": .text(String(repeating: "a", count: 64)), "key": .text(key),
                "createdAt": .text("2026"), "status": .text("local"),
            ]
        ).outcome
    }

    @discardableResult private func delete(_ device: TestDevice, _ name: String) async throws -> Bool {
        try await device.push(.delete, "FileV1", name).outcome.isApplied
    }

    @Test("after a day the object of a deleted file goes, once, though the device that deleted it never comes again")
    func goes() async throws {
        try await run { server, store, clock, phone, laptop, bob in
            #expect(try await delete(phone, "f1"))
            #expect(try await store.empty(server.service) == 0)
            clock.advance(days: 0.99)
            #expect(try await store.empty(server.service) == 0)
            clock.advance(days: 0.02)
            // Another process, as after a restart: what is noted is in the database.
            let next = try await SyncService(
                server.database, schema: SharingServer.schema, options: server.service.options)
            #expect(try await store.empty(next) == 1)
            #expect(try await store.empty(server.service) == 0)
            #expect(store.removed == ["phone/1"])
            #expect(try await server.count("sync_removal") == 0)
        }
    }

    @Test("what the storage does not confirm is asked for again, later and later, until it does")
    func unconfirmed() async throws {
        try await run { server, store, clock, phone, laptop, bob in
            try await delete(phone, "f1")
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

    @Test("a file that was made again keeps its object; once the storage was asked, its key comes to no row any more")
    func madeAgain() async throws {
        try await run { (server, store, clock, phone, laptop, bob) async throws in
            try await delete(phone, "f1")
            #expect(try await file(laptop, "f1", key: "phone/1").isApplied)
            clock.advance(days: 2)
            #expect(try await store.empty(server.service) == 0)
            // Its next deletion has a day of its own.
            try await delete(laptop, "f1")
            #expect(try await store.empty(server.service) == 0)
            store.isSilent(true)
            clock.advance(days: 2)
            #expect(try await store.empty(server.service) == 0)
            #expect(try await file(laptop, "f1", key: "phone/1").code == "missing")
            #expect(try await file(laptop, "f3", key: "phone/1").code == "missing")
            store.isSilent(false)
            clock.advance(days: 1)
            #expect(try await store.empty(server.service) == 1)
            // Gone is known: an upload may follow.
            #expect(try await file(laptop, "f1", key: "phone/1").isApplied)
            #expect(try await store.empty(server.service) == 0)
            #expect(store.removed == ["phone/1"])
        }
    }

    @Test("after the server was put back from a backup nothing goes for a month, and what has a row by then stays")
    func restored() async throws {
        try await run { (server, store, clock, phone, laptop, bob) async throws in
            for name in ["f1", "f2"] { try await delete(phone, name) }
            clock.advance(days: 2)
            try await server.service.restored()
            #expect(try await store.empty(server.service) == 0)
            // What the backup did not know: the file was made again after it.
            #expect(try await file(try await server.device(), "f1", key: "phone/1").isApplied)
            clock.advance(days: 29.9)
            #expect(try await store.empty(server.service) == 0)
            clock.advance(days: 0.2)
            #expect(try await store.empty(server.service) == 1)
            #expect(store.removed == ["phone/2"])
        }
    }

    @Test("an object that two rows have goes with the last of them")
    func twoRows() async throws {
        try await run { server, store, clock, phone, laptop, bob in
            try await file(laptop, "copy", key: "phone/1")
            try await delete(phone, "f1")
            clock.advance(days: 2)
            #expect(try await store.empty(server.service) == 0)
            try await delete(phone, "copy")
            clock.advance(days: 2)
            #expect(try await store.empty(server.service) == 1)
            #expect(store.removed == ["phone/1"])
        }
    }

    @Test("a deletion that is refused or undone leaves the object: of another account's file, or of one that is held")
    func refused() async throws {
        try await run { server, store, clock, phone, laptop, bob in
            // Bob does not see f1: nothing happens to it.
            #expect(try await delete(bob, "f1"))
            try await phone.put("NoteV1", "n1", ["fileID": .text("f2")])
            #expect(try await delete(phone, "f2") == false)
            #expect(try await server.count("sync_removal") == 0)
            clock.advance(days: 2)
            #expect(try await store.empty(server.service) == 0)
            #expect(store.removed == [])
        }
    }

    @Test("no device has an object removed that is not its account's, whatever it writes and deletes")
    func hostile() async throws {
        try await run { (server, store, clock, phone, laptop, bob) async throws in
            // Under a new id, under the id that it has deleted, and by a change of what it has.
            #expect(try await file(bob, "evil", key: "phone/1").code == "forbidden")
            try await delete(bob, "b1")
            #expect(try await file(bob, "b1", key: "phone/1").code == "forbidden")
            #expect(try await file(bob, "b2", key: "bob/2").isApplied)
            #expect(
                try await bob.push(.patch, "FileV1", "b2", ["key": .text("phone/1")]).outcome.code == "forbidden")
            try await delete(bob, "b2")
            // A row that came to lie in his account by hand is his to delete, and its object is Ann's still.
            let scope = try await server.scope(of: "bob")
            try await server.execute("UPDATE lfs_file SET scopeID = '\(scope)' WHERE id = 'f2'")
            #expect(try await delete(bob, "f2"))
            clock.advance(days: 2)
            #expect(try await store.empty(server.service) == 2)
            #expect(store.removed == ["bob/1", "bob/2"])
        }
    }

    @Test("what the storage says is not the account's to remove is not asked for again")
    func notTheirs() async throws {
        try await run { server, store, clock, phone, laptop, bob in
            try await delete(phone, "f1")
            store.refuses(true)
            clock.advance(days: 2)
            #expect(try await store.empty(server.service) == 0)
            store.refuses(false)
            clock.advance(days: 2)
            #expect(try await store.empty(server.service) == 0)
            #expect(try await server.count("sync_removal") == 0)
        }
    }

    @Test("a server that does not reach the storage notes nothing: the devices remove the objects")
    func without() async throws {
        try await TestServer.run(schema: SharingServer.schema) { server in
            let phone = try await server.device()
            try await file(phone, "f1", key: "phone/1")
            try await delete(phone, "f1")
            #expect(try await server.count("sync_removal") == 0)
            #expect(try await Store().empty(server.service) == 0)
        }
    }

    @Test("servers that look at once ask for each object once, and for hundreds in one call")
    func many() async throws {
        try await run { server, store, clock, phone, laptop, bob in
            for number in 10..<260 {
                try await file(phone, "f\(number)", key: "phone/\(number)")
                try await delete(phone, "f\(number)")
            }
            clock.advance(days: 2)
            let service = server.service
            async let first = store.empty(service)
            async let second = store.empty(service)
            #expect(try await first + second == 250)
            #expect(store.removed == (10..<260).map { "phone/\($0)" }.sorted())
        }
    }

    @Test("whose object an account may read is the owner's of a row that it sees, and of no other row")
    func readable() async throws {
        try await TestServer.run(schema: SharingServer.schema) { server in
            let (ann, bob, eve) = (
                try await server.person("ann"), try await server.person("bob"), try await server.person("eve")
            )
            try await file(ann.device, "f1", key: "phone/1")
            try await file(ann.device, "f2", key: "phone/2")
            try await ann.album("x")
            try await ann.link("x", "f1")
            try await ann.share("x", bob)
            let service = server.service
            #expect(try await service.owner(ofObject: "phone/1", readableBy: bob.id) == ann.id)
            for (key, reader) in [
                ("phone/2", bob), ("phone/1", eve), ("phone/3", bob), ("phone", bob), ("", bob), ("claims/phone", bob),
            ] {
                #expect(try await service.owner(ofObject: key, readableBy: reader.id) == nil, "\(key) \(reader.name)")
            }
            // A row of Eve's that came by hand lets her read nothing of Ann's.
            let scope = try await server.scope(of: "eve")
            try await server.execute(
                """
                INSERT INTO lfs_file (id, "byteCount", sha256, key, "createdAt", status, scopeID)
                VALUES ('evil', 1, 'a', 'phone/1', '2026', 'remote', '\(scope)')
                """)
            #expect(try await service.owner(ofObject: "phone/1", readableBy: eve.id) == nil)
            try await ann.unshare("x", bob)
            #expect(try await service.owner(ofObject: "phone/1", readableBy: bob.id) == nil)
        }
    }
}
