import Foundation
import Synchronization
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("J 13, 14: changes of rows that are others by now", .timeLimit(.minutes(10)))
struct ConflictTests {
    /// A server with a rule for recipes, and two devices of an account that have the recipe `r1`.
    private func run(
        _ policy: SyncConflictPolicy, _ body: (TestServer, TestDevice, TestDevice, SyncPosition) async throws -> Void
    ) async throws {
        var options = SyncServiceOptions()
        options.conflicts["recipe"] = policy
        try await TestServer.run(options: options) { server in
            let (one, two) = (try await server.device(), try await server.device())
            let made = try await one.put("RecipeV2", "r1", ["title": .text("Soup"), "servings": .integer(4)])
            guard case .applied(let position?) = made.outcome else { throw TestFailure() }
            try await body(server, one, two, position)
        }
    }

    private struct TestFailure: Error {}

    private func recipe(_ server: TestServer) async throws -> String? {
        try await server.text("SELECT title || '|' || coalesce(servings || '', '-') FROM recipe")
    }

    @Test(
        "13 a change by who had not seen the last one is refused with the row, whatever columns it is of",
        arguments: [["title": SyncValue.text("Two")], ["servings": .integer(9)]])
    func rejectStale(values: [String: SyncValue]) async throws {
        try await run(.rejectStale) { server, one, two, seen in
            try await one.change("r1", ["title": .text("One")], SyncSeen(position: seen))
            let outcome = try await two.change("r1", values, SyncSeen(position: seen))
            guard case .conflict(let row?) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(row.text("title") == "One")
            #expect(try await recipe(server) == "One|4")
            // Who has seen it may change it.
            let now = try #require(try await server.text("SELECT updateID FROM recipe").flatMap { SyncPosition($0) })
            #expect(try await two.change("r1", values, SyncSeen(position: now)).isApplied)
        }
    }

    @Test("13 a deletion by who had not seen the last change is refused; a whole row that was there unseen is, too")
    func staleDeletion() async throws {
        try await run(.rejectStale) { server, one, two, seen in
            try await one.change("r1", ["title": .text("One")], SyncSeen(position: seen))
            let deletion = try await two.change(.delete, "r1", [:], SyncSeen(position: seen))
            #expect(deletion.row?.text("title") == "One")
            let whole = try await two.change(.put, "r1", ["title": .text("Mine")], SyncSeen(position: .start))
            #expect(whole.row?.text("title") == "One")
            #expect(try await recipe(server) == "One|4")
            let new = try await two.change(.put, "r2", ["title": .text("New")], SyncSeen(position: .start))
            #expect(new.isApplied)
            let now = try #require(
                try await server.text("SELECT max(updateID) FROM recipe").flatMap { SyncPosition($0) })
            #expect(try await two.change(.delete, "r1", [:], SyncSeen(position: now)).isApplied)
        }
    }

    @Test("13 a device's own changes that have not come back to it are none that it had not seen")
    func own() async throws {
        try await run(.rejectStale) { server, one, two, seen in
            let first = SyncSeen(position: seen)
            #expect(try await one.change("r1", ["title": .text("A")], first).isApplied)
            let second = SyncSeen(position: seen, after: one.sequence)
            #expect(try await one.change("r1", ["title": .text("B")], second).isApplied)
            // Another one comes between.
            let now = try #require(try await server.text("SELECT updateID FROM recipe").flatMap { SyncPosition($0) })
            #expect(try await two.change("r1", ["servings": .integer(1)], SyncSeen(position: now)).isApplied)
            let third = SyncSeen(position: seen, after: one.sequence)
            #expect(try await one.change("r1", ["title": .text("C")], third).row != nil)
            // One that was refused is no change that it has made.
            let fourth = SyncSeen(position: seen, after: one.sequence)
            #expect(try await one.change("r1", ["title": .text("D")], fourth).row != nil)
            #expect(try await recipe(server) == "B|1")
        }
    }

    @Test("13 what is there already is no conflict, and neither is a change by a device that does not say what it saw")
    func same() async throws {
        try await run(.rejectStale) { server, one, two, seen in
            try await one.change("r1", ["title": .text("One")], SyncSeen(position: seen))
            #expect(try await two.change("r1", ["title": .text("One")], SyncSeen(position: seen)).isApplied)
            #expect(try await two.change("r1", ["title": .text("Old")], nil).isApplied)
            #expect(try await recipe(server) == "Old|4")
            #expect(try await two.change(.delete, "r1", [:], nil).isApplied)
        }
    }

    @Test("13 a table without a rule takes the later arrival")
    func others() async throws {
        try await run(.rejectStale) { server, one, two, seen in
            try await one.put("StepV1", "s1", ["recipeID": .text("r1"), "text": .text("a")])
            for device in [one, two] {
                let outcome = try await device.change(
                    .patch, "s1", ["text": .text("b")], SyncSeen(position: .start), type: "StepV1")
                #expect(outcome.isApplied)
            }
        }
    }

    @Test("14 a rule of the host gets both rows and what differs, and what it answers is stored for all")
    func closure() async throws {
        let asked = Mutex<[SyncConflict]>([])
        let policy = SyncConflictPolicy.resolve { conflict in
            asked.withLock { $0.append(conflict) }
            guard case .text(let here)? = conflict.server["title"], case .text(let there)? = conflict.device["title"]
            else { return [:] }
            return ["title": .text(here + "+" + there), "note": .text("both")]
        }
        try await run(policy) { server, one, two, seen in
            #expect(try await one.change("r1", ["title": .text("One")], SyncSeen(position: seen)).isApplied)
            #expect(asked.withLock { $0 } == [])
            let values: [String: SyncValue] = ["title": .text("Two"), "servings": .integer(4)]
            #expect(try await two.change("r1", values, SyncSeen(position: seen)).isApplied)
            #expect(
                try await server.text("SELECT title || '|' || servings || '|' || note FROM recipe") == "One+Two|4|both")
            let conflict = try #require(asked.withLock { $0 }.last)
            #expect(conflict.table == "recipe" && conflict.key == "r1" && conflict.changed == ["title"])
            #expect(conflict.server["title"] == .text("One") && conflict.device["title"] == .text("Two"))
            #expect(conflict.server["servings"] == .integer(4) && conflict.device["note"] == .null)
            // A deletion wins without a question.
            #expect(try await two.change(.delete, "r1", [:], SyncSeen(position: seen)).isApplied)
            #expect(asked.withLock { $0 } == [conflict])
        }
    }

    @Test("14 where a rule keeps the row as it is, the device is told so; what it throws refuses the one change")
    func refusals() async throws {
        struct Secret: Error {}
        let policy = SyncConflictPolicy.resolve { conflict in
            switch conflict.device["title"] {
            case .text("keep"): return ["title": conflict.server["title"] ?? .null]
            case .text("none"): return [:]
            case .text("why"): throw SyncRefusal("Ask Ann first.")
            case .text("odd"): return ["nothing": .null]
            default: throw Secret()
            }
        }
        try await run(policy) { server, one, two, seen in
            try await one.change("r1", ["title": .text("One")], SyncSeen(position: seen))
            for title in ["keep", "none"] {
                let outcome = try await two.change("r1", ["title": .text(title)], SyncSeen(position: seen))
                #expect(outcome.row?.text("title") == "One", "\(title)")
            }
            for (title, words) in [("why", "Ask Ann first."), ("odd", "'nothing'"), ("secret", "refuses")] {
                let outcome = try await two.change("r1", ["title": .text(title)], SyncSeen(position: seen))
                guard case .rejected(let failure, let row) = outcome else {
                    Issue.record("\(title): \(outcome)")
                    continue
                }
                #expect(failure.code == .stale && failure.message.contains(words), "\(failure)")
                #expect(!failure.message.contains("Secret") && row?.text("title") == "One")
            }
            #expect(try await recipe(server) == "One|4")
        }
    }

    @Test("13 in an album the position in the album counts, and one in a scope that is not the reader's says nothing")
    func shared() async throws {
        var options = SyncServiceOptions()
        options.conflicts["album_file"] = .rejectStale
        try await TestServer.run(schema: SharingServer.schema, options: options) { server in
            let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
            try await ann.file("f1")
            try await ann.album("x")
            try await ann.share("x", bob, "editor")
            try await ann.link("x", "f1")
            let scope = try #require(SyncScope("album/x"))
            let position = try #require(
                try await server.text("SELECT updateID FROM sync_member WHERE key = 'x-f1'").flatMap {
                    SyncPosition($0)
                })
            func remove(_ seen: SyncSeen) async throws -> SyncMutationResult.Outcome {
                try await bob.device.change(.delete, "x-f1", [:], seen, type: "AlbumFileV1")
            }
            #expect(try await remove(SyncSeen(scope: scope, position: .start)).row != nil)
            // The far end of another scope, and of his own, where the row is not.
            let end = try #require(SyncPosition("ffffffff-ffff-7fff-bfff-ffffffffffff"))
            #expect(try await remove(SyncSeen(position: end)).row != nil)
            #expect(try await remove(SyncSeen(scope: .account(ann.id), position: end)).row != nil)
            #expect(try await remove(SyncSeen(scope: scope, position: position)).isApplied)
        }
    }

    @Test("a rule for files, or for a table that there is not, does not start")
    func unknown() async throws {
        for table in ["lfs_file", "recipes"] {
            var options = SyncServiceOptions()
            options.conflicts[table] = .rejectStale
            await #expect(throws: SyncSchemaError.self) { try await TestServer.run(options: options) { _ in } }
        }
    }
}

extension TestDevice {
    @discardableResult fileprivate func change(
        _ key: String, _ values: [String: SyncValue], _ seen: SyncSeen?
    ) async throws -> SyncMutationResult.Outcome { try await change(.patch, key, values, seen) }

    @discardableResult fileprivate func change(
        _ operation: SyncMutation.Operation, _ key: String, _ values: [String: SyncValue], _ seen: SyncSeen?,
        type: String = "RecipeV2"
    ) async throws -> SyncMutationResult.Outcome {
        sequence += 1
        let mutation = SyncMutation(
            id: "m\(sequence)", sequence: sequence, type: try #require(SyncType(type)), operation: operation, key: key,
            row: SyncRow(values), seen: seen)
        return try #require(try await send([mutation]).first).outcome
    }
}

extension SyncMutationResult.Outcome {
    /// Of a conflict.
    fileprivate var row: SyncRow? {
        if case .conflict(let row) = self { return row }
        return nil
    }
}
