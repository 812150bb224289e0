import Foundation
import Synchronization
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Conflicts of stale changes", .timeLimit(.minutes(10)))
struct ConflictTests {
    /// Runs a body with a server that has a conflict policy for recipes, and two devices of an account that have the
    /// recipe `r1`.
    private func run(
        _ policy: SyncConflictPolicy, _ body: (TestServer, TestDevice, TestDevice, SyncPosition) async throws -> Void
    ) async throws {
        var options = SyncServiceOptions()
        options.conflicts["recipe"] = policy
        try await TestServer.run(options: options) { server in
            let (one, two) = (try await server.device(), try await server.device())
            let made = try await one.put(
                "RecipeV2", key: "r1", values: ["title": .text("Soup"), "servings": .integer(4)])
            guard case .applied(let position?) = made.outcome else { throw TestFailure() }
            try await body(server, one, two, position)
        }
    }

    private struct TestFailure: Error {}

    private func recipe(_ server: TestServer) async throws -> String? {
        try await server.text("SELECT title || '|' || coalesce(servings || '', '-') FROM recipe")
    }

    @Test(
        "A stale change is refused with the current row, whatever columns it changes",
        arguments: [["title": SyncValue.text("Two")], ["servings": .integer(9)]])
    func rejectStale(values: [String: SyncValue]) async throws {
        try await run(.rejectStale) { server, one, two, seen in
            try await one.change("r1", values: ["title": .text("One")], seen: BaseVersion(position: seen))
            let outcome = try await two.change("r1", values: values, seen: BaseVersion(position: seen))
            guard case .conflict(let row?) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(row.text("title") == "One")
            #expect(try await recipe(server) == "One|4")
            // A device that has seen the last change may change the row.
            let now = try #require(try await server.text("SELECT updateID FROM recipe").flatMap { SyncPosition($0) })
            #expect(try await two.change("r1", values: values, seen: BaseVersion(position: now)).isApplied)
        }
    }

    @Test("A stale deletion or whole row is refused with the current row")
    func staleDeletion() async throws {
        try await run(.rejectStale) { server, one, two, seen in
            try await one.change("r1", values: ["title": .text("One")], seen: BaseVersion(position: seen))
            let deletion = try await two.change(.delete, key: "r1", values: [:], seen: BaseVersion(position: seen))
            #expect(deletion.row?.text("title") == "One")
            let whole = try await two.change(
                .put, key: "r1", values: ["title": .text("Mine")], seen: BaseVersion(position: .start))
            #expect(whole.row?.text("title") == "One")
            #expect(try await recipe(server) == "One|4")
            let new = try await two.change(
                .put, key: "r2", values: ["title": .text("New")], seen: BaseVersion(position: .start))
            #expect(new.isApplied)
            let now = try #require(
                try await server.text("SELECT max(updateID) FROM recipe").flatMap { SyncPosition($0) })
            #expect(try await two.change(.delete, key: "r1", values: [:], seen: BaseVersion(position: now)).isApplied)
        }
    }

    @Test("A device's own unreturned changes do not make its next change stale")
    func own() async throws {
        try await run(.rejectStale) { server, one, two, seen in
            let first = BaseVersion(position: seen)
            #expect(try await one.change("r1", values: ["title": .text("A")], seen: first).isApplied)
            let second = BaseVersion(position: seen, after: one.sequence)
            #expect(try await one.change("r1", values: ["title": .text("B")], seen: second).isApplied)
            // Another device's change comes in between.
            let now = try #require(try await server.text("SELECT updateID FROM recipe").flatMap { SyncPosition($0) })
            #expect(
                try await two.change("r1", values: ["servings": .integer(1)], seen: BaseVersion(position: now))
                    .isApplied)
            let third = BaseVersion(position: seen, after: one.sequence)
            #expect(try await one.change("r1", values: ["title": .text("C")], seen: third).row != nil)
            // A refused change is not one of the device's own changes.
            let fourth = BaseVersion(position: seen, after: one.sequence)
            #expect(try await one.change("r1", values: ["title": .text("D")], seen: fourth).row != nil)
            #expect(try await recipe(server) == "B|1")
        }
    }

    @Test("An equal value or a change without a base version is not a conflict")
    func same() async throws {
        try await run(.rejectStale) { server, one, two, seen in
            try await one.change("r1", values: ["title": .text("One")], seen: BaseVersion(position: seen))
            #expect(
                try await two.change("r1", values: ["title": .text("One")], seen: BaseVersion(position: seen)).isApplied
            )
            #expect(try await two.change("r1", values: ["title": .text("Old")], seen: nil).isApplied)
            #expect(try await recipe(server) == "Old|4")
            #expect(try await two.change(.delete, key: "r1", values: [:], seen: nil).isApplied)
        }
    }

    @Test("A table without a policy takes the later arrival")
    func others() async throws {
        try await run(.rejectStale) { server, one, two, seen in
            try await one.put("StepV1", key: "s1", values: ["recipeID": .text("r1"), "text": .text("a")])
            for device in [one, two] {
                let outcome = try await device.change(
                    .patch, key: "s1", values: ["text": .text("b")], seen: BaseVersion(position: .start), type: "StepV1"
                )
                #expect(outcome.isApplied)
            }
        }
    }

    @Test("A conflict rule receives both rows and its result is stored")
    func closure() async throws {
        let asked = Mutex<[SyncConflict]>([])
        let policy = SyncConflictPolicy.resolve { conflict in
            asked.withLock { $0.append(conflict) }
            guard case .text(let here)? = conflict.server["title"], case .text(let there)? = conflict.device["title"]
            else { return [:] }
            return ["title": .text(here + "+" + there), "note": .text("both")]
        }
        try await run(policy) { server, one, two, seen in
            #expect(
                try await one.change("r1", values: ["title": .text("One")], seen: BaseVersion(position: seen)).isApplied
            )
            #expect(asked.withLock { $0 } == [])
            let values: [String: SyncValue] = ["title": .text("Two"), "servings": .integer(4)]
            #expect(try await two.change("r1", values: values, seen: BaseVersion(position: seen)).isApplied)
            #expect(
                try await server.text("SELECT title || '|' || servings || '|' || note FROM recipe") == "One+Two|4|both")
            let conflict = try #require(asked.withLock { $0 }.last)
            #expect(conflict.table == "recipe" && conflict.key == "r1" && conflict.changed == ["title"])
            #expect(conflict.server["title"] == .text("One") && conflict.device["title"] == .text("Two"))
            #expect(conflict.server["servings"] == .integer(4) && conflict.device["note"] == .null)
            // A deletion wins without calling the rule.
            #expect(try await two.change(.delete, key: "r1", values: [:], seen: BaseVersion(position: seen)).isApplied)
            #expect(asked.withLock { $0 } == [conflict])
        }
    }

    @Test("A conflict rule may keep the row, and its error refuses only that change")
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
            try await one.change("r1", values: ["title": .text("One")], seen: BaseVersion(position: seen))
            for title in ["keep", "none"] {
                let outcome = try await two.change(
                    "r1", values: ["title": .text(title)], seen: BaseVersion(position: seen))
                #expect(outcome.row?.text("title") == "One", "\(title)")
            }
            for (title, words) in [("why", "Ask Ann first."), ("odd", "'nothing'"), ("secret", "refuses")] {
                let outcome = try await two.change(
                    "r1", values: ["title": .text(title)], seen: BaseVersion(position: seen))
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

    @Test("In an album the position in the album's scope counts as the base version")
    func shared() async throws {
        var options = SyncServiceOptions()
        options.conflicts["album_file"] = .rejectStale
        try await TestServer.run(schema: SharingServer.schema, options: options) { server in
            let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
            try await ann.file("f1")
            try await ann.album("x")
            try await ann.share("x", other: bob, role: "editor")
            try await ann.link("x", file: "f1")
            let scope = try #require(SyncScope("album/x"))
            let position = try #require(
                try await server.text("SELECT updateID FROM sync_member WHERE key = 'x-f1'").flatMap {
                    SyncPosition($0)
                })
            func remove(_ seen: BaseVersion) async throws -> SyncMutationResult.Outcome {
                try await bob.device.change(.delete, key: "x-f1", values: [:], seen: seen, type: "AlbumFileV1")
            }
            #expect(try await remove(BaseVersion(scope: scope, position: .start)).row != nil)
            // The last position of another scope, and of the device's own scope, which does not contain the row.
            let end = try #require(SyncPosition("ffffffff-ffff-7fff-bfff-ffffffffffff"))
            #expect(try await remove(BaseVersion(position: end)).row != nil)
            #expect(try await remove(BaseVersion(scope: .account(ann.id), position: end)).row != nil)
            #expect(try await remove(BaseVersion(scope: scope, position: position)).isApplied)
        }
    }

    @Test("A policy for files or for an unknown table is refused at the start")
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
        _ key: String, values: [String: SyncValue], seen: BaseVersion?
    ) async throws -> SyncMutationResult.Outcome { try await change(.patch, key: key, values: values, seen: seen) }

    @discardableResult fileprivate func change(
        _ operation: SyncMutation.Operation, key: String, values: [String: SyncValue], seen: BaseVersion?,
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
    /// The row of a conflict.
    fileprivate var row: SyncRow? {
        if case .conflict(let row) = self { return row }
        return nil
    }
}
