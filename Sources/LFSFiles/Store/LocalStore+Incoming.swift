package import LFSSystem

extension LocalStore {
    /// What a download has left that ended before its last byte.
    package struct Unfinished: Hashable, Sendable {
        package let id: FileID
        /// When its bytes last changed, in nanoseconds since 1970.
        package let changed: Int64
    }

    /// Removes from `incoming/` whatever a later download cannot go on with. Folders stay, since LFS makes none there.
    /// Only for the holder of the exclusive open lock.
    ///
    /// - Returns: the unfinished downloads that a later one can go on with.
    package func clearIncoming() throws -> [Unfinished] {
        var unfinished: [Unfinished] = []
        try incoming.forEachFile { name in
            if try incoming.status(of: name)?.isDirectory == true { return true }
            let id = PartialFile.id(ofName: name)
            let status = try id.flatMap { try incoming.status(of: PartialFile.name($0)) }
            guard let id, let status, status.byteCount > 0, status.linkCount == 1 else {
                try incoming.remove(name)
                return true
            }
            if name == PartialFile.name(id) { unfinished.append(Unfinished(id: id, changed: status.changed)) }
            return true
        }
        return unfinished
    }

    /// How many bytes an earlier download of a file has left.
    package func unfinishedByteCount(of id: FileID) throws(SystemError) -> Int64 {
        try incoming.status(of: PartialFile.name(id))?.byteCount ?? 0
    }

    /// Removes what an unfinished download of a file has left.
    package func removeUnfinished(_ id: FileID) throws(SystemError) { try PartialFile.remove(id, in: incoming) }
}
