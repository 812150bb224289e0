package import LFSSystem

/// Damaged files that may be all that is left of a content: `quarantine/<id>.<unique id>`. Nothing is uploaded from
/// there.
extension LocalStore {
    static let quarantineName = "quarantine"

    /// A file in quarantine.
    package struct Quarantined: Sendable {
        package let id: FileID
        package let name: String
        package let byteCount: Int64
        /// A folder that stood in the place of the file. What is in it is not ours to remove.
        package let isDirectory: Bool
    }

    /// What the store has under an id, nil for nothing.
    package func status(of id: FileID) throws(SystemError) -> FileStatus? { try directory.status(of: id.text) }

    /// Moves a file into quarantine, if it is still the one that was examined. Blocks the thread.
    ///
    /// - Returns: its new name; nil when another file stands in its place by now, which is left there.
    package func quarantine(_ id: FileID, examined: FileStatus) throws -> String? {
        try quarantine(id, examined: examined, in: OwnFolder.open(Self.quarantineName, in: directory))
    }

    private func quarantine(
        _ id: FileID, examined: FileStatus, in folder: Directory
    ) throws(SystemError) -> String? {
        let name = "\(id.text).\(FileID.make().text)"
        do {
            try directory.rename(id.text, to: folder, as: name)
        } catch let error where error.isMissing {
            return nil
        }
        guard try folder.status(of: name)?.inode == examined.inode else {
            do {
                try folder.renameExclusively(name, to: directory, as: id.text)
            } catch let error where error.isExisting {
                // Yet another file has the name by now. The one that was moved by mistake stays in quarantine, where
                // nothing is removed.
            }
            return nil
        }
        try folder.synchronize()
        try directory.synchronize()
        return name
    }

    /// Everything in quarantine. What is there was found damaged one by one, so it fits into memory.
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

    /// Removes what is in quarantine of a file whose row is gone, or whose bytes are proven to be in the store again.
    /// A folder stays: somebody else has made what is in it.
    package func removeQuarantined(_ id: FileID) throws {
        guard let folder = try quarantineFolder() else { return }
        try folder.forEachFile { name in
            if name.hasPrefix(id.text), try folder.status(of: name)?.isDirectory == false { try folder.remove(name) }
            return true
        }
    }

    /// Where a file in quarantine is.
    package func quarantinePath(of name: String) -> String { directory.child(Self.quarantineName) + "/" + name }

    private func quarantineFolder() throws(SystemError) -> Directory? {
        guard try directory.status(of: Self.quarantineName) != nil else { return nil }
        return try directory.openFolder(Self.quarantineName)
    }
}
