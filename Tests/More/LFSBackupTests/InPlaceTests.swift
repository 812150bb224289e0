import Foundation
import GRDB
import LFS
import LFSBackup
import LFSStorage
import TestSupport
import Testing

@Suite("A backup without copies", .timeLimit(.minutes(10)))
struct InPlaceTests {
    private func copies(of app: PhotoApp) throws -> [String] {
        let folder = app.folder.appendingPathComponent("photos.sqlite.lfs")
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.count == 36 }
    }

    @Test("A folder is uploaded without copies, and a second backup reads nothing")
    func backUp() async throws {
        try await withPhotoApp { app in
            for number in 0..<20 { try app.write("\(number).jpg", bytes: someBytes()) }
            #expect(try await app.backUp().attached == 20)
            try await app.lfs.waitForUploads()
            #expect(app.storage.uploads == 20)
            #expect(try copies(of: app).isEmpty)
            #expect(try await app.count("lfs_original") == 20)
            #expect(try await app.backUp().unchanged == 20)
        }
    }

    @Test("A changed original is uploaded again in its new form, and the old one is deleted")
    func change() async throws {
        try await withPhotoApp { app in
            try app.write("one.jpg", bytes: someBytes())
            try await app.backUp()
            try await app.lfs.waitForUploads()
            let bytes = someBytes(2_000)
            try app.write("one.jpg", bytes: bytes)
            #expect(try await app.backUp().attached == 1)
            try await app.lfs.waitForUploads()
            try await app.lfs.waitForDeletions()
            #expect(try await app.bytes("one.jpg") == bytes)
            #expect(app.storage.memory.keys.count == 1)
            #expect(try await app.count("lfs_original") == 1)
        }
    }

    @Test("With copies, a change of an original before its upload loses nothing")
    func copy() async throws {
        try await withPhotoApp { app in
            let bytes = someBytes()
            try app.write("one.jpg", bytes: bytes)
            var options = BackupOptions()
            options.copiesOriginals = true
            options.delay = .seconds(3_600)
            try await app.backUp(options: options)
            try app.write("one.jpg", bytes: someBytes())
            #expect(try await app.bytes("one.jpg") == bytes)
            #expect(try await app.count("lfs_original") == 0)
            // A copy moves to the store some time after the commit.
            try await yield(while: try copies(of: app).isEmpty)
            #expect(try copies(of: app).count == 1)
        }
    }
}
