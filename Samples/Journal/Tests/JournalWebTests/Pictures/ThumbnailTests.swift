import Foundation
import JournalStorage
import LFS
import LFSCache
import Testing

@testable import JournalWeb

@Suite(
    "Small pictures", .timeLimit(.minutes(10)),
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/vipsthumbnail"), "libvips-tools is missing"))
struct ThumbnailTests {
    /// The smallest picture that there is: one pixel, as a GIF.
    private static let pixel = Data(base64Encoded: "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7") ?? Data()

    /// Uploads pictures to a record, and gives their files.
    private func upload(_ pictures: [(Data, String)], _ web: WebSubject) async throws -> [FileData] {
        let record = try await web.record()
        for (bytes, type) in pictures { #expect(try await web.upload(bytes, to: record, type: type).status == 201) }
        var files: [FileData] = []
        for name in try await web.journal.loadRecord(record.id).images {
            files.append(try await web.journal.imageFile(filename: name, for: record))
        }
        return files
    }

    @Test("A small picture is made once and kept in the cache, and what cannot be read is shown as missing")
    func made() async throws {
        try await withWeb(makesThumbnails: true) { subject in
            let web = try await subject.visiting()
            let files = try await upload([(Self.pixel, "image/gif"), (WebSubject.picture(), "image/png")], web)
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

    @Test("Many who ask for one small picture at once get the same one, and it is made once")
    func together() async throws {
        try await withWeb(makesThumbnails: true) { subject in
            let web = try await subject.visiting()
            let file = try #require(try await upload([(Self.pixel, "image/gif")], web).first)
            let bodies = try await withThrowingTaskGroup(of: Data.self) { group in
                for _ in 0..<8 { group.addTask { try await web.get("/files/\(file.id)/thumbnail").body } }
                return try await group.reduce(into: Set<Data>()) { $0.insert($1) }
            }
            #expect(bodies.count == 1 && bodies.first?.starts(with: [0xff, 0xd8, 0xff]) == true)
            #expect(await web.cache?.usage().loads == 1)
        }
    }

    @Test("What was made of a picture goes with it, and what was made of the others stays")
    func deleted() async throws {
        try await withWeb(makesThumbnails: true) { subject in
            let web = try await subject.visiting()
            let other = Self.pixel + Data([0])
            let files = try await upload([(Self.pixel, "image/gif"), (other, "image/gif")], web)
            for file in files { #expect(try await web.get("/files/\(file.id)/thumbnail").status == 200) }
            let cache = try #require(web.cache)
            let keys = files.map { CacheKey(.thumbnails, "\($0.id)/320") }
            for key in keys { #expect(await cache.content(for: key) != nil) }
            let record = try #require(try await web.journal.loadAllRecords().first)
            let path = "\(web.path(record))/images/\(try #require(record.images.first))/delete"
            #expect(try await web.post(path, [("file", "\(files[0].id)")]).status == 303)
            _ = try await web.journal.lfs.waitForDeletions()
            while await cache.content(for: keys[0]) != nil {
                try Task.checkCancellation()
                await Task.yield()
            }
            #expect(await cache.content(for: keys[1]) != nil)
        }
    }

    @Test("The folder of earlier versions goes with what they have made, and with nothing else")
    func former() throws {
        let files = FileManager.default
        let parent = files.temporaryDirectory.appending(path: "former-\(UUID().uuidString)")
        let folder = parent.appending(path: "journal.sqlite.thumbnails")
        try files.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try files.removeItem(at: parent) } }
        let database = parent.appending(path: "journal.sqlite")
        let sum = String(repeating: "0123456789abcdef", count: 4)
        for name in ["\(sum).jpg", "new-\(UUID().uuidString).jpg", "holiday.jpg", "\(sum).png"] {
            try Data([1]).write(to: folder.appending(path: name))
        }
        try FormerThumbnails.remove(beside: database)
        #expect(try files.contentsOfDirectory(atPath: folder.path).sorted() == ["\(sum).png", "holiday.jpg"])
        for name in ["holiday.jpg", "\(sum).png"] { try files.removeItem(at: folder.appending(path: name)) }
        try FormerThumbnails.remove(beside: database)
        #expect(!files.fileExists(atPath: folder.path))
        // Where there is none, and where a link leads to what is somebody's.
        try FormerThumbnails.remove(beside: database)
        let own = parent.appending(path: "own")
        try files.createDirectory(at: own, withIntermediateDirectories: true)
        try Data([1]).write(to: own.appending(path: "\(sum).jpg"))
        try files.createSymbolicLink(at: folder, withDestinationURL: own)
        try FormerThumbnails.remove(beside: database)
        #expect(try files.contentsOfDirectory(atPath: own.path).count == 1)
    }
}
