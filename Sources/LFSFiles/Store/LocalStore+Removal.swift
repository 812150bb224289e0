package import LFSSystem

/// Taking files out of the store for good, and what unfinished downloads and copies have left.
extension LocalStore {
    // MARK: One file

    @discardableResult
    package func remove(_ id: FileID) throws(SystemError) -> Bool { try directory.remove(id.text) }

    /// Clears the place of a file: a folder that stands there is moved into quarantine with all that is in it.
    package func clear(_ id: FileID) throws {
        if let status = try status(of: id), status.isDirectory {
            _ = try quarantine(id, examined: status)
        } else {
            try remove(id)
        }
    }

    /// Removes the unfinished copies of a file that is being copied into the store, so that none becomes a file there
    /// after a deletion.
    package func removeCopies(_ id: FileID) throws {
        var names: [String] = []
        try incoming.forEachFile { name in
            if name.hasPrefix(id.text), name.hasSuffix(Self.copySuffix) { names.append(name) }
            return true
        }
        for name in names { try incoming.remove(name) }
    }

    /// Takes a file from its name, in one quick step; its bytes go when there is time. Readers that have it open keep
    /// it. A folder in its place stays.
    ///
    /// - Returns: what to give to ``removeSetAside(_:)``; nil when the store does not have the file. After a crash in
    ///   between, the next one to open the store alone removes it.
    package func setAside(_ id: FileID) throws(SystemError) -> String? {
        let name = "\(id.text).\(FileID.make().text)"
        if try status(of: id)?.isDirectory == true { return nil }
        do {
            try directory.rename(id.text, to: incoming, as: name)
            return name
        } catch let error where error.isMissing {
            return nil
        }
    }

    /// Removes the bytes of a file that was set aside. Blocks the thread.
    package func removeSetAside(_ name: String) throws(SystemError) { try incoming.remove(name) }

    /// Removes what an unfinished download of a file has left.
    package func removeUnfinished(_ id: FileID) throws(SystemError) { try PartialFile.remove(id, in: incoming) }

    // MARK: Many files

    /// Removes the unfinished downloads that nobody writes at the moment. Blocks the thread.
    ///
    /// - Returns: how many bytes they had.
    package func clearUnfinished() throws -> Int64 {
        var names: [String] = []
        try incoming.forEachFile { name in
            names.append(name)
            return true
        }
        var bytes: Int64 = 0
        for name in names {
            guard let id = PartialFile.id(ofPart: name), let partial = try PartialFile.open(id, in: incoming) else {
                continue
            }
            bytes += try partial.file.status().byteCount
            try PartialFile.remove(id, in: incoming)
        }
        return bytes
    }

    /// What a download has left that ended before its last byte.
    package struct Unfinished: Hashable, Sendable {
        package let id: FileID
        /// When its bytes last changed, in nanoseconds since 1970.
        package let changed: Nanoseconds
    }

    /// Removes from `incoming/` whatever a later download cannot go on with. Folders stay, since LFS makes none there.
    /// Only for the holder of the exclusive open lock.
    ///
    /// - Returns: the unfinished downloads that a later one can go on with.
    package func clearIncoming() throws -> [Unfinished] {
        var unfinished: [Unfinished] = []
        try incoming.forEachFile { name in
            if try incoming.status(of: name)?.isDirectory == true { return true }
            guard let (id, status) = try PartialFile.resumable(name, in: incoming) else {
                try incoming.remove(name)
                return true
            }
            if PartialFile.id(ofPart: name) != nil { unfinished.append(Unfinished(id: id, changed: status.changed)) }
            return true
        }
        return unfinished
    }

    /// Removes the files for which a question is answered with yes, here and in quarantine, whatever is in `incoming/`,
    /// and what the cache holds. Only for the holder of the exclusive open lock.
    ///
    /// Names that are none of ours stay, and so do folders: somebody else has made what is in them. Blocks the thread.
    ///
    /// - Parameter cache: as ``holdCache()`` has returned it.
    package func removeEverything(cache: CacheHold, where mayGo: (FileID) -> Bool) throws {
        try removeCache(cache)
        let cursor = try files()
        while let page = try cursor.next() { for file in page where mayGo(file.id) { try remove(file.id) } }
        try incoming.forEachFile { name in
            if try incoming.status(of: name)?.isDirectory == false { try incoming.remove(name) }
            return true
        }
        for file in try quarantined() where mayGo(file.id) { try removeQuarantined(file.id) }
    }
}
