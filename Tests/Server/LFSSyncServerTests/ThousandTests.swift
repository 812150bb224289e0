import Testing

@testable import LFSSyncServer
@testable import LFSWire

extension BoundTests {
    @Test("A thousand idle streams share one statement, and commits reach their readers")
    func thousand() async throws {
        var options = SyncServiceOptions()
        options.sessionLimit = 2_000
        let times = LiveTimes(poll: .seconds(3_600), repair: .seconds(3_600), heartbeat: .seconds(600))
        try await run(times, options: options) { server, database in
            let writer = try await server.device()
            let waiting = Count()
            var tasks: [Task<[UInt8]?, any Error>] = []
            for number in 0..<1_000 {
                // Only some streams start at once, because no connection pool has room for all.
                while tasks.count >= waiting.value + 4 { try await pause(database) }
                tasks.append(
                    Task {
                        try await Self.wait(server, account: number < 10 ? "ann" : "a\(number % 20)", waiting: waiting)
                    })
            }
            while waiting.value < 1_000 { try await pause(database) }
            #expect(server.service.streamCount == 1_000)
            database.clear()
            try await writer.put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
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

    @Test("A device that is up to date reads no rows, and later only the changed ones")
    func settled() async throws {
        try await TestServer.watched(schema: SharingServer.schema) { server, database in
            let (ann, cat) = (try await server.person("ann"), try await server.person("cat"))
            try await ann.file("f")
            for number in 0..<20 {
                try await ann.album("x\(number)")
                try await ann.link("x\(number)", file: "f")
                try await ann.share("x\(number)", other: cat)
            }
            try await cat.sync()
            database.clear()
            #expect(try await cat.sync() == [])
            let idle = database.rows
            // The session, its acks and the number of scopes.
            #expect(idle < 10, "\(idle)")
            try await ann.device.push(.patch, type: "AlbumV1", key: "x7", values: ["title": .text("Sea")])
            database.clear()
            #expect(try await cat.sync() == ["album/x7: Album x7"])
            #expect(database.rows < idle + 20, "\(database.rows)")
        }
    }
}
