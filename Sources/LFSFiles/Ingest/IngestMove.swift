import LFSSystem

/// Takes over a file that the caller gives up: hashed where it is, then renamed into the staging area.
///
/// Where a rename cannot do (another file system, or a second name through which others could still write), the file
/// is copied and removed once the copy is durable.
struct IngestMove: Sendable {
    let ingest: Ingest
    let flag: CancellationFlag
    let path: String
    /// Makes what was renamed into the area durable.
    var sync: @Sendable (Directory) throws(SystemError) -> Void = { area throws(SystemError) in
        try area.synchronize()
    }

    private var area: StagingArea { ingest.area }
    private var id: FileID { ingest.id }

    func run() async throws -> IngestedFile {
        if let moved = try await rename() { return moved }
        return try await copy()
    }

    private func copy() async throws -> IngestedFile {
        let before = try await BlockingPool.shared.run { _ in try SourceFile(open()).before }
        let copied = try await ingest.run(.copying(path: path), flag)
        try await BlockingPool.shared.run { _ in
            do {
                try removeSource(before)
            } catch {
                try area.remove(id)
                throw error
            }
        }
        return copied
    }

    /// Returns nil where a copy has to do.
    private func rename() async throws -> IngestedFile? {
        try await BlockingPool.shared.run(watching: flag) { flag -> IngestedFile? in
            let source = try SourceFile(open())
            guard source.before.linkCount == 1, source.before.device == area.device else { return nil }
            var sums = IngestSums()
            try source.read(flag) { bytes in
                sums.update(bytes)
                ingest.onProgress(sums.byteCount)
            }
            guard try take(source) else { return nil }
            return sums.file(as: id)
        }
    }

    /// Renames what was read into the area, or leaves it where it was. Returns false where a rename cannot do.
    func take(_ source: SourceFile) throws -> Bool {
        do {
            try area.adopt(path, as: id)
        } catch let error where error.isOtherFileSystem {
            return false
        }
        do {
            try settle(source)
        } catch {
            throw giveBack(source, after: error)
        }
        return true
    }

    /// Puts the file back where it was.
    ///
    /// - Returns: the first error, with a word on where the file is if that has failed.
    private func giveBack(_ source: SourceFile, after failure: FileError) -> FileError {
        var words = area.giveBack(id, to: path).map { " " + $0 } ?? ""
        do {
            try source.file.setMode(source.before.permissions)
        } catch {
            words += " It has another mode than before: \(error)."
        }
        return FileError(failure.code, failure.message + words, path: failure.path, cause: failure.cause)
    }

    private func open() throws(FileError) -> Descriptor {
        do {
            return try Descriptor.openForReading(path)
        } catch {
            throw FileError.reading(error, from: path)
        }
    }

    /// Sets the mode of the renamed file and makes it durable, after a check that it is the file whose bytes were read.
    private func settle(_ source: SourceFile) throws(FileError) {
        let after: FileStatus
        do {
            try source.file.setMode(0o600)
            try source.file.synchronizeBeforeFolder()
            after = try source.file.status()
            let renamed = try area.directory.status(of: id.text)
            guard renamed?.inode == after.inode else { throw SourceFile.changed(path) }
            try sync(area.directory)
        } catch {
            throw FileError.keeping(error, at: area.path)
        }
        guard after.modified == source.before.modified, after.byteCount == source.before.byteCount else {
            throw SourceFile.changed(path)
        }
    }

    /// Removes what was copied, unless something else has taken its place.
    private func removeSource(_ before: FileStatus) throws {
        let now = try SourceFile(open()).before
        guard now.inode == before.inode, now.device == before.device, now.modified == before.modified else {
            throw SourceFile.changed(path)
        }
        do {
            try area.removeSource(path)
        } catch {
            throw FileError(
                .permissionDenied, "\(path) was copied but cannot be removed: \(error.reason).", path: path,
                cause: error)
        }
    }
}

extension StagingArea {
    fileprivate func adopt(_ source: String, as id: FileID) throws(SystemError) {
        try directory.take(source, as: id.text)
    }

    /// Puts a file back under its caller's name. Where that fails, because something else has the name by now perhaps,
    /// it is renamed so that no sweep removes it, for the caller may have no other copy.
    ///
    /// - Returns: where it is then; nil when it is back.
    func giveBack(_ id: FileID, to source: String) -> String? {
        do {
            let slash = source.lastIndex(of: "/")
            let parent = slash.map { $0 == source.startIndex ? "/" : String(source[..<$0]) } ?? "."
            let name = slash.map { String(source[source.index(after: $0)...]) } ?? source
            try directory.renameExclusively(id.text, to: Directory.open(parent), as: name)
            return nil
        } catch {
            let reason = error.isExisting ? "Another file has the name \(source) by now" : "\(error)"
            do {
                return "\(reason), so the file was kept: \(try keep(id))."
            } catch {
                return "\(reason), so the file is \(directory.child(id.text)): move it away."
            }
        }
    }

    private func keep(_ id: FileID) throws(SystemError) -> String {
        let name = id.text + ".kept"
        try directory.rename(id.text, to: directory, as: name)
        return directory.child(name)
    }

    fileprivate func removeSource(_ source: String) throws(SystemError) { try PathCalls.remove(source) }
}
