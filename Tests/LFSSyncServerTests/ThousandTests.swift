import Testing

@testable import LFSSyncServer
@testable import LFSWire

extension BoundTests {
    @Test(
        "L 8 a thousand streams that wait look with one statement each time, and a commit reaches each that it is for")
    func thousand() async throws {
        var options = SyncServiceOptions()
        options.sessionLimit = 2_000
        try await run(LiveTimes(poll: .seconds(3_600), heartbeat: .seconds(600)), options: options) {
            server, database in
            let writer = try await server.device()
            let waiting = Count()
            var tasks: [Task<[UInt8]?, any Error>] = []
            for number in 0..<1_000 {
                // Some begin at a time, as no pool of connections has room for all.
                while tasks.count >= waiting.value + 4 { try await pause(database) }
                tasks.append(Task { try await Self.wait(server, number < 10 ? "ann" : "a\(number % 20)", waiting) })
            }
            while waiting.value < 1_000 { try await pause(database) }
            #expect(server.service.streamCount == 1_000)
            database.clear()
            try await writer.put("RecipeV2", "r1", ["title": .text("Soup")])
            while database.pages < 10 { try await pause(database) }
            server.service.shutdown()
            var came = 0
            for task in tasks { came += rows(try text(try await task.value)) }
            #expect(came == 10)
            let looks = database.statements.count { $0.contains("FROM sync_session e") }
            #expect(looks <= 3, "\(looks)")
            #expect(database.most <= 11)
        }
    }

    @Test("a device that has all of many scopes reads no row of them; of one that has changed it reads what has")
    func settled() async throws {
        try await TestServer.watched(schema: SharingServer.schema) { server, database in
            let (ann, cat) = (try await server.person("ann"), try await server.person("cat"))
            try await ann.file("f")
            for number in 0..<20 {
                try await ann.album("x\(number)")
                try await ann.link("x\(number)", "f")
                try await ann.share("x\(number)", cat)
            }
            try await cat.sync()
            database.clear()
            #expect(try await cat.sync() == [])
            let idle = database.rows
            // The session, its acks, and how many scopes there are.
            #expect(idle < 10, "\(idle)")
            try await ann.device.push(.patch, "AlbumV1", "x7", ["title": .text("Sea")])
            database.clear()
            #expect(try await cat.sync() == ["album/x7: Album x7"])
            #expect(database.rows < idle + 20, "\(database.rows)")
        }
    }
}
