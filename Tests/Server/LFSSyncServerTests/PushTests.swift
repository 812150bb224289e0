import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Mutations", .timeLimit(.minutes(10)))
struct PushTests {
    private func line(
        _ sequence: Int64, operation: SyncMutation.Operation, key: String, values: [String: SyncValue] = [:],
        id: String? = nil, type: String = "RecipeV2"
    ) throws -> SyncMutation {
        SyncMutation(
            id: id ?? "m\(sequence)", sequence: sequence, type: try #require(SyncType(type)), operation: operation,
            key: key, row: SyncRow(values))
    }

    private func status(_ mutations: [SyncMutation], device: TestDevice) async -> Int {
        var bytes: [UInt8] = []
        for mutation in mutations { mutation.write(to: &bytes) }
        return await device.service.push(Data(bytes), token: device.token).status
    }

    private func title(_ server: TestServer, key: String = "r1") async throws -> String? {
        try await server.text("SELECT title FROM recipe WHERE id = '\(key)'")
    }

    @Test("An insert, a patch of single columns and a deletion are applied")
    func operations() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            try await device.put("RecipeV2", key: "r1", values: ["title": .text("Soup"), "servings": .integer(4)])
            #expect(
                try await device.push(.patch, type: "RecipeV2", key: "r1", values: ["title": .text("Broth")]).outcome
                    .isApplied)
            #expect(try await title(server) == "Broth")
            #expect(try await server.text("SELECT servings || '' FROM recipe") == "4")
            #expect(try await device.push(.delete, type: "RecipeV2", key: "r1").outcome.isApplied)
            #expect(try await server.text("SELECT count(*) || '' FROM recipe") == "0")
        }
    }

    @Test("A repeated mutation gets its first result and changes nothing")
    func again() async throws {
        try await TestServer.run { server in
            let (one, two) = (try await server.device(), try await server.device())
            let first = [
                try line(1, operation: .put, key: "r1", values: ["title": .text("Soup")]),
                try line(2, operation: .patch, key: "gone", values: ["title": .text("x")]),
            ]
            let results = try await one.send(first)
            #expect(results[0].outcome.isApplied && results[1].outcome.code == "missing")
            try await two.put("RecipeV2", key: "r1", values: ["title": .text("Stew")])
            try await two.put("RecipeV2", key: "gone", values: ["title": .text("y")])
            // A repeated refusal has the same code and the current row.
            let again = try await one.send(first)
            #expect(again[0] == results[0] && again[1].id == results[1].id)
            #expect(again[1].outcome.code == "missing")
            #expect(try await title(server) == "Stew")
            #expect(try await title(server, key: "gone") == "y")
            // The mutations are repeated together with a new one.
            let third = try line(3, operation: .patch, key: "r1", values: ["servings": .integer(2)])
            #expect(try await one.send(first + [third]).prefix(2) == again[...])
            #expect(try await title(server) == "Stew")
        }
    }

    @Test("A gap in the sequence or a reused number refuses the whole request")
    func gap() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            let (first, third) = (
                try line(1, operation: .put, key: "r1", values: ["title": .text("Soup")]),
                try line(3, operation: .put, key: "r3", values: ["title": .text("x")])
            )
            #expect(await status([first, third], device: device) == 409)
            #expect(try await server.text("SELECT count(*) || '' FROM recipe") == "0")
            #expect(await status([third], device: device) == 409)
            #expect(await status([first], device: device) == 200)
            let other = try line(1, operation: .put, key: "r9", values: ["title": .text("Other")], id: "other")
            #expect(await status([other], device: device) == 409)
            #expect(
                await status(
                    [other, try line(2, operation: .put, key: "r2", values: ["title": .text("x")])], device: device)
                    == 409)
            #expect(try await server.text("SELECT count(*) || '' FROM recipe") == "1")
        }
    }

    @Test("Different columns of two devices merge, and the later arrival wins a column")
    func merge() async throws {
        try await TestServer.run { server in
            let (one, two) = (try await server.device(), try await server.device())
            try await one.put("RecipeV2", key: "r1", values: ["title": .text("Soup"), "servings": .integer(4)])
            try await one.push(.patch, type: "RecipeV2", key: "r1", values: ["title": .text("One")])
            try await two.push(.patch, type: "RecipeV2", key: "r1", values: ["servings": .integer(6)])
            #expect(try await server.text("SELECT title || servings FROM recipe") == "One6")
            try await two.push(.patch, type: "RecipeV2", key: "r1", values: ["title": .text("Two")])
            #expect(try await title(server) == "Two")
        }
    }

    @Test("A deletion wins over an update in either order")
    func deletion() async throws {
        try await TestServer.run { server in
            let (one, two) = (try await server.device(), try await server.device())
            for key in ["r1", "r2"] { try await one.put("RecipeV2", key: key, values: ["title": .text("Soup")]) }
            try await one.push(.delete, type: "RecipeV2", key: "r1")
            #expect(
                try await two.push(.patch, type: "RecipeV2", key: "r1", values: ["title": .text("x")]).outcome.code
                    == "missing")
            try await two.push(.patch, type: "RecipeV2", key: "r2", values: ["title": .text("x")])
            #expect(try await one.push(.delete, type: "RecipeV2", key: "r2").outcome.isApplied)
            #expect(try await server.text("SELECT count(*) || '' FROM recipe") == "0")
            // A missing row can be deleted again.
            #expect(try await two.push(.delete, type: "RecipeV2", key: "r2").outcome == .applied(nil))
        }
    }

    @Test("A refused row affects only its children in the same request")
    func refused() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            let results = try await device.send([
                try line(1, operation: .put, key: "r1", values: ["title": .text("Soup")]),
                try line(2, operation: .put, key: "r2", values: ["servings": .integer(1)]),
                try line(3, operation: .put, key: "s2", values: ["recipeID": .text("r2")], type: "StepV1"),
                try line(4, operation: .put, key: "s1", values: ["recipeID": .text("r1")], type: "StepV1"),
            ])
            #expect(results.map(\.outcome.isApplied) == [true, false, false, true])
            #expect(try await server.text("SELECT count(*) || '' FROM recipe") == "1")
            #expect(try await server.text("SELECT min(id) || count(*) FROM step") == "s11")
            // The child is accepted once its parent exists.
            #expect(
                try await device.send([
                    try line(5, operation: .put, key: "r2", values: ["title": .text("x")]),
                    try line(6, operation: .put, key: "s2", values: ["recipeID": .text("r2")], type: "StepV1"),
                ]).allSatisfy(\.outcome.isApplied))
        }
    }

    @Test("Rows of other accounts and internal columns cannot be written")
    func foreign() async throws {
        try await TestServer.run { server in
            let (ann, bob) = (try await server.device(), try await server.device(of: "bob"))
            try await ann.put("RecipeV2", key: "r1", values: ["title": .text("Hers")])
            #expect(
                try await bob.put("RecipeV2", key: "r1", values: ["title": .text("His")]).outcome.code == "forbidden")
            #expect(
                try await bob.push(.patch, type: "RecipeV2", key: "r1", values: ["title": .text("His")]).outcome.code
                    == "missing")
            #expect(try await bob.push(.delete, type: "RecipeV2", key: "r1").outcome == .applied(nil))
            let scope = try await server.scope(of: "ann")
            for (column, value) in [("scopeID", scope), ("updateID", "ffff"), ("accountID", "ann"), ("id", "r9")] {
                let values: [String: SyncValue] = ["title": .text("x"), column: .text(value)]
                #expect(
                    try await bob.put("RecipeV2", key: "r2", values: values).outcome.code == "unknown_column",
                    "\(column)")
            }
            #expect(try await title(server) == "Hers")
            #expect(try await server.text("SELECT count(*) || '' FROM recipe") == "1")
        }
    }

    @Test("A request has at most 500 lines and 1 MiB")
    func limits() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            let lines = try (1...501).map {
                try line(Int64($0), operation: .put, key: "r\($0)", values: ["title": .text("x")])
            }
            #expect(await status(lines, device: device) == 413)
            #expect(try await server.text("SELECT count(*) || '' FROM recipe") == "0")
            #expect(try await device.send(Array(lines.prefix(500))).count == 500)
            #expect(try await server.text("SELECT count(*) || '' FROM recipe") == "500")
            let one = Array(repeating: UInt8(ascii: " "), count: SyncMutation.byteLimit + 1)
            #expect(await device.service.push(Data(one), token: device.token).status == 413)
        }
    }

    @Test("A request that is cut within a line is refused as a whole")
    func cut() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            var bytes: [UInt8] = []
            for number in 1...2 {
                try line(Int64(number), operation: .put, key: "r\(number)", values: ["title": .text("x")]).write(
                    to: &bytes)
            }
            let first = try #require(bytes.firstIndex(of: 0x0A))
            for end in 1..<bytes.count where end != first + 1 {
                #expect(await device.service.push(Data(bytes.prefix(end)), token: device.token).status == 400, "\(end)")
            }
            #expect(try await server.text("SELECT count(*) || '' FROM recipe") == "0")
            // Cut between two lines, the request contains only the first mutation.
            #expect(await device.service.push(Data(bytes.prefix(first + 1)), token: device.token).status == 200)
            #expect(await device.service.push(Data(bytes), token: device.token).status == 200)
            #expect(try await server.text("SELECT count(*) || '' FROM recipe") == "2")
        }
    }
}
