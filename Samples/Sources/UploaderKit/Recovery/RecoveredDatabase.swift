import Foundation
import GRDB

/// A database that is written from a copy. It gets its name when it is whole and known to be right.
struct RecoveredDatabase: Sendable {
    let path: String
    /// Whether the copy has to carry a code that fits.
    let isAuthenticated: Bool

    /// - Returns: how many files it has.
    /// - Throws: ``UploaderError``, `StorageError`; then nothing is left of it.
    func make(
        from copy: RecoveryCopies.Copy, _ copies: RecoveryCopies,
        _ storage: (location: StorageLocation, given: GivenStorage)
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
                "The copy \(copy.key) cannot be used: \(error.description). --saved TIME takes an older one."
            )
        }
        let count = try check(file, copy, storage)
        try takeName(file)
        return count
    }

    /// Gives it its name for good.
    private func takeName(_ file: URL) throws {
        guard FreeName.take(FilePath(path), for: FilePath(file.path)) else { throw failure() }
        let folder = open(URL(fileURLWithPath: path).deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { throw failure() }
        defer { close(folder) }
        // Without it a power cut may take the name. Some network shares cannot do it.
        guard fsync(folder) == 0 || [EINVAL, ENOTSUP, EOPNOTSUPP, ENOTTY].contains(errno) else { throw failure() }
    }

    private func failure() -> UploaderError { UploaderError("\(path): \(String(cString: strerror(errno)))") }

    private func requireFree() throws {
        for suffix in ["", "-wal", "-journal", ".lfs"] where FileManager.default.fileExists(atPath: path + suffix) {
            let advice =
                suffix == ".lfs"
                ? " Keep that folder until all files are back: it may have some that were not uploaded." : ""
            throw UploaderError(
                "\(path + suffix) is there already and is not overwritten. Give --database another path.\(advice)")
        }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard FileManager.default.fileExists(atPath: folder) else {
            throw UploaderError("The folder \(folder) for the database does not exist. Make it first.")
        }
    }

    /// Looks whether it is the uploader's, whole, and notes the storage that it came from.
    private func check(
        _ file: URL, _ copy: RecoveryCopies.Copy, _ storage: (location: StorageLocation, given: GivenStorage)
    ) throws -> Int {
        guard try DatabaseFile(at: file.path).isOurs else {
            throw UploaderError("The copy is no database of the uploader's.")
        }
        let database = try DatabaseQueue(path: file.path)
        // Who can write to the storage can put statements into a copy, which would run with each later command.
        try OwnSchema.restore(database)
        let count = try database.writeWithoutTransaction { db in
            let words = try String.fetchAll(db, sql: "PRAGMA quick_check(1)")
            guard words == ["ok"] else { throw UploaderError("The copy is damaged: \(words.joined(separator: " "))") }
            let id = try String.fetchOne(db, sql: "SELECT namespace FROM lfs_state")
            guard id == copy.databaseID else {
                throw UploaderError("The copy \(copy.key) is that of another database: somebody has moved it.")
            }
            try StorageMemory.remember(storage.location, storage.given, db)
            return try Int.fetchOne(db, sql: "SELECT count(*) FROM uploader_document") ?? 0
        }
        try database.close()
        return count
    }
}
