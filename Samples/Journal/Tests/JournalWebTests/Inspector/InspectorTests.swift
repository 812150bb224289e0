import Foundation
import GRDB
import JournalStorage
import JournalWeb
import LFS
import LFSStorage
import LFSTesting
import Testing

@Suite("The inspector of a file", .timeLimit(.minutes(10)))
struct InspectorTests {
    private struct Report: Decodable {
        struct Line: Decodable {
            let event: String
            let text: String
        }

        struct Row: Decodable {
            let table: String
            let isAbsent: Bool
        }

        let state: String
        let reason: String
        let isOnThisDevice: Bool
        let sha256: String
        let timeline: [Line]
        let rows: [Row]
    }

    private func upload(_ web: WebSubject) async throws -> FileData {
        let record = try await web.record()
        #expect(try await web.upload(WebSubject.picture(), to: record).status == 201)
        let name = try #require(try await web.journal.loadRecord(record.id).images.first)
        return try await web.journal.imageFile(filename: name, for: record)
    }

    private func report(_ web: WebSubject, of file: FileData) async throws -> Report {
        let reply = try await web.get("/files/\(file.id)/inspect", headers: ["Accept": "application/json"])
        #expect(reply.header("Content-Type") == "application/json")
        return try JSONDecoder().decode(Report.self, from: reply.body)
    }

    private func act(_ web: WebSubject, on file: FileData, path name: String) async throws -> HTTPReply {
        try await web.post("/files/\(file.id)/\(name)")
    }

    @Test("The page and the JSON show state, checksum, events and rows")
    func shown() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            let file = try await upload(web)
            try await web.journal.lfs.waitForUploads()
            let page = try await web.get("/files/\(file.id)/inspect")
            #expect(page.text.contains("remote and on this device") && page.text.contains(file.sha256))
            #expect(page.text.contains("SELECT * FROM lfs_file WHERE id = &#39;\(file.id)&#39;"))
            let report = try await report(web, of: file)
            #expect(report.state == "remote" && report.isOnThisDevice && report.sha256 == file.sha256)
            #expect(report.rows.map(\.table) == ["lfs_file", "lfs_job"])
            #expect(report.rows.map(\.isAbsent).prefix(2) == [false, true])
        }
    }

    @Test("A local copy is freed, fetched back and verified with buttons")
    func buttons() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            let file = try await upload(web)
            try await web.journal.lfs.waitForUploads()
            #expect(try await act(web, on: file, path: "free").status == 303)
            #expect(try await web.journal.lfs.hasLocalCopy(of: file.id) == false)
            #expect(try await report(web, of: file).state == "remote-only")
            #expect(try await act(web, on: file, path: "fetch").status == 303)
            #expect(try await web.journal.lfs.hasLocalCopy(of: file.id))
            #expect(try await act(web, on: file, path: "verify").status == 303)
            let lines = try await report(web, of: file).timeline.filter { $0.event == "verified" }
            #expect(
                lines.map(\.text) == [
                    "LFS read the object: all 1.9 KiB have the recorded checksum.",
                    "The local copy has the recorded checksum.",
                ])
        }
    }

    @Test("A file that waits shows the reason of the outage and can be retried")
    func outage() async throws {
        let storage = UnreachableStorage(InMemoryStorage())
        try await withWeb(storage: storage) { subject in
            let web = try await subject.visiting()
            var events = web.journal.lfs.events().makeAsyncIterator()
            let file = try await upload(web)
            var outage: StorageOutage?
            while outage == nil, let event = await events.next() {
                if case .outage(let current) = event { outage = current }
            }
            let report = try await report(web, of: file)
            #expect(report.state == "waiting" && report.reason == outage?.reason)
            storage.setReachable(true)
            #expect(try await web.post("/storage/retry").status == 303)
            try await web.journal.lfs.waitForUploads()
            #expect(try await self.report(web, of: file).state == "remote")
        }
    }

    @Test("A cancelled upload is retried with the button")
    func retry() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            web.journal.lfs.pause()
            let file = try await upload(web)
            #expect(try await report(web, of: file).state == "held")
            try await web.journal.lfs.cancel(file.id)
            #expect(try await report(web, of: file).state == "cancelled")
            #expect(try await act(web, on: file, path: "retry").status == 303)
            web.journal.lfs.resume()
            try await web.journal.lfs.waitForUploads()
            #expect(try await report(web, of: file).state == "remote")
        }
    }

    @Test("A file that is not uploaded cannot be freed")
    func notUploaded() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            web.journal.lfs.pause()
            let file = try await upload(web)
            let reply = try await act(web, on: file, path: "free")
            #expect(reply.status == 409 && reply.text.contains("these are its only bytes"))
            #expect(try await web.journal.lfs.hasLocalCopy(of: file.id))
        }
    }

    @Test("A hostile name of a file is text on its page")
    func hostile() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            let file = try await upload(web)
            try await web.journal.lfs.waitForUploads()
            let name = "\"><script>alert(1)</script>"
            try await web.journal.database.write { db in
                try db.execute(sql: "UPDATE lfs_file SET name = ? WHERE id = ?", arguments: [name, file.id])
            }
            for path in ["/files/\(file.id)/inspect", "/how?file=\(file.id)"] {
                let page = try await web.get(path)
                #expect(page.status == 200 && !page.text.contains("<script>alert"))
                #expect(page.text.contains("&lt;script&gt;alert"))
            }
        }
    }

    @Test(
        "The buttons refuse a form of another browser", arguments: ["retry", "free", "fetch", "verify"])
    func foreign(_ name: String) async throws {
        try await withWeb { subject in
            var web = try await subject.visiting()
            let file = try await upload(web)
            web.token = String(repeating: "0", count: 64)
            #expect(try await act(web, on: file, path: name).status == 403)
        }
    }

    @Test("The page of an unknown file does not exist")
    func unknown() async throws {
        try await withWeb { subject in
            let id = try FileID.sample()
            #expect(try await subject.get("/files/\(id)/inspect").status == 404)
            #expect(try await subject.get("/files/none/inspect").status == 404)
        }
    }
}
