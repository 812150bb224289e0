import Foundation
import GRDB
import JournalStorage
import LFS
import LFSSettings
import Testing

@testable import JournalWeb

@Suite("The settings page", .timeLimit(.minutes(10)))
struct SettingsPageTests {
    /// Returns the CSS classes of a page that control its appearance.
    private func classes(_ web: WebSubject, path: String = "/") async throws -> Set<String> {
        let page = try await web.get(path).text
        let match = try #require(page.firstMatch(of: /<html lang="en" class="([^"]*)">/))
        return Set(match.1.split(separator: " ").map(String.init))
    }

    /// Returns the fields of the form as a browser sends them unchanged.
    private func fields(_ web: WebSubject) async throws -> [String: String] {
        let page = try await web.get("/settings").text
        var fields: [String: String] = [:]
        for match in page.matches(of: /name="(was-[a-z]+)" value="([^"]*)"/) {
            fields[String(match.1)] = String(match.2)
        }
        for (name, value) in fields where value != "off" { fields[String(name.dropFirst(4))] = value }
        return fields
    }

    private func save(_ web: WebSubject, fields: [String: String]) async throws -> HTTPReply {
        try await web.post("/settings", fields: fields.map { ($0.key, $0.value) })
    }

    @Test("Saved settings apply to every page and are shown in the form")
    func saved() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting("/settings")
            #expect(try await classes(web) == ["theme-system", "color-blue", "tiles-4"])
            var fields = try await fields(web)
            #expect(fields["tiles"] == "4" && fields["preview"] == "on" && fields["original"] == nil)
            fields.merge(["theme": "dark", "color": "violet", "tiles": "7", "whole": "on"]) { $1 }
            for name in ["colorful", "badges"] { fields[name] = nil }
            let reply = try await save(web, fields: fields)
            #expect(reply.status == 303 && reply.header("Location") == "/settings")
            let looks: Set = ["theme-dark", "color-violet", "tiles-7", "plain", "whole", "no-badges"]
            for path in ["/", "/timeline", "/pictures", "/storage", "/settings", "/nothing"] {
                #expect(try await classes(web, path: path) == looks, "\(path)")
            }
            #expect(try await web.settings.get(.themeMode) == .dark)
            let stored = try await self.fields(web)
            #expect(stored["theme"] == "dark" && stored["whole"] == "on" && stored["was-badges"] == "off")
            #expect(try await web.post("/settings/reset").status == 303)
            #expect(try await classes(web) == ["theme-system", "color-blue", "tiles-4"])
            #expect(try await web.settings.exists(.themeMode) == false)
        }
    }

    @Test("A form saves only edited fields and keeps changes of another window")
    func together() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting("/settings")
            var (one, other) = (try await fields(web), try await fields(web))
            one["color"] = "red"
            one["preview"] = nil
            other["tiles"] = "2"
            #expect(try await save(web, fields: one).status == 303)
            #expect(try await save(web, fields: other).status == 303)
            #expect(try await web.settings.get(.primaryColor) == .red)
            #expect(try await web.settings.get(.loadPreview) == false)
            #expect(try await web.settings.get(.tilesPerRow) == 2)
            // Unchanged settings are not stored, so that a later version can change their default.
            #expect(try await web.settings.exists(.themeMode) == false)
        }
    }

    @Test(
        "An invalid value or setting is refused, and the form is not stored",
        arguments: [
            ("theme", "neon"), ("color", "blue; } body { display: none"), ("tiles", "1"), ("tiles", "9"),
            ("tiles", "99999999999999999999"), ("tiles", "four"), ("tiles", ""), ("tiles", "4.5"), ("badges", "yes"),
            ("grouping", "\u{0}"), ("view.themeMode", "dark"), ("groups", "/etc"), ("was-x", "1"), ("../theme", "dark"),
            ("theme", String(repeating: "dark", count: 300_000)),
        ])
    func hostile(_ name: String, value: String) async throws {
        try await withWeb { subject in
            let web = try await subject.visiting("/settings")
            let reply = try await web.post("/settings", fields: [("color", "red"), (name, value)])
            #expect(reply.status == 400, "\(reply.status)")
            #expect(reply.text.contains("Write ") || reply.text.contains("Reload the page"))
            #expect(reply.text.utf8.count < 4_000)
            #expect(try await web.settings.exists(.primaryColor) == false)
        }
    }

    @Test("A form with a wrong token or from another site is refused")
    func foreign() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting("/settings")
            for path in ["/settings", "/settings/reset"] {
                var other = web
                other.token = String(repeating: "0", count: 64)
                #expect(try await other.post(path, fields: [("theme", "dark")]).status == 403)
                #expect(try await web.post(path, fields: [], headers: ["Origin": "http://evil.example"]).status == 403)
                #expect(try await web.post(path, fields: [], headers: ["Content-Type": "text/plain"]).status == 415)
            }
            #expect(try await web.settings.exists(.themeMode) == false)
        }
    }

    @Test("An unreadable setting is reported on the page and can be reset")
    func unreadable() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting("/settings")
            try await web.settings.set(.dark, for: .themeMode)
            try await web.settings.set(5_000_000, for: .tilesPerRow)
            try await web.journal.database.write { db in
                try db.execute(sql: "UPDATE lfs_setting SET value = X'00ff' WHERE name = 'view.themeMode'")
            }
            // A number outside the range is clamped.
            #expect(try await classes(web) == ["theme-system", "color-blue", "tiles-8"])
            let page = try await web.get("/settings")
            #expect(page.status == 200 && page.text.contains("cannot be read") && page.text.contains("view.themeMode"))
            #expect(try await web.post("/settings/reset").status == 303)
            #expect(try await web.get("/settings").text.contains("cannot be read") == false)
        }
    }

    @Test(
        "Pictures are grouped as the setting says",
        arguments: [
            (PictureGrouping.record, ["2026-03-29", "2026-03-29", "2026-03-02"]), (.day, ["2026-03-29", "2026-03-02"]),
            (.month, []), (.none, []),
        ])
    func grouping(_ grouping: PictureGrouping, headings: [String]) async throws {
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
            let found = page.matches(of: /<h3>([0-9-]+)/).map { String($0.1) }
            #expect(found == headings)
            #expect(page.contains("<h2>March 2026</h2>") == (grouping != .none))
            #expect(page.matches(of: /<figure/).count == 3)
            #expect(page.contains("href=\"/records/") == (grouping == .record))
        }
    }

    @Test("The page of a picture loads the chosen size and links to the original")
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
