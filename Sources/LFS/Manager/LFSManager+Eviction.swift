public import GRDB
import LFSDatabase
public import LFSSystem

/// Which local copies stay, and which go.
extension LFSManager {
    // MARK: Pins

    /// Keeps the local copies of files from being evicted, until ``unpin(_:)->()``. It does not fetch
    /// them: ``prefetch(_:)`` does.
    ///
    /// - Throws: ``LFSError/Code/unknownFile`` when a file has no row; none is pinned then.
    public func pin(_ ids: some Sequence<FileID> & Sendable) async throws {
        // The sequence may give its elements once, and the transaction may be made again.
        let ids = Array(ids)
        try await LFSError.catching { try await pins.pin(ids) }
    }

    /// Keeps the local copies of those files from being evicted that a request names now.
    ///
    /// ```swift
    /// try await lfs.pin(FileData.filter(sql: "id IN (SELECT photoId FROM recipe WHERE isFavourite)"))
    /// ```
    ///
    /// - Returns: how many files it names.
    /// - Throws: the database's error; none is pinned then.
    @discardableResult
    public func pin(_ request: QueryInterfaceRequest<FileData>) async throws -> Int {
        try await LFSError.catching { try await pins.pin(request) }
    }

    /// Pins a file if another one is pinned: for the transaction in which a record gets it in the place of the other.
    /// That one stays pinned while it has a row.
    ///
    /// ```swift
    /// let old = recipe.photoId
    /// try photo.insert(db)
    /// try recipe.updateChanges(db) { $0.photoId = photo.id }
    /// if let old { try lfs.pin(photo.id, like: old, in: db) }
    /// ```
    ///
    /// - Returns: whether it is pinned by that.
    /// - Throws: ``LFSError/Code/unknownFile`` when it has no row; the database's error.
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

    /// Lets the local copies of files go again when copies are evicted. A file that is not pinned is passed over.
    ///
    /// - Throws: the database's error.
    public func unpin(_ ids: some Sequence<FileID> & Sendable) async throws {
        let ids = Array(ids)
        try await LFSError.catching { try await pins.unpin(ids) }
    }

    /// Lets the local copies of those files go again that a request names now.
    ///
    /// - Returns: how many files it names.
    /// - Throws: the database's error.
    @discardableResult
    public func unpin(_ request: QueryInterfaceRequest<FileData>) async throws -> Int {
        try await LFSError.catching { try await pins.unpin(request) }
    }

    /// Whether the local copy of a file is kept from being evicted.
    ///
    /// - Throws: the database's error.
    public func isPinned(_ id: FileID) async throws -> Bool {
        try await LFSError.catching(about: id) { try await pins.contains(id) }
    }

    // MARK: Evicting

    /// How much space local copies may take, from ``LFSOptions/eviction`` on. A new policy holds at once: what is too
    /// much goes in the background, before the next download at the latest.
    public var evictionPolicy: EvictionPolicy {
        get { automaticEviction.policy }
        set { automaticEviction.policy = newValue }
    }

    /// Evicts a file that is on the remote storage: its local bytes go, and are fetched again when they are needed.
    ///
    /// Returns when the row that allows it is durable and the bytes are gone; a reader that has them open keeps them.
    /// Where the storage vouches for the number of the bytes alone (``FileData/proof``), the object is read back first.
    /// - Throws: ``LFSError/Code/notUploaded`` while the upload is not proven; ``LFSError/Code/pinned`` as long as the
    ///   file is pinned; ``LFSError/Code/unknownFile``.
    public func evict(_ id: FileID) async throws {
        try await LFSError.catching { try await copies.evict(id) }
    }

    /// Evicts local copies until a policy's aims are met, those that were not used for the longest time first.
    ///
    /// Only a copy whose upload is proven, by a row that no power cut can take back, goes. Anything may go on
    /// meanwhile, reading too: what is needed again is fetched again. ``evictionPolicy`` does the same all the time.
    ///
    /// - Parameters:
    ///   - policy: how much has to go, and what stays in any case.
    ///   - onCopy: takes each copy when it is gone; the next page waits until it returns.
    /// - Returns: what went and what stays. When it throws, what was told to `onCopy` is gone.
    /// - Throws: ``LFSError/Code/notRunning`` after a stop, which ends it too; what `onCopy` throws.
    @discardableResult
    public func evict(
        _ policy: EvictionPolicy, onCopy: @escaping @Sendable (EvictedCopy) async throws -> Void = { _ in }
    ) async throws -> EvictionReport {
        try await LFSError.catching { try await copies.evict(policy, isPreview: false, onCopy) }
    }

    /// Tells what ``evict(_:onCopy:)`` would do now, and evicts nothing.
    ///
    /// - Throws: as ``evict(_:onCopy:)``.
    public func previewEviction(
        _ policy: EvictionPolicy, onCopy: @escaping @Sendable (EvictedCopy) async throws -> Void = { _ in }
    ) async throws -> EvictionReport {
        try await LFSError.catching { try await copies.evict(policy, isPreview: true, onCopy) }
    }

    /// Evicts every local copy that may go, and what unfinished downloads have left. Pinned files stay.
    ///
    /// - Throws: as ``evict(_:onCopy:)``.
    @discardableResult
    public func evictAll() async throws -> EvictionReport {
        try await LFSError.catching { try await copies.evictAll() }
    }
}
