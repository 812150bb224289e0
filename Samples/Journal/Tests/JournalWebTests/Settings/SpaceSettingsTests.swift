import Foundation
import GRDB
import JournalStorage
import LFS
import LFSCache
import LFSSettings
import Testing

@testable import JournalWeb

@Suite("Settings of caches and of the clean-up", .timeLimit(.minutes(10)))
struct SpaceSettingsTests {
    /// The smallest possible picture: one pixel, as a GIF.
    private static let pixel = Data(base64Encoded: "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7") ?? Data()

    /// Serves a journal with a PNG and a GIF on the storage and on this device.
    private func withPictures(_ body: (WebSubject, _ png: FileData, _ gif: FileData) async throws -> Void) async throws
    {
        try await withWeb { subject in
            let web = try await subject.visiting()
            let record = try await web.record()
            #expect(try await web.upload(WebSubject.picture(), to: record).status == 201)
            #expect(try await web.upload(Self.pixel, to: record, type: "image/gif").status == 201)
            var files: [FileData] = []
            for name in try await web.journal.loadRecord(record.id).images {
                files.append(try await web.journal.imageFile(filename: name, for: record))
            }
            try await web.journal.lfs.waitForUploads()
            try await body(web, files[0], files[1])
        }
    }

    private func free(_ web: WebSubject) async throws -> HTTPReply {
        try await web.post("/storage/free", fields: [("keep", "0")])
    }

    /// Returns whether each of some files has a local copy.
    private func localCopies(_ files: FileData..., web: WebSubject) async throws -> [Bool] {
        var found: [Bool] = []
        for file in files { found.append(try await web.journal.lfs.hasLocalCopy(of: file.id)) }
        return found
    }

    @Test(
        "A changed size of a cache takes effect without a restart",
        arguments: [
            ("thumbnails", CacheKind.thumbnails, 10_000), ("images", .previews, 350), ("covers", .albumCovers, 200),
        ])
    func sizes(name: String, kind: CacheKind, standard: Int) async throws {
        try await withWeb(makesThumbnails: true) { subject in
            let web = try await subject.visiting("/settings")
            let field = "name=\"\(name)\" min=\"0\" max=\"100000\" value="
            #expect(try await web.get("/settings").text.contains("\(field)\"\(standard)\""))
            let cache = try #require(web.cache)
            for number in 0..<40 { await cache.store(Data([1]), for: CacheKey(kind, name: "\(number)")) }
            #expect(await cache.usage().kinds[kind]?.disk.count == 40)
            #expect(try await web.post("/settings", fields: [(name, "10")]).status == 303)
            while await cache.usage().kinds[kind]?.disk.count ?? 0 > 10 {
                try Task.checkCancellation()
                await Task.yield()
            }
            for number in 40..<80 { await cache.store(Data([1]), for: CacheKey(kind, name: "\(number)")) }
            #expect(await cache.usage().kinds[kind]?.disk.count ?? 0 <= 10)
            #expect(try await web.get("/settings").text.contains("\(field)\"10\""))
        }
    }

    @Test("A changed media type decides what the next eviction removes")
    func types() async throws {
        try await withPictures { web, png, gif in
            #expect(try await web.post("/settings", fields: [("types", " image/GIF, video/* ")]).status == 303)
            #expect(try await web.settings.get(.cleanupContentTypes) == ["image/gif", "video/*"])
            let preview = try await web.get("/storage/free?keep=0").text
            #expect(preview.contains("1 picture with"))
            #expect(try await free(web).status == 200)
            #expect(try await localCopies(png, gif, web: web) == [false, true])
            #expect(try await web.post("/settings", fields: [("types", "")]).status == 303)
            #expect(try await free(web).status == 200)
            #expect(try await localCopies(png, gif, web: web) == [false, false])
        }
    }

    @Test("The pictures of an album stay while its page says so")
    func albums() async throws {
        try await withPictures { web, png, gif in
            let album = Album(ownerID: "me", name: "Hut", createdAt: Date())
            try await web.journal.saveAlbum(album)
            let path = "/albums/\(album.id.uuidString.lowercased())"
            let fields = [("album", album.id.uuidString), ("picture", "\(png.id)")]
            #expect(try await web.post("/albums/add", fields: fields).status == 303)
            #expect(try await web.post("\(path)/keep", fields: [("keep", "yes")]).status == 303)
            #expect(try await web.get(path).text.contains("stay on this device when space is freed"))
            #expect(try await web.get("/settings").text.contains("The pictures of 1 album stay"))
            #expect(try await free(web).text.contains("in an album that stays"))
            #expect(try await localCopies(png, gif, web: web) == [true, false])
            #expect(try await web.post("\(path)/keep", fields: [("keep", "no")]).status == 303)
            #expect(try await free(web).status == 200)
            #expect(try await localCopies(png, gif, web: web) == [false, false])
            #expect(try await web.post("\(path)/keep", fields: [("keep", "perhaps")]).status == 400)
        }
    }

    @Test("Favourites stay while the setting says so")
    func favorites() async throws {
        try await withPictures { web, png, gif in
            let album = Album(ownerID: "me", name: "Hut", createdAt: Date())
            try await web.journal.saveAlbum(album)
            for file in [png, gif] {
                let fields = [("album", album.id.uuidString), ("picture", "\(file.id)")]
                #expect(try await web.post("/albums/add", fields: fields).status == 303)
            }
            try await web.journal.setFavorite(true, file: gif.id, inAlbum: album.id)
            #expect(try await free(web).text.contains("favourites"))
            #expect(try await localCopies(png, gif, web: web) == [false, true])
            #expect(try await web.post("/settings", fields: [("was-favorites", "on")]).status == 303)
            #expect(try await web.settings.get(.cleanupKeepsFavorites) == false)
            #expect(try await free(web).status == 200)
            #expect(try await localCopies(png, gif, web: web) == [false, false])
        }
    }

    @Test("Pictures that were used within the days of the setting stay")
    func days() async throws {
        try await withPictures { web, png, gif in
            let saved = try await web.post("/settings", fields: [("days", "30")])
            #expect(saved.status == 303)
            #expect(try await free(web).text.contains("used recently"))
            #expect(try await localCopies(png, gif, web: web) == [true, true])
            #expect(try await web.post("/settings", fields: [("days", "0")]).status == 303)
            #expect(try await free(web).status == 200)
            #expect(try await localCopies(png, gif, web: web) == [false, false])
        }
    }

    @Test("Nothing is freed while a rule cannot be read")
    func unreadable() async throws {
        try await withPictures { web, png, gif in
            try await web.settings.set(["image/png"], for: .cleanupContentTypes)
            try await web.journal.database.write { db in
                try db.execute(sql: "UPDATE lfs_setting SET value = X'00ff' WHERE name = 'cleanup.keepsContentTypes'")
            }
            #expect(try await free(web).status == 500)
            #expect(try await localCopies(png, gif, web: web) == [true, true])
            #expect(try await web.get("/settings").text.contains("cleanup.keepsContentTypes"))
            #expect(try await web.post("/settings/reset").status == 303)
            #expect(try await free(web).status == 200)
            #expect(try await localCopies(png, gif, web: web) == [false, false])
        }
    }

    @Test(
        "An invalid size, number of days or media type is refused",
        arguments: [
            ("thumbnails", "-1"), ("images", "100001"), ("covers", ""), ("days", "36501"), ("types", "image"),
            ("types", "*/*"), ("types", "image/png; a=b"),
            ("types", Array(repeating: "image/png", count: 21).joined(separator: ",")),
        ])
    func invalid(name: String, value: String) async throws {
        try await withWeb { subject in
            let web = try await subject.visiting("/settings")
            let reply = try await web.post("/settings", fields: [(name, value)])
            #expect(reply.status == 400 && reply.text.contains("Write "))
            #expect(try await web.settings.exists(.cleanupContentTypes) == false)
        }
    }

    @Test("Clear cache asks first, removes all kinds, and keeps the pictures")
    func cleared() async throws {
        try await withWeb(makesThumbnails: true) { subject in
            let web = try await subject.visiting("/settings")
            let cache = try #require(web.cache)
            let record = try await web.record()
            // No tool can make a thumbnail of these bytes.
            #expect(try await web.upload(WebSubject.picture(), to: record).status == 201)
            let kinds: [CacheKind] = [.thumbnails, .previews, .albumCovers]
            for kind in kinds { await cache.store(Data("sentinel-zqxjk".utf8), for: CacheKey(kind, name: "a")) }
            #expect(try await web.post("/settings/cache/clear").status == 400)
            #expect(await cache.content(for: CacheKey(.thumbnails, name: "a")) != nil)
            let reply = try await web.post("/settings/cache/clear", fields: [("sure", "yes")])
            #expect(reply.status == 303 && reply.header("Clear-Site-Data") == "\"cache\"")
            for kind in kinds { #expect(await cache.content(for: CacheKey(kind, name: "a")) == nil) }
            #expect(try await web.get("/settings").text.contains("The cache contains 0 pictures"))
            #expect(try await web.journal.loadRecord(record.id).images.count == 1)
        }
    }

    @Test(
        "The cover of an album is cached, and removed when the album changes",
        .enabled(if: ThumbnailTool() != nil, "libvips-tools is missing"))
    func covers() async throws {
        try await withWeb(makesThumbnails: true) { subject in
            let web = try await subject.visiting()
            let cache = try #require(web.cache)
            let record = try await web.record()
            #expect(try await web.upload(Self.pixel, to: record, type: "image/gif").status == 201)
            let name = try #require(try await web.journal.loadRecord(record.id).images.first)
            let file = try await web.file(name, of: record)
            let album = Album(ownerID: "me", name: "Hut", createdAt: Date())
            try await web.journal.saveAlbum(album)
            let path = "/albums/\(album.id.uuidString.lowercased())"
            #expect(try await web.get("\(path)/cover").header("Content-Type") == "image/svg+xml")
            let fields = [("album", album.id.uuidString), ("picture", file)]
            #expect(try await web.post("/albums/add", fields: fields).status == 303)
            #expect(try await web.get("/pictures").text.contains("<img src=\"\(path)/cover\""))
            let cover = try await web.get("\(path)/cover")
            #expect(cover.header("Content-Type") == "image/jpeg")
            let tag = try #require(cover.header("ETag"))
            #expect(try await web.get("\(path)/cover", headers: ["If-None-Match": tag]).status == 304)
            #expect(await cache.usage().kinds[.albumCovers]?.disk.count == 1)
            #expect(try await web.post("\(path)/remove", fields: [("file", file)]).status == 303)
            #expect(await cache.usage().kinds[.albumCovers]?.disk.count ?? 0 == 0)
        }
    }
}
