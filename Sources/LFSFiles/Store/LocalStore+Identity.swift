import LFSSystem

extension LocalStore {
    /// Checks that the path still leads to the folder that was opened, and that the folder is still this database's.
    ///
    /// A folder that was swapped, removed or mounted over must not look like "all files are gone": ask this before
    /// anything is said to be missing and before anything is removed. Blocks the thread.
    /// - Throws: ``FileError/Code/wrongStore``.
    package func requireUnchanged() throws(FileError) {
        let isSame: Bool
        do {
            let (now, opened) = (try FileStatus(following: path), try directory.status())
            isSame = now.inode == opened.inode && now.device == opened.device
        } catch let error where error.isMissing {
            throw changed("is not there any more")
        } catch {
            throw FileError.keeping(error, at: path)
        }
        guard isSame else { throw changed("is not the folder that was opened") }
        let found = try currentMarker()
        guard found.databaseID == marker.databaseID else { throw changed("belongs to another database now") }
    }

    /// The folder that is at the path of the store now, if it is another one than was opened and belongs to this
    /// database too. That happens when a disk is mounted while the store is open; files can be read from its folder.
    package func folderInPlace() throws -> EarlierFolder? {
        let folder: Directory
        do {
            folder = try Directory.open(path)
        } catch let error where error.isMissing {
            return nil
        }
        let (now, opened) = (try folder.status(), try directory.status())
        guard FolderIdentity(now) != FolderIdentity(opened) else { return nil }
        try OwnFolder.require(now, path)
        guard try StoreMarker.find(in: folder)?.databaseID == marker.databaseID else { return nil }
        return EarlierFolder(path, try Self.foldersWithFiles(in: folder))
    }

    /// A store's folder, and the one in it where files wait for their commit, if that is there.
    static func foldersWithFiles(in folder: Directory) throws(SystemError) -> [Directory] {
        guard try folder.status(of: temporaryName)?.isDirectory == true else { return [folder] }
        return [folder, try folder.openFolder(temporaryName)]
    }

    /// The marker as it is in the folder now.
    package func currentMarker() throws(FileError) -> StoreMarker {
        guard let found = try StoreMarker.find(in: directory) else { throw changed("has lost its \(StoreMarker.name)") }
        return found
    }

    /// The number of the opening of the database that made the folder, 1 for the first; nil when it is not known.
    package func madeFor() throws(FileError) -> Int64? { try StoreMarker.find(in: directory)?.madeFor }

    /// Whether the database was used with another folder before this one, or between two uses of it. A file that is not
    /// here may be there then.
    package func followsAnother() throws(FileError) -> Bool {
        guard let marker = try StoreMarker.find(in: directory) else { return false }
        return marker.followsAnother == true || (marker.madeFor ?? 1) > 1
    }

    private func changed(_ what: String) -> FileError {
        FileError(
            .wrongStore,
            """
            \(path) \(what). Nothing was removed and nothing is taken for lost. Is its disk mounted? Put the folder \
            back, then open the database again.
            """,
            path: path)
    }
}
