import Foundation
import JournalStorage
import JournalWeb
import LFS
import LFSStorage
import LFSTesting
import Testing

@Suite("Live pages", .timeLimit(.minutes(10)))
struct LiveTests {
    /// Reads the stream of events until one of the texts arrives, and returns everything up to it.
    private func watch(
        _ connection: RawConnection, until text: String, or other: String? = nil
    ) async throws -> String {
        let texts = [text, other].compactMap(\.self)
        return try await blocking {
            var all = Data()
            while let bytes = try connection.read() {
                all += bytes
                let read = String(decoding: all, as: UTF8.self)
                if texts.contains(where: { read.contains($0) }) { break }
            }
            return String(decoding: all, as: UTF8.self)
        }
    }

    private func request(_ web: WebSubject) throws -> RawConnection {
        let connection = try RawConnection(port: web.address.port)
        connection.send(Data("GET /events HTTP/1.1\r\nHost: \(web.address)\r\nCookie: \(web.cookie)\r\n\r\n".utf8))
        return connection
    }

    private func open(_ web: WebSubject) async throws -> RawConnection {
        let connection = try request(web)
        let head = try await watch(connection, until: "event: storage")
        #expect(head.contains("text/event-stream") && head.lowercased().contains("content-security-policy"))
        return connection
    }

    @Test("A stream begins with the version of the page, and has another one after a change")
    func version() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            _ = try await web.record()
            let page = try await web.get("/")
            let version = try #require(page.text.firstMatch(of: /data-version="([^"]+)"/)).1
            // Another page does not change it.
            #expect(try await web.get("/pictures").text.contains("data-version=\"\(version)\""))
            let connection = try request(web)
            let first = try await watch(connection, until: "event: storage")
            #expect(first.contains("id: \(version)\n"))
            _ = try await web.record()
            let changed = try await watch(connection, until: "event: changed")
            #expect(!changed.contains("id: \(version)\n"))
        }
    }

    @Test("A logout ends the stream of events")
    func loggedOut() async throws {
        try await withWeb { options in
            options.password = "correct horse battery"
        } _: { subject in
            var web = try await subject.visiting("/login")
            let reply = try await web.post("/login", fields: [("password", "correct horse battery")])
            web.cookie = String(try #require(reply.header("Set-Cookie")).prefix { $0 != ";" })
            web.token = try #require(try await web.get("/").text.firstMatch(of: /data-token="([0-9a-f]{64})"/)).1
                .description
            let connection = try await open(web)
            #expect(try await web.post("/logout/all").status == 303)
            try await web.journal.addTag(Tag(name: "A change"))
            let rest = try await watch(connection, until: "0\r\n\r\n", or: "event: changed")
            #expect(!rest.contains("event: changed"))
        }
    }

    @Test("Events report a picture as waiting and then as remote")
    func remote() async throws {
        let gate = GatedStorage(InMemoryStorage())
        try await withWeb(storage: gate) { subject in
            let web = try await subject.visiting()
            let record = try await web.record()
            let connection = try await open(web)
            #expect(try await web.upload(WebSubject.picture(), to: record).status == 201)
            await gate.waitForArrivals(1)
            #expect(try await web.get(web.path(record)).text.contains("badge waiting"))
            #expect(try await web.get("/storage").text.contains("The upload has not started yet."))
            gate.open()
            let events = try await watch(connection, until: #""state":"remote""#)
            #expect(events.contains(#""state":"waiting""#) && events.contains("event: changed"))
            try await web.journal.lfs.waitForUploads()
            #expect(try await web.get(web.path(record)).text.contains("badge remote"))
        }
    }

    @Test("Open pages learn of a freed copy and of one that is fetched back")
    func freed() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            let record = try await web.record()
            #expect(try await web.upload(WebSubject.picture(), to: record).status == 201)
            let name = try #require(try await web.journal.loadRecord(record.id).images.first)
            let file = try await web.file(name, of: record)
            try await web.journal.lfs.waitForUploads()
            let connection = try await open(web)
            #expect(try await web.post("/files/\(file)/free").status == 303)
            let freed = try await watch(connection, until: #""stage":"freed""#)
            #expect(freed.contains(#""text":"remote only""#))
            #expect(try await web.post("/files/\(file)/fetch").status == 303)
            let fetched = try await watch(connection, until: #""stage":"fetched""#)
            #expect(fetched.contains(#""text":"remote and on this device""#))
        }
    }

    @Test("A saved setting is reported to open pages")
    func settings() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            let connection = try await open(web)
            #expect(try await web.post("/settings", fields: [("theme", "dark")]).status == 303)
            #expect(try await watch(connection, until: "event: changed").contains("event: changed"))
        }
    }

    @Test("An unreachable storage is shown with its reason")
    func away() async throws {
        let storage = UnreachableStorage(InMemoryStorage())
        storage.setReachable(false)
        try await withWeb(storage: storage) { subject in
            let web = try await subject.visiting()
            let record = try await web.record()
            let connection = try await open(web)
            #expect(try await web.upload(WebSubject.picture(), to: record).status == 201)
            _ = try await watch(connection, until: "event: storage")
            #expect(try await web.get("/").text.contains("The storage is unavailable:"))
            #expect(try await web.get("/health").text.contains("away"))
            storage.setReachable(true)
            #expect(try await web.post("/storage/retry").status == 303)
            try await web.journal.lfs.waitForUploads()
            #expect(try await web.get("/storage").text.contains("Everything is on the storage."))
        }
    }

    @Test("Uploads can be paused, cancelled, retried and resumed")
    func queue() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            let record = try await web.record()
            #expect(try await web.post("/storage/pause").status == 303)
            #expect(try await web.upload(WebSubject.picture(), to: record).status == 201)
            let name = try #require(try await web.journal.loadRecord(record.id).images.first)
            let file = try await web.journal.imageFile(filename: name, for: record)
            #expect(try await web.get("/storage").text.contains("Uploads are paused"))
            #expect(try await web.post("/storage/cancel", fields: [("file", "\(file.id)")]).status == 303)
            #expect(try await web.get("/storage").text.contains("badge cancelled"))
            #expect(try await web.post("/storage/retry", fields: [("file", "\(file.id)")]).status == 303)
            #expect(try await web.post("/storage/resume").status == 303)
            try await web.journal.lfs.waitForUploads()
            #expect(try await web.journal.imageFile(filename: name, for: record).status == .remote)
            let verified = try await web.post("/storage/verify", fields: [("content", "yes"), ("objects", "yes")])
            #expect(verified.text.contains("No problems are left."))
        }
    }

    @Test("The server stops while pages are watching")
    func stops() async throws {
        let connections = try await Watching.run()
        #expect(try await watch(connections, until: "never").hasSuffix("0\r\n\r\n"))
    }

    private enum Watching {
        static func run() async throws -> RawConnection {
            let box = AsyncStream.makeStream(of: RawConnection.self)
            try await withWeb { subject in
                let web = try await subject.visiting()
                box.continuation.yield(try await LiveTests().open(web))
            }
            for await connection in box.stream { return connection }
            throw CancellationError()
        }
    }
}
