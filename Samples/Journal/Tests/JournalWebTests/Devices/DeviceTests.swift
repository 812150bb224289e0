import ArgumentParser
import Foundation
import GRDB
import JournalStorage
import LFS
import LFSSettings
import LFSStorage
import LFSSync
import Logging
import Testing

@testable import JournalWeb
@testable import journal

@Suite("Two devices of one account", .timeLimit(.minutes(10)))
struct DeviceTests {
    @Test("Changes of a device appear on the other, also on open pages")
    func all() async throws {
        try await withTwoDevices { _, one, two in
            let record = try await one.record("A walk")
            try await two.shows("/timeline", text: "A walk")
            let edit = [
                ("comment", "A long walk"), ("newTag", "Outside"), ("start", "2026-02-02T02:40:00"),
                ("end", "2026-02-02T03:40:00"),
            ]
            #expect(try await one.post(one.path(record), fields: edit).status == 303)
            try await two.shows("/timeline", text: "A long walk")
            try await two.shows("/timeline", text: "Outside")
            #expect(try await one.upload(WebSubject.picture(), to: record).status == 201)
            try await one.journal.lfs.waitForUploads()
            let name = try #require(try await one.journal.loadRecord(record.id).images.first)
            try await two.shows(two.path(record), text: "badge remote")
            #expect(try await two.journal.loadImage(filename: name, for: record) == WebSubject.picture())
            #expect(try await two.post("/albums", fields: [("name", "Summer")]).status == 303)
            let album = try #require(try await two.journal.loadAlbums(of: "me").first)
            let put = [("album", album.id.uuidString.lowercased()), ("picture", try await two.file(name, of: record))]
            #expect(try await two.post("/albums/add", fields: put).status == 303)
            try await one.shows("/albums/\(album.id.uuidString.lowercased())", text: "badge remote")
            #expect(try await one.journal.loadAssets(inAlbum: album.id).count == 1)
        }
    }

    @Test("Without --sync, a journal syncs with the server or the endpoint of its login", arguments: [false, true])
    func login(hasEndpoint: Bool) async throws {
        try await withStand { stand in
            try await stand.device("one") { one in
                let token = try await stand.token("ann")
                try await withWeb { two in
                    // The endpoint takes precedence over the server, which does not exist then.
                    let server = try #require(URL(string: hasEndpoint ? "https://journal.example" : stand.url))
                    try await AccountSettings.logIn(
                        server: server, endpoint: hasEndpoint ? URL(string: stand.url) : nil, token: token,
                        two.settings)
                    let arguments = try SyncArguments.parse([])
                    let logger = Logger(label: "test") { _ in LogBook() }
                    let sync = try #require(
                        try await arguments.open(two.journal, settings: two.settings, logger: logger))
                    _ = try await one.visiting().record("A walk")
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask { try await sync.run() }
                        try await two.visiting().shows("/timeline", text: "A walk")
                        group.cancelAll()
                    }
                }
            }
        }
    }

    @Test("A picture that is not uploaded yet has a placeholder on the other device")
    func placeholder() async throws {
        try await withTwoDevices { _, one, two in
            one.journal.lfs.pause()
            let record = try await one.record("A walk")
            #expect(try await one.upload(WebSubject.picture(), to: record).status == 201)
            try await two.shows(two.path(record), text: "badge elsewhere")
            let page = try await two.get(two.path(record))
            #expect(page.text.contains("has not uploaded it yet"))
            let thumbnail = try #require(page.text.firstMatch(of: /src="(\/files\/[^"]*elsewhere)"/)).1
            #expect(try await two.get(String(thumbnail)).header("Content-Type") == "image/svg+xml")
            one.journal.lfs.resume()
            try await two.shows(two.path(record), text: "badge remote")
        }
    }

    @Test("Offline edits of both devices are merged when the server is back")
    func offline() async throws {
        try await withTwoDevices { stand, one, two in
            let record = try await one.record("A walk")
            let tag = Tag(name: "Outside")
            try await one.journal.addTag(tag)
            try await two.shows("/", text: "Outside")
            try await two.shows("/timeline", text: "A walk")
            try await stand.stop()
            try await one.shows("/", text: "Sync with other devices is interrupted")

            // The devices change different columns of one record, and each adds a tag, a picture and a record.
            var (first, second) = (record, record)
            first.comment = "A long walk"
            first.tags = [tag.id]
            try await one.journal.updateRecord(first)
            let other = Tag(name: "Work")
            try await two.journal.addTag(other)
            second.end = record.end?.addingTimeInterval(60)
            second.tags = [other.id]
            try await two.journal.updateRecord(second)
            for (web, seed) in [(one, UInt8(1)), (two, 2)] {
                let reply = try await web.upload(WebSubject.picture(seed: seed), to: record)
                #expect(reply.status == 201)
                try await web.journal.lfs.waitForUploads()
            }
            try await one.journal.saveRecord(TimeRecord(start: record.start, end: record.start, comment: "Of one"))
            try await two.journal.saveRecord(TimeRecord(start: record.start, end: record.start, comment: "Of two"))
            let waiting = try await one.journal.database.read { try SyncReport.fetch($0)?.pending }
            #expect(waiting ?? 0 > 4)
            #expect(try await one.get("/storage").text.contains("Pending</dt><dd>\(waiting ?? 0) changes"))

            try await stand.start()
            let end = second.end
            for web in [one, two] {
                for text in ["A long walk", "Of one", "Of two", "Work"] { try await web.shows("/timeline", text: text) }
                try await web.until { web in
                    let found = try await web.journal.loadRecord(record.id)
                    return Set(found.tags) == [tag.id, other.id] && found.images.count == 2 && found.end == end
                }
                try await web.until { web in
                    let found = try await web.journal.loadRecord(record.id)
                    return try await web.journal.storedImages(of: [found]).values.allSatisfy {
                        $0.file.status == .remote
                    }
                }
                let found = try await web.journal.loadRecord(record.id)
                #expect(found.comment == "A long walk")
                // Both devices gave their picture the same name, and both pictures are kept.
                var seen: Set<Data> = []
                for name in found.images { seen.insert(try await web.journal.loadImage(filename: name, for: found)) }
                #expect(seen == [WebSubject.picture(seed: 1), WebSubject.picture(seed: 2)])
                #expect(try await web.journal.damagedRecords() == [])
            }
            let (here, there) = (
                try await one.journal.loadRecord(record.id), try await two.journal.loadRecord(record.id)
            )
            #expect(here == there)
            try await one.shows("/storage", text: "Pending</dt><dd>0 changes")
        }
    }

    @Test("An outdated form changes only the fields that were edited in it")
    func olderForm() async throws {
        try await withTwoDevices { _, one, two in
            let tags = [Tag(name: "Kept"), Tag(name: "Gone"), Tag(name: "Theirs"), Tag(name: "Ours")]
            try await one.journal.saveTags(tags)
            var record = try await one.record("A walk\nby the river")
            let id = record.id
            record.tags = [tags[0].id, tags[1].id]
            try await one.journal.updateRecord(record)
            try await two.shows("/timeline", text: "Kept")
            let page = try await two.get(two.path(record)).text
            var fields = page.matches(of: /name="(was-[a-z]+)" value="([^"]*)"/).map { (String($0.1), String($0.2)) }
            #expect(fields.count == 5)

            // The other device changes the comment and the start, and adds a tag.
            record.comment = "A long walk"
            record.start -= 60
            record.tags.append(tags[2].id)
            try await one.journal.updateRecord(record)
            try await two.until { web in
                let found = try await web.journal.loadRecord(id)
                return found.comment == "A long walk" && found.tags.count == 3
            }
            // On this device, a tag is removed, a tag is added, and the end is changed. Browsers omit seconds that are
            // zero.
            fields += [
                ("comment", "A walk\r\nby the river"), ("start", "2026-02-02T02:40"), ("end", "2026-02-02T03:41"),
                ("tag", tags[0].id.uuidString), ("tag", tags[3].id.uuidString),
            ]
            #expect(try await two.post(two.path(record), fields: fields).status == 303)
            let tagged = Set([tags[0].id, tags[2].id, tags[3].id])
            for web in [one, two] {
                try await web.until { web in try await Set(web.journal.loadRecord(id).tags) == tagged }
                let found = try await web.journal.loadRecord(id)
                #expect(found.comment == "A long walk" && found.start == record.start)
                #expect(found.end == record.end?.addingTimeInterval(60))
            }
        }
    }

    @Test("A picture that is deleted on one device can be restored on the other")
    func trash() async throws {
        try await withTwoDevices { stand, one, two in
            let record = try await one.record("A walk")
            #expect(try await one.upload(WebSubject.picture(), to: record).status == 201)
            try await two.shows(two.path(record), text: "badge remote")
            let name = try #require(try await one.journal.loadRecord(record.id).images.first)
            let file = [("file", try await one.file(name, of: record))]
            #expect(try await one.post("\(one.path(record))/images/\(name)/delete", fields: file).status == 303)
            try await two.until { try await $0.journal.loadRecord(record.id).images.isEmpty }
            #expect(try await two.journal.loadDeletedImages(limit: 10).count == 1)
            #expect(try await two.post("/trash/restore", fields: file).status == 303)
            try await one.until { try await $0.journal.loadRecord(record.id).images == [name] }
            #expect(stand.storage.keys.count == 1)
        }
    }

    @Test("A record that is deleted on one device is deleted on the other, with its objects")
    func deleted() async throws {
        try await withTwoDevices { stand, one, two in
            let record = try await one.record("A walk")
            #expect(try await one.upload(WebSubject.picture(), to: record).status == 201)
            try await two.shows(two.path(record), text: "badge remote")
            #expect(try await two.post(two.path(record) + "/delete", fields: [("sure", "yes")]).status == 303)
            try await one.until { try await $0.journal.loadAllRecords().isEmpty }
            for web in [one, two] {
                try await web.until { try await $0.journal.database.read { try FileData.fetchCount($0) } == 0 }
            }
            _ = try await two.journal.lfs.waitForDeletions()
            #expect(stand.storage.keys.isEmpty)
        }
    }

    @Test("The storage page shows the sync state and a rejected token")
    func states() async throws {
        try await withStand { stand in
            let token = SyncStand.Token("0".padding(toLength: 43, withPad: "0", startingAt: 0))
            try await stand.device("one", token: token) { subject in
                let web = try await subject.visiting()
                try await web.shows("/", text: "refuses this device&#39;s token")
                #expect(try await web.get("/storage").text.contains("none since the journal was started"))
                token.replace(try await stand.token("ann"))
                try await web.shows("/storage", text: "Pending</dt><dd>0 changes")
                try await web.until { !(try await $0.get("/").text.contains("refuses")) }
                let page = try await web.get("/storage").text
                #expect(page.contains("Last sync</dt><dd>20") && page.contains("Refused by the server</dt><dd>0"))
            }
        }
    }

    @Test("The account that the server has sent is stored and shown")
    func account() async throws {
        try await withTwoDevices { _, one, two in
            for web in [one, two] { try await web.until { try await $0.settings.exists(.accountUser) } }
            let user = try await one.settings.get(.accountUser)
            #expect(try await two.settings.get(.accountUser) == user)
            try await one.settings.set("https://photos.example", for: .accountServerURL)
            let page = try await one.get("/settings").text
            #expect(page.contains("<dd>https://photos.example</dd>") && page.contains("<dd>\(user)</dd>"))
        }
    }

    @Test("Without --sync, no page mentions other devices")
    func alone() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            #expect(try await !web.get("/storage").text.contains("Other devices"))
        }
    }
}
