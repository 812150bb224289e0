import LFSSystem

/// An ingest of a file that the caller hands over. The file is hashed in place and then renamed into the staging area.
///
/// A rename is not possible across file systems. It is also not safe if the file has a second name through which others
/// could still write. In both cases the file is copied, and removed once the copy is durable.
struct IngestMove: Sendable {
    let ingest: Ingest
    let flag: CancellationFlag
    let path: String
    /// Makes the file durable after its rename into the area.
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
        let copied = try await ingest.run(.copying(path: path), flag: flag)
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

    /// Returns nil if the file must be copied instead.
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

    /// Renames the file into the area after its bytes were read, or leaves it in place. Returns false if it must be
    /// copied.
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

    /// Moves the file back to its original path.
    ///
    /// - Returns: the first error. If the move failed, its message names the file's location.
    private func giveBack(_ source: SourceFile, after failure: FileError) -> FileError {
        var words = area.giveBack(id, to: path).map { " " + $0 } ?? ""
        do {
            try source.file.setMode(source.before.permissions)
        } catch {
            words += " Its former mode could not be set: \(error)."
        }
        return FileError(failure.code, message: failure.message + words, path: failure.path, cause: failure.cause)
    }

    private func open() throws(FileError) -> Descriptor {
        do {
            return try Descriptor.openForReading(path)
        } catch {
            throw FileError.reading(error, from: path)
        }
    }

    /// Sets the mode of the renamed file and makes it durable. Checks that it is the file whose bytes were read.
    private func settle(_ source: SourceFile) throws(FileError) {
        let after: FileStatus
        do {
            try source.file.setMode(0o600)
            try source.file.synchronizeBeforeFolder()
            after = try source.file.status()
            guard try area.directory.contains(after, named: id.text) else { throw SourceFile.changed(path) }
            try sync(area.directory)
        } catch {
            throw FileError.keeping(error, at: area.path)
        }
        guard after.modified == source.before.modified, after.byteCount == source.before.byteCount else {
            throw SourceFile.changed(path)
        }
        // A renamed file keeps its class. Last, because a file that is given back must keep it.
        do {
            try area.protector?.protect(source.file)
        } catch {
            throw FileError.keeping(error, at: area.path)
        }
    }

    /// Removes the original after the copy, unless another file has taken its place.
    private func removeSource(_ before: FileStatus) throws {
        let now = try SourceFile(open()).before
        guard now.inode == before.inode, now.device == before.device, now.modified == before.modified else {
            throw SourceFile.changed(path)
        }
        do {
            try area.removeSource(path)
        } catch {
            throw FileError(
                .permissionDenied, message: "\(path) was copied but cannot be removed: \(error.reason).", path: path,
                cause: error)
        }
    }
}

extension StagingArea {
    fileprivate func adopt(_ source: String, as id: FileID) throws(SystemError) {
        try directory.take(source, as: id.text)
    }

    /// Moves a file back to its caller's path. This may fail, for example because the name exists again. Then the file
    /// is renamed so that no sweep removes it, because the caller may have no other copy.
    ///
    /// - Returns: nil on success, otherwise a sentence that names the file's location.
    func giveBack(_ id: FileID, to source: String) -> String? {
        do {
            let slash = source.lastIndex(of: "/")
            let parent = slash.map { $0 == source.startIndex ? "/" : String(source[..<$0]) } ?? "."
            let name = slash.map { String(source[source.index(after: $0)...]) } ?? source
            try directory.renameExclusively(id.text, to: Directory.open(parent), as: name)
            return nil
        } catch {
            let reason = error.isExisting ? "Another file now has the name \(source)" : "\(error)"
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
