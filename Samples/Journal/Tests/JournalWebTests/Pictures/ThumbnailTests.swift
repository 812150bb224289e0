import Foundation
import JournalStorage
import LFS
import LFSCache
import Testing

@testable import JournalWeb

@Suite(
    "Thumbnails", .timeLimit(.minutes(10)),
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/vipsthumbnail"), "libvips-tools is missing"))
struct ThumbnailTests {
    /// The smallest possible picture: one pixel, as a GIF.
    private static let pixel = Data(base64Encoded: "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7") ?? Data()

    /// Uploads pictures to a record, and returns their files.
    private func upload(_ pictures: [(Data, String)], web: WebSubject) async throws -> [FileData] {
        let record = try await web.record()
        for (bytes, type) in pictures { #expect(try await web.upload(bytes, to: record, type: type).status == 201) }
        var files: [FileData] = []
        for name in try await web.journal.loadRecord(record.id).images {
            files.append(try await web.journal.imageFile(filename: name, for: record))
        }
        return files
    }

    @Test("A thumbnail is made once and cached, and a failed one has a placeholder")
    func made() async throws {
        try await withWeb(makesThumbnails: true) { subject in
            let web = try await subject.visiting()
            let files = try await upload([(Self.pixel, "image/gif"), (WebSubject.picture(), "image/png")], web: web)
            for _ in 0..<2 {
                var types: [String?] = []
                for file in files {
                    types.append(try await web.get("/files/\(file.id)/thumbnail").header("Content-Type"))
                }
                #expect(types == ["image/jpeg", "image/svg+xml"])
            }
            let usage = try #require(await web.cache?.usage())
            #expect(usage.loads == 2 && usage.kinds[.thumbnails]?.disk.count == 1 && usage.failures == 0)
            let local = web.folder.appending(path: "journal.sqlite.lfs/cache/cache.sqlite")
            #expect(FileManager.default.fileExists(atPath: local.path))
            #expect(try await web.get("/storage").text.contains("libvips"))
        }
    }

    @Test("Concurrent requests for a thumbnail make it once")
    func together() async throws {
        try await withWeb(makesThumbnails: true) { subject in
            let web = try await subject.visiting()
            let file = try #require(try await upload([(Self.pixel, "image/gif")], web: web).first)
            let bodies = try await withThrowingTaskGroup(of: Data.self) { group in
                for _ in 0..<8 { group.addTask { try await web.get("/files/\(file.id)/thumbnail").body } }
                return try await group.reduce(into: Set<Data>()) { $0.insert($1) }
            }
            #expect(bodies.count == 1 && bodies.first?.starts(with: [0xff, 0xd8, 0xff]) == true)
            #expect(await web.cache?.usage().loads == 1)
        }
    }

    @Test("Thumbnails of a deleted picture are deleted, and others stay")
    func deleted() async throws {
        try await withWeb(makesThumbnails: true) { subject in
            let web = try await subject.visiting()
            let other = Self.pixel + Data([0])
            let files = try await upload([(Self.pixel, "image/gif"), (other, "image/gif")], web: web)
            for file in files { #expect(try await web.get("/files/\(file.id)/thumbnail").status == 200) }
            let cache = try #require(web.cache)
            let keys = files.map { CacheKey(.thumbnails, name: "\($0.id)/320") }
            for key in keys { #expect(await cache.content(for: key) != nil) }
            let record = try #require(try await web.journal.loadAllRecords().first)
            let path = "\(web.path(record))/images/\(try #require(record.images.first))/delete"
            let file = [("file", "\(files[0].id)")]
            #expect(try await web.post(path, fields: file).status == 303)
            #expect(await cache.content(for: keys[0]) != nil)
            #expect(try await web.post("/trash/delete", fields: file).status == 303)
            _ = try await web.journal.lfs.waitForDeletions()
            while await cache.content(for: keys[0]) != nil {
                try Task.checkCancellation()
                await Task.yield()
            }
            #expect(await cache.content(for: keys[1]) != nil)
        }
    }

    @Test("A thumbnail is made before a page shows it, with its shape and color")
    func early() async throws {
        try await withWeb(makesThumbnails: true) { subject in
            let web = try await subject.visiting()
            let file = try #require(try await upload([(Self.pixel, "image/gif")], web: web).first)
            let cache = try #require(web.cache)
            while await cache.content(for: CacheKey(.thumbnails, name: "\(file.id)/320")) == nil {
                try Task.checkCancellation()
                await Task.yield()
            }
            let page = try await web.get("/pictures")
            let tile = try #require(page.text.firstMatch(of: /<img src="\/files[^>]*>/)).0
            #expect(tile.contains("width=\"1\" height=\"1\"") && tile.contains(/data-color="#[0-9a-f]{6}"/))
            #expect(await cache.usage().loads == 1)
        }
    }

    @Test("A thumbnail is named by its content and never asked for again")
    func immutable() async throws {
        try await withWeb(makesThumbnails: true) { subject in
            let web = try await subject.visiting()
            let file = try #require(try await upload([(Self.pixel, "image/gif")], web: web).first)
            let page = try await web.get("/pictures")
            let sources = try #require(page.text.firstMatch(of: /srcset="([^"]+) 1x, ([^"]+) 2x"/))
            for path in [sources.1, sources.2] {
                let reply = try await web.get(String(path))
                #expect(reply.status == 200 && reply.header("Content-Type") == "image/jpeg")
                #expect(reply.header("Cache-Control") == "private, max-age=31536000, immutable")
            }
            let other = try await web.get("/files/\(file.id)/thumbnail?v=0123456789abcdef")
            #expect(other.header("Cache-Control") == "private, no-cache")
            #expect(try await web.post("/logout").header("Clear-Site-Data") == "\"cache\"")
        }
    }

    @Test("The size of a JPEG is read from its frame header, and damaged ones have none")
    func sizes() {
        let head: [UInt8] = [0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 1, 0xff, 0xc2, 0, 11, 8, 1, 2, 3, 4, 0, 0]
        let size = ThumbnailTool.size(ofJPEG: Data(head))
        #expect(size?.width == 0x304 && size?.height == 0x102)
        for count in 0..<17 { #expect(ThumbnailTool.size(ofJPEG: Data(head.prefix(count))) == nil) }
        #expect(ThumbnailTool.size(ofJPEG: Data([0xff, 0xd8] + [UInt8](repeating: 0xff, count: 40))) == nil)
        #expect(ThumbnailTool.size(ofJPEG: Data([0xff, 0xd8, 0xff, 0xe0, 0, 0] + head)) == nil)
    }
}
