import Foundation
import GRDB
import LFSWire
import TestSupport
import Testing

@testable import LFSSync

@Suite("Separation of scopes and types", .timeLimit(.minutes(10)))
struct ScopeTests {
    private typealias Line = LineServer

    private static let recipes = "SELECT id, title FROM recipe ORDER BY id"

    @Test("A shared row with the id of an own row is parked, and the own row stays")
    func crafted() async throws {
        let crafted = Line.row("RecipeV1", number: 5, id: "mine", data: #""title":"Stolen""#, scope: "album/x")
        let deletion = crafted.replacing("\"type\":\"RecipeV1\"", with: "\"type\":\"RecipeDeleteV1\"")
        let lost = #"{"type":"ScopeDeleteV1","scope":"album/x","ack":"ScopeDeleteV1|album/x||0"}"#
        let theirs = Line.row("RecipeV1", number: 6, id: "theirs", data: #""title":"Soup""#, scope: "album/x")
        let own = Line.row("RecipeV1", number: 1, id: "mine", data: #""title":"Tea""#)
        let server = LineServer(
            scripts: [[own], [], [crafted, theirs], [deletion], [crafted], [lost]].map { $0 + [Line.complete] })
        try await TestSync.run(isQuick: true) { sync in
            let device = try await sync.device("one", isQuick: true)
            let client = try await server.client(device.database)
            try await client.synchronize()
            #expect(try await client.synchronize().parked == 1)
            #expect(try await device.rows("SELECT scope, key FROM lfs_sync_parked") == ["album/x|mine"])
            #expect(try await device.rows(Self.recipes) == ["mine|Tea", "theirs|Soup"])
            for parked in [0, 1, 0] {
                #expect(try await client.synchronize().parked == parked)
                #expect(try await device.rows("SELECT title FROM recipe WHERE id = 'mine'") == ["Tea"])
            }
            #expect(try await device.rows(Self.recipes) == ["mine|Tea"])
            #expect(try await device.rows("SELECT * FROM lfs_sync_outbox") == [])
        }
    }

    @Test("A full resync cut after its last row is completed by the next stream")
    func cutAfterLast() async throws {
        let reset = #"{"type":"SyncResetV1","ack":"SyncResetV1|account/me||0","data":{"reason":"operator"}}"#
        let first = [
            Line.row("RecipeV1", number: 1, id: "gone", data: #""title":"Soup""#), Line.reached("RecipeV1", number: 1),
            Line.complete,
        ]
        let server = LineServer(
            scripts: [
                first, [Line.complete], [reset], [Line.row("RecipeV1", number: 2, id: "r1", data: #""title":"Stew""#)],
                [Line.complete],
            ])
        try await TestSync.run(isQuick: true) { sync in
            let device = try await sync.device("one", isQuick: true)
            let client = try await server.client(device.database)
            try await client.synchronize()
            let error = await #expect(throws: SyncError.self) { try await client.synchronize() }
            #expect(error?.code == .cut)
            // The server has no more lines. This device has acknowledged the last row.
            #expect(server.tokens.last.map { "\($0)" } == Line.token("RecipeV1", number: 2))
            #expect(try await device.rows(Self.recipes) == ["gone|Soup", "r1|Stew"])
            try await client.synchronize()
            #expect(try await device.rows(Self.recipes) == ["r1|Stew"])
            for table in ["lfs_sync_pass", "lfs_sync_mark"] {
                #expect(try await device.rows("SELECT * FROM \(table)") == [], "\(table)")
            }
        }
    }

    @Test("A full resync of one type deletes only rows of that type")
    func oneType() async throws {
        let first = [
            Line.row("RecipeV1", number: 1, id: "r1", data: #""title":"Soup""#),
            Line.row("RecipeV1", number: 2, id: "r2", data: #""title":"Stew""#),
            Line.reached("RecipeV1", number: 2), Line.row("StepV1", number: 3, id: "s1", data: #""recipeID":"r1""#),
            Line.reached("StepV1", number: 3),
        ]
        let reset =
            #"{"type":"SyncResetV1","ack":"RecipeV1|account/me||0","#
            + #""data":{"reason":"operator","types":["RecipeV1"],"scopes":["account/me"]}}"#
        let second = [
            reset, Line.row("RecipeV1", number: 1, id: "r1", data: #""title":"Broth""#),
            Line.reached("RecipeV1", number: 2),
        ]
        let server = LineServer(scripts: [first, [], second].map { $0 + [Line.complete] })
        try await TestSync.run(isQuick: true) { sync in
            let device = try await sync.device("one", isQuick: true)
            let client = try await server.client(device.database)
            try await client.synchronize()
            #expect(try await device.rows(Self.recipes) == ["r1|Soup", "r2|Stew"])
            try await client.synchronize()
            #expect(try await device.rows(Self.recipes) == ["r1|Broth"])
            #expect(try await device.rows("SELECT id FROM step") == ["s1"])
            let steps = "SELECT token FROM lfs_sync_checkpoint WHERE type = 'StepV1'"
            #expect(try await device.rows(steps) == [Line.token("StepV1", number: 3)])
            #expect(try await device.rows("SELECT * FROM lfs_sync_pass") == [])
        }
    }
}
