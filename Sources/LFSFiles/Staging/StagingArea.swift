package import LFSSystem

/// Where bytes wait between `makeFile` and the commit: one file per id, named by it.
///
/// ```
/// <db>.lfs/temporary/           0700   part of the local store, whose marker and open lock count for it too
/// <location>/<generated id>/    0700   the area of one database and one store in a persistence location
///   staging.json                0600   whose it is
///   staging.lock                0600   held shared by all that use it; exclusive for a sweep
///   0198c1f2-…                  0600
/// ```
package final class StagingArea: Sendable {
    package let directory: Directory
    let identity: FolderIdentity
    var device: UInt64 { identity.device }
    /// The lock of an area in a persistence location; nil for `temporary/`, for which the store's open lock counts.
    private let lock: FileLock?

    /// The default one, which is part of the store.
    package convenience init(in store: LocalStore) throws(FileError) {
        try self.init(OwnFolder.open(LocalStore.temporaryName, in: store.directory), isShared: false)
    }

    /// - Parameter isShared: whether it has a lock of its own, which is held from now on.
    init(_ directory: Directory, isShared: Bool) throws(FileError) {
        self.directory = directory
        do {
            let status = try directory.status()
            identity = FolderIdentity(status)
            try OwnFolder.require(status, directory.path)
            try directory.requireWritable()
            lock = isShared ? try OwnFolder.lock(StagingMarker.lockName, in: directory) : nil
            try lock?.lock(.shared)
        } catch {
            throw FileError.keeping(error, at: directory.path)
        }
    }

    /// Whether its disk is still there: its path leads to it, and its marker can be read from the device. Always true
    /// for `temporary/`, which is part of the store. Blocks the thread.
    ///
    /// - Throws: when there is nothing left to look with (``SystemError/isShortage``). Any other error is an answer: a
    ///   disk that is gone has many.
    package func isThere() throws(SystemError) -> Bool {
        guard lock != nil else { return true }
        do throws(SystemError) {
            let there = try Directory.open(path)
            guard try FolderIdentity(there.status()) == identity else { return false }
            guard case .found = try StagingMarker.file.read(in: directory, fromDevice: true) else { return false }
            return true
        } catch {
            if error.isShortage { throw error }
            return false
        }
    }

    /// Whether it is a folder of a persistence location.
    package func isIn(_ location: String) -> Bool { lock != nil && StagingPlace.split(path)?.parent == location }

    /// Whether it is on the same file system as a store, so that a file can be renamed into the store.
    package func isOnDisk(of store: LocalStore) -> Bool { device == store.device }

    /// Whether both are the same folder, perhaps by different paths.
    package func isSame(as other: StagingArea) -> Bool { identity == other.identity }

    // MARK: Sweeping

    /// Takes it for a sweep. Returns false when somebody else uses it. Blocks the thread for a moment.
    package func beginSweep() throws(SystemError) -> Bool {
        guard let lock, try !lock.tryLock(.exclusive) else { return true }
        // To make a shared lock exclusive the system gives up the shared one first, and does not get it back when that
        // fails; see flock(2).
        try lock.lock(.shared)
        return false
    }

    package func endSweep() throws(SystemError) { try lock?.lock(.shared) }

    /// Gives its lock up, so that another process may sweep it. Files can still be read from it.
    package func release() throws(SystemError) { try lock?.unlock() }

    // MARK: Files

    package var path: String { directory.path }

    package func contains(_ id: FileID) throws(SystemError) -> Bool {
        try directory.status(of: id.text)?.isRegularFile == true
    }

    /// Opens a file for reading; nil when the area does not have it.
    package func open(_ id: FileID) throws(SystemError) -> Descriptor? {
        try directory.openRegular(id.text)
    }

    /// The files in it, page by page.
    package func files() throws(SystemError) -> FileCursor { try FileCursor(directory) }

    @discardableResult
    package func remove(_ id: FileID) throws(SystemError) -> Bool { try directory.remove(id.text) }

    /// As ``remove(_:)``, but leaves a folder of that name, which is none of ours and is never taken for a file.
    package func clear(_ id: FileID) throws(SystemError) {
        if try directory.status(of: id.text)?.isDirectory == true { return }
        try remove(id)
    }
}
