import ArgumentParser
import Foundation
import GRDB
import JournalStorage
import LFS
import LFSBackup
import LFSCache
import LFSSettings
import LFSStorage
import LFSSync
import Logging
import Testing

@testable import JournalWeb
@testable import journal

@Suite("Log out and full reset", .timeLimit(.minutes(10)))
struct RemovalTests {
    /// No id and no hash has these letters.
    private static let sentinel = "zqxjkvwyh"

    /// Returns the files below a folder that contain the sentinel.
    private func found(in folder: URL) throws -> [String] {
        let names = try #require(FileManager.default.enumerator(atPath: folder.path)?.allObjects as? [String])
        return names.filter { name in
            let data = try? Data(contentsOf: folder.appending(path: name))
            return data?.firstRange(of: Data(Self.sentinel.utf8)) != nil
        }.sorted()
    }

    private func secrets(_ folder: URL) throws -> SecretsFolder {
        try SecretsFolder(folder.appending(path: "state").path)
    }

    /// Makes a closed journal that has the sentinel in records, pictures, albums, settings, secrets, the cache and
    /// the table of a plain folder.
    private func fill(_ folder: URL, storage: InMemoryStorage) async throws {
        let file = folder.appending(path: "journal.sqlite")
        let journal = try await DatabaseStorageService.open(at: file, options: LFSOptions(storage: storage))
        try journal.lfs.start()
        let settings = try await JournalSettings.open(journal.database, secrets: secrets(folder))
        for number in 0..<50 {
            let record = TimeRecord(
                start: Date(timeIntervalSince1970: 1_770_000_000), timeZone: .gmt, comment: "\(Self.sentinel) \(number)"
            )
            try await journal.saveRecord(record)
            if number % 2 == 0 { try await journal.deleteRecord(record) }
        }
        let record = try #require(try await journal.loadAllRecords().first)
        try await journal.addTag(Tag(name: Self.sentinel))
        let bytes = WebSubject.picture() + Data(Self.sentinel.utf8)
        _ = try await journal.addImage(from: .bytes(bytes), for: record, fileExtension: "png")
        try await journal.saveAlbum(Album(ownerID: "me", name: Self.sentinel, createdAt: Date()))
        // The database also records what it has given to a plain folder.
        try await withFolder { plain in
            let mirror = FolderMirror(LocalFileStorageService(folder: plain), database: journal)
            _ = try await mirror.take()
            try await mirror.give()
        }
        let server = try #require(URL(string: "https://\(Self.sentinel).example"))
        try await AccountSettings.logIn(server: server, endpoint: server, token: Self.sentinel, settings)
        try await settings.set(Self.sentinel, for: .accountUser)
        try await settings.set([BackupGroup("/\(Self.sentinel)", mode: .include)], for: .backupGroups)
        try await settings.set([Self.sentinel], for: .cleanupAlbums)
        try await settings.set(.dark, for: .themeMode)
        let cache = try await MediaCache.open(for: journal.database)
        await cache.store(Data(Self.sentinel.utf8), for: CacheKey(.thumbnails, name: Self.sentinel))
        await cache.close()
        try await journal.lfs.waitForUploads()
        try await settings.stop()
        try await journal.close()
    }

    private func remove(
        _ removal: JournalRemoval, in folder: URL, confirming confirm: (Int) throws -> Void = { _ in }
    ) async throws {
        let pool = try await DatabaseStorageService.openDatabase(at: folder.appending(path: "journal.sqlite"))
        let settings = try await JournalSettings.open(pool, secrets: secrets(folder))
        try await removal.perform(pool, settings: settings, confirming: confirm)
    }

    @Test("After a removal, no file of the journal has its data", arguments: JournalRemoval.allCases)
    func erased(_ removal: JournalRemoval) async throws {
        try await withFolder { folder in
            let storage = InMemoryStorage()
            try await fill(folder, storage: storage)
            #expect(try found(in: folder).count >= 3)
            try await remove(removal, in: folder) { #expect($0 == 0) }
            #expect(try found(in: folder) == [])
            // The journal is empty, and usable.
            let file = folder.appending(path: "journal.sqlite")
            let journal = try await DatabaseStorageService.open(at: file, options: LFSOptions(storage: storage))
            let settings = try await JournalSettings.open(journal.database, secrets: secrets(folder))
            #expect(try await journal.loadAllRecords() == [])
            #expect(try await journal.loadTags() == [])
            #expect(try await journal.loadAlbums(of: "me") == [])
            #expect(try await settings.exists(.accessToken) == false)
            #expect(try await AccountSettings.address(settings) == nil)
            #expect(try await settings.get(.themeMode) == (removal == .account ? .dark : .system))
            let record = TimeRecord(start: Date(), timeZone: .gmt, comment: "again")
            try await journal.saveRecord(record)
            #expect(try await journal.loadAllRecords().count == 1)
            try await settings.stop()
            try await journal.close()
            // The object stays on the storage.
            #expect(storage.keys.count == 1)
        }
    }

    @Test("A removal that is not confirmed removes nothing")
    func refused() async throws {
        struct Refusal: Error {}
        try await withFolder { folder in
            try await fill(folder, storage: InMemoryStorage())
            let before = try found(in: folder)
            await #expect(throws: Refusal.self) {
                try await remove(.everything, in: folder) { _ in throw Refusal() }
            }
            #expect(try found(in: folder) == before)
            let pool = try await DatabaseStorageService.openDatabase(at: folder.appending(path: "journal.sqlite"))
            let settings = try await JournalSettings.open(pool, secrets: secrets(folder))
            #expect(try await settings.get(.accessToken) == Self.sentinel)
            try await settings.stop()
            try pool.close()
        }
    }

    @Test("A removal that is refused because the journal is open keeps the secrets", arguments: JournalRemoval.allCases)
    func openElsewhere(_ removal: JournalRemoval) async throws {
        try await withFolder { folder in
            let storage = InMemoryStorage()
            try await fill(folder, storage: storage)
            let other = try await DatabaseStorageService.open(
                at: folder.appending(path: "journal.sqlite"), options: LFSOptions(storage: storage))
            let error = await #expect(throws: LFSError.self) { try await remove(removal, in: folder) }
            #expect(error?.code == .openElsewhere)
            let settings = try await JournalSettings.open(other.database, secrets: secrets(folder))
            #expect(try await settings.get(.accessToken) == Self.sentinel)
            try await settings.stop()
            try await other.close()
        }
    }

    @Test("The next opening removes the secrets that an interrupted log out has left")
    func interrupted() async throws {
        try await withFolder { folder in
            try await fill(folder, storage: InMemoryStorage())
            let pool = try await DatabaseStorageService.openDatabase(at: folder.appending(path: "journal.sqlite"))
            let earlier = try await JournalSettings.open(pool, secrets: secrets(folder))
            #expect(try await earlier.get(.accessToken) == Self.sentinel)
            try await earlier.set(true, for: .hasSecretsToRemove)
            try await earlier.stop()
            let settings = try await JournalSettings.open(pool, secrets: secrets(folder))
            #expect(try await settings.exists(.accessToken) == false)
            #expect(try await settings.exists(.hasSecretsToRemove) == false)
            try await settings.stop()
            try pool.close()
        }
    }

    /// Logs an account in on the journal of a folder, adds a record, and exchanges all rows with the server.
    ///
    /// - Returns: The texts of the journal's records.
    private func session(
        of account: String, adding comment: String, in folder: URL, on stand: SyncStand
    ) async throws -> Set<String> {
        let journal = try await DatabaseStorageService.open(
            at: folder.appending(path: "journal.sqlite"), options: LFSOptions(storage: stand.storage))
        let settings = try await JournalSettings.open(journal.database, secrets: secrets(folder))
        let server = try #require(URL(string: stand.url))
        try await AccountSettings.logIn(
            server: server, endpoint: nil, token: try await stand.token(account), settings)
        try await journal.saveRecord(
            TimeRecord(start: Date(timeIntervalSince1970: 1_770_000_000), timeZone: .gmt, comment: comment))
        let logger = Logger(label: "test") { _ in LogBook() }
        let sync = try #require(
            try await SyncArguments.parse([]).open(journal, settings: settings, logger: logger))
        let changes = sync.state.changes()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await sync.run() }
            for await _ in changes where sync.state.value.wholeAt != nil { break }
            try Task.checkCancellation()
            group.cancelAll()
        }
        let pending = try await journal.database.read { try SyncReport.fetch($0)?.pending }
        #expect(pending == 0)
        let comments = Set(try await journal.loadAllRecords().map(\.comment))
        try await settings.stop()
        try await journal.close()
        return comments
    }

    @Test("After a log out, another account has only its own records on the device")
    func otherAccount() async throws {
        try await withStand { stand in
            try await withFolder { folder in
                try await stand.device("two", account: "bob") { bob in
                    _ = try await bob.record("Bob's other device")
                    try await bob.visiting().shows("/storage", text: "Pending</dt><dd>0 changes")
                }
                let ann = try await session(of: "ann", adding: Self.sentinel, in: folder, on: stand)
                #expect(ann == [Self.sentinel])
                try await remove(.account, in: folder) { #expect($0 == 0) }
                #expect(try found(in: folder) == [])
                let bob = try await session(of: "bob", adding: "Bob's record", in: folder, on: stand)
                #expect(bob == ["Bob's other device", "Bob's record"])
                #expect(try found(in: folder) == [])
                try await stand.device("three", account: "ann") { ann in
                    try await ann.until { try await !$0.journal.loadAllRecords().isEmpty }
                    #expect(try await ann.journal.loadAllRecords().map(\.comment) == [Self.sentinel])
                }
            }
        }
    }

    @Test("The page asks before a removal, and requests it once", arguments: JournalRemoval.allCases)
    func asked(_ removal: JournalRemoval) async throws {
        let request = RemovalRequest()
        try await withWeb { options in
            options.removal = request
        } _: { subject in
            let web = try await subject.visiting("/settings")
            let fields = [("what", removal.rawValue), ("lost", "0")]
            #expect(try await web.get("/settings").text.contains("Full reset</button>"))
            #expect(try await web.post("/settings/remove", fields: fields).status == 400)
            #expect(try await web.post("/settings/remove", fields: [("what", "all"), ("sure", "yes")]).status == 400)
            #expect(request.demand == nil)
            let reply = try await web.post("/settings/remove", fields: fields + [("sure", "yes")])
            #expect(reply.status == 200 && reply.text.contains("stay there"))
            #expect(request.demand == RemovalRequest.Demand(removal: removal, lost: 0))
            await request.wait()
        }
    }

    @Test("A removal that would lose more pictures than the page has said is refused")
    func lost() async throws {
        let request = RemovalRequest()
        try await withWeb { options in
            options.removal = request
        } _: { subject in
            let web = try await subject.visiting("/settings")
            let record = try await web.record()
            web.journal.lfs.pause()
            #expect(try await web.upload(WebSubject.picture(), to: record).status == 201)
            #expect(try await web.get("/settings").text.contains("1 picture is not on the storage"))
            let fields = [("what", "account"), ("sure", "yes")]
            #expect(try await web.post("/settings/remove", fields: fields + [("lost", "0")]).status == 400)
            #expect(request.demand == nil)
            #expect(try await web.post("/settings/remove", fields: fields + [("lost", "1")]).status == 200)
            #expect(request.demand?.lost == 1)
        }
    }

    @Test("An account that cannot be read does not prevent the page")
    func unreadable() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting("/settings")
            try await web.settings.set("https://photos.example", for: .accountServerURL)
            try await web.journal.database.write { db in
                try db.execute(sql: "UPDATE lfs_setting SET value = X'00ff' WHERE name = 'account.serverURL'")
            }
            let page = try await web.get("/settings")
            #expect(page.status == 200 && page.text.contains("It cannot be read. Log in again."))
        }
    }

    @Test("A server without a supervisor shows no removal")
    func absent() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting("/settings")
            #expect(try await web.get("/settings").text.contains("Full reset</button>") == false)
            let fields = [("what", "account"), ("lost", "0"), ("sure", "yes")]
            #expect(try await web.post("/settings/remove", fields: fields).status == 404)
        }
    }
}
