import Foundation
import GRDB
import LFS
import Testing

@testable import notes

@Suite("Notebook", .timeLimit(.minutes(10)))
final class NotebookTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("notes-\(UUID().uuidString)")
    private let bytes = Data("Two eggs, milk, old bread.".utf8)

    deinit {
        #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) }
    }

    @Test("An attached file is uploaded, freed, read from the storage and deleted")
    func wholeLife() async throws {
        let notebook = try await Notebook.open(in: folder)
        let id = try #require(try await notebook.add(text: "French toast", file: try source()).id)
        let made = try #require(try await notebook.list().first?.attachment)
        #expect(made.status == .local)

        try notebook.lfs.start()
        #expect(try await notebook.lfs.waitForUploads().failed == 0)
        let uploaded = try #require(try await notebook.list().first?.attachment)
        #expect(uploaded.status == .remote)
        let object = try #require(uploaded.url)
        #expect(try Data(contentsOf: object) == bytes)

        try await notebook.free(id: id)
        #expect(try await !notebook.lfs.hasLocalCopy(of: made.id))
        let placeholder = try #require(try await notebook.show(id: id))
        #expect(String(decoding: placeholder, as: UTF8.self).contains("\(bytes.count) bytes"))
        #expect(try await notebook.read(id: id) == bytes)
        #expect(try await notebook.lfs.hasLocalCopy(of: made.id))
        #expect(try await notebook.show(id: id) == bytes)

        #expect(try await notebook.delete(id: id) == 0)
        #expect(try await notebook.list().isEmpty)
        #expect(!FileManager.default.fileExists(atPath: object.path))
        try await notebook.lfs.stop()
    }

    @Test("A file that is not uploaded is not freed")
    func notUploaded() async throws {
        let notebook = try await Notebook.open(in: folder)
        let id = try #require(try await notebook.add(text: "French toast", file: try source()).id)
        let error = await #expect(throws: LFSError.self) { try await notebook.free(id: id) }
        #expect(error?.code == .notUploaded)
        #expect(try await notebook.read(id: id) == bytes)
        try await notebook.lfs.stop()
    }

    @Test("A pending file is uploaded by the next process")
    func nextProcess() async throws {
        let first = try await Notebook.open(in: folder)
        _ = try await first.add(text: "French toast", file: try source())
        try await first.lfs.stop()
        try first.database.close()

        let second = try await Notebook.open(in: folder)
        try second.lfs.start()
        #expect(try await second.lfs.waitForUploads().failed == 0)
        #expect(try await second.list().first?.attachment?.status == .remote)
        try await second.lfs.stop()
    }

    @Test("A note without a file has nothing to read")
    func withoutFile() async throws {
        let notebook = try await Notebook.open(in: folder)
        let id = try #require(try await notebook.add(text: "Buy bread", file: nil).id)
        await #expect(throws: NotesError.noAttachment(id)) { try await notebook.read(id: id) }
        try notebook.lfs.start()
        await #expect(throws: NotesError.unknownNote(id + 1)) { try await notebook.delete(id: id + 1) }
        try await notebook.lfs.stop()
    }

    /// Writes a file outside of the notebook.
    private func source() throws -> URL {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let url = folder.appendingPathComponent("recipe.txt")
        try bytes.write(to: url)
        return url
    }
}
