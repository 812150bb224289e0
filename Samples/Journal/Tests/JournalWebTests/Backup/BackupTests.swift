import Foundation
import JournalStorage
import LFS
import LFSBackup
import LFSSettings
import LFSStorage
import Logging
import Testing

@testable import JournalWeb

@Suite("Backup of folders", .timeLimit(.minutes(10)))
struct BackupTests {
    @Test("A folder with an equivalent name of other bytes is outside of a root")
    func equivalentNames() {
        #expect(ResolvedRoots.isInside("/srv/caf\u{E9}/camera", folder: "/srv/caf\u{E9}"))
        #expect(ResolvedRoots.isInside("/srv/caf\u{E9}", folder: "/srv/caf\u{E9}"))
        #expect(!ResolvedRoots.isInside("/srv/cafe\u{301}/camera", folder: "/srv/caf\u{E9}"))
        #expect(!ResolvedRoots.isInside("/srv/cafe\u{301}", folder: "/srv/caf\u{E9}"))
        #expect(ResolvedRoots.isInside("/srv", folder: "/"))
    }

    /// Serves a journal whose server allows the folder `photos` next to the database. The backup does not run
    /// automatically.
    private func withBackup(
        storage: any RemoteStorage = InMemoryStorage(), isOnFolder: Bool = true, power: DeviceState.Power = .mains,
        _ body: (WebSubject, FolderBackup, URL) async throws -> Void
    ) async throws {
        let box = Box()
        try await withWeb(
            storage: storage,
            backup: BackupMaker { journal, settings, folder in
                let own = ["journal.sqlite", "journal.sqlite.lfs", "state", "photos/own"].map {
                    folder.appending(path: $0).path
                }
                let backup = FolderBackup(
                    journal, settings: settings,
                    roots: BackupRoots([folder.appending(path: "photos").path], excluding: own), isOnFolder: isOnFolder,
                    timeZone: .gmt, interval: .seconds(86_400),
                    device: { DeviceState(network: .mobile("wwan0"), power: power) },
                    logger: Logger(label: "test") { _ in LogBook() })
                box.backup = backup
                return backup
            }
        ) { subject in
            let photos = subject.folder.appending(path: "photos")
            for name in ["camera", "camera/private", "own"] {
                try FileManager.default.createDirectory(
                    at: photos.appending(path: name), withIntermediateDirectories: true)
            }
            try await body(try await subject.visiting("/settings"), try #require(box.backup), photos)
        }
    }

    private final class Box { var backup: FolderBackup? }

    private func write(_ bytes: Data, url: URL, day: Int = 1) throws {
        try bytes.write(to: url)
        let date = Date(timeIntervalSince1970: 1_770_000_000 + Double(day) * 86_400)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: url.path)
    }

    private func list(_ url: URL, mode: String, web: WebSubject) async throws -> HTTPReply {
        try await web.post("/settings/backup/groups", fields: [("path", url.path), ("mode", mode)])
    }

    @Test("Pictures of included folders are saved in one record per day")
    func folders() async throws {
        try await withBackup { web, backup, photos in
            let camera = photos.appending(path: "camera")
            try write(WebSubject.picture(seed: 1), url: camera.appending(path: "a.png"))
            try write(WebSubject.picture(seed: 2), url: camera.appending(path: "b"), day: 1)
            try write(WebSubject.picture(seed: 3), url: camera.appending(path: "c.jpg"), day: 2)
            // Equal bytes are stored once.
            try write(WebSubject.picture(seed: 3), url: camera.appending(path: "d.png"), day: 3)
            try write(Data("no picture".utf8), url: camera.appending(path: "e.png"))
            try write(WebSubject.picture(seed: 4), url: camera.appending(path: "private/f.png"))
            try write(WebSubject.picture(seed: 5), url: web.folder.appending(path: "outside.png"))
            try FileManager.default.createSymbolicLink(
                at: camera.appending(path: "g.png"), withDestinationURL: web.folder.appending(path: "outside.png"))
            #expect(try await list(camera, mode: "include", web: web).status == 303)
            #expect(try await list(camera.appending(path: "private"), mode: "exclude", web: web).status == 303)
            await backup.backUp()
            #expect(backup.state.value.trouble == nil && backup.state.value.report?.failed == 0)
            let records = try await web.journal.loadAllRecords().sorted { $0.start < $1.start }
            #expect(records.map(\.images.count) == [2, 1] && records.allSatisfy { $0.comment == "Pictures of camera" })
            #expect(records.map { Int($0.start.timeIntervalSince1970) } == [1_770_086_400, 1_770_172_800])
            #expect(records.flatMap(\.images).allSatisfy { $0.hasSuffix(".png") })
            let page = try await web.get("/settings").text
            #expect(page.contains("3 new pictures") && page.contains("included (last ") && page.contains("excluded"))
            // A second run changes nothing.
            await backup.backUp()
            #expect(backup.state.value.report?.attached == 0 && backup.state.value.report?.unchanged == 4)
            let again = try await web.journal.loadAllRecords().sorted { $0.start < $1.start }
            #expect(again.map(\.id) == records.map(\.id) && again.map(\.images) == records.map(\.images))
        }
    }

    @Test("A folder is listed with its name, or with the last part of its path")
    func names() async throws {
        try await withBackup { web, _, photos in
            let camera = photos.appending(path: "camera").path
            let listed = try await list(photos.appending(path: "camera"), mode: "include", web: web)
            #expect(listed.status == 303)
            #expect(try await web.settings.get(.backupGroups).map(\.title) == ["camera"])
            let named = [("path", camera), ("mode", "include"), ("name", " Our <holidays> ")]
            #expect(try await web.post("/settings/backup/groups", fields: named).status == 303)
            #expect(try await web.settings.get(.backupGroups).map(\.name) == ["Our <holidays>"])
            #expect(try await web.get("/settings").text.contains("<span>Our &lt;holidays&gt;</span>"))
            // A change of the mode alone keeps the name.
            #expect(try await list(photos.appending(path: "camera"), mode: "exclude", web: web).status == 303)
            #expect(try await web.settings.get(.backupGroups).map(\.name) == ["Our <holidays>"])
            let long = [("path", camera), ("mode", "include"), ("name", String(repeating: "x", count: 201))]
            #expect(try await web.post("/settings/backup/groups", fields: long).status == 400)
        }
    }

    @Test("Changed pictures are replaced, and deleted or manually added ones respected")
    func changes() async throws {
        try await withBackup { web, backup, photos in
            let camera = photos.appending(path: "camera")
            let own = try await web.record()
            #expect(try await web.upload(WebSubject.picture(seed: 9), to: own).status == 201)
            for seed in [UInt8(1), 2, 9] {
                try write(WebSubject.picture(seed: seed), url: camera.appending(path: "\(seed).png"))
            }
            #expect(try await list(camera, mode: "include", web: web).status == 303)
            await backup.backUp()
            let made = try #require(try await web.journal.loadAllRecords().first { $0.id != own.id })
            #expect(made.images.count == 2)
            try await web.journal.deleteImage(filename: made.images[0], for: made)
            _ = try await web.journal.lfs.waitForDeletions()
            // The second of the two pictures, and the manually added one, are edited.
            let left = try await web.journal.loadImage(filename: made.images[1], for: made)
            let name = left == WebSubject.picture(seed: 1) ? "1" : "2"
            try write(WebSubject.picture(seed: 21), url: camera.appending(path: "\(name).png"), day: 5)
            try write(WebSubject.picture(seed: 22), url: camera.appending(path: "9.png"), day: 1)
            await backup.backUp()
            #expect(
                backup.state.value.report?.declined == 1 && backup.state.value.report?.attached == 2,
                "\(backup.state.value)")
            let after = try await web.journal.loadRecord(made.id)
            var bytes: Set<Data> = []
            for image in after.images { bytes.insert(try await web.journal.loadImage(filename: image, for: after)) }
            #expect(bytes == [WebSubject.picture(seed: 21), WebSubject.picture(seed: 22)])
            let kept = try await web.journal.loadRecord(own.id)
            let first = try #require(kept.images.first)
            #expect(try await web.journal.loadImage(filename: first, for: kept) == WebSubject.picture(seed: 9))
        }
    }

    @Test("The object of a changed picture is kept, and the trash shows the picture")
    func replaced() async throws {
        let storage = InMemoryStorage()
        try await withBackup(storage: storage) { web, backup, photos in
            let file = photos.appending(path: "camera/a.png")
            try write(WebSubject.picture(seed: 1), url: file)
            #expect(try await list(photos.appending(path: "camera"), mode: "include", web: web).status == 303)
            await backup.backUp()
            try await web.journal.lfs.waitForUploads()
            let old = storage.keys
            #expect(old.count == 1)
            // The new bytes wait, as for Wi-Fi.
            try await web.settings.set(Duration.seconds(3_600), for: .backupDelay)
            try write(WebSubject.picture(seed: 2), url: file, day: 5)
            await backup.backUp()
            #expect(backup.state.value.report?.attached == 1, "\(backup.state.value)")
            _ = try await web.journal.lfs.waitForDeletions()
            #expect(storage.keys == old)
            let record = try #require(try await web.journal.loadAllRecords().first)
            #expect(record.images.count == 1)
            #expect(try await shown(record, web: web) == WebSubject.picture(seed: 2))
            let trash = try await web.journal.loadDeletedImages(limit: 10)
            #expect(trash.map(\.image.file.key) == old.map { "\($0)" })
            // The picture can be restored.
            try await web.journal.restoreImage(try #require(trash.first).image.file.id)
            #expect(try await web.journal.loadRecord(record.id).images.count == 2)
        }
    }

    @Test("A picture that is changed back leaves the trash, and its changed form enters it")
    func changedBack() async throws {
        try await withBackup { web, backup, photos in
            let file = photos.appending(path: "camera/a.png")
            #expect(try await list(photos.appending(path: "camera"), mode: "include", web: web).status == 303)
            for (day, seed) in [UInt8(1), 2, 1].enumerated() {
                try write(WebSubject.picture(seed: seed), url: file, day: day)
                await backup.backUp()
                // The bytes of an original that is not uploaded are lost when it changes.
                try await web.journal.lfs.waitForUploads()
                let record = try #require(try await web.journal.loadAllRecords().first { !$0.images.isEmpty })
                #expect(try await shown(record, web: web) == WebSubject.picture(seed: seed))
            }
            let trash = try await web.journal.loadDeletedImages(limit: 10)
            let bytes = try await web.journal.lfs.data(of: try #require(trash.first).image.file)
            #expect(trash.count == 1 && bytes == WebSubject.picture(seed: 2))
        }
    }

    private func shown(_ record: TimeRecord, web: WebSubject) async throws -> Data {
        try await web.journal.loadImage(filename: try #require(record.images.first), for: record)
    }

    @Test("A picture that was deleted stays in the trash while its original has the bytes")
    func trashed() async throws {
        try await withBackup { web, backup, photos in
            let camera = photos.appending(path: "camera")
            try write(WebSubject.picture(seed: 1), url: camera.appending(path: "a.png"))
            #expect(try await list(camera, mode: "include", web: web).status == 303)
            await backup.backUp()
            let record = try #require(try await web.journal.loadAllRecords().first)
            let file = try await web.journal.imageFile(filename: try #require(record.images.first), for: record)
            try await web.journal.trashImage(file.id, for: record)
            try write(WebSubject.picture(seed: 1), url: camera.appending(path: "b.png"))
            await backup.backUp()
            #expect(backup.state.value.report?.failed == 0, "\(backup.state.value)")
            #expect(try await web.journal.loadRecord(record.id).images.isEmpty)
            #expect(try await web.journal.loadDeletedImages(limit: 10).count == 1)
        }
    }

    @Test("A folder outside the allowed root is refused and not read")
    func outside() async throws {
        try await withBackup { web, backup, photos in
            let outside = web.folder.appending(path: "elsewhere")
            try FileManager.default.createDirectory(at: outside, withIntermediateDirectories: true)
            try write(WebSubject.picture(seed: 7), url: outside.appending(path: "a.png"))
            let link = photos.appending(path: "link")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: outside)
            for path in [
                outside.path, link.path, "\(photos.path)/../elsewhere", "/", "/etc", "camera", "",
                "\(photos.path)/none",
                "\(photos.path)/own", "\(photos.path)\u{0}", photos.path + "s", String(repeating: "/a", count: 9_000),
            ] {
                let reply = try await web.post(
                    "/settings/backup/groups", fields: [("path", path), ("mode", "include")])
                #expect(reply.status == 400, "\(path.prefix(80))")
            }
            let stored = try await web.settings.get(.backupGroups)
            #expect(stored.isEmpty)
            let camera = photos.appending(path: "camera")
            #expect(try await list(camera, mode: "include", web: web).status == 303)
            try FileManager.default.removeItem(at: camera)
            try FileManager.default.createSymbolicLink(at: camera, withDestinationURL: outside)
            await backup.backUp()
            #expect(try await web.journal.loadAllRecords().isEmpty)
            #expect(try await web.get("/settings").text.contains("is not a folder in "))
            // If an exclusion cannot be resolved, no picture is saved.
            try await web.settings.set(
                [BackupGroup(photos.path, mode: .include), BackupGroup("\(photos.path)/gone", mode: .exclude)],
                for: .backupGroups)
            try write(WebSubject.picture(seed: 8), url: photos.appending(path: "b.png"))
            await backup.backUp()
            #expect(backup.state.value.report == nil && backup.state.value.trouble != nil)
            #expect(try await web.journal.loadAllRecords().isEmpty)
        }
    }

    @Test("A failed backup is reported to open pages")
    func told() async throws {
        try await withBackup { web, backup, photos in
            try await web.settings.set([BackupGroup("\(photos.path)/gone", mode: .exclude)], for: .backupGroups)
            let history = FileHistory(web.journal.lfs.events(), times: LocalTime(.gmt))
            let feed = LiveFeed(journal: web.journal, history: history, backup: backup)
            let (told, continuation) = AsyncStream.makeStream(of: LiveMessage.self)
            let running = Task { try await feed.run() }
            let watching = Task { try await feed.watch { message, _ in continuation.yield(message) } }
            var messages = told.makeAsyncIterator()
            // From this message on, every change is sent.
            guard case .storage? = await messages.next() else { throw CancellationError() }
            await backup.backUp()
            #expect(backup.state.value.trouble != nil)
            var isTold = false
            if case .changed? = await messages.next() { isTold = true }
            #expect(isTold)
            for task in [running, watching] {
                task.cancel()
                _ = await task.result
            }
        }
    }

    @Test("Without --backup-root, the backup has no form, and its requests are refused")
    func absent() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting("/settings")
            #expect(try await web.get("/settings").text.contains("Backup of folders") == false)
            for (path, fields) in [
                ("", [("automatic", "on")]), ("/groups", [("path", "/etc"), ("mode", "include")]), ("/run", []),
            ] {
                let reply = try await web.post("/settings/backup\(path)", fields: fields)
                #expect(reply.status == 404 && reply.text.contains("--backup-root"))
            }
            #expect(try await web.settings.exists(.backupAutomatic) == false)
            #expect(try await web.settings.exists(.backupGroups) == false)
        }
    }

    @Test(
        "Invalid fields of the backup form are refused and not stored",
        arguments: [
            ("", [("delay", "-1")]), ("", [("delay", "1441")]), ("", [("delay", "1e3")]),
            ("", [("automatic", "maybe")]),
            ("", [("wifi", "on")]), ("", [("backup.groups", "[]")]), ("/groups", [("path", "PHOTOS")]),
            ("/groups", [("path", "PHOTOS"), ("mode", "all")]),
            ("/groups", [("path", "PHOTOS"), ("path", "PHOTOS"), ("mode", "include")]),
            ("/groups", [("path", "PHOTOS"), ("mode", "include"), ("lastBackup", "0")]),
        ] as [(String, [(String, String)])])
    func hostile(_ path: String, fields: [(String, String)]) async throws {
        try await withBackup { web, _, photos in
            let sent = fields.map { ($0, $1 == "PHOTOS" ? photos.path : $1) }
            let reply = try await web.post("/settings/backup\(path)", fields: sent)
            #expect(reply.status == 400)
            var other = web
            other.token = String(repeating: "0", count: 64)
            let foreign = try await other.post("/settings/backup\(path)", fields: sent)
            #expect(foreign.status == 403)
            #expect(try await web.settings.get(.backupGroups).isEmpty)
            #expect(try await web.settings.exists(.backupDelay) == false)
        }
    }

    @Test(
        "Automatic backups hold uploads, and need no network for a local folder",
        arguments: [(true, false), (false, false), (true, true), (false, true)])
    func conditions(isOnFolder: Bool, isOnBattery: Bool) async throws {
        try await withBackup(isOnFolder: isOnFolder, power: isOnBattery ? .battery : .mains) { web, _, _ in
            #expect(try await web.post("/settings/backup", fields: [("charging", "on")]).status == 303)
            // Existing uploads are not held.
            #expect(try await web.journal.lfs.status().hold == nil)
            #expect(try await web.post("/settings/backup", fields: [("automatic", "on")]).status == 303)
            let hold = try await web.journal.lfs.status().hold?.reason
            #expect(hold?.contains("unmetered network") ?? false == !isOnFolder)
            #expect(hold?.contains("mains power") ?? false == isOnBattery)
        }
    }

    @Test("A backup runs on request, and when it becomes automatic")
    func asked() async throws {
        try await withBackup { web, backup, photos in
            let camera = photos.appending(path: "camera")
            #expect(try await list(camera, mode: "include", web: web).status == 303)
            for (seed, path, fields) in [
                (UInt8(1), "/settings/backup/run", []), (2, "/settings/backup", [("automatic", "on")]),
            ] as [(UInt8, String, [(String, String)])] {
                try write(WebSubject.picture(seed: seed), url: camera.appending(path: "\(seed).png"))
                #expect(try await web.post(path, fields: fields).status == 303)
                while try await web.journal.loadAllRecords().first?.images.count != Int(seed) {
                    try Task.checkCancellation()
                    await Task.yield()
                }
            }
        }
    }
}
