import Foundation
import GRDB
import JournalStorage
import LFS
import LFSSettings
import Testing

@testable import JournalWeb

@Suite("The page with the settings", .timeLimit(.minutes(10)))
struct SettingsPageTests {
    /// The classes that a page has its looks by.
    private func classes(_ web: WebSubject, _ path: String = "/") async throws -> Set<String> {
        let page = try await web.get(path).text
        let match = try #require(page.firstMatch(of: /<html lang="en" class="([^"]*)">/))
        return Set(match.1.split(separator: " ").map(String.init))
    }

    /// The fields of the form as a browser that loads the page and sends it unchanged.
    private func fields(_ web: WebSubject) async throws -> [String: String] {
        let page = try await web.get("/settings").text
        var fields: [String: String] = [:]
        for match in page.matches(of: /name="(was-[a-z]+)" value="([^"]*)"/) {
            fields[String(match.1)] = String(match.2)
        }
        for (name, value) in fields where value != "off" { fields[String(name.dropFirst(4))] = value }
        return fields
    }

    private func save(_ web: WebSubject, _ fields: [String: String]) async throws -> HTTPReply {
        try await web.post("/settings", fields.map { ($0.key, $0.value) })
    }

    @Test("What is saved counts on each page, and stands in the form the next time")
    func saved() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting("/settings")
            #expect(try await classes(web) == ["theme-system", "color-blue", "tiles-4"])
            var fields = try await fields(web)
            #expect(fields["tiles"] == "4" && fields["preview"] == "on" && fields["original"] == nil)
            fields.merge(["theme": "dark", "color": "violet", "tiles": "7", "whole": "on"]) { $1 }
            for name in ["colorful", "badges"] { fields[name] = nil }
            let reply = try await save(web, fields)
            #expect(reply.status == 303 && reply.header("Location") == "/settings")
            let looks: Set = ["theme-dark", "color-violet", "tiles-7", "plain", "whole", "no-badges"]
            for path in ["/", "/timeline", "/pictures", "/storage", "/settings", "/nothing"] {
                #expect(try await classes(web, path) == looks, "\(path)")
            }
            #expect(try await web.settings.get(.themeMode) == .dark)
            let stored = try await self.fields(web)
            #expect(stored["theme"] == "dark" && stored["whole"] == "on" && stored["was-badges"] == "off")
            #expect(try await web.post("/settings/reset").status == 303)
            #expect(try await classes(web) == ["theme-system", "color-blue", "tiles-4"])
            #expect(try await web.settings.exists(.themeMode) == false)
        }
    }

    @Test("A form changes only what was changed in it, and not what another window has saved meanwhile")
    func together() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting("/settings")
            var (one, other) = (try await fields(web), try await fields(web))
            one["color"] = "red"
            one["preview"] = nil
            other["tiles"] = "2"
            #expect(try await save(web, one).status == 303)
            #expect(try await save(web, other).status == 303)
            #expect(try await web.settings.get(.primaryColor) == .red)
            #expect(try await web.settings.get(.loadPreview) == false)
            #expect(try await web.settings.get(.tilesPerRow) == 2)
            // What nobody has changed is not stored either, so that another default of a later version counts.
            #expect(try await web.settings.exists(.themeMode) == false)
        }
    }

    @Test(
        "What is no value, or no setting, is refused with a sentence, and nothing of the form is stored",
        arguments: [
            ("theme", "neon"), ("color", "blue; } body { display: none"), ("tiles", "1"), ("tiles", "9"),
            ("tiles", "99999999999999999999"), ("tiles", "four"), ("tiles", ""), ("tiles", "4.5"), ("badges", "yes"),
            ("grouping", "\u{0}"), ("view.themeMode", "dark"), ("groups", "/etc"), ("was-x", "1"), ("../theme", "dark"),
            ("theme", String(repeating: "dark", count: 300_000)),
        ])
    func hostile(_ name: String, _ value: String) async throws {
        try await withWeb { subject in
            let web = try await subject.visiting("/settings")
            let reply = try await web.post("/settings", [("color", "red"), (name, value)])
            #expect(reply.status == 400, "\(reply.status)")
            #expect(reply.text.contains("Write ") || reply.text.contains("Load the page again"))
            #expect(reply.text.utf8.count < 4_000)
            #expect(try await web.settings.exists(.primaryColor) == false)
        }
    }

    @Test("A form of another page, of nobody or of another site is refused")
    func foreign() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting("/settings")
            for path in ["/settings", "/settings/reset"] {
                var other = web
                other.token = String(repeating: "0", count: 64)
                #expect(try await other.post(path, [("theme", "dark")]).status == 403)
                #expect(try await web.post(path, [], ["Origin": "http://evil.example"]).status == 403)
                #expect(try await web.post(path, [], ["Content-Type": "text/plain"]).status == 415)
            }
            #expect(try await web.settings.exists(.themeMode) == false)
        }
    }

    @Test("A setting that cannot be read takes no page away, is named, and is put back with the others")
    func unreadable() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting("/settings")
            try await web.settings.set(.dark, for: .themeMode)
            try await web.settings.set(5_000_000, for: .tilesPerRow)
            try await web.journal.database.write { db in
                try db.execute(sql: "UPDATE lfs_setting SET value = X'00ff' WHERE name = 'view.themeMode'")
            }
            // A number that no version of the page has stored is brought into its range.
            #expect(try await classes(web) == ["theme-system", "color-blue", "tiles-8"])
            let page = try await web.get("/settings")
            #expect(page.status == 200 && page.text.contains("cannot be read") && page.text.contains("view.themeMode"))
            #expect(try await web.post("/settings/reset").status == 303)
            #expect(try await web.get("/settings").text.contains("cannot be read") == false)
        }
    }

    @Test(
        "Pictures stand together by what is chosen",
        arguments: [
            (PictureGrouping.record, ["2026-03-29", "2026-03-29", "2026-03-02"]), (.day, ["2026-03-29", "2026-03-02"]),
            (.month, ["2026-03"]), (.none, []),
        ])
    func grouping(_ grouping: PictureGrouping, _ headings: [String]) async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            for (number, time) in ["2026-03-02T10:00:00Z", "2026-03-29T10:00:00Z", "2026-03-29T12:00:00Z"].enumerated()
            {
                let start = try Date(time, strategy: .iso8601)
                let record = TimeRecord(start: start, end: start, timeZone: .gmt, comment: "x")
                try await web.journal.saveRecord(record)
                #expect(try await web.upload(WebSubject.picture(seed: UInt8(number)), to: record).status == 201)
            }
            try await web.settings.set(grouping, for: .groupPicturesBy)
            let page = try await web.get("/pictures").text
            let found = page.matches(of: /<section><h2>([0-9-]+)/).map { String($0.1) }
            #expect(found == headings)
            #expect(page.matches(of: /<figure/).count == 3)
            #expect(page.contains("href=\"/records/") == (grouping == .record))
        }
    }

    @Test("The page of a picture loads what is chosen, and leads to the picture itself")
    func single() async throws {
        try await withWeb(makesThumbnails: true) { subject in
            let web = try await subject.visiting()
            let record = try await web.record()
            #expect(try await web.upload(WebSubject.picture(), to: record).status == 201)
            let id = try await web.file(
                try #require(try await web.journal.loadRecord(record.id).images.first), of: record)
            #expect(try await web.get("/pictures").text.contains("<a href=\"/files/\(id)/view\">"))
            for (preview, original, source) in [
                (true, false, "/preview"), (false, false, "/thumbnail"), (true, true, ""), (false, true, ""),
            ] {
                try await web.settings.set(preview, for: .loadPreview)
                try await web.settings.set(original, for: .loadOriginal)
                let page = try await web.get("/files/\(id)/view")
                #expect(page.text.contains("<img src=\"/files/\(id)\(source)\""), "\(preview) \(original)")
                #expect(page.text.contains("<a href=\"/files/\(id)\">"))
            }
            #expect(try await web.get("/files/\(UUID().uuidString.lowercased())/view").status == 404)
        }
    }
}
