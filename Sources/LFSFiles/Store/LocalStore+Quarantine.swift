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
        // What has come meanwhile is not even moved for a moment.
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
                // Yet another file has the name by now. The one that was moved by mistake stays in quarantine until
                // the bytes in its place are known to be right.
            } catch let error where error.isMissing {
                // Its row is gone, and it went with what is in quarantine.
            }
            return nil
        }
        try folder.synchronize()
        try directory.synchronize()
        return name
    }

    /// Gives a file in quarantine its place in the store again. Blocks the thread.
    ///
    /// - Parameter replaces: whether a file that stands there goes, because the one in quarantine has the right bytes;
    ///   a folder is moved into quarantine. Else nothing may stand there.
    /// - Returns: whether it has it; false as well when it is not in quarantine any more.
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

    /// A file in quarantine, opened; nil when it is not there any more.
    package func openQuarantined(_ name: String) throws(SystemError) -> Descriptor? {
        guard let folder = try quarantineFolder() else { return nil }
        do {
            return try folder.openForReading(name)
        } catch let error where error.isMissing {
            return nil
        }
    }

    /// Whether something has a name in quarantine.
    package func isQuarantined(_ name: String) throws(SystemError) -> Bool {
        try quarantineFolder()?.status(of: name) != nil
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

    /// Removes what is in quarantine of a file whose row is gone. A folder stays: somebody else has made what is in it.
    package func removeQuarantined(_ id: FileID) throws { try removeQuarantined(quarantined(of: id)) }

    /// Removes what is in quarantine of a file once its right bytes are in the store. Blocks the thread.
    ///
    /// What comes into quarantine while they are looked at stays: it may be the very file that was looked at, moved by
    /// somebody who had seen another one in its place.
    ///
    /// - Parameter isRight: looks at the bytes in the store.
    /// - Returns: what that said.
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

    /// Where a file in quarantine is.
    package func quarantinePath(of name: String) -> String { directory.child(Self.quarantineName) + "/" + name }

    private func quarantineFolder() throws(SystemError) -> Directory? {
        guard try directory.status(of: Self.quarantineName) != nil else { return nil }
        return try directory.openFolder(Self.quarantineName)
    }
}
