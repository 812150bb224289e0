public import Foundation
public import GRDB
import LFSDatabase
import LFSStorage
public import LFSSystem

/// Methods that read files from this device, or download them from the storage. Each takes a ``FileData`` or its id.
extension LFSManager {
    // MARK: Whole files

    /// Returns the bytes of a file. They are read from this device, or downloaded from the remote storage first.
    ///
    /// Concurrent calls for a file share one download, and a cancelled caller does not disturb the others. Downloaded
    /// bytes are checked against the row's size and SHA-256 before any caller sees them, and are kept. An interrupted
    /// download resumes where it ended, also after the end of the process. The method works before ``start()``. After
    /// ``stop()`` it works only for files on this device.
    ///
    /// - Returns: nil when the file's device has not uploaded it yet. This is not an error. A row from another device
    ///   is in this state for a while, until that device has uploaded the file.
    /// - Throws: ``LFSError/Code/bytesMissing`` when the file was made on this device and its bytes are lost,
    ///   ``LFSError/Code/storage`` when the download fails, ``LFSError/Code/sourceChanged`` when the object on the
    ///   storage, or the local copy by its size, differs from the row, ``LFSError/Code/unknownFile``,
    ///   ``LFSError/Code/noSpace``, ``LFSError/Code/cancelled``, and ``LFSError/Code/notRunning``.
    public func contents(of file: some Identifiable<FileID>) async throws -> FileContents? {
        try await withRow(of: file) { try await reader.contents(of: $0) }
    }

    /// Returns all bytes of a file in memory. Use it for small files. ``contents(of:)`` gives the bytes in
    /// chunks.
    ///
    /// - Returns: nil when the file's device has not uploaded it yet.
    /// - Throws: the errors of ``contents(of:)``.
    public func data(of file: some Identifiable<FileID>) async throws -> Data? {
        try await withRow(of: file) { try await reader.data(of: $0) }
    }

    /// Returns the location of the bytes on this device, after a download from the remote storage if necessary.
    ///
    /// The file is read-only. Its location before the commit differs from the one afterwards. The path is valid until
    /// the local copy is evicted. ``contents(of:)`` holds the file open instead, so that all its bytes stay
    /// readable.
    /// - Returns: nil when the file's device has not uploaded it yet.
    /// - Throws: the errors of ``contents(of:)``.
    public func localURL(of file: some Identifiable<FileID>) async throws -> URL? {
        try await withRow(of: file) { try await reader.localURL(of: $0) }
    }

    // MARK: Placeholders

    /// Returns the bytes to show for a file at once: its own if they are on this device, and otherwise those of
    /// ``LFSOptions/placeholder``. The storage is not used.
    ///
    /// A view shows a placeholder until ``data(of:)`` has downloaded the bytes:
    ///
    /// ```swift
    /// if let shown = try await lfs.displayData(of: file) {
    ///     show(shown.data)
    ///     if shown.isPlaceholder, let data = try await lfs.data(of: file) { show(data) }
    /// }
    /// ```
    ///
    /// - Returns: nil when the bytes are not on this device and ``LFSOptions/placeholder`` returns nil.
    /// - Throws: ``LFSError/Code/sourceChanged`` when the size of the local copy differs from the row.
    ///   ``LFSError/Code/unknownFile`` when no row has the id.
    public func displayData(of file: some Identifiable<FileID>) async throws -> DisplayData? {
        let (id, given) = (file.id, file as? FileData)
        return try await LFSError.catching(about: id) {
            var file = given
            if file == nil { file = try await runner.read { db in try FileData.fetchOne(db, key: id) } }
            guard let file else { throw LFSError.unknown(id) }
            if let data = try await reader.localData(of: file.row) {
                return DisplayData(data: data, isPlaceholder: false)
            }
            return options.placeholder?(file).map { DisplayData(data: $0, isPlaceholder: true) }
        }
    }

    // MARK: Parts of files

    /// Returns a part of a file, from the local copy or from the remote storage, without downloading the rest.
    ///
    /// No bytes are kept on this device. A part from the storage cannot be checked against the SHA-256, which covers
    /// the whole file. The number of bytes and the size of the object are checked, and that all bytes come from one
    /// version of the object. If you need the full check, read ``contents(of:)``.
    ///
    /// - Parameters:
    ///   - file: the file.
    ///   - range: offsets, from 0 on. A part beyond the end of the file is left out, as by `clamped(to:)`, so the
    ///     result may be shorter or empty. The result is held in memory.
    /// - Returns: nil when the file's device has not uploaded it yet.
    /// - Throws: the errors of ``contents(of:)``.
    public func bytes(of file: some Identifiable<FileID>, range: Range<Int64>) async throws -> Data? {
        try await withRow(of: file) { try await reader.bytes(of: $0, range) }
    }

    // MARK: Links

    /// Returns a URL with which anyone can download a file from the storage for some time, such as for an image view
    /// or for another person. The URL is a secret: do not store or log it.
    ///
    /// - Parameters:
    ///   - file: the file.
    ///   - expires: the longest validity of the URL, from 1 second to 7 days.
    /// - Returns: nil when the file's device has not uploaded it yet.
    /// - Throws: ``LFSError/Code/storage`` when the storage cannot make such URLs. ``LFSError/Code/unknownFile``.
    public func temporaryURL(for file: FileData, expires: Duration = .seconds(600)) async throws -> URL? {
        try await LFSError.catching(about: file.id) {
            let row = try await reader.row(of: file.id)
            guard row.status == .remote else { return nil }
            guard let storage = options.storage as? any TemporaryURLStorage else {
                throw StorageError(
                    .invalidRequest,
                    message: "The storage (\(options.storage.capabilities.kind)) has no URLs for other programs.")
            }
            return try await storage.downloadURL(for: try ObjectKey(row.key), expires: expires)
        }
    }

    // MARK: Many files

    /// Downloads the files of a request that are on the storage and not on this device, in the order of the request.
    ///
    /// ```swift
    /// let recent = FileData.order(FileData.Columns.createdAt.desc).limit(100)
    /// let summary = try await lfs.prefetch(recent)
    /// ```
    ///
    /// Readers have priority. While a reader waits for a download, no prefetch starts, and a prefetched file that a
    /// reader asks for is treated as the reader's. A file that cannot be downloaded does not stop the others. A running
    /// download of the same file is shared.
    ///
    /// - Returns: when each file is on this device or has failed.
    /// - Throws: ``LFSError/Code/noSpace`` when the disk is full, ``LFSError/Code/cancelled``,
    ///   ``LFSError/Code/notRunning``. Files that were downloaded before are kept.
    @discardableResult
    public func prefetch(_ request: QueryInterfaceRequest<FileData>) async throws -> PrefetchSummary {
        let prefetcher = Prefetcher(runner: runner, places: places, reader: reader)
        return try await LFSError.catching {
            try await lifecycle.calls.run("download files from the storage") { try await prefetcher.run(request) }
        }
    }

    /// Returns the progress of the running download of a file, or of the next one.
    ///
    /// The last value of a successful download is complete, also when a reader finds the file on this device. When a
    /// download or a read fails, the stream throws its ``LFSError``. When the manager stops, it throws
    /// ``LFSError/Code/notRunning``. The stream continues while the file's device has not uploaded the file.
    ///
    /// Request the stream before the file. A later stream may wait although the download has already ended.
    public func downloadProgress(of id: FileID) -> AsyncThrowingStream<TransferProgress, any Error> {
        hub.listenToDownload(of: id)
    }

    // MARK: Rows

    /// Calls a closure with the row of a file: that of a record as it is, and that of an id from the database.
    private func withRow<Value>(
        of file: some Identifiable<FileID>, _ body: (FileRow) async throws -> Value
    ) async throws -> Value {
        let (id, record) = (file.id, file as? FileData)
        return try await LFSError.catching(about: id) {
            if let record { return try await body(record.row) }
            return try await body(try await reader.row(of: id))
        }
    }
}
