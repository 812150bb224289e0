public import Foundation
public import GRDB
import LFSDatabase
import LFSFiles
public import LFSSystem

/// A reader of the local copies of files through a connection that may be read-only. Use it in a widget or an
/// extension, whether the app has the database open or not.
///
/// ```swift
/// let reader = try await LFSReader(try DatabasePool(path: path, configuration: readOnly))
/// let image = try await reader.data(of: recipe.photoId)
/// ```
///
/// It writes nothing, takes no lock and uses no network. It returns only files that are on this device: local copies,
/// and originals that are unchanged since they were attached. Its uses are not recorded, so an ``EvictionPolicy`` does
/// not treat it as a reader. Open bytes stay readable to their end.
public struct LFSReader: Sendable {
    private let database: any DatabaseReader
    private let localStore: String
    private let databaseID: String

    /// Creates a reader of a database whose migrations have run.
    ///
    /// - Parameters:
    ///   - database: any connection to it. It is only read.
    ///   - localStore: the folder of ``LFSOptions/localStore``, if the app that makes the files sets that option.
    /// - Throws: ``LFSError/Code/notMigrated``, ``LFSError/Code/newerSchema``, and ``LFSError/Code/noLocalStore`` for a
    ///   database in memory.
    public init(_ database: any DatabaseReader, localStore: URL? = nil) async throws {
        self.database = database
        (databaseID, self.localStore) = try await LFSError.catching {
            let identity = try await database.readOnQueue { db in try DatabaseIdentity(db) }
            return (identity.databaseID.text, try identity.storePath(localStore))
        }
    }

    /// Returns the local bytes of a file, in chunks.
    ///
    /// - Returns: nil when they are not on this device.
    /// - Throws: ``LFSError/Code/unknownFile``, ``LFSError/Code/sourceChanged`` when the size of the local copy differs
    ///   from the row, and ``LFSError/Code/wrongStore``.
    public func contents(of id: FileID) async throws -> FileContents? {
        try await LFSError.catching(about: id) {
            let (copy, byteCount) = try await open(id)
            return copy.map { FileContents($0, byteCount: byteCount) }
        }
    }

    /// Returns the local bytes of a file in memory. Use it for small files.
    ///
    /// - Returns: nil when they are not on this device.
    /// - Throws: the errors of ``contents(of:)``.
    public func data(of id: FileID) async throws -> Data? {
        try await LFSError.catching(about: id) {
            let (copy, byteCount) = try await open(id)
            return try await copy?.data(byteCount: byteCount)
        }
    }

    /// Returns the location of the local bytes of a file.
    ///
    /// The path is valid until the local copy is evicted. The path of a staged file is valid until the file is moved
    /// into the local store. Open it at once, or use ``contents(of:)``, which stays readable.
    ///
    /// - Returns: nil when they are not on this device.
    /// - Throws: the errors of ``contents(of:)``.
    public func localURL(of id: FileID) async throws -> URL? {
        try await LFSError.catching(about: id) {
            try await open(id).copy.map { URL(fileURLWithPath: $0.file.path) }
        }
    }

    private func open(_ id: FileID) async throws -> (copy: OpenCopy?, byteCount: Int64) {
        let (file, locations, original) = try await database.readOnQueue { db in
            (
                try FileTable.fetch(id, db), try LocationTable.paths(db),
                try OriginalTable.row(of: id, db).map(OriginalFile.init)
            )
        }
        guard let file else { throw LFSError.unknown(id) }
        let (path, databaseID) = (localStore, databaseID)
        let copy = try await BlockingPool.shared.run { _ -> OpenCopy? in
            let store = try ReadOnlyStore(at: path, databaseID: databaseID, locations: locations)
            guard let descriptor = try store.open(id) ?? original?.openUnchanged() else { return nil }
            guard try descriptor.status().byteCount == file.byteCount else { throw OpenCopy.isDamaged(id) }
            return OpenCopy(id: id, file: descriptor, use: nil)
        }
        return (copy, file.byteCount)
    }
}

extension DatabaseIdentity {
    /// Returns the path of the local store of the database.
    ///
    /// - Parameter option: the folder that the app has set. Nil for the folder next to the database.
    /// - Throws: ``LFSError/Code/noLocalStore`` for a database in memory without one.
    func storePath(_ option: URL?) throws -> String {
        if let option { return option.absoluteURL.path }
        if path.isEmpty {
            throw LFSError(
                .noLocalStore,
                message: """
                    A database in memory has no folder next to it. Set LFSOptions.localStore to a folder for its \
                    files.
                    """
            )
        }
        return path + ".lfs"
    }
}
