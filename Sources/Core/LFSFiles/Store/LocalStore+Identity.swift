import LFSSystem

extension LocalStore {
    /// Checks that the path still leads to the folder that was opened, and that the folder still belongs to this
    /// database.
    ///
    /// A folder that was swapped, removed or mounted over must not look like a loss of all files. Call this before
    /// reporting files as missing and before removing anything. Blocks the thread.
    /// - Throws: ``FileError/Code/wrongStore``.
    package func requireUnchanged() throws(FileError) {
        let isSame: Bool
        do {
            let (now, opened) = (try FileStatus(following: path), try directory.status())
            isSame = now.inode == opened.inode && now.device == opened.device
        } catch let error where error.isMissing {
            throw changed("no longer exists")
        } catch {
            throw FileError.keeping(error, at: path)
        }
        guard isSame else { throw changed("is not the folder that was opened") }
        let found = try currentMarker()
        guard found.databaseID == marker.databaseID else { throw changed("belongs to another database now") }
    }

    /// Returns the folder at the store's path if it is not the opened one and also belongs to this database. This
    /// happens when a disk is mounted while the store is open. Files can be read from the returned folder.
    package func folderInPlace() throws -> PreviousStoreFolder? {
        let folder: Directory
        do {
            folder = try Directory.open(path)
        } catch let error where error.isMissing {
            return nil
        }
        let (now, opened) = (try folder.status(), try directory.status())
        guard FolderIdentity(now) != FolderIdentity(opened) else { return nil }
        try OwnFolder.requireOwn(folder, path: path)
        guard try StoreMarker.find(in: folder)?.databaseID == marker.databaseID else { return nil }
        return PreviousStoreFolder(path, folders: try Self.foldersWithFiles(in: folder))
    }

    /// Returns a store's folder, and its subfolder where files wait for their commit if that exists.
    static func foldersWithFiles(in folder: Directory) throws(SystemError) -> [Directory] {
        guard try folder.status(of: temporaryName)?.isDirectory == true else { return [folder] }
        return [folder, try folder.openFolder(temporaryName)]
    }

    /// Reads the marker that is in the folder now.
    package func currentMarker() throws(FileError) -> StoreMarker {
        guard let found = try StoreMarker.find(in: directory) else { throw changed("has no \(StoreMarker.name)") }
        return found
    }

    /// Returns the number of the opening of the database that created the folder, 1 for the first. Nil if unknown.
    package func madeFor() throws(FileError) -> Int64? { try StoreMarker.find(in: directory)?.madeFor }

    /// Returns true if the database was used with another folder before this one, or between two uses of it. A file
    /// that is missing from this folder may then be in the other one.
    package func followsAnother() throws(FileError) -> Bool {
        guard let marker = try StoreMarker.find(in: directory) else { return false }
        return marker.followsAnother == true || (marker.madeFor ?? 1) > 1
    }

    private func changed(_ what: String) -> FileError {
        FileError(
            .wrongStore,
            message: """
                \(path) \(what). Nothing was removed, and nothing was recorded as lost. Is its disk mounted? Put the \
                folder back, then open the database again.
                """,
            path: path)
    }
}
