package import LFSSystem

/// The quarantine: damaged files that may be the last trace of a content, named `quarantine/<id>.<unique id>`. They are
/// never uploaded.
extension LocalStore {
    static let quarantineName = "quarantine"

    /// An entry in quarantine.
    package struct Quarantined: Sendable {
        package let id: FileID
        package let name: String
        package let byteCount: Int64
        /// True for a folder that was at the file's place. LFS did not create its contents and must not remove them.
        package let isDirectory: Bool
    }

    /// Returns the status of the store's entry for an id, or nil without an entry.
    package func status(of id: FileID) throws(SystemError) -> FileStatus? { try directory.status(of: id.text) }

    /// Moves a file into quarantine if it is still the examined one. Blocks the thread.
    ///
    /// - Returns: its new name, or nil if another file has taken its place. That file stays.
    package func quarantine(_ id: FileID, examined: FileStatus) throws -> String? {
        try quarantine(id, examined: examined, in: OwnFolder.open(Self.quarantineName, in: directory))
    }

    private func quarantine(
        _ id: FileID, examined: FileStatus, in folder: Directory
    ) throws(SystemError) -> String? {
        // A file that was replaced in the meantime must not be moved, not even for a moment.
        guard let now = try directory.status(of: id.text), now.hasContent(of: examined) else { return nil }
        let name = "\(id.text).\(FileID.make().text)"
        do {
            try directory.rename(id.text, to: folder, as: name)
        } catch let error where error.isMissing {
            return nil
        }
        guard let moved = try folder.status(of: name), moved.hasContent(of: examined) else {
            do {
                try folder.renameExclusively(name, to: directory, as: id.text)
            } catch let error where error.isExisting {
                // Yet another file has the name now. The one that was moved by mistake stays in quarantine until the
                // bytes at its place are known to be right.
            } catch let error where error.isMissing {
                // The row was deleted, and with it the files in quarantine.
            }
            return nil
        }
        try folder.synchronize()
        try directory.synchronize()
        return name
    }

    /// Moves a file from quarantine back to its place in the store. Blocks the thread.
    ///
    /// - Parameter replaces: true if the quarantined file has the right bytes and replaces an existing file. An
    ///   existing folder is moved into quarantine. If false, nothing may exist at the place.
    /// - Returns: true if the file is at its place. False also if it is not in quarantine any more.
    package func putBack(_ id: FileID, named name: String, replaces: Bool = false) throws -> Bool {
        guard let folder = try quarantineFolder() else { return false }
        if replaces, let standing = try status(of: id), standing.isDirectory {
            guard try quarantine(id, examined: standing) != nil else { return false }
        }
        do {
            if replaces {
                try folder.rename(name, to: directory, as: id.text)
            } else {
                try folder.renameExclusively(name, to: directory, as: id.text)
            }
        } catch let error where error.isExisting {
            return false
        } catch let error where error.isMissing {
            return false
        }
        try directory.synchronize()
        try folder.synchronize()
        return true
    }

    /// Opens a file in quarantine. Returns nil if it is not there any more.
    package func openQuarantined(_ name: String) throws(SystemError) -> Descriptor? {
        guard let folder = try quarantineFolder() else { return nil }
        do {
            return try folder.openForReading(name)
        } catch let error where error.isMissing {
            return nil
        }
    }

    /// Returns true if the name exists in quarantine.
    package func isQuarantined(_ name: String) throws(SystemError) -> Bool {
        try quarantineFolder()?.status(of: name) != nil
    }

    /// Returns everything in quarantine. Files get there one by one after they were found damaged, so the list fits
    /// into memory.
    package func quarantined() throws -> [Quarantined] {
        guard let folder = try quarantineFolder() else { return [] }
        var found: [Quarantined] = []
        try folder.forEachFile { name in
            if let id = FileID(text: String(name.prefix(36))), let status = try folder.status(of: name) {
                found.append(
                    Quarantined(id: id, name: name, byteCount: status.byteCount, isDirectory: status.isDirectory))
            }
            return true
        }
        return found
    }

    /// Removes the quarantined files of a deleted row. A folder stays, because LFS did not create its contents.
    package func removeQuarantined(_ id: FileID) throws { try removeQuarantined(quarantined(of: id)) }

    /// Removes the quarantined files of an id once its right bytes are in the store. Blocks the thread.
    ///
    /// Files that arrive in quarantine during the check stay. One of them may be the checked file, moved by a process
    /// that had seen another file in its place.
    ///
    /// - Parameter isRight: checks the bytes in the store.
    /// - Returns: the result of `isRight`.
    package func removeQuarantined(_ id: FileID, if isRight: () throws -> Bool) throws -> Bool {
        let names = try quarantined(of: id)
        guard try isRight() else { return false }
        try directory.synchronize()
        try removeQuarantined(names)
        return true
    }

    private func quarantined(of id: FileID) throws -> [String] {
        try quarantined().filter { $0.id == id && !$0.isDirectory }.map(\.name)
    }

    private func removeQuarantined(_ names: [String]) throws {
        guard !names.isEmpty, let folder = try quarantineFolder() else { return }
        for name in names { try folder.remove(name) }
    }

    /// Returns the path of a file in quarantine.
    package func quarantinePath(of name: String) -> String { directory.child(Self.quarantineName) + "/" + name }

    private func quarantineFolder() throws(SystemError) -> Directory? {
        guard try directory.status(of: Self.quarantineName) != nil else { return nil }
        return try directory.openFolder(Self.quarantineName)
    }
}
