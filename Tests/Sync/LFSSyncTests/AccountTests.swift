import GRDB
import LFSWire
import Synchronization
import Testing

@testable import LFSSync
@testable import LFSSyncServer

@Suite("Sessions of another account", .timeLimit(.minutes(10)))
struct AccountTests {
    @Test("A session of another account is refused and exchanges no rows", arguments: [true, false])
    func refused(hasSent: Bool) async throws {
        try await TestSync.run { sync in
            let (ann, bob) = (try await sync.device("ann"), try await sync.device("bob", account: "bob"))
            if hasSent { try await ann.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Ours')") }
            try await ann.sync()
            try await bob.execute("INSERT INTO recipe (id, title) VALUES ('b1', 'His')")
            try await bob.sync()
            try await ann.execute("INSERT INTO recipe (id, title) VALUES ('r2', 'Secret')")
            let token = try await sync.service.addSession(account: "bob")
            let switched = try await TestSync.client(ann.database, transport: ann.transport, token: token)
            for _ in 0..<2 {
                let error = await #expect(throws: SyncError.self) { try await switched.synchronize() }
                #expect(error?.code == .otherAccount)
            }
            try await bob.sync()
            #expect(try await bob.rows("SELECT id FROM recipe") == ["b1"])
            #expect(try await ann.rows("SELECT count(*) FROM recipe WHERE id = 'b1'") == ["0"])
            // With its own account the device works as before.
            #expect(try await ann.sync().sent == 1)
            let two = try await sync.device("two")
            try await two.sync()
            #expect(try await two.rows("SELECT id FROM recipe ORDER BY id") == (hasSent ? ["r1", "r2"] : ["r2"]))
        }
    }

    @Test("Another account is refused even if the first one never received a reply")
    func unheard() async throws {
        try await TestSync.run { sync in
            let ann = try await sync.device("ann")
            try await ann.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Ours')")
            ann.transport.faults.withLock { $0.losesReplyOf = "/v1/sync/push" }
            await #expect(throws: SyncError.self) { try await ann.sync() }
            let token = try await sync.service.addSession(account: "bob")
            let switched = try await TestSync.client(ann.database, transport: ann.transport, token: token)
            await #expect(throws: SyncError.self) { try await switched.synchronize() }
            let bob = try await sync.device("bob", account: "bob")
            try await bob.sync()
            #expect(try await bob.rows("SELECT id FROM recipe") == [])
        }
    }
}
