package import LFSSystem

/// The removal of the store's cache by a reset, and what can be made again.
extension LocalStore {
    /// The result of trying to lock the cache of a store before its removal.
    package enum CacheHold: Sendable {
        /// The store has no folder that could be a cache.
        case none
        /// Another process, or another part of this one, has the cache open.
        case busy
        /// The cache is locked. No other process can open it while this value exists.
        case held(CacheFolder)
    }

    /// Locks the cache, so that no other process can open it. Blocks the thread for a moment.
    ///
    /// A link or a folder of another user with the cache's name does not belong to LFS and stays.
    package func holdCache() throws -> CacheHold {
        guard let status = try directory.status(of: CacheFolder.name), status.isDirectory, status.isOurs
        else { return .none }
        let cache = try CacheFolder(OwnFolder.open(CacheFolder.name, in: directory))
        return try cache.lock.tryLock(.exclusive) ? .held(cache) : .busy
    }

    /// Removes the contents of the cache. Blocks the thread.
    ///
    /// A cache that is open stays. A reset locks the cache before it deletes its rows. A process that opens the cache
    /// after that finds that it belongs to an earlier install, and empties it.
    func removeCache(_ hold: CacheHold) throws {
        guard case .held(let cache) = hold else { return }
        try cache.removeEverything()
        try cache.directory.synchronize()
    }

    /// Returns the paths of the folders and files whose bytes can be downloaded or made again.
    package func renewablePaths() throws(SystemError) -> [String] {
        var paths = [incoming.path]
        for name in [CacheFolder.name, OutgoingFolder.name, Self.spareName]
        where try directory.status(of: name) != nil {
            paths.append(directory.child(name))
        }
        return paths
    }
}
