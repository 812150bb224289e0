import Foundation
import GRDB
import LFS
import Testing

@Suite("The photo app of the tutorial", .timeLimit(.minutes(5)))
struct PhotoAppTests {
    @Test("A photo is added, uploaded, read and deleted with its file")
    func photos() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("photos-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        let library = try await PhotoApp.PhotoLibrary.open(in: folder)
        let image = Data(repeating: 7, count: 1_000)
        for _ in 1...2 { try await library.add(image) }
        try await library.lfs.waitForUploads()
        for try await photos in library.photos() {
            #expect(photos.map(\.photo.number) == [1, 2])
            #expect(photos.allSatisfy { $0.file.status == .remote })
            for info in photos { #expect(try await library.lfs.data(of: info.file) == image) }
            for info in photos { try await library.delete(info.photo) }
            break
        }
        #expect(try await library.lfs.waitForDeletions() == 0)
        #expect(try await library.database.read { db in try FileData.fetchCount(db) } == 0)
        try await library.lfs.stop()
    }
}
