import LFSSystem

/// A folder in the place of a database's local store that belongs to another database, such as an erased one's.
package enum ForeignStore {
    /// Moves such a folder aside, under a name with the id of its database. What is in it stays as it is.
    ///
    /// - Returns: where it is now; nil when there is no folder, or one that is this database's, or that does not say
    ///   whose it is. Blocks the thread.
    /// - Throws: ``FileError/Code/wrongStore`` while another process has the folder's own database open.
    package static func moveAside(_ path: String, databaseID: String) throws -> String? {
        do {
            let parts = path.split(separator: "/")
            guard let name = parts.last.map(String.init) else { return nil }
            let parent = try Directory.open("/" + parts.dropLast().joined(separator: "/"))
            // A link is not followed: the local store says what is wrong with it.
            guard try parent.status(of: name)?.isDirectory == true else { return nil }
            let folder = try parent.openFolder(name)
            try OwnFolder.require(folder.status(), path)
            guard try foreignOwner(of: folder, databaseID) != nil else { return nil }
            let lock = try hold(folder)
            defer { withExtendedLifetime(lock) {} }
            // Another opening may have moved it, and made one of its own, before it was held.
            guard let now = try parent.status(of: name), FolderIdentity(now) == FolderIdentity(try folder.status()),
                let owner = try foreignOwner(of: folder, databaseID)
            else { return nil }
            return try rename(name, in: parent, of: owner)
        } catch let error as SystemError {
            throw FileError.keeping(error, at: path)
        }
    }

    /// The database that the folder says it belongs to, if that is another one.
    private static func foreignOwner(of folder: Directory, _ databaseID: String) throws -> String? {
        guard let owner = try StoreMarker.find(in: folder)?.databaseID, FileID(text: owner) != nil else { return nil }
        return owner == databaseID ? nil : owner
    }

    /// Who has the database of the folder open would go on in it under another name.
    private static func hold(_ folder: Directory) throws -> FileLock {
        let lock = FileLock(try OwnFolder.openLockFile(LocalStore.openLockName, in: folder))
        guard try lock.tryLock(.exclusive) else {
            throw FileError(
                .wrongStore, "\(folder.path) belongs to another database, which is open. Close it there.",
                path: folder.path)
        }
        return lock
    }

    private static func rename(_ name: String, in parent: Directory, of owner: String) throws -> String {
        for number in 1...1_000 {
            let aside = "\(name).of-\(owner)" + (number == 1 ? "" : "-\(number)")
            guard try rename(name, in: parent, to: aside) else { continue }
            try parent.synchronize()
            return parent.child(aside)
        }
        throw FileError(
            .wrongStore, "\(parent.child(name)) was moved aside a thousand times. Remove some of them.",
            path: parent.child(name))
    }

    /// Returns false when something has the new name.
    private static func rename(
        _ name: String, in parent: Directory, to aside: String
    ) throws(SystemError) -> Bool {
        do {
            try parent.renameExclusively(name, to: parent, as: aside)
            return true
        } catch let error where error.isExisting {
            return false
        }
    }
}
