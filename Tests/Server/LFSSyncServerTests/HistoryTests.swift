import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Databases put back to an earlier state", .timeLimit(.minutes(10)))
struct HistoryTests {
    /// Runs a body with a device that has everything.
    private func run(_ body: (TestServer, TestDevice) async throws -> Void) async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            try await device.put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
            try await device.sync()
            try await body(server, device)
        }
    }

    /// Returns the reason of the reset that a stream begins with, or nil.
    private func reset(_ device: TestDevice, acks: SyncAckBatch? = nil) async throws -> String? {
        let line = try #require(try await device.lines(acks: acks).first)
        return line.firstMatch(of: /SyncResetV1.*"reason":"(\w+)"/).map { String($0.1) }
    }

    /// Gives the store the state of an earlier mark, as a restore does.
    private func putBack(_ server: TestServer, to mark: SyncHistoryMark) async throws {
        try await server.execute("UPDATE sync_state SET markCount = \(mark.count), markID = '\(mark.id)'")
    }

    @Test("A store that continues its history never counts as an older copy")
    func goingOn() async throws {
        try await run { server, device in
            var one: SyncHistoryMark?
            var two: SyncHistoryMark?
            // Two servers of one store have marks of their own.
            for _ in 1...5 {
                let first = try await server.service.compareHistory(with: one)
                let second = try await server.service.compareHistory(with: two)
                #expect(!first.wasRestored && !second.wasRestored)
                one = first.mark
                two = second.mark
            }
            #expect(try await reset(device) == nil)
        }
    }

    @Test("A store that lacks the last mark makes all devices start over, once")
    func older() async throws {
        try await run { server, device in
            let backup = try await server.service.compareHistory(with: nil).mark
            let (one, two) = (
                try await server.service.compareHistory(with: backup).mark,
                try await server.service.compareHistory(with: backup).mark
            )
            try await putBack(server, to: backup)
            let found = try await server.service.compareHistory(with: one)
            #expect(found.wasRestored)
            #expect(try await reset(device) == "history")
            // Neither this server nor another one with a mark of the lost history repeats it.
            #expect(try await !server.service.compareHistory(with: found.mark).wasRestored)
            #expect(try await !server.service.compareHistory(with: two).wasRestored)
            let delivery = try await device.delivery()
            try await device.acknowledge(delivery.tokens)
            #expect(try await device.sync() == ["Recipe r1"])
            #expect(try await reset(device) == nil)
        }
    }

    @Test("Another mark with the same number is found as well")
    func sameNumber() async throws {
        try await run { server, device in
            let backup = try await server.service.compareHistory(with: nil).mark
            let lost = try await server.service.compareHistory(with: backup).mark
            try await putBack(server, to: backup)
            // Another server without a mark has started first.
            #expect(try await !server.service.compareHistory(with: nil).wasRestored)
            #expect(try await server.service.compareHistory(with: lost).wasRestored)
        }
    }

    @Test("After an operator's command for a restore, devices do not start over again")
    func command() async throws {
        try await run { server, device in
            let backup = try await server.service.compareHistory(with: nil).mark
            let last = try await server.service.compareHistory(with: backup).mark
            try await putBack(server, to: backup)
            try await server.service.restored()
            #expect(try await !server.service.compareHistory(with: last).wasRestored)
        }
    }

    @Test("A database in another cluster of PostgreSQL counts as an older copy")
    func cluster() async throws {
        try await run { server, device in
            let mark = try await server.service.compareHistory(with: nil).mark
            let isPostgres = server.database.dialect == .postgres
            #expect(
                try await server.text("SELECT markCluster FROM sync_state")?.contains(/^\d+\/0000000\d$/) == isPostgres)
            try await server.execute("UPDATE sync_state SET markCluster = '1/00000001'")
            let next = try await server.service.compareHistory(with: mark)
            #expect(next.wasRestored == isPostgres)
            #expect(try await !server.service.compareHistory(with: next.mark).wasRestored)
        }
    }

    @Test("A device with one acknowledged batch more than the server starts over")
    func claimed() async throws {
        try await run { server, device in
            let last = SyncAckBatch(number: device.batch, id: "batch \(device.batch)", tokens: [])
            #expect(try await reset(device, acks: last) == nil)
            // The server forgets the device's last batch, as a restore does.
            try await server.execute(
                "UPDATE sync_session SET lastBatch = \(device.batch - 1), lastBatchID = 'batch \(device.batch - 1)'")
            #expect(try await reset(device, acks: last) == "history")
        }
    }

    @Test("A batch after one that the server does not have makes the device start over", arguments: [true, false])
    func previous(_ isOther: Bool) async throws {
        try await run { server, device in
            try await device.put("RecipeV2", key: "r2", values: ["title": .text("Soup")])
            let tokens = try await device.delivery().tokens
            let after = isOther ? "batch of a lost history" : "batch \(device.batch)"
            let batch = SyncAckBatch(number: device.batch + 1, id: "next", tokens: tokens, after: after)
            #expect(await device.service.acknowledge(try WireFormat.encode(batch), token: device.token).status == 204)
            #expect(try await reset(device) == (isOther ? "history" : nil))
        }
    }

    @Test("A damaged mark is refused", arguments: ["{}", #"{"count":-1,"id":"x"}"#, #"{"count":1e300,"id":"x"}"#])
    func damaged(_ text: String) {
        #expect(throws: (any Error).self) { try JSONDecoder().decode(SyncHistoryMark.self, from: Data(text.utf8)) }
    }
}
