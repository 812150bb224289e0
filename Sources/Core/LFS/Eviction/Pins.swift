import GRDB
import LFSDatabase
import LFSSystem

/// The pins of the app on local copies.
struct Pins: Sendable {
    let runner: BackgroundRunner
    let ledger: LocalCopyIndex

    func pin(_ ids: [FileID]) async throws {
        try await runner.write { db in
            for id in ids {
                guard try FileTable.contains(id, db) else { throw LFSError.unknown(id) }
                try CopyTable.pin(id, db)
            }
        }
    }

    /// Returns the number of files that the request matches.
    func pin(_ request: QueryInterfaceRequest<FileData>) async throws -> Int {
        let ids = request.select(FileData.Columns.id)
        return try await runner.write { db in
            // All ids are fetched first, because a pin may change the result of the request.
            let ids = try FileID.fetchAll(db, ids)
            for id in ids { try CopyTable.pin(id, db) }
            return ids.count
        }
    }

    func unpin(_ ids: [FileID]) async throws {
        try await runner.write { db in for id in ids { try CopyTable.unpin(id, db) } }
        for id in ids { ledger.allow(id) }
    }

    func unpin(_ request: QueryInterfaceRequest<FileData>) async throws -> Int {
        let ids = request.select(FileData.Columns.id)
        let unpinned = try await runner.write { db in
            let ids = try FileID.fetchAll(db, ids)
            for id in ids { try CopyTable.unpin(id, db) }
            return ids
        }
        for id in unpinned { ledger.allow(id) }
        return unpinned.count
    }

    func contains(_ id: FileID) async throws -> Bool {
        try await runner.read { db in try CopyTable.isPinned(id, db) }
    }
}
