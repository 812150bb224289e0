import GRDB
import LFSDatabase
import LFSSystem

/// Which local copies stay because the app says so.
struct Pins: Sendable {
    let runner: BackgroundRunner
    let ledger: CopyLedger

    func pin(_ ids: [FileID]) async throws {
        try await runner.write { db in
            for id in ids {
                guard try FileTable.contains(id, db) else { throw LFSError.unknown(id) }
                try CopyTable.pin(id, db)
            }
        }
    }

    /// Returns how many files the request names.
    func pin(_ request: QueryInterfaceRequest<FileData>) async throws -> Int {
        let ids = request.select(FileData.Columns.id)
        return try await runner.write { db in
            // As a whole: a pin may change what the request names.
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
