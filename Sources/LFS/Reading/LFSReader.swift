public import Foundation
public import GRDB
import LFSDatabase
import LFSFiles
public import LFSSystem

/// Reads the local copies of files through a connection that may be read-only: for a widget or an extension, while the
/// app has the database open or not.
///
/// ```swift
/// let reader = try await LFSReader(try DatabasePool(path: path, configuration: readOnly))
/// let image = try await reader.data(of: recipe.photoId)
/// ```
///
/// It writes nothing, takes no lock and uses no network; what is not on this device it does not give. Its uses are not
/// noted, so for an ``EvictionPolicy`` it does not count as a reader; bytes that are open stay readable to their end.
public struct LFSReader: Sendable {
    private let database: any DatabaseReader
    private let localStore: String
    private let databaseID: String

    /// A reader of a database whose migrations have run.
    ///
    /// - Parameters:
    ///   - database: any connection to it; nothing is written.
    ///   - localStore: the folder of ``LFSOptions/localStore``, if that is set where files are made.
    /// - Throws: ``LFSError/Code/notMigrated``, ``LFSError/Code/newerSchema``; ``LFSError/Code/noLocalStore`` for a
    ///   database in memory.
    public init(_ database: any DatabaseReader, localStore: URL? = nil) async throws {
        self.database = database
        (databaseID, self.localStore) = try await LFSError.catching {
            let identity = try await database.readOnQueue { db in try DatabaseIdentity(db) }
            return (identity.databaseID.text, try identity.storePath(localStore))
        }
    }

    /// The local bytes of a file, in chunks.
    ///
    /// - Returns: nil when they are not on this device.
    /// - Throws: ``LFSError/Code/unknownFile``; ``LFSError/Code/sourceChanged`` when the local copy has not the size
    ///   that was recorded; ``LFSError/Code/wrongStore``.
    public func contents(of id: FileID) async throws -> FileContents? {
        try await LFSError.catching(about: id) {
            let (copy, byteCount) = try await open(id)
            return copy.map { FileContents($0, byteCount: byteCount) }
        }
    }

    /// The local bytes of a file, in memory as a whole: for what is small.
    ///
    /// - Returns: nil when they are not on this device.
    /// - Throws: As ``contents(of:)``.
    public func data(of id: FileID) async throws -> Data? {
        try await LFSError.catching(about: id) {
            let (copy, byteCount) = try await open(id)
            return try await copy?.data(byteCount: byteCount)
        }
    }

    /// Where the local bytes of a file are.
    ///
    /// The path is valid as long as the local copy is, and that of a file which waits to be moved into the local store
    /// until then: open it at once, or take ``contents(of:)``, which stays readable.
    ///
    /// - Returns: nil when they are not on this device.
    /// - Throws: As ``contents(of:)``.
    public func localURL(of id: FileID) async throws -> URL? {
        try await LFSError.catching(about: id) {
            try await open(id).copy.map { URL(fileURLWithPath: $0.file.path) }
        }
    }

    private func open(_ id: FileID) async throws -> (copy: OpenCopy?, byteCount: Int64) {
        let (file, locations) = try await database.readOnQueue { db in
            (try FileTable.fetch(id, db), try LocationTable.paths(db))
        }
        guard let file else { throw LFSError.unknown(id) }
        let (path, databaseID) = (localStore, databaseID)
        let copy = try await BlockingPool.shared.run { _ -> OpenCopy? in
            let store = try ReadOnlyStore(at: path, databaseID: databaseID, locations: locations)
            guard let descriptor = try store.open(id) else { return nil }
            guard try descriptor.status().byteCount == file.byteCount else { throw OpenCopy.isDamaged(id) }
            return OpenCopy(id: id, file: descriptor, use: nil)
        }
        return (copy, file.byteCount)
    }
}

extension DatabaseIdentity {
    /// Where the local store of the database is.
    ///
    /// - Parameter option: where the app wants it; nil for beside the database.
    /// - Throws: ``LFSError/Code/noLocalStore`` for a database in memory without one.
    func storePath(_ option: URL?) throws -> String {
        if let option { return option.absoluteURL.path }
        if path.isEmpty {
            throw LFSError(
                .noLocalStore,
                """
                A database in memory has no folder beside it. Set LFSOptions.localStore to the folder that shall keep \
                its files.
                """
            )
        }
        return path + ".lfs"
    }
}
