import Foundation
import GRDB
import JournalStorage
import LFS
import LFSStorage
import Testing

@testable import JournalWeb

@Suite("Albums of two accounts", .timeLimit(.minutes(10)))
struct SharingTests {
    /// Runs the body with two accounts, Ann and Bob, and an album of Ann's with a picture.
    private func run(
        _ body: (SyncStand, _ ann: WebSubject, _ bob: WebSubject, _ album: String) async throws -> Void
    ) async throws {
        try await withStand { stand in
            try await stand.device("one", account: "ann") { ann in
                try await stand.device("two", account: "bob") { bob in
                    let (ann, bob) = (try await ann.visiting(), try await bob.visiting())
                    let record = try await ann.record("A walk")
                    let file = try await picture(1, of: record, web: ann)
                    #expect(try await ann.post("/albums", fields: [("name", "Summer")]).status == 303)
                    let album = try #require(try await ann.journal.loadAlbums(of: "me").first)
                    let id = album.id.uuidString.lowercased()
                    #expect(
                        try await ann.post("/albums/add", fields: [("album", id), ("picture", file)]).status == 303)
                    try await ann.shows("/storage", text: "Pending</dt><dd>0 changes")
                    try await body(stand, ann, bob, id)
                }
            }
        }
    }

    /// Uploads a picture and returns its file.
    private func picture(_ seed: UInt8, of record: TimeRecord, web: WebSubject) async throws -> String {
        #expect(try await web.upload(WebSubject.picture(seed: seed), to: record).status == 201)
        try await web.journal.lfs.waitForUploads()
        let name = try #require(try await web.journal.loadRecord(record.id).images.last)
        return try await web.file(name, of: record)
    }

    private func share(_ album: String, ann: WebSubject, role: String = "viewer") async throws {
        let reply = try await ann.post("/albums/\(album)/members", fields: [("name", "bob"), ("role", role)])
        #expect(reply.status == 303, "\(reply.text)")
    }

    @Test("A shared album appears with its pictures, and disappears when it is unshared")
    func shared() async throws {
        try await run { _, ann, bob, album in
            try await share(album, ann: ann)
            try await bob.shows("/pictures", text: "shared with you")
            try await bob.shows("/albums/\(album)", text: "badge remote")
            let page = try await bob.get("/albums/\(album)").text
            #expect(page.contains("Another account has shared this album") && page.contains("Leave the album"))
            #expect(!page.contains(">Remove<") && !page.contains("Access <select"))
            let file = try #require(page.firstMatch(of: /data-original="(\/files\/[0-9a-f-]+)"/)).1
            #expect(try await bob.get(String(file)).body == WebSubject.picture())
            // Pictures that Ann adds arrive, and nothing else of her journal.
            let record = try #require(try await ann.journal.loadAllRecords().first)
            let more = try await picture(2, of: record, web: ann)
            #expect(try await ann.post("/albums/add", fields: [("album", album), ("picture", more)]).status == 303)
            try await bob.until { web in
                let id = try #require(UUID(uuidString: album))
                return try await web.journal.loadImages(inAlbum: id).filter { $0.file.status == .remote }.count == 2
            }
            #expect(try await bob.journal.loadAllRecords().isEmpty)

            let members = try await ann.journal.loadMembers(ofAlbum: try #require(UUID(uuidString: album)))
            #expect(members.map(\.name) == ["bob"])
            #expect(try await ann.get("/albums/\(album)").text.contains("Stop sharing with bob"))
            let gone = try await ann.post("/albums/\(album)/members/remove", fields: [("member", members[0].id)])
            #expect(gone.status == 303)
            try await bob.until { try await $0.journal.database.read { try FileData.fetchCount($0) } == 0 }
            #expect(try await bob.get("/albums/\(album)").status == 404)
            #expect(try await ann.get("/albums/\(album)").text.contains("badge remote"))
        }
    }

    @Test("An unreadable picture of a shared album hides neither the album nor other pages")
    func unreadablePicture() async throws {
        try await run { _, ann, bob, album in
            try await share(album, ann: ann)
            try await bob.shows("/albums/\(album)", text: "badge remote")
            // Another program could write this row. Its id sorts after all others.
            let id = "ffffffff-ffff-7fff-bfff-ffffffffffff"
            try await ann.journal.database.write { db in
                try db.execute(
                    sql: """
                        UPDATE lfs_state SET isApplying = 1;
                        INSERT INTO lfs_file (id, status, url, byteCount, sha256, key, createdAt)
                        SELECT '\(id)', 'remote', 'http://[::1', 1, sha256, key || 'x', createdAt FROM lfs_file LIMIT 1;
                        UPDATE lfs_state SET isApplying = 0;
                        INSERT INTO lfs_sync_outbox (tableName, key, operation) VALUES ('lfs_file', '\(id)', 'put');
                        INSERT INTO album_asset (id, albumId, fileId, assetId, position)
                        VALUES ('\(album)_\(id)', '\(album)', '\(id)', 'a', 9)
                        """)
            }
            try await bob.until { web in
                try await web.journal.database.read { db in
                    try Bool.fetchOne(
                        db, sql: "SELECT EXISTS (SELECT 1 FROM album_asset WHERE fileId = ?)", arguments: [id]) == true
                }
            }
            #expect(try await bob.get("/how").status == 200)
            let page = try await bob.get("/albums/\(album)")
            #expect(page.status == 200 && page.text.contains("Leave the album") && page.text.contains("badge remote"))
        }
    }

    @Test("A member's own name replaces the one that the owner has entered")
    func names() async throws {
        try await run { _, ann, bob, album in
            try await share(album, ann: ann)
            try await ann.shows("/albums/\(album)", text: "Stop sharing with bob")
            try await bob.until { web in
                let names = "SELECT name FROM user ORDER BY name"
                return try await web.journal.database.read { try String.fetchAll($0, sql: names) } == ["ann", "bob"]
            }
            try await bob.journal.database.write { db in
                try db.execute(sql: "UPDATE user SET name = 'Robert' WHERE name = 'bob'")
            }
            try await ann.shows("/albums/\(album)", text: "Stop sharing with Robert")
        }
    }

    @Test("A viewer can only read, and an editor can add own pictures and leave")
    func roles() async throws {
        try await run { stand, ann, bob, album in
            try await share(album, ann: ann)
            try await bob.shows("/albums/\(album)", text: "badge remote")
            let record = try await bob.record("A swim")
            let file = try await picture(7, of: record, web: bob)
            let put = [("album", album), ("picture", file)]
            #expect(try await bob.post("/albums/add", fields: put).status == 400)
            #expect(try await bob.post("/albums/\(album)/delete", fields: [("sure", "yes")]).status == 400)
            #expect(try await bob.post("/albums/\(album)/members", fields: [("name", "ann")]).status == 400)

            try await share(album, ann: ann, role: "editor")
            try await bob.shows("/albums/\(album)", text: "can add and remove pictures")
            #expect(try await bob.post("/albums/add", fields: put).status == 303)
            let id = try #require(UUID(uuidString: album))
            try await ann.until { web in
                try await web.journal.loadImages(inAlbum: id).filter { $0.file.status == .remote }.count == 2
            }
            let images = try await ann.journal.loadImages(inAlbum: id)
            let data = try await ann.journal.lfs.data(of: images[1].file)
            #expect(data == WebSubject.picture(seed: 7))

            let mine = try #require(try await bob.journal.loadMembers(ofAlbum: id).first)
            #expect(try await bob.post("/albums/\(album)/members/remove", fields: [("member", mine.id)]).status == 303)
            try await bob.until { try await $0.journal.loadAlbum(id) == nil }
            // The member's own pictures leave the album, and the member keeps them.
            try await ann.until { try await $0.journal.loadImages(inAlbum: id).count == 1 }
            #expect(try await bob.get("/files/\(file)").body == WebSubject.picture(seed: 7))
            #expect(stand.storage.keys.count == 2)
        }
    }

    @Test(
        "An unreadable shared album is shown, can be left, and hides no other one",
        arguments: [("not-a-uuid", 1_790_000_000_000), ("not-a-uuid", Int64.max), (nil, Int64.max), (nil, .min)]
            as [(String?, Int64)])
    func unreadable(_ key: String?, createdAt: Int64) async throws {
        try await run { _, ann, bob, album in
            try await share(album, ann: ann)
            try await bob.shows("/pictures", text: "Summer")
            let albumID = try #require(UUID(uuidString: album))
            let account = try #require(try await ann.journal.loadMembers(ofAlbum: albumID).first?.accountID)
            // A row as another program could write it.
            let id = key ?? UUID().uuidString.lowercased()
            try await ann.journal.database.write { db in
                try db.execute(
                    sql: "INSERT INTO album (id, ownerId, name, createdAt) VALUES (?, 'me', 'Odd & <b>old</b>', ?)",
                    arguments: [id, createdAt])
                try db.execute(
                    sql: """
                        INSERT INTO album_member (id, albumId, accountID, role, name) VALUES (?, ?, ?, 'viewer', 'b')
                        """,
                    arguments: ["\(id)_\(account)", id, account])
            }
            try await bob.shows("/pictures", text: "Odd &amp; &lt;b&gt;old&lt;/b&gt;")
            let page = try await bob.get("/pictures")
            #expect(page.status == 200 && page.text.contains("it cannot be read") && page.text.contains("Summer"))
            let added = try await bob.post("/albums", fields: [("name", "Mine")])
            #expect(added.status == 303)

            #expect(try await bob.post("/albums/leave", fields: [("album", id)]).status == 303)
            try await bob.until { try await !$0.get("/pictures").text.contains("it cannot be read") }
            let left = try await bob.get("/pictures").text
            #expect(left.contains("Summer") && left.contains("Mine"))
        }
    }

    @Test("An owner cannot leave an album, and its members stay")
    func leavingOwn() async throws {
        try await run { _, ann, _, album in
            try await share(album, ann: ann)
            #expect(try await ann.post("/albums/leave", fields: [("album", album)]).status == 303)
            #expect(try await ann.post("/albums/leave", fields: [("album", "nothing")]).status == 303)
            let id = try #require(UUID(uuidString: album))
            #expect(try await ann.journal.loadMembers(ofAlbum: id).count == 1)
        }
    }

    @Test("Sharing with an unknown name or without the server is reported")
    func unknown() async throws {
        try await run { stand, ann, bob, album in
            let nobody = try await ann.post("/albums/\(album)/members", fields: [("name", "cat")])
            #expect(nobody.status == 400 && nobody.text.contains("no account with the name &#39;cat&#39;"))
            #expect(try await ann.post("/albums/\(album)/members", fields: [("name", "ann")]).status == 400)
            #expect(try await ann.post("/albums/\(album)/members", fields: [("name", "")]).status == 400)
            try await stand.stop()
            let away = try await ann.post("/albums/\(album)/members", fields: [("name", "bob")])
            #expect(away.status == 502 && away.text.contains("The album is not shared."))
        }
    }
}
