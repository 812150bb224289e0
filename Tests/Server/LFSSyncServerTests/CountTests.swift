import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Counts of a sync service", .timeLimit(.minutes(10)))
struct CountTests {
    @Test("Pushes, results of mutations and throttled requests are counted")
    func counts() async throws {
        var options = SyncServiceOptions()
        options.requestsPerSecond = 1
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        options.now = { now }
        try await TestServer.run(options: options) { server in
            let device = try await server.device()
            #expect(server.service.counts == SyncCounts())
            try await device.put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
            try await device.push(.patch, type: "RecipeV2", key: "r1", values: ["title": .text("Broth")])
            let missing = try await device.push(.patch, type: "StepV1", key: "gone", values: ["text": .text("Stir")])
            #expect(missing.outcome.code == "missing")
            var expected = SyncCounts()
            expected.pushes = 3
            expected.applied = 2
            expected.rejected = 1
            let conflict = SyncMutationResult(id: "m", sequence: 1, .conflict(row: nil))
            var more = expected
            more.add([conflict])
            #expect(more.conflicts == 1 && more.pushes == 4)
            #expect(server.service.counts == expected)
            // Ten requests may arrive at once. Each mutation counts as a hundredth of one.
            for _ in 0..<6 { #expect(await server.service.types(token: device.token).status == 200) }
            for _ in 0..<2 { #expect(await server.service.types(token: device.token).status == 429) }
            #expect(server.service.counts.throttled == 2)
        }
    }
}
