import Foundation
import GRDB

/// A database that is restored from a copy. It gets its name once it is complete and verified.
struct RecoveredDatabase: Sendable {
    let path: String
    /// True if the copy must have a valid authentication code.
    let isAuthenticated: Bool

    /// - Returns: the number of files.
    /// - Throws: ``UploaderError``, `StorageError`. No file of the database remains then.
    func make(
        from copy: RecoveryCopies.Copy, _ copies: RecoveryCopies,
        storage: (location: StorageLocation, given: GivenStorage)
    ) async throws -> Int {
        try requireFree()
        let id = UUID().uuidString
        let (packed, file) = (URL(fileURLWithPath: "\(path).\(id).gz"), URL(fileURLWithPath: "\(path).\(id)"))
        defer {
            for name in [packed.path] + (["", "-wal", "-shm", "-journal"].map { file.path + $0 }) { _ = unlink(name) }
        }
        try await copies.fetch(copy, to: packed)
        try await CopySeal.remove(from: packed, of: copy, isChecked: isAuthenticated)
        do {
            try GzipFile.decompressDatabase(packed, to: file)
        } catch let error as UploaderError {
            throw UploaderError(
                "The copy \(copy.key) cannot be used: \(error.description). --saved TIME selects an older one."
            )
        }
        let count = try check(file, copy: copy, storage: storage)
        try takeName(file)
        return count
    }

    /// Gives the database its final name.
    private func takeName(_ file: URL) throws {
        guard FreeName.take(FilePath(path), for: FilePath(file.path)) else { throw failure() }
        let folder = open(URL(fileURLWithPath: path).deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { throw failure() }
        defer { close(folder) }
        // Without this, a power failure may undo the rename. Some network shares do not support it.
        guard fsync(folder) == 0 || [EINVAL, ENOTSUP, EOPNOTSUPP, ENOTTY].contains(errno) else { throw failure() }
    }

    private func failure() -> UploaderError { UploaderError("\(path): \(String(cString: strerror(errno)))") }

    private func requireFree() throws {
        for suffix in ["", "-wal", "-journal", ".lfs"] where FileManager.default.fileExists(atPath: path + suffix) {
            let advice =
                suffix == ".lfs"
                ? " Keep that folder until all files are restored: some may not be uploaded." : ""
            throw UploaderError(
                "\(path + suffix) already exists and is not overwritten. Give --database another path.\(advice)")
        }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard FileManager.default.fileExists(atPath: folder) else {
            throw UploaderError("The folder \(folder) for the database does not exist. Create it first.")
        }
    }

    /// Verifies that it is a complete database of the uploader, and records the storage of its files.
    private func check(
        _ file: URL, copy: RecoveryCopies.Copy, storage: (location: StorageLocation, given: GivenStorage)
    ) throws -> Int {
        guard try DatabaseFile(at: file.path).isOurs else {
            throw UploaderError("The copy is not a database of the uploader.")
        }
        let database = try DatabaseQueue(path: file.path)
        // An attacker with write access to the storage could put statements into a copy, which would run with each
        // later command.
        try OwnSchema.restore(database)
        let count = try database.writeWithoutTransaction { db in
            let words = try String.fetchAll(db, sql: "PRAGMA quick_check(1)")
            guard words == ["ok"] else { throw UploaderError("The copy is damaged: \(words.joined(separator: " "))") }
            let id = try String.fetchOne(db, sql: "SELECT namespace FROM lfs_state")
            guard id == copy.databaseID else {
                throw UploaderError("The copy \(copy.key) belongs to another database: it was moved.")
            }
            try StorageMemory.remember(storage.location, given: storage.given, db)
            return try Int.fetchOne(db, sql: "SELECT count(*) FROM uploader_document") ?? 0
        }
        try database.close()
        return count
    }
}
