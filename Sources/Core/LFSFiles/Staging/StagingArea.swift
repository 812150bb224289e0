package import LFSSystem

/// A folder where bytes wait between `makeFile` and the commit. Each file is named by its id.
///
/// ```
/// <db>.lfs/temporary/           0700   part of the local store, whose marker and open lock also apply to it
/// <location>/<generated id>/    0700   the area of one database and one store in a persistence location
///   staging.json                0600   the marker, which names the owner
///   staging.lock                0600   held shared by everyone who uses the area. Exclusive for a sweep
///   0198c1f2-…                  0600
/// ```
package final class StagingArea: Sendable {
    package let directory: Directory
    let identity: FolderIdentity
    /// The bytes of originals that were attached without a copy.
    package let originalBytes = OriginalBytes()
    var device: UInt64 { identity.device }
    /// The lock of an area in a persistence location. Nil for `temporary/`, which the store's open lock protects.
    private let lock: FileLock?
    let protector: FileProtector?

    /// Opens the default area, which is part of the store.
    package convenience init(in store: LocalStore) throws(FileError) {
        try self.init(
            OwnFolder.open(LocalStore.temporaryName, in: store.directory), isShared: false, protector: store.protector)
    }

    /// - Parameters:
    ///   - isShared: true if the area has its own lock.
    ///   - isHeld: true if that lock is held from now on.
    ///   - protector: protects the files that are made from now on.
    init(
        _ directory: Directory, isShared: Bool, isHeld: Bool = true, protector: FileProtector? = nil
    ) throws(FileError) {
        self.directory = directory
        self.protector = protector
        do {
            identity = FolderIdentity(try directory.status())
            try OwnFolder.requireOwn(directory, path: directory.path)
            try directory.requireWritable()
            try protector?.protect(directory)
            lock = isShared ? try OwnFolder.lock(StagingMarker.lockName, in: directory) : nil
            if isHeld { try lock?.lock(.shared) }
        } catch {
            throw FileError.keeping(error, at: directory.path)
        }
    }

    /// Returns true if the area's disk is still mounted: the path leads to the area, and its marker can be read from
    /// the device. Always true for `temporary/`, which is part of the store. Blocks the thread.
    ///
    /// - Throws: an error if the process lacks descriptors or memory for the check (``SystemError/isShortage``). All
    ///   other errors return false, because a missing disk can cause many of them.
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

    /// Returns true if the area is a folder of this persistence location.
    package func isIn(_ location: String) -> Bool { lock != nil && StagingPlace.split(path)?.parent == location }

    /// Returns true if the area is on the store's file system, so that a file can be renamed into the store.
    package func isOnDisk(of store: LocalStore) -> Bool { device == store.device }

    /// Returns true if both are the same folder, even with different paths.
    package func isSame(as other: StagingArea) -> Bool { identity == other.identity }

    // MARK: Sweeping

    /// Acquires the exclusive lock for a sweep. Returns false if another process uses the area. Blocks the thread for a
    /// moment.
    package func beginSweep() throws(SystemError) -> Bool {
        guard let lock, try !lock.tryLock(.exclusive) else { return true }
        // To upgrade a shared lock, the system first releases it, and does not restore it if the upgrade fails. See
        // flock(2).
        try lock.lock(.shared)
        return false
    }

    package func endSweep() throws(SystemError) { try lock?.lock(.shared) }

    /// Takes the lock again after ``release()``. Blocks the thread.
    package func hold() throws(SystemError) { try lock?.lock(.shared) }

    /// Releases the lock, so that another process may sweep the area. Files can still be read from it.
    package func release() throws(SystemError) { try lock?.unlock() }

    // MARK: Files

    package var path: String { directory.path }

    package func contains(_ id: FileID) throws(SystemError) -> Bool {
        try directory.status(of: id.text)?.isRegularFile == true
    }

    /// Opens a file for reading. Returns nil if the area does not contain it.
    package func open(_ id: FileID) throws(SystemError) -> Descriptor? {
        try directory.openRegular(id.text)
    }

    /// Returns a cursor over the files in the area, page by page.
    package func files() throws(SystemError) -> FileCursor { try FileCursor(directory) }

    @discardableResult
    package func remove(_ id: FileID) throws(SystemError) -> Bool { try directory.remove(id.text) }

    /// Removes a file like ``remove(_:)``, but keeps a folder with that name. LFS does not create such a folder and
    /// never treats it as a file.
    package func clear(_ id: FileID) throws(SystemError) {
        if try directory.status(of: id.text)?.isDirectory == true { return }
        try remove(id)
    }
}
