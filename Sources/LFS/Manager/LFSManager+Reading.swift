public import Foundation
public import GRDB
import LFSDatabase
public import LFSSystem

/// The way back: bytes on this device, or fetched from the remote storage. Each call takes a record, or the id that an
/// app's own record has.
extension LFSManager {
    // MARK: Whole files

    /// The bytes of a file: those on this device, else fetched from the remote storage first.
    ///
    /// However many ask for a file at once, it is fetched once; a caller that is cancelled does not disturb the others.
    /// What was fetched is checked against the row's size and SHA-256 before anybody sees a byte of it, and kept. A
    /// download that is cut off, by the end of the process too, goes on where it ended. It works before ``start()``
    /// too; after ``stop()`` only for what is on this device.
    ///
    /// - Returns: nil when the file's device has not uploaded it yet. That is no failure: it is what a row that has
    ///   come from another device looks like for a while, and it changes by itself.
    /// - Throws: ``LFSError/Code/bytesMissing`` when the file was made here and its bytes are lost;
    ///   ``LFSError/Code/storage`` when fetching fails; ``LFSError/Code/sourceChanged`` when the object on the storage,
    ///   or the local copy by its size, is not what was recorded; ``LFSError/Code/unknownFile``,
    ///   ``LFSError/Code/noSpace``, ``LFSError/Code/cancelled``, ``LFSError/Code/notRunning``.
    public func contents(of file: FileData) async throws -> FileContents? {
        try await LFSError.catching(about: file.id) { try await reader.contents(of: file.row) }
    }

    /// The bytes of the file with an id; see ``contents(of:)-(FileData)``.
    ///
    /// - Throws: As ``contents(of:)-(FileData)``; ``LFSError/Code/unknownFile`` when no row has the id.
    public func contents(of id: FileID) async throws -> FileContents? {
        try await LFSError.catching(about: id) { try await reader.contents(of: try await reader.row(of: id)) }
    }

    /// All bytes of a file, in memory as a whole: for what is small. ``contents(of:)-(FileData)`` gives them in chunks.
    ///
    /// - Returns: nil when the file's device has not uploaded it yet.
    /// - Throws: As ``contents(of:)-(FileData)``.
    public func data(of file: FileData) async throws -> Data? {
        try await LFSError.catching(about: file.id) { try await reader.data(of: file.row) }
    }

    /// All bytes of the file with an id; see ``data(of:)-(FileData)``.
    ///
    /// - Throws: As ``contents(of:)-(FileData)``; ``LFSError/Code/unknownFile`` when no row has the id.
    public func data(of id: FileID) async throws -> Data? {
        try await LFSError.catching(about: id) { try await reader.data(of: try await reader.row(of: id)) }
    }

    /// Where the bytes of a file are on this device, fetched from the remote storage first if need be.
    ///
    /// The file is read-only. Before the commit it is at another place than afterwards. The path is valid as long as
    /// the local copy is: an eviction takes the file from its path. ``contents(of:)-(FileData)`` holds the file open
    /// and so has its bytes to the end.
    /// - Returns: nil when the file's device has not uploaded it yet.
    /// - Throws: As ``contents(of:)-(FileData)``.
    public func localURL(of file: FileData) async throws -> URL? {
        try await LFSError.catching(about: file.id) { try await reader.localURL(of: file.row) }
    }

    /// Where the bytes of the file with an id are on this device; see ``localURL(of:)-(FileData)``.
    ///
    /// - Throws: As ``contents(of:)-(FileData)``; ``LFSError/Code/unknownFile`` when no row has the id.
    public func localURL(of id: FileID) async throws -> URL? {
        try await LFSError.catching(about: id) { try await reader.localURL(of: try await reader.row(of: id)) }
    }

    // MARK: Parts of files

    /// Some bytes of a file: from the local copy, else from the remote storage, without fetching the rest.
    ///
    /// Nothing is kept on this device. What comes from the storage cannot be checked against the SHA-256, which is that
    /// of the whole file: the number of bytes and the size of the object are checked, and that all bytes are of one
    /// version of it. Who needs the proof reads ``contents(of:)-(FileData)``.
    ///
    /// - Parameters:
    ///   - file: the file.
    ///   - range: offsets from 0 on. What lies beyond the file is left out, as `clamped(to:)` does it, so the result
    ///     may be shorter, or empty. It is held in memory as a whole.
    /// - Returns: nil when the file's device has not uploaded it yet.
    /// - Throws: As ``contents(of:)-(FileData)``.
    public func bytes(of file: FileData, range: Range<Int64>) async throws -> Data? {
        try await LFSError.catching(about: file.id) { try await reader.bytes(of: file.row, range) }
    }

    /// Some bytes of the file with an id; see ``bytes(of:range:)-(FileData,_)``.
    ///
    /// - Throws: As ``contents(of:)-(FileData)``; ``LFSError/Code/unknownFile`` when no row has the id.
    public func bytes(of id: FileID, range: Range<Int64>) async throws -> Data? {
        try await LFSError.catching(about: id) { try await reader.bytes(of: try await reader.row(of: id), range) }
    }

    // MARK: Many files

    /// Fetches those files of a request that are on the storage and not on this device, in the request's order.
    ///
    /// ```swift
    /// let recent = FileData.order(FileData.Columns.createdAt.desc).limit(100)
    /// let summary = try await lfs.prefetch(recent)
    /// ```
    ///
    /// What somebody waits for goes first: no file is begun meanwhile, and one that a reader asks for becomes his. A
    /// file that cannot be fetched does not stop the others. The download under way is shared, as everywhere.
    ///
    /// - Returns: when each file is here or has failed.
    /// - Throws: ``LFSError/Code/noSpace`` when the disk is full, ``LFSError/Code/cancelled``,
    ///   ``LFSError/Code/notRunning``; files that were fetched before are kept.
    @discardableResult
    public func prefetch(_ request: QueryInterfaceRequest<FileData>) async throws -> PrefetchSummary {
        let prefetcher = Prefetcher(runner: runner, places: places, reader: reader)
        return try await LFSError.catching {
            try await lifecycle.calls.run("fetch files from the storage") { try await prefetcher.run(request) }
        }
    }

    /// Returns the progress of the next download of one file, or of the one under way.
    ///
    /// The last value of a successful download is complete, also when a reader finds the file on this device. A
    /// download or a reading that fails throws its ``LFSError`` here as well, and a manager that stops
    /// ``LFSError/Code/notRunning``. Ask for the stream before the file: later it may wait for a download that has
    /// ended already. It goes on while the file's device has not uploaded the file.
    public func downloadProgress(of id: FileID) -> AsyncThrowingStream<TransferProgress, any Error> {
        hub.listenToDownload(of: id)
    }
}
