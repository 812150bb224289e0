import Foundation
import JournalStorage
import JournalWeb
import LFS
import LFSStorage
import Testing

@Suite("Pages", .timeLimit(.minutes(10)))
struct PageTests {
    @Test("A record is started, stopped, changed and deleted with forms only")
    func record() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            let started = try await web.post(
                "/records", fields: [("comment", "Tea & <b>cake</b>"), ("newTag", "Home")])
            #expect(started.status == 303 && started.header("Location") == "/")
            let record = try #require(try await web.journal.loadRunningRecords().first)
            let tag = try #require(try await web.journal.loadTags().first)
            #expect(record.tags == [tag.id] && tag.name == "Home")
            let today = try await web.get("/")
            #expect(today.text.contains("Tea &amp; &lt;b&gt;cake&lt;/b&gt;") && today.text.contains("– now"))
            let stopped = try await web.post(
                "\(web.path(record))/stop", fields: [], headers: ["Referer": "\(web.origin)/timeline"])
            #expect(stopped.header("Location") == "/timeline")
            #expect(try await web.journal.loadRecord(record.id).isRunning == false)
            let changed = try await web.post(
                web.path(record),
                fields: [
                    ("comment", "Coffee\r\nand rain"), ("start", "2026-03-01T10:00:00"), ("end", "2026-03-01T11:30:00"),
                ])
            #expect(changed.status == 303)
            let stored = try await web.journal.loadRecord(record.id)
            #expect(stored.comment == "Coffee\nand rain" && stored.duration(until: Date()) == 5_400)
            #expect(stored.tags == [])
            let unsure = try await web.post("\(web.path(record))/delete")
            #expect(unsure.status == 400)
            #expect(try await web.post("\(web.path(record))/delete", fields: [("sure", "yes")]).status == 303)
            #expect(try await web.get(web.path(record)).status == 404)
        }
    }

    @Test("An unchanged form keeps milliseconds and unlisted tags")
    func unchanged() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            let gone = UUID()
            let record = TimeRecord(
                start: Date(timeIntervalSince1970: 1_770_000_000.123),
                end: Date(timeIntervalSince1970: 1_770_000_060.456),
                timeZone: .gmt, comment: "x", tags: [gone])
            try await web.journal.saveRecord(record)
            let fields = [("comment", "x"), ("start", "2026-02-02T02:40:00"), ("end", "2026-02-02T02:41:00")]
            #expect(try await web.post(web.path(record), fields: fields).status == 303)
            #expect(try await web.journal.loadRecord(record.id) == record)
        }
    }

    @Test("The timeline shows every record once, back to the first one")
    func timeline() async throws {
        try await withWeb { subject in
            let ids = (0..<120).map { _ in UUID() }
            for (number, id) in ids.enumerated() {
                // Several records start at the same time, so some of them are on both sides of a page break.
                let start = Date(timeIntervalSince1970: 1_700_000_000 + Double(number / 7) * 40_000)
                try await subject.journal.saveRecord(
                    TimeRecord(id: id, start: start, end: start.addingTimeInterval(60), timeZone: .gmt))
            }
            var (path, seen): (String?, [String]) = ("/timeline", [])
            while let next = path {
                let page = try await subject.get(next)
                #expect(page.status == 200)
                seen += page.text.matches(of: /id="record-([0-9a-f-]+)"/).map { String($0.1) }
                path = page.text.firstMatch(of: /rel="next" href="([^"]+)"/).map { String($0.1) }
            }
            #expect(seen.count == 120 && Set(seen) == Set(ids.map { $0.uuidString.lowercased() }))
        }
    }

    @Test(
        "Every page answers, and HEAD equals GET without the body",
        arguments: [
            "/", "/timeline", "/pictures", "/storage", "/storage/free?keep=1", "/settings", "/how", "/trash", "VIEW",
            "INSPECT",
            "/health",
            "/metrics",
            "/assets/journal.css", "/assets/journal.js", "/assets/icon.svg", "/login", "/nothing", "RECORD", "PICTURE",
            "THUMBNAIL", "ALBUM",
        ])
    func head(_ name: String) async throws {
        try await withWeb { options in
            options.metrics = { "x 1\n" }
        } _: { subject in
            let web = try await subject.visiting()
            let record = try await web.record()
            #expect(try await web.upload(WebSubject.picture(), to: record).status == 201)
            let image = try #require(try await web.journal.loadRecord(record.id).images.first)
            let file = try await web.journal.imageFile(filename: image, for: record)
            let album = Album(ownerID: "me", name: "Best", createdAt: Date())
            try await web.journal.saveAlbum(album)
            try await web.journal.lfs.waitForUploads()
            let path =
                [
                    "RECORD": web.path(record), "PICTURE": "\(web.path(record))/images/\(image)",
                    "THUMBNAIL": "/files/\(file.id)/thumbnail", "VIEW": "/files/\(file.id)/view",
                    "INSPECT": "/files/\(file.id)/inspect",
                    "ALBUM": "/albums/\(album.id.uuidString.lowercased())",
                ][name] ?? name
            let (get, head) = (try await web.get(path), try await web.send("HEAD", path: path))
            #expect(get.status == (name == "/nothing" ? 404 : name == "/login" ? 303 : 200))
            #expect(get.status == head.status && head.body.isEmpty)
            let volatile: Set = ["date"]
            #expect(
                get.headers.filter { !volatile.contains($0.key) } == head.headers.filter { !volatile.contains($0.key) })
        }
    }

    /// Runs a body with the id of a picture that was uploaded to a record.
    private func withPicture(_ body: (WebSubject, String) async throws -> Void) async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            let record = try await web.record()
            #expect(try await web.upload(WebSubject.picture(), to: record).status == 201)
            let image = try #require(try await web.journal.loadRecord(record.id).images.first)
            try await body(web, try await web.file(image, of: record))
        }
    }

    @Test("An album shows each of its pictures once")
    func albums() async throws {
        try await withPicture { web, picture in
            #expect(try await web.post("/albums", fields: [("name", "Best \"́ of")]).status == 303)
            let album = try #require(try await web.journal.loadAlbums(of: "me").first)
            let id = album.id.uuidString.lowercased()
            for _ in 0..<2 {
                let put = try await web.post("/albums/add", fields: [("album", id), ("picture", picture)])
                #expect(put.header("Location") == "/albums/\(id)")
            }
            let assets = try await web.journal.loadAssets(inAlbum: album.id)
            #expect(assets.count == 1)
            let page = try await web.get("/albums/\(id)")
            #expect(page.text.contains("/files/\(assets[0].fileID)/thumbnail"))
            // A combining mark does not prevent the escaping of a quotation mark.
            #expect(page.text.contains("Best &quot;\u{301} of") && !page.text.contains("\"\u{301} of"))
            // A picture that was deleted in another window is not added, and no other picture replaces it.
            let gone = try await web.post(
                "/albums/add", fields: [("album", id), ("picture", UUID().uuidString.lowercased())])
            #expect(gone.status == 400 && gone.text.contains("was deleted"))
            #expect(try await web.post("/albums/\(id)/remove", fields: [("file", "\(assets[0].fileID)")]).status == 303)
            #expect(try await web.journal.loadAssets(inAlbum: album.id).isEmpty)
            #expect(try await web.post("/albums/\(id)/delete", fields: [("sure", "yes")]).status == 303)
        }
    }

    @Test("A picture of an album is a favourite until its mark is removed")
    func favorites() async throws {
        try await withPicture { web, picture in
            #expect(try await web.post("/albums", fields: [("name", "Summer")]).status == 303)
            let id = try #require(try await web.journal.loadAlbums(of: "me").first).id
            let path = "/albums/\(id.uuidString.lowercased())"
            let other = try await web.post("\(path)/favorite", fields: [("file", picture), ("favorite", "yes")])
            #expect(other.status == 404)
            let added = [("album", id.uuidString.lowercased()), ("picture", picture)]
            #expect(try await web.post("/albums/add", fields: added).status == 303)
            for mark in ["yes", "no"] {
                let reply = try await web.post("\(path)/favorite", fields: [("file", picture), ("favorite", mark)])
                #expect(reply.header("Location") == path)
                #expect(try await web.journal.loadFavorites(inAlbum: id).map(\.value) == [mark == "yes"])
                #expect(try await web.get(path).text.contains(mark == "yes" ? "★" : "☆"))
            }
            #expect(try await web.post("\(path)/favorite", fields: [("file", "../x")]).status == 400)
        }
    }

    @Test("Each request is logged with its id and status, but without its query")
    func logs() async throws {
        try await withWeb { subject in
            _ = try await subject.get("/timeline?before=secret")
            let line = try #require(subject.logs.lines.first { $0.contains("GET /timeline") })
            #expect(line.contains("hb.request.id") && line.contains("400") && !line.contains("secret"))
        }
    }
}
