import Foundation
import LFSServerPostgres
import Synchronization
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Moving a database to a new cluster", .timeLimit(.minutes(10)))
struct ClusterTests {
    private static func titled(_ title: String) -> [String: SyncValue] { ["title": .text(title)] }

    /// Returns the device with its state, connected to another server.
    private static func moved(_ device: TestDevice, to service: SyncService) -> TestDevice {
        let there = TestDevice(service: service, token: device.token)
        there.batch = device.batch
        there.sequence = device.sequence
        return there
    }

    /// Dumps the rows of a server and restores them into an empty cluster.
    private static func withCopy(of run: PostgresCase, _ body: (SyncService) async throws -> Void) async throws {
        let dump = FileManager.default.temporaryDirectory.appending(path: "\(run.schema).sql")
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: dump) } }
        let endpoint = try #require(TestStore.endpoint)
        try PostgresTool.dump(run.schema, to: dump)
        try await OtherCluster.run { url in
            #expect(url != endpoint)
            try PostgresTool.run("psql", arguments: ["--quiet", "--set", "ON_ERROR_STOP=1", "--file", dump.path, url])
            let database = try PostgresDatabase(
                url: "\(url)?options=-csearch_path%3D\(run.schema)", options: .patient)
            try await body(try await SyncService(database, schema: TestServer.schema))
            await database.close()
        }
    }

    @Test("Devices continue without gaps after a dump is restored in a new cluster")
    func moved() async throws {
        try await PostgresCase.run { run in
            let writer = try await run.server.device()
            let (whole, half, new) = (
                try await run.server.device(), try await run.server.device(), try await run.server.device()
            )
            // The new cluster has lower numbers of transactions and of the sequence.
            for number in 1...60 { try await writer.put("RecipeV2", key: "r\(number)", values: Self.titled("Soup")) }
            try await writer.push(.delete, type: "RecipeV2", key: "r2")
            #expect(try await whole.sync().count >= 59)
            let seen = try await half.delivery()
            let first = Array(seen.tokens.filter { $0.place.type.name == "Recipe" }.prefix(20))
            try await half.acknowledge(first)
            let last = try #require(seen.tokens.map(\.position).max())
            try await Self.withCopy(of: run) { service in
                let there = Self.moved(writer, to: service)
                let (wholeThere, halfThere) = (Self.moved(whole, to: service), Self.moved(half, to: service))
                #expect(try await wholeThere.sync() == [])
                #expect(try await halfThere.sync() == Array(seen.items.dropFirst(20)))
                // A mutation whose reply was lost before the dump gets the same answer, and is not applied again.
                let repeated = SyncMutation(
                    id: "m60", sequence: 60, type: try #require(SyncType("RecipeV2")), operation: .put, key: "r60",
                    row: SyncRow(Self.titled("Soup")))
                #expect(try await there.send([repeated]).first?.outcome.isApplied == true)
                #expect(try await wholeThere.sync() == [])
                try await there.put("RecipeV2", key: "r61", values: Self.titled("Stew"))
                try await there.push(.delete, type: "RecipeV2", key: "r1")
                try await there.push(.patch, type: "RecipeV2", key: "r60", values: Self.titled("Stew"))
                for device in [wholeThere, halfThere] {
                    let next = try await device.delivery()
                    #expect(next.items == ["Recipe r61", "-Recipe r1", "Recipe r60"])
                    #expect(next.tokens.map(\.position).filter { $0 > .start }.allSatisfy { $0 > last })
                    try await device.acknowledge(next.tokens)
                    #expect(try await device.sync() == [])
                }
                #expect(try await Self.moved(new, to: service).delivery().rows.count == 59)
            }
        }
    }

    @Test("Concurrent writers in the new cluster are read once, in commit order")
    func writers() async throws {
        try await PostgresCase.run { run in
            let reader = try await run.server.device()
            var writers: [TestDevice] = []
            for _ in 0..<4 { writers.append(try await run.server.device()) }
            try await writers[0].put("RecipeV2", key: "before", values: Self.titled("Soup"))
            try await reader.sync()
            try await Self.withCopy(of: run) { service in
                let there = Self.moved(reader, to: service)
                let tokens = writers.map(\.token)
                let isWritten = Mutex(false)
                async let written: Void = {
                    defer { isWritten.withLock { $0 = true } }
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for (number, token) in tokens.enumerated() {
                            group.addTask {
                                let device = TestDevice(service: service, token: token)
                                // The first device has pushed one mutation before.
                                device.sequence = number == 0 ? 1 : 0
                                for row in 0..<25 {
                                    try await device.put(
                                        "RecipeV2", key: "w\(number)-\(row)", values: Self.titled("Soup"))
                                }
                            }
                        }
                        try await group.waitForAll()
                    }
                }()
                var items: [String] = []
                while !isWritten.withLock({ $0 }) { items += try await there.sync() }
                try await written
                items += try await there.sync()
                #expect(items.count == 100 && Set(items).count == 100)
                for number in tokens.indices {
                    let own = items.filter { $0.hasPrefix("Recipe w\(number)-") }
                    #expect(own == (0..<25).map { "Recipe w\(number)-\($0)" })
                }
            }
        }
    }
}
