import Foundation
import GRDB
import LFS

extension DatabaseStorageService {
    /// Returns records with their tags and pictures, and the records that cannot be read.
    static func contents(
        _ selection: RecordTable.Selection, _ db: Database
    ) throws -> (records: [TimeRecord], damaged: [DamagedRecord]) {
        let names = try PictureTable.names(selection, db)
        var (records, damaged) = try RecordTable.fetch(selection, db)
        for index in records.indices.reversed() {
            records[index].images = names[records[index].id.text] ?? []
            do {
                try records[index].requireStorable()
            } catch let FileStorageError.encodingFailed(name, reason) {
                damaged.append(DamagedRecord(name: name, reason: "It is damaged: \(reason)."))
                records.remove(at: index)
            }
        }
        return (records, damaged)
    }

    static func record(_ id: UUID, _ db: Database) throws -> TimeRecord {
        let (records, damaged) = try contents(.one(id), db)
        if let record = records.first { return record }
        if let damaged = damaged.first {
            throw FileStorageError.decodingFailed(name: damaged.name, reason: "\(damaged.reason)")
        }
        throw FileStorageError.fileNotFound(name: id.text)
    }

    // MARK: Errors

    func read<Result: Sendable>(
        _ name: String, _ body: @escaping @Sendable (Database) throws -> Result
    ) async throws -> Result {
        try await Self.catching {
            .fileReadFailed(name: name, reason: $0)
        } _: {
            try await database.read(body)
        }
    }

    func write<Result: Sendable>(
        _ name: String, _ body: @escaping @Sendable (Database) throws -> Result
    ) async throws -> Result {
        try await Self.catching {
            .fileWriteFailed(name: name, reason: $0)
        } _: {
            try await database.write(body)
        }
    }

    /// Converts errors of the database and of LFS into errors of the journal. Errors of a caller's own chunks are
    /// thrown unchanged.
    static func catching<Result>(
        _ failure: (FileStorageError.Reason) -> FileStorageError, _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch let error as LFSError where error.code == .cancelled {
            throw CancellationError()
        } catch let error as LFSError where error.code == .noSpace {
            throw FileStorageError.noSpace
        } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
            throw FileStorageError.noSpace
        } catch let error as LFSError where error.code == .sourceFailed {
            throw error.cause ?? failure(.init(error))
        } catch {
            throw error is DatabaseError || error is LFSError ? failure(.init(error)) : error
        }
    }
}
