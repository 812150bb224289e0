package import LFSSystem

/// The removal of files from the store, and of the leftovers of unfinished downloads and copies.
extension LocalStore {
    // MARK: One file

    @discardableResult
    package func remove(_ id: FileID) throws(SystemError) -> Bool { try directory.remove(id.text) }

    /// Clears the place of a file. A folder at that place is moved into quarantine with its contents.
    package func clear(_ id: FileID) throws {
        if let status = try status(of: id), status.isDirectory {
            _ = try quarantine(id, examined: status)
        } else {
            try remove(id)
        }
    }

    /// Removes the unfinished copies of a file that is being copied into the store. Otherwise a copy could reappear as
    /// a file after a deletion.
    package func removeCopies(_ id: FileID) throws {
        var names: [String] = []
        try incoming.forEachFile { name in
            if name.hasPrefix(id.text), name.hasSuffix(Self.copySuffix) { names.append(name) }
            return true
        }
        for name in names { try incoming.remove(name) }
    }

    /// Removes the name of a file in one quick step. Its bytes are removed later. Readers that have the file open can
    /// still read it. A folder at its place stays.
    ///
    /// - Returns: the argument for ``removeSetAside(_:)``, or nil if the store does not contain the file. After a crash
    ///   in between, the next process that opens the store alone removes the bytes.
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

    /// Removes the partial file of an unfinished download.
    package func removeUnfinished(_ id: FileID) throws(SystemError) { try PartialFile.remove(id, in: incoming) }

    // MARK: Many files

    /// Removes the unfinished downloads that no process is writing now. Blocks the thread.
    ///
    /// - Returns: their total size in bytes.
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

    /// The leftover of a download that ended before its last byte.
    package struct Unfinished: Hashable, Sendable {
        package let id: FileID
        /// The time when its bytes last changed, in nanoseconds since 1970.
        package let changed: Nanoseconds
    }

    /// Removes everything from `incoming/` that a later download cannot resume. Folders stay, because LFS does not
    /// create any there. Only the holder of the exclusive open lock may call it.
    ///
    /// - Returns: the unfinished downloads that a later one can resume.
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

    /// Removes the files in the store, in quarantine and in `outgoing/` for which `mayGo` returns true, all files in
    /// `incoming/`, and the contents of the cache. Only the holder of the exclusive open lock may call it.
    ///
    /// Files with names that LFS does not use are kept. Folders are kept too, because LFS did not create their
    /// contents. Blocks the thread.
    ///
    /// - Parameter cache: the result of ``holdCache()``.
    package func removeEverything(cache: CacheHold, where mayGo: (FileID) -> Bool) throws {
        try removeCache(cache)
        let cursor = try files()
        while let page = try cursor.next() { for file in page where mayGo(file.id) { try remove(file.id) } }
        try incoming.forEachFile { name in
            if try incoming.status(of: name)?.isDirectory == false { try incoming.remove(name) }
            return true
        }
        try OutgoingFolder.find(in: self)?.removeAll { mayGo($0.fileID) }
        for file in try quarantined() where mayGo(file.id) { try removeQuarantined(file.id) }
    }
}
