import LFSSystem

/// A folder at the path of a database's local store that belongs to another database, for example one that was erased.
package enum ForeignStore {
    /// Moves such a folder aside, to a name that contains the id of its database. Its contents stay unchanged. Blocks
    /// the thread.
    ///
    /// - Returns: the new path. Nil if the folder does not exist, belongs to this database, or has no marker.
    /// - Throws: ``FileError/Code/wrongStore`` while another process has the folder's own database open.
    package static func moveAside(_ path: String, databaseID: String) throws -> String? {
        do {
            let parts = path.split(separator: "/")
            guard let name = parts.last.map(String.init) else { return nil }
            let parent = try Directory.open("/" + parts.dropLast().joined(separator: "/"))
            // Links are not followed. Opening the local store reports the problem.
            guard try parent.status(of: name)?.isDirectory == true else { return nil }
            let folder = try parent.openFolder(name)
            try OwnFolder.requireOwn(folder, path: path)
            guard try foreignOwner(of: folder, databaseID) != nil else { return nil }
            let lock = try hold(folder)
            defer { withExtendedLifetime(lock) {} }
            // Before the lock was acquired, another process may have moved the folder and created a new one.
            guard let now = try parent.status(of: name), FolderIdentity(now) == FolderIdentity(try folder.status()),
                let owner = try foreignOwner(of: folder, databaseID)
            else { return nil }
            return try rename(name, in: parent, of: owner)
        } catch let error as SystemError {
            throw FileError.keeping(error, at: path)
        }
    }

    /// Returns the id of the database that the folder's marker names, if it is another one.
    private static func foreignOwner(of folder: Directory, _ databaseID: String) throws -> String? {
        guard let owner = try StoreMarker.find(in: folder)?.databaseID, FileID(text: owner) != nil else { return nil }
        return owner == databaseID ? nil : owner
    }

    /// Locks the folder. A process with the folder's database open would continue to use the folder under its new name.
    private static func hold(_ folder: Directory) throws -> FileLock {
        let lock = FileLock(try OwnFolder.openLockFile(LocalStore.openLockName, in: folder))
        guard try lock.tryLock(.exclusive) else {
            throw FileError(
                .wrongStore, message: "\(folder.path) belongs to another database, which is open. Close that database.",
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
            .wrongStore, message: "\(parent.child(name)) was moved aside a thousand times. Remove some of them.",
            path: parent.child(name))
    }

    /// Returns false if the new name exists.
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
