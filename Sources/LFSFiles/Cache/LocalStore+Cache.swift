import LFSSystem

/// What a reset does with the cache in the store.
extension LocalStore {
    /// The cache of a store, as seen by who wants to remove it.
    package enum CacheHold: Sendable {
        /// There is no folder that could be one.
        case none
        /// Somebody has it open.
        case busy
        /// Nobody else can open it as long as this is there.
        case held(CacheFolder)
    }

    /// Takes the cache, so that nobody opens it. Blocks the thread for a moment.
    ///
    /// A link or a folder of another user in its place is none of ours, and stays.
    package func holdCache() throws -> CacheHold {
        guard let status = try directory.status(of: CacheFolder.name), status.isDirectory,
            status.owner == FileStatus.currentUser
        else { return .none }
        let cache = try CacheFolder(OwnFolder.open(CacheFolder.name, in: directory))
        return try cache.lock.tryLock(.exclusive) ? .held(cache) : .busy
    }

    /// Removes what the cache holds. Blocks the thread.
    ///
    /// One that is open stays. A reset holds the cache from before its rows go, so who has opened it since did so after
    /// them, and has found it to be of another install and emptied it.
    func removeCache(_ hold: CacheHold) throws {
        guard case .held(let cache) = hold else { return }
        try cache.removeEverything()
        try cache.directory.synchronize()
    }
}
