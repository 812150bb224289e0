import LFSDatabase
import LFSFiles
public import LFSSystem

/// Making files, and restoring the bytes of lost files.
extension LFSManager {
    /// The prefix of the ``FileData/key`` of each file that this database has made. When several devices share their
    /// rows, it shows which device made a file.
    public var keyPrefix: String { namespace.prefix }

    /// Makes bytes durable and returns the record to insert. It takes part in no transaction.
    ///
    /// When it returns, the bytes are on the device under the file's id. A file that is never inserted is removed
    /// ``LFSOptions/temporaryFileGracePeriod`` after its process has ended.
    ///
    /// - Parameters:
    ///   - source: The source of the bytes.
    ///   - name: The name to show. Nil uses the name of the source, if it has one.
    ///   - contentType: The media type. Nil derives it from the extension of the name.
    ///   - onProgress: Receives the number of bytes stored so far, from any thread, about every 256 KiB.
    /// - Throws: ``LFSError``, including ``LFSError/Code/notRunning`` after a stop, which also ends a running call. No
    ///   bytes are kept then, and a file that should have been moved is in its original place.
    public func makeFile(
        from source: FileSource, name: String? = nil, contentType: String? = nil,
        onProgress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws -> FileData {
        try await LFSError.catching {
            try await files.make(from: source, name: name, contentType: contentType, onProgress)
        }
    }

    /// Makes many files, for example for an import. It takes a fraction of the time of making one file after the other.
    ///
    /// Bytes in memory, files and file handles are read concurrently, and share one sync of their folder. Other sources
    /// are read one by one. When the call returns, the bytes are on the device. Batches of a few hundred are enough.
    /// ``FileSource/named(_:contentType:)`` sets the name of a source to show.
    ///
    /// ```swift
    /// let files = try await lfs.makeFiles(from: urls.map(FileSource.file))
    /// try await database.write { db in
    ///     for file in files { try file.get().insert(db) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - sources: are read in no particular order.
    ///   - onProgress: receives the number of bytes read since its last call, from any thread.
    /// - Returns: for each source, in order, its record, or the reason why it cannot be read, such as
    ///   ``LFSError/Code/sourceChanged`` or ``LFSError/Code/missing``. The other files are made nevertheless.
    /// - Throws: the errors of ``makeFile(from:name:contentType:onProgress:)`` when the place for the bytes fails, such
    ///   as ``LFSError/Code/noSpace``. No bytes are kept then, and files that should have been moved are in their
    ///   original places.
    public func makeFiles(
        from sources: [FileSource], onProgress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws -> [Result<FileData, LFSError>] {
        try await LFSError.catching { try await files.makeAll(from: sources, onProgress) }
    }

    /// Makes several files and passes them to a closure that inserts them. When the closure throws, the files that it
    /// has not inserted are discarded at once. Files of ``FileSource/movingFile(_:)`` are back in their original places
    /// then.
    ///
    /// ```swift
    /// try await lfs.withFiles(from: urls.map(FileSource.file)) { photos in
    ///     try await database.write { db in
    ///         for photo in photos { try photo.insert(db) }
    ///     }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - sources: as for ``makeFiles(from:onProgress:)``.
    ///   - onProgress: receives the number of bytes read since its last call, from any thread.
    ///   - body: receives a record for each source, in the same order.
    /// - Returns: the result of the closure.
    /// - Throws: the errors of ``makeFile(from:name:contentType:onProgress:)``, after which no bytes are kept, and the
    ///   errors of the closure.
    public func withFiles<Result>(
        from sources: [FileSource], onProgress: @escaping @Sendable (Int64) -> Void = { _ in },
        _ body: ([FileData]) async throws -> Result
    ) async throws -> Result {
        try await LFSError.catching { try await files.withFiles(from: sources, onProgress, body) }
    }

    /// Makes a file and passes it to a closure that inserts it. When the closure throws without having inserted it, the
    /// file is discarded at once. A file of ``FileSource/movingFile(_:)`` is back in its original place then.
    ///
    /// ```swift
    /// try await lfs.withFile(from: .file(url)) { photo in
    ///     try await database.write { db in try photo.insert(db) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - source: the source of the bytes. ``FileSource/named(_:contentType:)`` sets the name to show.
    ///   - onProgress: receives the number of bytes stored so far, from any thread, about every 256 KiB.
    ///   - body: receives the record.
    /// - Returns: the result of the closure.
    /// - Throws: the errors of ``makeFile(from:name:contentType:onProgress:)``, after which no bytes are kept, and the
    ///   errors of the closure.
    public func withFile<Result>(
        from source: FileSource, onProgress: @escaping @Sendable (Int64) -> Void = { _ in },
        _ body: (FileData) async throws -> Result
    ) async throws -> Result {
        try await LFSError.catching { try await files.withFile(from: source, onProgress, body) }
    }

    /// Removes the bytes of a file that was made and will not be inserted. It works in a cancelled task too.
    ///
    /// - Throws: ``LFSError/Code/notUploaded`` when a row has the file. Delete the row instead.
    public func discard(_ file: FileData) async throws {
        try await LFSError.catching(about: file.id) { try await files.discard(file.id) }
    }

    /// Returns whether the bytes of a file are on this device, so that reading it needs no network. An original that
    /// still has them counts, too. If only its attributes have changed, it is read.
    ///
    /// - Throws: ``LFSError`` when the file system cannot be read.
    public func hasLocalCopy(of id: FileID) async throws -> Bool {
        let places = places
        return try await LFSError.catching(about: id) {
            if try await BlockingPool.shared.run({ _ in try places.contains(id) }) { return true }
            // Most files have no original, and need one read of the database.
            let file = try await runner.read { db in
                try OriginalTable.row(of: id, db).flatMap { _ in try FileTable.fetch(id, db) }
            }
            guard let file else { return false }
            return try await reader.originals.open(file) != nil
        }
    }

    /// Restores the correct bytes of a file from any source, and uploads them again.
    ///
    /// Use it for files whose bytes were lost or damaged, on this device or on the storage. Requests of ``Upload`` have
    /// `damaged()`, which finds the known ones. Afterwards the loss is no longer recorded. A source that is meant to be
    /// moved is copied instead and stays in its place.
    ///
    /// - Parameters:
    ///   - id: the file.
    ///   - source: the source of the correct bytes.
    ///   - onProgress: receives the number of bytes stored so far, from any thread.
    /// - Throws: ``LFSError/Code/sourceChanged`` when the size or the SHA-256 is not the recorded one, with nothing
    ///   changed, ``LFSError/Code/unknownFile``, and the errors of ``makeFile(from:name:contentType:onProgress:)``.
    public func restore(
        _ id: FileID, from source: FileSource, onProgress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws {
        try await LFSError.catching(about: id) {
            try await restorer.restore(id, from: source, onProgress)
        }
    }
}
