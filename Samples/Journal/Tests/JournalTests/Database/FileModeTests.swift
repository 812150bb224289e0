import Foundation
import GRDB
import JournalStorage
import Testing

@Suite("The files of a journal's database")
struct FileModeTests {
    @Test(arguments: [false, true])
    func `Only the owner can read a journal's database, even one of an earlier version`(_ isThere: Bool) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "journal-mode-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "journal.sqlite")
        if isThere {
            let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o644]
            #expect(FileManager.default.createFile(atPath: file.path, contents: nil, attributes: attributes))
        }
        let database = try await DatabaseStorageService.openDatabase(at: file)
        for suffix in ["", "-wal", "-shm"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path + suffix)
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(suffix)")
        }
        try database.close()
        try FileManager.default.removeItem(at: folder)
    }
}
