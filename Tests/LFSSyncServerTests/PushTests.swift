import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("J: what devices push", .timeLimit(.minutes(10)))
struct PushTests {
    private func line(
        _ sequence: Int64, _ operation: SyncMutation.Operation, _ key: String, _ values: [String: SyncValue] = [:],
        id: String? = nil, type: String = "RecipeV2"
    ) throws -> SyncMutation {
        SyncMutation(
            id: id ?? "m\(sequence)", sequence: sequence, type: try #require(SyncType(type)), operation: operation,
            key: key, row: SyncRow(values))
    }

    private func status(_ mutations: [SyncMutation], _ device: TestDevice) async -> Int {
        var bytes: [UInt8] = []
        for mutation in mutations { mutation.write(to: &bytes) }
        return await device.service.push(Data(bytes), token: device.token).status
    }

    private func title(_ server: TestServer, _ key: String = "r1") async throws -> String? {
        try await server.text("SELECT title FROM recipe WHERE id = '\(key)'")
    }

    @Test("1 insert, update and deletion; 2 a patch changes its columns and no other")
    func operations() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            try await device.put("RecipeV2", "r1", ["title": .text("Soup"), "servings": .integer(4)])
            #expect(try await device.push(.patch, "RecipeV2", "r1", ["title": .text("Broth")]).outcome.isApplied)
            #expect(try await title(server) == "Broth")
            #expect(try await server.text("SELECT servings || '' FROM recipe") == "4")
            #expect(try await device.push(.delete, "RecipeV2", "r1").outcome.isApplied)
            #expect(try await server.text("SELECT count(*) || '' FROM recipe") == "0")
        }
    }

    @Test("4, 6 what comes again gets the answer that it got, and changes nothing a second time")
    func again() async throws {
        try await TestServer.run { server in
            let (one, two) = (try await server.device(), try await server.device())
            let first = [
                try line(1, .put, "r1", ["title": .text("Soup")]), try line(2, .patch, "gone", ["title": .text("x")]),
            ]
            let results = try await one.send(first)
            #expect(results[0].outcome.isApplied && results[1].outcome.code == "missing")
            try await two.put("RecipeV2", "r1", ["title": .text("Stew")])
            try await two.put("RecipeV2", "gone", ["title": .text("y")])
            // Of a refusal the code is the same, and the row is the one that is there now.
            let again = try await one.send(first)
            #expect(again[0] == results[0] && again[1].id == results[1].id)
            #expect(again[1].outcome.code == "missing")
            #expect(try await title(server) == "Stew")
            #expect(try await title(server, "gone") == "y")
            // Along with the next one.
            let third = try line(3, .patch, "r1", ["servings": .integer(2)])
            #expect(try await one.send(first + [third]).prefix(2) == again[...])
            #expect(try await title(server) == "Stew")
        }
    }

    @Test("7 a gap is refused, and nothing of the request is kept; 8 so is another change under a number that is taken")
    func gap() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            let (first, third) = (
                try line(1, .put, "r1", ["title": .text("Soup")]), try line(3, .put, "r3", ["title": .text("x")])
            )
            #expect(await status([first, third], device) == 409)
            #expect(try await server.text("SELECT count(*) || '' FROM recipe") == "0")
            #expect(await status([third], device) == 409)
            #expect(await status([first], device) == 200)
            let other = try line(1, .put, "r9", ["title": .text("Other")], id: "other")
            #expect(await status([other], device) == 409)
            #expect(await status([other, try line(2, .put, "r2", ["title": .text("x")])], device) == 409)
            #expect(try await server.text("SELECT count(*) || '' FROM recipe") == "1")
        }
    }

    @Test("9 different columns of two devices merge; 10 of the same one the later arrival stands")
    func merge() async throws {
        try await TestServer.run { server in
            let (one, two) = (try await server.device(), try await server.device())
            try await one.put("RecipeV2", "r1", ["title": .text("Soup"), "servings": .integer(4)])
            try await one.push(.patch, "RecipeV2", "r1", ["title": .text("One")])
            try await two.push(.patch, "RecipeV2", "r1", ["servings": .integer(6)])
            #expect(try await server.text("SELECT title || servings FROM recipe") == "One6")
            try await two.push(.patch, "RecipeV2", "r1", ["title": .text("Two")])
            #expect(try await title(server) == "Two")
        }
    }

    @Test("11 a deletion beats an update, in both orders; 12 the update of a row that is gone is refused")
    func deletion() async throws {
        try await TestServer.run { server in
            let (one, two) = (try await server.device(), try await server.device())
            for key in ["r1", "r2"] { try await one.put("RecipeV2", key, ["title": .text("Soup")]) }
            try await one.push(.delete, "RecipeV2", "r1")
            #expect(try await two.push(.patch, "RecipeV2", "r1", ["title": .text("x")]).outcome.code == "missing")
            try await two.push(.patch, "RecipeV2", "r2", ["title": .text("x")])
            #expect(try await one.push(.delete, "RecipeV2", "r2").outcome.isApplied)
            #expect(try await server.text("SELECT count(*) || '' FROM recipe") == "0")
            // What is gone can be deleted again.
            #expect(try await two.push(.delete, "RecipeV2", "r2").outcome == .applied(nil))
        }
    }

    @Test(
        "15 a row that is refused stops no other of its request; 16 a child of a refused parent is refused, not deleted"
    )
    func refused() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            let results = try await device.send([
                try line(1, .put, "r1", ["title": .text("Soup")]), try line(2, .put, "r2", ["servings": .integer(1)]),
                try line(3, .put, "s2", ["recipeID": .text("r2")], type: "StepV1"),
                try line(4, .put, "s1", ["recipeID": .text("r1")], type: "StepV1"),
            ])
            #expect(results.map(\.outcome.isApplied) == [true, false, false, true])
            #expect(try await server.text("SELECT count(*) || '' FROM recipe") == "1")
            #expect(try await server.text("SELECT min(id) || count(*) FROM step") == "s11")
            // When the parent is there, the child is taken.
            #expect(
                try await device.send([
                    try line(5, .put, "r2", ["title": .text("x")]),
                    try line(6, .put, "s2", ["recipeID": .text("r2")], type: "StepV1"),
                ]).allSatisfy(\.outcome.isApplied))
        }
    }

    @Test("22, 24 a row of another account can be neither written nor taken; 23 nor what only the server says of a row")
    func foreign() async throws {
        try await TestServer.run { server in
            let (ann, bob) = (try await server.device(), try await server.device(of: "bob"))
            try await ann.put("RecipeV2", "r1", ["title": .text("Hers")])
            #expect(try await bob.put("RecipeV2", "r1", ["title": .text("His")]).outcome.code == "forbidden")
            #expect(try await bob.push(.patch, "RecipeV2", "r1", ["title": .text("His")]).outcome.code == "missing")
            #expect(try await bob.push(.delete, "RecipeV2", "r1").outcome == .applied(nil))
            let scope = try await server.scope(of: "ann")
            for (column, value) in [("scopeID", scope), ("updateID", "ffff"), ("accountID", "ann"), ("id", "r9")] {
                let values: [String: SyncValue] = ["title": .text("x"), column: .text(value)]
                #expect(try await bob.put("RecipeV2", "r2", values).outcome.code == "unknown_column", "\(column)")
            }
            #expect(try await title(server) == "Hers")
            #expect(try await server.text("SELECT count(*) || '' FROM recipe") == "1")
        }
    }

    @Test("25 500 lines and 1 MiB are taken, and one more of either is not")
    func limits() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            let lines = try (1...501).map { try line(Int64($0), .put, "r\($0)", ["title": .text("x")]) }
            #expect(await status(lines, device) == 413)
            #expect(try await server.text("SELECT count(*) || '' FROM recipe") == "0")
            #expect(try await device.send(Array(lines.prefix(500))).count == 500)
            #expect(try await server.text("SELECT count(*) || '' FROM recipe") == "500")
            let one = Array(repeating: UInt8(ascii: " "), count: SyncMutation.byteLimit + 1)
            #expect(await device.service.push(Data(one), token: device.token).status == 413)
        }
    }

    @Test("5 a request that is cut in its last line is refused as a whole, and comes again")
    func cut() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            var bytes: [UInt8] = []
            for number in 1...2 { try line(Int64(number), .put, "r\(number)", ["title": .text("x")]).write(to: &bytes) }
            let first = try #require(bytes.firstIndex(of: 0x0A))
            for end in 1..<bytes.count where end != first + 1 {
                #expect(await device.service.push(Data(bytes.prefix(end)), token: device.token).status == 400, "\(end)")
            }
            #expect(try await server.text("SELECT count(*) || '' FROM recipe") == "0")
            // Cut between two lines, it is the first of them.
            #expect(await device.service.push(Data(bytes.prefix(first + 1)), token: device.token).status == 200)
            #expect(await device.service.push(Data(bytes), token: device.token).status == 200)
            #expect(try await server.text("SELECT count(*) || '' FROM recipe") == "2")
        }
    }
}
