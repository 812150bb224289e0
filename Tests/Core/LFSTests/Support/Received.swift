import Foundation
import GRDB
import LFS
import LFSDatabase
import LFSStorage
import LFSSystem
import LFSTesting
import Testing

/// A file's row as a server sends it.
struct ReceivedFile: Sendable {
    let id: FileID
    let key: String
    var status = "local"
    var name: String?
    private let byteCount: Int
    private let sha256: String

    /// Creates the row of a file that another device has made.
    init(_ bytes: [UInt8]) {
        id = FileID.make()
        key = Namespace(ofDatabase: "another device").key(of: id)
        byteCount = bytes.count
        sha256 = ContentHash.hex(of: bytes)
    }

    /// Creates the row of a file of this device, as the server has it.
    init(_ file: FileData, status: String = "local") {
        id = file.id
        key = file.key
        self.status = status
        name = file.name
        byteCount = Int(file.byteCount)
        sha256 = file.sha256
    }

    /// Inserts the row, or updates the columns that can change.
    func save(_ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO lfs_file (id, status, url, name, byteCount, sha256, key, createdAt)
                VALUES (?, ?, ?, ?, ?, ?, ?, '2026-01-01 00:00:00.000')
                ON CONFLICT (id) DO UPDATE SET status = excluded.status, url = excluded.url, name = excluded.name
                WHERE (status, url, name) IS NOT (excluded.status, excluded.url, excluded.name)
                """,
            arguments: [id, status, status == "remote" ? "memory:///\(key)" : nil, name, byteCount, sha256, key])
    }
}

extension ContentHash {
    fileprivate static func hex(of bytes: [UInt8]) -> String {
        var hash = ContentHash()
        bytes.withUnsafeBytes { hash.update($0) }
        return hash.hex
    }
}

/// Changes to the tables of LFS as sync makes them.
extension TestHost {
    /// Applies changes that came from a server.
    func apply(_ body: @escaping @Sendable (Database) throws -> Void) async throws {
        try await database.write { db in try StateTable.applying(db) { try body(db) } }
    }

    func receive(_ file: ReceivedFile) async throws { try await apply(file.save) }

    func receiveDeletion(of id: FileID) async throws {
        try await apply { try $0.execute(sql: "DELETE FROM lfs_file WHERE id = ?", arguments: [id]) }
    }

    /// Uploads the object of another device's file and receives its row.
    func receiveUploaded(_ bytes: [UInt8]) async throws -> FileData {
        var received = ReceivedFile(bytes)
        received.status = "remote"
        _ = try await storage.upload(.temporary(bytes), to: ObjectKey(received.key), session: UploadSession())
        try await receive(received)
        return try #require(try file(received.id))
    }

    func holdDeletions() async throws { try await database.write { try StateTable.holdDeletions(true, $0) } }

    func delete(_ id: FileID) async throws {
        try await database.write { try $0.execute(sql: "DELETE FROM lfs_file WHERE id = ?", arguments: [id]) }
    }

    @discardableResult
    func accept(_ id: FileID, removesObject: Bool = true) async throws -> Bool {
        try await database.write { try TombstoneTable.accept(id, removesObject: removesObject, $0) }
    }

    @discardableResult
    func reject(_ id: FileID) async throws -> Bool { try await database.write { try TombstoneTable.reject(id, $0) } }

    /// Returns a row of a table as text, without one column.
    func row(_ table: String, of id: FileID, without column: String = "") async throws -> String? {
        try await database.read { db in
            let name = table == "lfs_file" ? "id" : "fileID"
            return try Row.fetchOne(db, sql: "SELECT * FROM \(table) WHERE \(name) = ?", arguments: [id])
                .map { row in row.filter { $0.0 != column }.map { "\($0.0) = \($0.1)" }.joined(separator: ", ") }
        }
    }
}

extension InMemoryStorage {
    func has(_ file: FileData) throws -> Bool { try bytes(of: ObjectKey(file.key)) != nil }
}
