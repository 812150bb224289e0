import Foundation
import GRDB
import LFS
import LFSBackup
import LFSStorage
import Testing

@Suite("Originals with equal bytes", .timeLimit(.minutes(10)))
struct SharedContentTests {
    @Test("The same bytes by two paths are one upload, and the file stays until its last record goes")
    func twoPaths() async throws {
        try await withPhotoApp { app in
            let (bytes, others) = (someBytes(100), someBytes(100))
            try app.write("a/one.jpg", bytes)
            try app.write("b/two.jpg", bytes)
            // Of the same size, but not the same.
            try app.write("b/three.jpg", others)
            let report = try await app.backUp()
            #expect(report.attached == 3 && report.shared == 1)
            try await app.lfs.waitForUploads()
            #expect(app.storage.uploads == 2)
            let file = try #require(try await app.file("a/one.jpg"))
            #expect(try await app.file("b/two.jpg")?.id == file.id)
            #expect(try await app.bytes("b/three.jpg") == others)

            try await app.run("DELETE FROM photo WHERE path LIKE '%/one.jpg'")
            try await app.lfs.waitForDeletions()
            #expect(try await app.bytes("b/two.jpg") == bytes)
            #expect(app.storage.memory.keys.count == 2)
            // Its file is there still, and it stays away all the same.
            #expect(try await app.backUp().declined == 1)
            #expect(try await app.names() == ["b/two.jpg", "b/three.jpg"])

            try await app.run("DELETE FROM photo WHERE path LIKE '%/two.jpg'")
            try await app.lfs.waitForDeletions()
            #expect(app.storage.memory.keys.count == 1)
        }
    }

    @Test("One that comes later shares the file that is on the storage, and leaves no bytes behind")
    func later() async throws {
        try await withPhotoApp { app in
            let bytes = someBytes()
            try app.write("one.jpg", bytes)
            try await app.backUp()
            try await app.lfs.waitForUploads()
            try app.write("two.jpg", bytes)
            let report = try await app.backUp()
            #expect(report.attached == 1 && report.shared == 1 && report.unchanged == 1)
            try await app.lfs.waitForUploads()
            #expect(app.storage.uploads == 1)
            let waiting = app.folder.appendingPathComponent("photos.sqlite.lfs/temporary").path
            #expect(try FileManager.default.contentsOfDirectory(atPath: waiting).filter { $0.count == 36 }.isEmpty)
        }
    }
}
