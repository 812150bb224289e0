import Foundation
import LFSSyncServer
import TestSupport
import Testing

@Suite("Files of a server's database") struct FileModeTests {
    @Test(arguments: [false, true])
    func `Only the owner can read the files of a sync server's database`(_ isThere: Bool) async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("sync.sqlite").path
            if isThere {
                let mode = [FileAttributeKey.posixPermissions: 0o644]
                #expect(FileManager.default.createFile(atPath: path, contents: nil, attributes: mode))
            }
            let database = try SQLiteDatabase(path: path)
            _ = try await SyncService(database, schema: SyncSchema())
            for suffix in ["", "-wal", "-shm"] {
                let attributes = try FileManager.default.attributesOfItem(atPath: path + suffix)
                #expect(attributes[.posixPermissions] as? Int == 0o600, "\(suffix)")
            }
            await database.close()
        }
    }
}
