public import GRDB
import LFSDatabase
public import LFSSystem

/// Pins and eviction of local copies.
extension LFSManager {
    // MARK: Pins

    /// Keeps the local copies of files from being evicted, until ``unpin(_:)->()``. It does not download them. Use
    /// ``prefetch(_:)`` for that.
    ///
    /// - Throws: ``LFSError/Code/unknownFile`` when a file has no row. No file is pinned then.
    public func pin(_ ids: some Sequence<FileID> & Sendable) async throws {
        // A sequence may give its elements only once, and the transaction may be repeated.
        let ids = Array(ids)
        try await LFSError.catching { try await pins.pin(ids) }
    }

    /// Keeps the local copies of the files that a request matches now from being evicted.
    ///
    /// ```swift
    /// try await lfs.pin(FileData.filter(sql: "id IN (SELECT photoId FROM recipe WHERE isFavourite)"))
    /// ```
    ///
    /// - Returns: the number of matching files.
    /// - Throws: the database's error. No file is pinned then.
    @discardableResult
    public func pin(_ request: QueryInterfaceRequest<FileData>) async throws -> Int {
        try await LFSError.catching { try await pins.pin(request) }
    }

    /// Pins a file if another one is pinned. Use it in the transaction in which a record replaces one file with
    /// another. The other file stays pinned while it has a row.
    ///
    /// ```swift
    /// let old = recipe.photoId
    /// try photo.insert(db)
    /// try recipe.updateChanges(db) { $0.photoId = photo.id }
    /// if let old { try lfs.pin(photo.id, like: old, in: db) }
    /// ```
    ///
    /// - Returns: true if the other file is pinned, so that this file is pinned too.
    /// - Throws: ``LFSError/Code/unknownFile`` when the file has no row, and the database's error.
    @discardableResult
    public func pin(_ id: FileID, like other: FileID, in db: Database) throws -> Bool {
        do {
            guard try FileTable.contains(id, db) else { throw LFSError.unknown(id) }
            guard try CopyTable.isPinned(other, db) else { return false }
            try CopyTable.pin(id, db)
            return true
        } catch {
            throw LFSError.wrapping(error)
        }
    }

    /// Allows the local copies of files to be evicted again. A file that is not pinned is skipped.
    ///
    /// - Throws: the database's error.
    public func unpin(_ ids: some Sequence<FileID> & Sendable) async throws {
        let ids = Array(ids)
        try await LFSError.catching { try await pins.unpin(ids) }
    }

    /// Allows the local copies of the files that a request matches now to be evicted again.
    ///
    /// - Returns: the number of matching files.
    /// - Throws: the database's error.
    @discardableResult
    public func unpin(_ request: QueryInterfaceRequest<FileData>) async throws -> Int {
        try await LFSError.catching { try await pins.unpin(request) }
    }

    /// Returns whether the local copy of a file is pinned, and so kept from being evicted.
    ///
    /// - Throws: the database's error.
    public func isPinned(_ id: FileID) async throws -> Bool {
        try await LFSError.catching(about: id) { try await pins.contains(id) }
    }

    // MARK: Evicting

    /// The space that local copies may take, initially ``LFSOptions/eviction``. A new policy takes effect immediately.
    /// Excess copies are evicted in the background, at the latest before the next download.
    public var evictionPolicy: EvictionPolicy {
        get { automaticEviction.policy }
        set { automaticEviction.policy = newValue }
    }

    /// Evicts a file that is on the remote storage. Its local bytes are removed, and downloaded again when they are
    /// needed.
    ///
    /// Returns when the row that permits it is durable and the bytes are removed. A reader that has the bytes open
    /// keeps them. When the storage confirms only the number of bytes (``FileData/proof``), the object is read back
    /// first.
    /// - Throws: ``LFSError/Code/notUploaded`` while the upload is not proven, ``LFSError/Code/pinned`` while the file
    ///   is pinned, and ``LFSError/Code/unknownFile``.
    public func evict(_ id: FileID) async throws {
        try await LFSError.catching { try await copies.evict(id) }
    }

    /// Evicts local copies until the limits of a policy are met, the least recently used first.
    ///
    /// A copy is evicted only when a durable row, which a power failure cannot undo, says that the file is uploaded.
    /// All other work may continue, including reading. An evicted file is downloaded again when it is needed.
    /// ``evictionPolicy`` does the same continuously.
    ///
    /// - Parameters:
    ///   - policy: how much to evict, and what to keep in any case.
    ///   - onCopy: receives each copy after its eviction. The next page waits until it returns.
    /// - Returns: what was evicted and what was kept. When the call throws, every copy that `onCopy` received is
    ///   evicted.
    /// - Throws: ``LFSError/Code/notRunning`` after a stop, which also ends a running call, and any error that `onCopy`
    ///   throws.
    @discardableResult
    public func evict(
        _ policy: EvictionPolicy, onCopy: @escaping @Sendable (EvictedCopy) async throws -> Void = { _ in }
    ) async throws -> EvictionReport {
        try await LFSError.catching { try await copies.evict(policy, isPreview: false, onCopy: onCopy) }
    }

    /// Reports what ``evict(_:onCopy:)`` would do now, and evicts nothing.
    ///
    /// - Throws: the errors of ``evict(_:onCopy:)``.
    public func previewEviction(
        _ policy: EvictionPolicy, onCopy: @escaping @Sendable (EvictedCopy) async throws -> Void = { _ in }
    ) async throws -> EvictionReport {
        try await LFSError.catching { try await copies.evict(policy, isPreview: true, onCopy: onCopy) }
    }

    /// Evicts every local copy that may be evicted, and removes the remains of unfinished downloads. Pinned files are
    /// kept.
    ///
    /// - Throws: the errors of ``evict(_:onCopy:)``.
    @discardableResult
    public func evictAll() async throws -> EvictionReport {
        try await LFSError.catching { try await copies.evictAll() }
    }
}
