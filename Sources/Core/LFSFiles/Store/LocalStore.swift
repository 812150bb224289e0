package import LFSSystem

/// The local store: a folder `<database file>.lfs` with one read-only file per `FileData`, named by its id.
///
/// ```
/// <database file>.lfs/          0700
///   lfs.json                    the marker, which names the database
///   attached.lock               shared by everyone who has the database open. Also names the database
///   uploader.lock               held by the one process that uploads
///   temporary/                  the default persistence location
///   incoming/                   unfinished downloads and copies
///   outgoing/                   parts that a service of the system uploads, created with the first one
///   quarantine/                 damaged files, created when the first one is found
///   0198c1f2-…                  0400
/// ```
package final class LocalStore: Sendable {
    package static let temporaryName = "temporary"
    static let incomingName = "incoming"
    static let openLockName = "attached.lock"
    static let uploaderLockName = "uploader.lock"
    /// The suffix of a file that is being copied into the store. See ``removeCopies(_:)``.
    static let copySuffix = ".copy"

    package let directory: Directory
    package let incoming: Directory
    /// The device number of the store's file system. It reveals that another file system was mounted over the folder.
    package let device: UInt64
    /// The lock that is held shared while the store is in use, and exclusive for a sweep.
    package let openLock: FileLock
    /// The lock that the one uploading process holds.
    package let uploaderLock: FileLock
    /// The marker at the time when the folder was opened. Its database id does not change. Its counts may, because
    /// another process may raise them. ``currentMarker()`` reads it again.
    package let marker: StoreMarker
    /// The setter of the protection class. Nil where files have no class.
    package let protector: FileProtector?
    /// The batcher that writes complete small downloads to disk.
    let arrivals: Batcher<DownloadedFile, DownloadedFiles.Outcome>

    /// Opens the folder, and creates it if it is missing. Its parent must exist.
    ///
    /// - Parameters:
    ///   - generation: the number of earlier openings of the database.
    ///   - protector: protects the files that are made from now on.
    /// - Throws: ``FileError/Code/wrongStore`` if the folder belongs to another database.
    package init(
        at path: String, databaseID: String, generation: Int64 = 0, protector: FileProtector? = nil
    ) throws(FileError) {
        self.protector = protector
        let lockFile: Descriptor
        let reserve: String?
        do {
            directory = try Directory.openOrMake(path)
            try OwnFolder.requireOwn(directory, path: path)
            device = try directory.status().device
            try protector?.protect(directory)
            incoming = try OwnFolder.open(Self.incomingName, in: directory)
            try protector?.protect(incoming)
            lockFile = try OwnFolder.openLockFile(Self.openLockName, in: directory)
            openLock = FileLock(lockFile)
            uploaderLock = try OwnFolder.lock(Self.uploaderLockName, in: directory)
            reserve = try LockFileIdentity.databaseID(in: lockFile)
        } catch {
            throw FileError.keeping(error, at: path)
        }
        marker = try StoreMarker.check(
            in: directory, through: incoming, databaseID: databaseID, openings: generation, reserve: reserve)
        arrivals = DownloadedFiles(incoming: incoming, directory: directory).batches
        if reserve == nil { try LockFileIdentity.write(databaseID, to: lockFile) }
    }

    /// Announces an opening that the database counts afterwards. Only a holder of the open lock and of the database's
    /// write lock may call it.
    ///
    /// - Parameters:
    ///   - generation: the number of that opening, starting at 1.
    ///   - barrier: the number that identifies it.
    ///   - followsAnother: true if the database was used with another folder since the last use of this one.
    package func announce(generation: Int64, barrier: Int64, followsAnother: Bool = false) throws(FileError) {
        var marker = try currentMarker()
        marker.announced = generation
        marker.announcedBarrier = barrier
        if followsAnother { marker.followsAnother = true }
        try write(marker)
    }

    /// Records which opening of the database uses the folder now. Only a holder of the open lock and of the database's
    /// write lock may call it.
    ///
    /// - Parameter generation: the number of that opening, starting at 1.
    package func mark(generation: Int64) throws(FileError) {
        var marker = try currentMarker()
        // A folder that no opening has used was created for this one, unless its marker contains another number.
        if marker.generation == 0 { marker.madeFor = marker.madeFor ?? generation }
        marker.generation = max(marker.generation, generation)
        try write(marker)
    }

    private func write(_ marker: StoreMarker) throws(FileError) {
        do {
            try StoreMarker.write(marker, in: directory, through: incoming)
        } catch {
            throw FileError.keeping(error, at: path)
        }
    }

    package var path: String { directory.path }

    package func contains(_ id: FileID) throws(SystemError) -> Bool { try directory.status(of: id.text) != nil }

    /// Opens a file for reading. Returns nil if the store does not contain it.
    package func open(_ id: FileID) throws(SystemError) -> Descriptor? {
        do {
            return try directory.openForReading(id.text)
        } catch let error where error.isMissing {
            return nil
        }
    }

    /// Returns the path of a file, even if it does not exist.
    package func path(of id: FileID) -> String { directory.child(id.text) }

    /// Returns a cursor over the files in the store, page by page.
    package func files() throws(SystemError) -> FileCursor { try FileCursor(directory) }
}
