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
            guard let owner = try owner(of: path), owner != databaseID else { return nil }
            let lock = try hold(path, owner)
            defer { withExtendedLifetime(lock) {} }
            return try rename(path, of: owner)
        } catch let error as SystemError {
            throw FileError.keeping(error, at: path)
        }
    }

    private static func rename(_ path: String, of owner: String) throws -> String {
        let parts = path.split(separator: "/")
        let (name, parent) = (parts.last ?? "", try Directory.open("/" + parts.dropLast().joined(separator: "/")))
        for number in 1...1_000 {
            let aside = "\(name).of-\(owner)" + (number == 1 ? "" : "-\(number)")
            guard try rename(String(name), in: parent, to: aside) else { continue }
            try parent.synchronize()
            return parent.child(aside)
        }
        throw FileError(.wrongStore, "\(path) was moved aside a thousand times. Remove some of them.", path: path)
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

    /// The database that the folder says it belongs to; nil when there is no folder, or it does not say.
    private static func owner(of path: String) throws -> String? {
        guard let folder = try Directory.find(path) else { return nil }
        try OwnFolder.require(folder.status(), path)
        guard let owner = try StoreMarker.find(in: folder)?.databaseID, FileID(text: owner) != nil else { return nil }
        return owner
    }

    /// Who has the database of the folder open would go on in it under another name.
    private static func hold(_ path: String, _ owner: String) throws -> FileLock {
        let lock = FileLock(try OwnFolder.openLockFile("attached.lock", in: try Directory.open(path)))
        guard try lock.tryLock(.exclusive) else {
            throw FileError(
                .wrongStore, "\(path) belongs to another database (\(owner)), which is open. Close it there.",
                path: path)
        }
        return lock
    }
}

extension Directory {
    /// The folder at a path; nil when nothing is there.
    static func find(_ path: String) throws(SystemError) -> Directory? {
        do {
            return try open(path)
        } catch let error where error.isMissing {
            return nil
        }
    }
}
