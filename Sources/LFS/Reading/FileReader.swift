import Foundation
import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem
import Synchronization

/// Finds the bytes of a file for those who read it: on this device, else on the remote storage.
struct FileReader: Sendable {
    let namespace: Namespace
    let runner: BackgroundRunner
    let places: FilePlaces
    /// The storage for ranges, which retries by itself.
    let storage: any RemoteStorage
    let downloader: Downloader
    let scheduler: DownloadScheduler
    let uses: UseLog
    let eviction: AutomaticEviction
    let hub: EventHub
    let readBack: ReadBack
    let arrivals: ArrivalCheck
    let telemetry: Telemetry

    // MARK: Whole files

    /// Opens the local copy of a file, fetched first if need be; nil when its device has not uploaded it yet.
    func open(_ file: FileRow) async throws -> OpenCopy? {
        do {
            return try await opened(file)
        } catch {
            // A reader that goes away leaves the download to others.
            if !(error is CancellationError) {
                hub.endDownload(file.id, .failed(LFSError(wrapping: error, fileID: file.id)))
            }
            throw error
        }
    }

    private func opened(_ file: FileRow) async throws -> OpenCopy? {
        let id = file.id
        // The file counts as in use from before the download on, so that the copy is not evicted between the end of the
        // download and the moment when this reader opens it.
        let use = places.inUse.begin(id)
        // Another process may evict the copy before it is opened here; then it is fetched again.
        for _ in 0..<Self.maxLooks {
            if let descriptor = try await local(id, file.byteCount) {
                return OpenCopy(id: id, file: descriptor, use: use)
            }
            guard let row = try await remoteRow(id) else { return nil }
            // The bytes are on this device, in a folder that was away and is back: look there again.
            if row.status == .local { continue }
            try await fetch(row, for: .reader)
        }
        throw Self.comesAndGoes(id)
    }

    /// How often a copy is looked for that somebody else takes away meanwhile, or a folder that comes and goes.
    private static let maxLooks = 3

    private static func comesAndGoes(_ id: FileID) -> LFSError {
        LFSError(
            .bytesMissing, "The local copy was removed again and again before it could be opened.", fileID: id)
    }

    /// Returns when the file is in the local store. The download is shared with all others who ask for the file.
    func fetch(_ file: FileRow, for urgency: DownloadUrgency) async throws {
        let trace = TraceContext.current
        try await scheduler.run(.file(file.id), urgency) { onArrival in
            try await download(file, in: trace, onArrival)
        }
    }

    private func download(
        _ file: FileRow, in trace: TraceContext, _ onArrival: @Sendable () -> Void
    ) async throws {
        let id = file.id
        do {
            let places = places
            // Another download of the file may have ended after the reader had looked and before it asked for this one.
            if try await BlockingPool.downloads.run({ _ in try places.contains(id) }) {
                return hub.endDownload(id, .complete(byteCount: file.byteCount))
            }
            try await eviction.withRoom(for: id, file.byteCount) { onBytes in
                try await telemetry.download(id, file.byteCount, in: trace) {
                    try await downloader.fetch(file, onArrival: onArrival) { bytes in
                        onBytes(bytes)
                        hub.sendDownloading(id, TransferProgress(bytesTransferred: bytes, totalBytes: file.byteCount))
                    }
                }
            }
            switch try await arrivals.row(of: id) {
            case .gone: throw try await removed(id, "fetched")
            case .inDoubt: try await readBack.noteRightBytes(of: id)
            case .certain: break
            }
        } catch {
            let failure = LFSError(wrapping: error, fileID: file.id)
            if failure.code != .cancelled { hub.send(.downloadFailed(file.id, failure)) }
            defer { hub.endDownload(id, .failed(failure)) }
            try await noteDamage(of: file, failure)
            throw failure
        }
        uses.noteUse(of: file.id)
        hub.send(.downloaded(file.id, byteCount: file.byteCount))
        hub.endDownload(id, .complete(byteCount: file.byteCount))
    }

    private func noteDamage(of file: FileRow, _ failure: LFSError) async throws {
        if failure.code == .sourceChanged { return try await readBack.noteDamage(of: file.id, failure.message) }
        guard let error = failure.cause as? StorageError else { return }
        _ = try await readBack.noteDamage(of: file, error)
    }

    /// Checks, after the bytes of a file have come, that its row is still there, and removes the bytes otherwise.
    ///
    /// The deletion of a file removes its local copy only once. If that was before the bytes came, nobody else would
    /// remove them.
    ///
    /// - Parameter participle: what was done to the file, for the error's message.
    func requireRow(_ id: FileID, _ participle: String = "fetched") async throws {
        if try await arrivals.row(of: id) == .gone { throw try await removed(id, participle) }
    }

    private func removed(_ id: FileID, _ participle: String) async throws -> LFSError {
        let places = places
        try await BlockingPool.shared.run { _ in try places.remove(id) }
        return LFSError(.unknownFile, "The file was deleted while it was \(participle).", fileID: id)
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

    /// All bytes at once.
    func data(of file: FileRow) async throws -> Data? { try await open(file)?.data(byteCount: file.byteCount) }

    func localURL(of file: FileRow) async throws -> URL? {
        guard let copy = try await open(file) else { return nil }
        let (id, store) = (file.id, places.store)
        let isPromoted = try await BlockingPool.shared.run { _ in try store.contains(id) }
        return URL(fileURLWithPath: isPromoted ? store.path(of: id) : copy.file.path)
    }

    // MARK: Ranges

    /// Some bytes of a file; nil when its device has not uploaded it yet. Nothing of it is kept on this device.
    func bytes(of file: FileRow, _ range: Range<Int64>) async throws -> Data? {
        let id = file.id
        let range = range.clamped(to: 0..<file.byteCount)
        for _ in 0..<Self.maxLooks {
            if let descriptor = try await local(id, file.byteCount) {
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
        try await scheduler.run(.range(UUID()), .reader) { _ in
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
            try await telemetry.download(file.id, Int64(range.count), in: trace) {
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
            .sourceChanged, "The remote object is not the file that was recorded: it has another size.", fileID: file.id
        )
    }

    // MARK: Finding

    /// Opens the local copy, and notes its use; nil when there is none. A copy of another size than the file's is
    /// damaged, and an error.
    private func local(_ id: FileID, _ byteCount: Int64) async throws -> Descriptor? {
        guard let (descriptor, status) = try await find(id) else { return nil }
        guard status.isRegularFile, status.byteCount == byteCount else { throw OpenCopy.isDamaged(id) }
        uses.noteUse(of: id)
        eviction.noteUse(of: id)
        hub.endDownload(id, .complete(byteCount: byteCount))
        return descriptor
    }

    private func find(_ id: FileID) async throws -> (descriptor: Descriptor, status: FileStatus)? {
        let places = places
        while true {
            do {
                return try await BlockingPool.shared.run { _ in
                    try places.open(id).map { (descriptor: $0, status: try $0.status()) }
                }
            } catch let error as SystemError {
                // The disk of one of the folders may have been pulled out. If that is the reason, there is one place
                // less now, and the others are looked into.
                guard try await MissingFileSearch(runner: runner, places: places).refreshPlaces() else { throw error }
            }
        }
    }

    /// The row of a file that has no local copy, as it is now. It is `remote`, or it is `local` and the bytes were
    /// found after all, in a folder that is back; nil when another device made the file and has not uploaded it yet.
    ///
    /// - Throws: ``LFSError/Code/folderAbsent`` or ``LFSError/Code/bytesMissing`` when this device made the file, and
    ///   ``LFSError/Code/unknownFile`` when there is no row.
    private func remoteRow(_ id: FileID) async throws -> FileRow? {
        // The caller's copy may be older than the upload.
        let row = try await row(of: id)
        if row.status == .remote { return row }
        if !namespace.isOurs(row.key) { return nil }
        switch try await MissingFileSearch(runner: runner, places: places).search(for: id) {
        case .here: return row
        case .away(let reason): throw LFSError(.folderAbsent, reason, fileID: id)
        case .nowhere:
            throw LFSError(
                .bytesMissing, "The file was made on this device, but its bytes are gone from it.", fileID: id)
        }
    }
}

/// Carries the bytes of a range out of the task that fetched them.
private final class RangeResult: Sendable {
    let bytes = Mutex(Data())
}
