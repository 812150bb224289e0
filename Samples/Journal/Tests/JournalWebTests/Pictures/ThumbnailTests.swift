import Foundation
import JournalStorage
import JournalWeb
import LFS
import Testing

@Suite(
    "Small pictures", .timeLimit(.minutes(2)),
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/vipsthumbnail"), "libvips-tools is missing"))
struct ThumbnailTests {
    /// The smallest picture that there is: one pixel, as a GIF.
    private static let pixel = Data(base64Encoded: "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7") ?? Data()

    @Test("A small picture is made once and kept apart, and what cannot be read is shown as missing")
    func made() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "thumbnails-\(UUID().uuidString)")
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        try await withWeb { options in
            options.thumbnails = folder
        } _: { subject in
            let web = try await subject.visiting()
            let record = try await web.record()
            #expect(try await web.upload(Self.pixel, to: record, type: "image/gif").status == 201)
            #expect(try await web.upload(WebSubject.picture(), to: record).status == 201)
            let names = try await web.journal.loadRecord(record.id).images
            var types: [String?] = []
            for name in names {
                let file = try await web.journal.imageFile(filename: name, for: record)
                types.append(try await web.get("/files/\(file.id)/thumbnail").header("Content-Type"))
            }
            #expect(types == ["image/jpeg", "image/svg+xml"])
            let kept = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(kept.count == 1 && kept[0].hasSuffix(".jpg") && !kept[0].hasPrefix("new-"))
            #expect(try await web.get("/storage").text.contains("libvips"))
        }
    }
}
