import Foundation
import JournalStorage
import LFS
import Testing

@testable import JournalWeb

@Suite("The page with all pictures", .timeLimit(.minutes(10)))
struct GridTests {
    /// Adds a record with pictures.
    private func add(
        _ count: Int, at time: String, comment: String = "Walk", tags: [UUID] = [], to web: WebSubject
    ) async throws -> TimeRecord {
        let start = try Date(time, strategy: .iso8601)
        let record = TimeRecord(start: start, end: start, timeZone: .gmt, comment: comment, tags: tags)
        try await web.journal.saveRecord(record)
        for number in 0..<count {
            let data = WebSubject.picture(100 + number)
            _ = try await web.journal.addImage(from: .bytes(data), for: record, fileExtension: "png")
        }
        return record
    }

    private func files(_ page: HTTPReply) -> [String] {
        page.text.matches(of: /<figure class="picture" data-file="([0-9a-f-]+)"/).map { String($0.1) }
    }

    private func found(_ query: String, in web: WebSubject) async throws -> Int {
        let text = query.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        return files(try await web.get("/pictures?q=\(text)")).count
    }

    @Test("A large month has parts, and each picture is in one of them")
    func parts() async throws {
        try await withWeb { web in
            _ = try await add(40, at: "2026-03-02T10:00:00Z", to: web)
            _ = try await add(30, at: "2026-03-29T10:00:00Z", to: web)
            _ = try await add(1, at: "2026-01-02T10:00:00Z", to: web)
            let page = try await web.get("/pictures")
            #expect(files(page).count == 60)
            #expect(page.text.contains("Show 10 pictures") && page.text.contains("Show 1 picture<"))
            #expect(page.text.contains("href=\"#m-2026-03\">March 2026") && page.text.contains("id=\"m-2026-01\""))
            let rest = try await web.get("/pictures?month=2026-03&part=1")
            #expect(files(rest).count == 10 && Set(files(page) + files(rest)).count == 70)
            #expect(files(try await web.get("/pictures?month=2026-01&part=0")).count == 1)
        }
    }

    @Test("A picture is in the month of the page's time zone")
    func zone() async throws {
        try await withWeb { options in
            options.timeZone = TimeZone(secondsFromGMT: 9 * 3_600) ?? .gmt
        } _: { web in
            _ = try await add(1, at: "2026-02-28T20:00:00Z", to: web)
            let page = try await web.get("/pictures")
            #expect(page.text.contains("<h2>March 2026</h2>"))
            #expect(files(try await web.get("/pictures?month=2026-03&part=0")) == files(page))
            #expect(files(try await web.get("/pictures?month=2026-02&part=0")).isEmpty)
        }
    }

    @Test("A search finds pictures by the text, tag, album and date of their record")
    func search() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            let tag = Tag(name: "Outside")
            try await web.journal.addTag(tag)
            let walk = try await add(2, at: "2026-03-29T10:00:00Z", comment: "Along the 100% river", to: web)
            _ = try await add(1, at: "2026-01-02T10:00:00Z", comment: "Tea", tags: [tag.id], to: web)
            let name = try #require(try await web.journal.loadRecord(walk.id).images.first)
            #expect(try await web.post("/albums", fields: [("name", "Summer")]).status == 303)
            let album = try #require(try await web.journal.loadAlbums(of: "me").first)
            let put = [("album", album.id.uuidString.lowercased()), ("picture", try await web.file(name, of: walk))]
            #expect(try await web.post("/albums/add", fields: put).status == 303)
            let cases = [
                ("RIVER", 2), ("river along", 2), ("river tea", 0), ("outside", 1), ("summer", 1), ("2026", 3),
                ("2026-03", 2), ("2026-03-28", 0), ("2026-01-02 tea", 1), ("0% r", 2), ("100_", 0), ("'; --", 0),
            ]
            for (query, count) in cases { #expect(try await found(query, in: web) == count, "\(query)") }
            #expect(try await web.get("/pictures?q=%3Cb%3E").text.contains("value=\"&lt;b&gt;\""))
        }
    }

    @Test("Chosen pictures of several records are deleted together")
    func chosen() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            _ = try await add(2, at: "2026-03-29T10:00:00Z", to: web)
            _ = try await add(1, at: "2026-01-02T10:00:00Z", to: web)
            let all = files(try await web.get("/pictures")) + files(try await web.get("/pictures?month=2026-01&part=0"))
            let chosen = Set([all[0], all[all.count - 1]])
            #expect(try await web.post("/pictures/delete").status == 400)
            let reply = try await web.post("/pictures/delete", fields: chosen.map { ("picture", $0) })
            #expect(reply.header("Location") == "/trash")
            let deleted = try await web.journal.loadDeletedImages(limit: 10).map { "\($0.image.file.id)" }
            #expect(Set(deleted) == chosen)
        }
    }
}
