package import LFSSystem

/// The folder `<database file>.lfs`: one file per `FileData`, named by its id and read-only.
///
/// ```
/// <database file>.lfs/          0700
///   lfs.json                    which database it belongs to
///   attached.lock               shared by all that have the database open; names the database as well
///   uploader.lock               held by the one that uploads
///   temporary/                  the default persistence location
///   incoming/                   unfinished downloads and copies
///   quarantine/                 damaged files, made when the first is found
///   0198c1f2-…                  0400
/// ```
package final class LocalStore: Sendable {
    package static let temporaryName = "temporary"
    static let incomingName = "incoming"
    static let openLockName = "attached.lock"
    static let uploaderLockName = "uploader.lock"
    /// How the name ends of a copy that is on its way into the store; see ``removeCopies(_:)``.
    static let copySuffix = ".copy"

    package let directory: Directory
    package let incoming: Directory
    /// The number of the device that its file system is on, to notice when another one is mounted over it.
    let device: UInt64
    /// Held shared as long as the store is in use; exclusive for a sweep.
    package let openLock: FileLock
    /// Held by the one process that uploads.
    package let uploaderLock: FileLock
    /// The marker as it was when the folder was opened. The database's id in it stays; the counts do not, since another
    /// process may raise them. ``currentMarker()`` reads it again.
    package let marker: StoreMarker
    /// Small files that have come, on their way to the disk.
    let arrivals: Batching<ArrivedFile, ArrivedFiles.Outcome>

    /// Opens the folder and makes it if it is missing; its parent has to exist.
    ///
    /// - Parameter generation: how often the database was opened before.
    /// - Throws: ``FileError/Code/wrongStore`` when the folder belongs to another database.
    package init(at path: String, databaseID: String, generation: Int64 = 0) throws(FileError) {
        let lockFile: Descriptor
        let reserve: String?
        do {
            directory = try Directory.openOrMake(path)
            let status = try directory.status()
            try OwnFolder.require(status, path)
            device = status.device
            incoming = try OwnFolder.open(Self.incomingName, in: directory)
            lockFile = try OwnFolder.openLockFile(Self.openLockName, in: directory)
            openLock = FileLock(lockFile)
            uploaderLock = try OwnFolder.lock(Self.uploaderLockName, in: directory)
            reserve = try StoreReserve.databaseID(in: lockFile)
        } catch {
            throw FileError.keeping(error, at: path)
        }
        marker = try StoreMarker.check(
            in: directory, through: incoming, databaseID: databaseID, openings: generation, reserve: reserve)
        arrivals = ArrivedFiles(incoming: incoming, directory: directory).batches
        if reserve == nil { try StoreReserve.write(databaseID, to: lockFile) }
    }

    /// Writes down which opening of the database uses the folder now. Only for a holder of the open lock.
    ///
    /// - Parameters:
    ///   - generation: the number of that opening, from 1 on.
    ///   - followsAnother: whether the database was used with another folder since this one was used last.
    package func mark(generation: Int64, followsAnother: Bool = false) throws(FileError) {
        var marker = try currentMarker()
        // A folder that no opening has used was made for this one, unless its marker says otherwise.
        if marker.generation == 0 { marker.madeFor = marker.madeFor ?? generation }
        marker.generation = max(marker.generation, generation)
        if followsAnother { marker.followsAnother = true }
        do {
            try StoreMarker.write(marker, in: directory, through: incoming)
        } catch {
            throw FileError.keeping(error, at: path)
        }
    }

    package var path: String { directory.path }

    package func contains(_ id: FileID) throws(SystemError) -> Bool { try directory.status(of: id.text) != nil }

    /// Opens a file for reading; nil when the store does not have it.
    package func open(_ id: FileID) throws(SystemError) -> Descriptor? {
        do {
            return try directory.openForReading(id.text)
        } catch let error where error.isMissing {
            return nil
        }
    }

    /// Where a file is or would be.
    package func path(of id: FileID) -> String { directory.child(id.text) }

    /// The files in it, page by page.
    package func files() throws(SystemError) -> FileCursor { try FileCursor(directory) }
}
