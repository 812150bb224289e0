import Foundation
import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem
import Synchronization

/// A reader of files: from this device, or from the remote storage.
struct FileReader: Sendable {
    let namespace: Namespace
    let runner: BackgroundRunner
    let places: FileLocations
    let originals: Originals
    /// The storage for ranges, with its own retries.
    let storage: any RemoteStorage
    let downloader: Downloader
    let scheduler: DownloadScheduler
    let uses: AccessLog
    let eviction: AutomaticEviction
    let hub: EventHub
    let readBack: ObjectVerifier
    let arrivals: PostDownloadCheck
    let telemetry: Telemetry

    // MARK: Whole files

    /// Opens the local copy of a file, after a download if necessary. Nil when its device has not uploaded it yet.
    func open(_ file: FileRow) async throws -> OpenCopy? {
        do {
            return try await opened(file)
        } catch {
            // A cancelled reader leaves the download to others.
            if !(error is CancellationError) {
                hub.endDownload(file.id, ending: .failed(LFSError(wrapping: error, fileID: file.id)))
            }
            throw error
        }
    }

    /// Returns the bytes of a file if they are on this device. Nil otherwise. It does not use the storage.
    func localData(of file: FileRow) async throws -> Data? {
        let use = places.inUse.begin(file.id)
        guard let descriptor = try await local(file) else { return nil }
        return try await OpenCopy(id: file.id, file: descriptor, use: use).data(byteCount: file.byteCount)
    }

    private func opened(_ file: FileRow) async throws -> OpenCopy? {
        let id = file.id
        // The file is in use from before the download on, so the copy is not evicted between the end of the download
        // and the time when this reader opens it.
        let use = places.inUse.begin(id)
        // Another process may evict the copy before it is opened. Then it is downloaded again.
        for _ in 0..<Self.maxLooks {
            if let descriptor = try await local(file) {
                return OpenCopy(id: id, file: descriptor, use: use)
            }
            guard let row = try await remoteRow(id) else { return nil }
            // The bytes are on this device, in a folder that was absent and is back. Search it again.
            if row.status == .local { continue }
            try await fetch(row, for: .reader)
        }
        throw Self.comesAndGoes(id)
    }

    /// The maximum number of searches for a copy that is removed repeatedly, or for a folder that appears and
    /// disappears.
    private static let maxLooks = 3

    private static func comesAndGoes(_ id: FileID) -> LFSError {
        LFSError(
            .bytesMissing, message: "The local copy was removed again and again before it could be opened.", fileID: id)
    }

    /// Returns when the file is in the local store. The download is shared with all other callers.
    func fetch(_ file: FileRow, for urgency: DownloadUrgency) async throws {
        let trace = TraceContext.current
        try await scheduler.run(.file(file.id), urgency: urgency) { onDownload in
            try await download(file, in: trace, onDownload)
        }
    }

    private func download(
        _ file: FileRow, in trace: TraceContext, _ onDownload: @Sendable () -> Void
    ) async throws {
        let id = file.id
        do {
            let places = places
            // Another download of the file may have ended after the reader's search and before this call.
            if try await BlockingPool.downloads.run({ _ in try places.contains(id) }) {
                return hub.endDownload(id, ending: .complete(byteCount: file.byteCount))
            }
            var isProof = false
            try await eviction.withRoom(for: id, file.byteCount) { onBytes in
                try await telemetry.download(id, byteCount: file.byteCount, in: trace) {
                    isProof = try await downloader.fetch(file, onDownload: onDownload) { bytes in
                        onBytes(bytes)
                        hub.sendDownloading(
                            id, progress: TransferProgress(bytesTransferred: bytes, totalBytes: file.byteCount))
                    }
                }
            }
            switch try await arrivals.row(of: id) {
            case .gone: throw try await removed(id, participle: "downloaded")
            case .inDoubt: if isProof { try await readBack.noteRightBytes(of: id) }
            case .certain: break
            }
        } catch {
            let failure = LFSError(wrapping: error, fileID: file.id)
            if failure.code != .cancelled { hub.send(.downloadFailed(file.id, failure)) }
            defer { hub.endDownload(id, ending: .failed(failure)) }
            try await noteDamage(of: file, failure)
            throw failure
        }
        uses.noteUse(of: file.id)
        places.marks?.note(file.id)
        hub.send(.downloaded(file.id, byteCount: file.byteCount))
        hub.endDownload(id, ending: .complete(byteCount: file.byteCount))
    }

    private func noteDamage(of file: FileRow, _ failure: LFSError) async throws {
        if failure.code == .sourceChanged { return try await readBack.noteDamage(of: file.id, failure.message) }
        guard let error = failure.cause as? StorageError else { return }
        _ = try await readBack.noteDamage(of: file, error)
    }

    /// Checks, after the bytes of a file have arrived, that its row still exists. Otherwise removes the bytes, unless
    /// the deletion may still be undone. See ``LateCopyRemover``.
    ///
    /// - Parameter participle: the completed operation on the file, for the error's message.
    func requireRow(_ id: FileID, participle: String = "downloaded") async throws {
        if try await arrivals.row(of: id) == .gone { throw try await removed(id, participle: participle) }
    }

    private func removed(_ id: FileID, participle: String) async throws -> LFSError {
        try await LateCopyRemover(runner: runner, places: places).remove(id)
        return LFSError(.unknownFile, message: "The file was deleted while it was \(participle).", fileID: id)
    }

    // MARK: Forms

    /// - Throws: ``LFSError/Code/unknownFile``.
    func row(of id: FileID) async throws -> FileRow {
        guard let row = try await runner.read({ db in try FileTable.fetch(id, db) }) else { throw LFSError.unknown(id) }
        return row
    }

    func contents(of file: FileRow) async throws -> FileContents? {
        try await open(file).map { FileContents($0, byteCount: file.byteCount) }
    }

    /// Returns all bytes at once.
    func data(of file: FileRow) async throws -> Data? { try await open(file)?.data(byteCount: file.byteCount) }

    func localURL(of file: FileRow) async throws -> URL? {
        guard let copy = try await open(file) else { return nil }
        let (id, store) = (file.id, places.store)
        let isPromoted = try await BlockingPool.shared.run { _ in try store.contains(id) }
        return URL(fileURLWithPath: isPromoted ? store.path(of: id) : copy.file.path)
    }

    // MARK: Ranges

    /// Returns a part of a file. Nil when its device has not uploaded it yet. No bytes are kept on this device.
    func bytes(of file: FileRow, _ range: Range<Int64>) async throws -> Data? {
        let id = file.id
        let range = range.clamped(to: 0..<file.byteCount)
        for _ in 0..<Self.maxLooks {
            if let descriptor = try await local(file) {
                return try await OpenCopy(id: id, file: descriptor, use: nil).data(range)
            }
            guard let row = try await remoteRow(id) else { return nil }
            if row.status == .local { continue }
            return range.isEmpty ? Data() : try await fetch(range, of: row)
        }
        throw Self.comesAndGoes(id)
    }

    private func fetch(_ range: Range<Int64>, of row: FileRow) async throws -> Data {
        let result = RangeResult()
        let trace = TraceContext.current
        try await scheduler.run(.range(UUID()), urgency: .reader) { _ in
            try await fetch(range, of: row, into: result, in: trace)
        }
        return result.bytes.withLock { $0 }
    }

    private func fetch(
        _ range: Range<Int64>, of file: FileRow, into result: RangeResult, in trace: TraceContext
    ) async throws {
        let sink = DownloadSink { bytes in
            try result.bytes.withLock { collected in
                guard collected.count + bytes.count <= range.count else { throw Self.wrongRange(file) }
                collected.append(contentsOf: bytes)
            }
        }
        do {
            try await telemetry.download(file.id, byteCount: Int64(range.count), in: trace) {
                let object = try await storage.download(
                    DownloadRequest(try ObjectKey(file.key), range: range), into: sink)
                let count = result.bytes.withLock { $0.count }
                guard count == range.count, object.byteCount == file.byteCount else { throw Self.wrongRange(file) }
            }
        } catch {
            let failure = LFSError(wrapping: error, fileID: file.id)
            try await noteDamage(of: file, failure)
            throw failure
        }
    }

    private static func wrongRange(_ file: FileRow) -> LFSError {
        LFSError(
            .sourceChanged, message: "The remote object is not the file that was recorded: it has another size.",
            fileID: file.id
        )
    }

    // MARK: Finding

    /// Opens the local copy and records its use, or opens the original. Returns nil without either. A copy of another
    /// size than the file's is damaged, and an error.
    private func local(_ file: FileRow) async throws -> Descriptor? {
        let id = file.id
        guard let (descriptor, status) = try await find(id) else { return try await original(file) }
        guard status.isRegularFile, status.byteCount == file.byteCount else { throw OpenCopy.isDamaged(id) }
        uses.noteUse(of: id)
        eviction.noteUse(of: id)
        hub.endDownload(id, ending: .complete(byteCount: file.byteCount))
        return descriptor
    }

    /// Opens the original of a file that was attached without a copy. Returns nil if its bytes have changed.
    private func original(_ file: FileRow) async throws -> Descriptor? {
        do {
            guard let descriptor = try await originals.open(file) else { return nil }
            hub.endDownload(file.id, ending: .complete(byteCount: file.byteCount))
            return descriptor
        } catch is SystemError where file.status == .remote {
            // The object has the bytes too.
            return nil
        }
    }

    private func find(_ id: FileID) async throws -> (descriptor: Descriptor, status: FileStatus)? {
        let places = places
        while true {
            do {
                return try await BlockingPool.shared.run { _ in
                    try places.open(id).map { (descriptor: $0, status: try $0.status()) }
                }
            } catch let error as SystemError {
                // The disk of one of the folders may have been removed. In that case the list of places is shorter now,
                // and the others are searched.
                guard try await MissingFileSearch(runner: runner, places: places).refreshPlaces() else { throw error }
            }
        }
    }

    /// Returns the current row of a file that has no local copy. It is `remote`, or it is `local` and its bytes were
    /// found in a folder that is back. It is nil when another device made the file and has not uploaded it yet.
    ///
    /// - Throws: ``LFSError/Code/folderAbsent`` or ``LFSError/Code/bytesMissing`` when this device made the file, and
    ///   ``LFSError/Code/unknownFile`` when there is no row.
    private func remoteRow(_ id: FileID) async throws -> FileRow? {
        // The caller's row may be older than the upload.
        let row = try await row(of: id)
        if row.status == .remote { return row }
        if !namespace.isOurs(row.key) { return nil }
        switch try await MissingFileSearch(runner: runner, places: places).search(for: id) {
        case .here: return row
        case .away(let reason): throw LFSError(.folderAbsent, message: reason, fileID: id)
        case .nowhere:
            throw LFSError(
                .bytesMissing, message: "The file was made on this device, but its bytes are gone.", fileID: id)
        }
    }
}

/// A box that carries the bytes of a range out of the task that downloaded them.
private final class RangeResult: Sendable {
    let bytes = Mutex(Data())
}
