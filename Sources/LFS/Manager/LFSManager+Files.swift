import LFSDatabase
import LFSFiles
public import LFSSystem

/// Making files, and giving lost ones their bytes back.
extension LFSManager {
    /// What the ``FileData/key`` of each file begins with that this database has made. Where several devices share
    /// their rows, it tells whose a file is.
    public var keyPrefix: String { namespace.prefix }

    /// Makes bytes durable and returns the record to insert. It takes no part in any transaction.
    ///
    /// When it returns, the bytes are on the device under the file's id. A file that is never inserted is swept
    /// ``LFSOptions/temporaryFileGracePeriod`` after its process has ended.
    ///
    /// - Parameters:
    ///   - source: Where the bytes come from.
    ///   - name: The name to show; nil takes the source's own, if it has one.
    ///   - contentType: The media type; nil takes it from the name's extension.
    ///   - onProgress: Takes the number of bytes that are in so far, from any thread, for every 256 KiB or so.
    /// - Throws: ``LFSError``, ``LFSError/Code/notRunning`` after a stop, which ends it too; nothing is kept then, and
    ///   a file that should have been moved is where it was.
    public func makeFile(
        from source: FileSource, name: String? = nil, contentType: String? = nil,
        onProgress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws -> FileData {
        try await LFSError.catching {
            try await files.make(from: source, name: name, contentType: contentType, onProgress)
        }
    }

    /// Makes many files: for an import, where it costs a fraction of making one after the other.
    ///
    /// Bytes in memory, files and handles of files are taken in several at once, and all of them share the sync of
    /// their folder; the others come one by one. When it returns, the bytes are on the device. Batches of a few hundred
    /// are enough. ``FileSource/named(_:contentType:)`` gives a source the name to show.
    ///
    /// ```swift
    /// let files = try await lfs.makeFiles(from: urls.map(FileSource.file))
    /// try await database.write { db in
    ///     for file in files { try file.get().insert(db) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - sources: are read in no order.
    ///   - onProgress: takes the number of bytes that have come in since it was called last, from any thread.
    /// - Returns: for each source, in order, its record; or why its source cannot be taken, such as
    ///   ``LFSError/Code/sourceChanged`` or ``LFSError/Code/missing``. The others are made nevertheless.
    /// - Throws: as ``makeFile(from:name:contentType:onProgress:)`` when the place for the bytes fails, such as
    ///   ``LFSError/Code/noSpace``. Nothing is kept then, and files that should have been moved are where they were.
    public func makeFiles(
        from sources: [FileSource], onProgress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws -> [Result<FileData, LFSError>] {
        try await LFSError.catching { try await files.makeAll(from: sources, onProgress) }
    }

    /// Makes several files and gives them to a closure that inserts them; when it throws, those that it has not
    /// inserted are discarded at once; of ``FileSource/movingFile(_:)`` they are back where they were.
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
    ///   - onProgress: takes the number of bytes that have come in since it was called last, from any thread.
    ///   - body: takes a record for each source, in the same order.
    /// - Returns: what the closure returns.
    /// - Throws: As ``makeFile(from:name:contentType:onProgress:)``, and then nothing is kept; what the closure throws.
    public func withFiles<Result>(
        from sources: [FileSource], onProgress: @escaping @Sendable (Int64) -> Void = { _ in },
        _ body: ([FileData]) async throws -> Result
    ) async throws -> Result {
        try await LFSError.catching { try await files.withFiles(from: sources, onProgress, body) }
    }

    /// Makes a file and gives it to a closure that inserts it; when it throws, the file is discarded at once unless it
    /// has inserted it; of ``FileSource/movingFile(_:)`` it is back where it was.
    ///
    /// ```swift
    /// try await lfs.withFile(from: .file(url)) { photo in
    ///     try await database.write { db in try photo.insert(db) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - source: where the bytes come from. ``FileSource/named(_:contentType:)`` gives it the name to show.
    ///   - onProgress: takes the number of bytes that are in so far, from any thread, for every 256 KiB or so.
    ///   - body: takes the record.
    /// - Returns: what the closure returns.
    /// - Throws: As ``makeFile(from:name:contentType:onProgress:)``, and then nothing is kept; what the closure throws.
    public func withFile<Result>(
        from source: FileSource, onProgress: @escaping @Sendable (Int64) -> Void = { _ in },
        _ body: (FileData) async throws -> Result
    ) async throws -> Result {
        try await LFSError.catching { try await files.withFile(from: source, onProgress, body) }
    }

    /// Removes the bytes of a file that was made and will not be inserted after all. Works in a cancelled task too.
    ///
    /// - Throws: ``LFSError/Code/notUploaded`` when a row has it; delete the row then.
    public func discard(_ file: FileData) async throws {
        try await LFSError.catching(about: file.id) { try await files.discard(file.id) }
    }

    /// Whether the bytes of a file are on this device, so that reading it needs no network.
    ///
    /// - Throws: ``LFSError`` when the device does not let itself be asked.
    public func hasLocalCopy(of id: FileID) async throws -> Bool {
        let places = places
        return try await LFSError.catching(about: id) {
            try await BlockingPool.shared.run { _ in try places.contains(id) }
        }
    }

    /// Gives a file its right bytes back, from wherever they still are, and sends them to the storage again.
    ///
    /// For files whose bytes were lost or damaged, here or on the storage: `damaged()` of a request of ``Upload`` names
    /// those that are known. The note of the loss ends; a file that is moved in is copied, and stays where it is.
    ///
    /// - Parameters:
    ///   - id: the file.
    ///   - source: where its right bytes are.
    ///   - onProgress: takes the number of bytes that are in so far, from any thread.
    /// - Throws: ``LFSError/Code/sourceChanged`` when the size or the SHA-256 is not the recorded one, with nothing
    ///   changed; ``LFSError/Code/unknownFile``; as ``makeFile(from:name:contentType:onProgress:)``.
    public func restore(
        _ id: FileID, from source: FileSource, onProgress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws {
        try await LFSError.catching(about: id) {
            try await restorer.restore(id, from: source, onProgress)
        }
    }
}
