import Foundation
import Synchronization
import Testing

@testable import LFSSyncServer
@testable import LFSWire

/// A clock that a test moves on.
final class ManualClock: Sendable {
    private let offset = Mutex<TimeInterval>(0)

    /// How many seconds it was moved.
    var passed: TimeInterval { offset.withLock { $0 } }

    func advance(days: Double) { offset.withLock { $0 += days * 86_400 } }

    var options: SyncServiceOptions {
        var options = SyncServiceOptions()
        options.now = { [self] in Date(timeIntervalSinceNow: offset.withLock { $0 }) }
        return options
    }
}

@Suite("H: resets and retention", .timeLimit(.minutes(10)))
struct RetentionTests {
    /// A device that has three recipes, with a step of the first.
    private func run(_ body: (TestServer, TestDevice, ManualClock) async throws -> Void) async throws {
        let clock = ManualClock()
        try await TestServer.run(options: clock.options) { server in
            let device = try await server.device()
            for number in 1...3 { try await device.put("RecipeV2", "r\(number)", ["title": .text("Soup")]) }
            try await device.put("StepV1", "s1", ["recipeID": .text("r1")])
            try await device.sync()
            try await body(server, device, clock)
        }
    }

    private func reasons(_ lines: [String]) -> [String] {
        lines.filter { $0.contains("SyncResetV1") }.compactMap { line in
            line.range(of: "\"reason\":\"").map { String(line[$0.upperBound...].prefix { $0 != "\"" }) }
        }
    }

    @Test("1 a reset that was asked for; 2 sends nothing else; 3 its ack begins all anew; 4 until then it comes again")
    func requested() async throws {
        try await run { server, device, clock in
            let first = try await device.lines(resets: true)
            #expect(first.count == 1 && reasons(first) == ["requested"])
            // The line was cut off: it comes again, though nobody asks.
            let second = try await device.delivery()
            #expect(second.controls == ["SyncResetV1"] && second.items == [])
            try await device.acknowledge(second.tokens)
            let third = try await device.delivery()
            #expect(third.items.count == 4 && third.tokens.allSatisfy { $0.epoch == 2 })
            try await device.acknowledge(third.tokens)
            #expect(try await device.sync() == [])
        }
    }

    @Test("5 by an operator, of one session")
    func byOperator() async throws {
        try await run { server, device, clock in
            let other = try await server.device()
            try await other.sync()
            let id = try #require(try await server.service.sessions().first).id
            #expect(try await server.service.resetSession(id))
            #expect(try await !server.service.resetSession("nobody"))
            let lines = try await device.delivery()
            #expect(lines.controls == ["SyncResetV1"])
            try await device.acknowledge(lines.tokens)
            #expect(try await device.sync().count == 4)
            #expect(try await other.sync() == [])
        }
    }

    @Test("7 a checkpoint below what is forgotten resets that type and scope; 8 one above it nothing; 12 a year away")
    func forgotten() async throws {
        try await run { server, device, clock in
            let present = try await server.device()
            let bob = try await server.device(of: "bob")
            try await bob.put("RecipeV2", "b1", ["title": .text("Stew")])
            try await bob.sync()
            try await device.push(.delete, "RecipeV2", "r2")
            try await present.sync()
            clock.advance(days: 365)
            #expect(try await server.service.prune() == 1)
            for other in [present, bob] { #expect(try await other.sync() == []) }
            let lines = try await device.lines()
            #expect(reasons(lines) == Array(repeating: "retention", count: 4))
            #expect(lines.filter { $0.contains("\"type\":\"RecipeV2\"") }.count == 2)
            #expect(lines.filter { $0.contains("isFull") }.count == 4)
            // Until something of it was acknowledged it is told again.
            #expect(reasons(try await device.lines()).count == 4)
            #expect(try await device.sync().count == 3)
            #expect(try await device.lines().count == 1)
        }
    }

    @Test("7 a whole pass that is cut goes on where it was, whatever was forgotten before it began")
    func resumed() async throws {
        try await run { server, device, clock in
            try await device.push(.delete, "RecipeV2", "r2")
            clock.advance(days: 100)
            try await server.service.prune()
            let late = try await server.device()
            for expected in [["Recipe r1", "Recipe r3", "Step s1"], ["Recipe r3", "Step s1"]] {
                let delivery = try await late.delivery()
                #expect(delivery.items == expected)
                try await late.acknowledge(
                    delivery.tokens.filter { $0.place.type.name == "Recipe" }.prefix(1).map(\.self))
            }
        }
    }

    @Test("7 an ack of the time before a reset of one place takes nothing back")
    func late() async throws {
        try await run { server, device, clock in
            try await device.push(.patch, "RecipeV2", "r1", ["title": .text("Stew")])
            let before = try await device.delivery()
            try await device.push(.delete, "RecipeV2", "r2")
            clock.advance(days: 100)
            try await server.service.prune()
            #expect(reasons(try await device.lines()).count == 4)
            try await device.acknowledge(before.tokens)
            #expect(reasons(try await device.lines()).count == 4)
        }
    }

    @Test("9 forgotten while a stream runs: it does not claim to be whole, and the next begins anew")
    func meanwhile() async throws {
        try await run { server, device, clock in
            try await server.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
                INSERT INTO recipe (id, title, scopeID)
                SELECT 'n' || i, '\(String(repeating: "x", count: 200))', scopeID FROM n, recipe WHERE id = 'r1'
                """,
                "DELETE FROM recipe WHERE id IN ('r2', 'n3000')")
            let request = try WireFormat.encode(SyncStreamRequest(types: TestServer.types.map { [$0] }))
            let reply = await server.service.stream(request, token: device.token)
            guard case .stream(let stream) = reply.body else {
                Issue.record("\(reply)")
                return
            }
            var pieces = stream.makeAsyncIterator()
            _ = try await pieces.next()
            clock.advance(days: 100)
            try await server.service.prune()
            var rest = ""
            while let piece = try await pieces.next() { rest += String(decoding: piece, as: UTF8.self) }
            #expect(rest.contains("out_of_step") && !rest.contains("SyncCompleteV1"))
            #expect(reasons(try await device.lines()).count == 4)
        }
    }

    @Test("10 what is younger stays; 11 deletions of every table go, and those in shared scopes")
    func young() async throws {
        let clock = ManualClock()
        try await TestServer.run(schema: SharingServer.schema, options: clock.options) { server in
            let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
            for key in ["a1", "a2"] { try await ann.file(key) }
            try await ann.album("x")
            try await ann.link("x", "a1")
            try await ann.share("x", bob)
            try await ann.letRead(bob)
            try await ann.device.put("NoteV1", "n", [:])
            try await bob.sync()
            for (type, key) in [("AlbumFileV1", "x-a1"), ("PartnerV1", "ann-bob"), ("NoteV1", "n"), ("FileV1", "a2")] {
                #expect(try await ann.delete(type, key).isApplied)
            }
            #expect(try await server.service.prune() == 0)
            clock.advance(days: 89)
            #expect(try await server.service.prune() == 0)
            clock.advance(days: 2)
            // Four in Ann's account, and a link and a file in the album.
            #expect(try await server.service.prune() == 6)
            #expect(try await server.count("sync_tombstone") == 0)
            #expect(try await server.count("sync_member") == 2)
            #expect(try await bob.sync().contains("reset retention"))
            #expect(bob.has("album/x") == ["Album x", "AlbumUser x-bob"])
        }
    }

    @Test("18 a server that was put back tells all devices; what they send then is taken, whatever its number")
    func restored() async throws {
        try await run { server, device, clock in
            try await server.service.restored()
            // The device had gone further than the server remembers.
            (device.batch, device.sequence) = (40, 70)
            let delivery = try await device.delivery()
            #expect(delivery.controls == ["SyncResetV1"])
            try await device.acknowledge(delivery.tokens)
            #expect(try await device.put("RecipeV2", "r9", ["title": .text("Soup")]).outcome.isApplied)
            #expect(try await device.put("RecipeV2", "r8", ["title": .text("Soup")]).outcome.isApplied)
            #expect(try await device.sync().count == 6)
            #expect(try await device.sync() == [])
        }
    }

    @Test("a device that is an older copy of itself goes on after its reset")
    func copy() async throws {
        try await run { server, device, clock in
            for _ in 1...3 { try await device.acknowledge([]) }
            (device.batch, device.sequence) = (1, 1)
            try await device.acknowledge([])
            let delivery = try await device.delivery()
            #expect(delivery.controls == ["SyncResetV1"])
            try await device.acknowledge(delivery.tokens)
            #expect(try await device.put("RecipeV2", "r9", ["title": .text("Soup")]).outcome.isApplied)
            #expect(try await device.sync().count == 5)
        }
    }

    @Test("a reset keeps in mind which scopes the device has had: it hears that one is gone")
    func lost() async throws {
        try await SharingServer.run { server in
            let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
            try await ann.file("a1")
            try await ann.letRead(bob)
            try await bob.sync()
            let reset = try await bob.device.delivery(types: SharingServer.types, resets: true)
            try await bob.device.acknowledge(reset.tokens)
            try await ann.stopLetting(bob)
            #expect(try await bob.sync() == ["!account/\(ann.id)"])
        }
    }
}
