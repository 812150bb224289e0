import Foundation
import GRDB
import LFS
import LFSBackup
import LFSStorage
import Testing

@Suite("Originals with equal bytes", .timeLimit(.minutes(10)))
struct SharedContentTests {
    @Test("Two paths with the same bytes share one upload until the last record is deleted")
    func twoPaths() async throws {
        try await withPhotoApp { app in
            let (bytes, others) = (someBytes(100), someBytes(100))
            try app.write("a/one.jpg", bytes: bytes)
            try app.write("b/two.jpg", bytes: bytes)
            // A file of the same size with other bytes.
            try app.write("b/three.jpg", bytes: others)
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
            // The original still exists, but it must stay away.
            #expect(try await app.backUp().declined == 1)
            #expect(try await app.names() == ["b/two.jpg", "b/three.jpg"])

            try await app.run("DELETE FROM photo WHERE path LIKE '%/two.jpg'")
            try await app.lfs.waitForDeletions()
            #expect(app.storage.memory.keys.count == 1)
        }
    }

    @Test("An original with known bytes shares the uploaded file and leaves no staged bytes")
    func later() async throws {
        try await withPhotoApp { app in
            let bytes = someBytes()
            try app.write("one.jpg", bytes: bytes)
            try await app.backUp()
            try await app.lfs.waitForUploads()
            try app.write("two.jpg", bytes: bytes)
            let report = try await app.backUp()
            #expect(report.attached == 1 && report.shared == 1 && report.unchanged == 1)
            try await app.lfs.waitForUploads()
            #expect(app.storage.uploads == 1)
            let waiting = app.folder.appendingPathComponent("photos.sqlite.lfs/temporary").path
            #expect(try FileManager.default.contentsOfDirectory(atPath: waiting).filter { $0.count == 36 }.isEmpty)
        }
    }
}
