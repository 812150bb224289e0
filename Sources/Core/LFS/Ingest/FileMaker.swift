import Foundation
import GRDB
import LFSDatabase
import LFSFiles
import LFSSystem
import Logging

/// A maker of files: it makes bytes durable in the staging area under a new id, and describes them in a record to
/// insert.
struct FileMaker: Sendable {
    let namespace: Namespace
    let runner: BackgroundRunner
    let places: FileLocations
    let calls: ActiveCalls
    let wallClock: @Sendable () -> Date
    let logger: Logger
    let telemetry: Telemetry
    private static let page = 500

    func make(
        from source: FileSource, name: String?, contentType: String?, _ onProgress: @escaping @Sendable (Int64) -> Void
    ) async throws -> FileData {
        if let refusal = source.refusal { throw refusal }
        let now = wallClock()
        let file = try await ingest(source.ingest, as: FileID.make(at: now), onProgress)
        return describe(file, name: name ?? source.name, contentType: contentType ?? source.contentType, madeAt: now)
    }

    private func describe(
        _ file: IngestedFile, name: String?, contentType: String?, madeAt time: Date
    ) -> FileData {
        FileData(
            id: file.id, status: .local, url: nil, name: name,
            contentType: contentType ?? ContentTypeTable.of(name: name),
            byteCount: file.byteCount, sha256: file.sha256, crc64: file.crc64, key: namespace.key(of: file.id),
            createdAt: Date(timeIntervalSince1970: Double(time.millisecondsSince1970) / 1_000),
            original: file.original)
    }

    /// Makes many files, and keeps those whose sources are readable.
    func makeAll(
        from sources: [FileSource], _ onProgress: @escaping @Sendable (Int64) -> Void
    ) async throws -> [Result<FileData, LFSError>] {
        let now = wallClock()
        let requests = sources.map { source in
            source.refusal == nil ? IngestRequest(source.ingest, as: FileID.make(at: now)) : nil
        }
        let staging = places.staging
        let ingested = try await telemetry.ingest(requests.compactMap(\.self)) { requests in
            try await calls.run("make files") {
                try await staging.ingest(all: requests, onProgress: onProgress)
            }
        }
        var files = ingested.makeIterator()
        return sources.map { source in
            if let refusal = source.refusal { return .failure(refusal) }
            guard let file = files.next() else { return .failure(LFSError(.system, message: "The file was not made.")) }
            return file.map { describe($0, name: source.name, contentType: source.contentType, madeAt: now) }
                .mapError { LFSError($0) }
        }
    }

    /// Makes files and passes them to the body. If the body or one of the files fails, all files that the body has not
    /// inserted are discarded. Moved sources are moved back to their original places.
    func withFiles<Result>(
        from sources: [FileSource], _ onProgress: @escaping @Sendable (Int64) -> Void,
        _ body: ([FileData]) async throws -> Result
    ) async throws -> Result {
        let made = try await makeAll(from: sources, onProgress)
        return try await discarding(made, of: sources) { try await body(try made.map { try $0.get() }) }
    }

    /// Does the same as ``withFiles(from:_:_:)``, for one file.
    func withFile<Result>(
        from source: FileSource, _ onProgress: @escaping @Sendable (Int64) -> Void,
        _ body: (FileData) async throws -> Result
    ) async throws -> Result {
        let file = try await make(from: source, name: nil, contentType: nil, onProgress)
        return try await discarding([.success(file)], of: [source]) { try await body(file) }
    }

    private func discarding<Result>(
        _ made: [Swift.Result<FileData, LFSError>], of sources: [FileSource], _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch {
            if !error.leavesCommitOpen { await discard(all: made, of: sources) }
            throw error
        }
    }

    func ingest(
        _ source: IngestSource, as id: FileID, _ onProgress: @escaping @Sendable (Int64) -> Void
    ) async throws -> IngestedFile {
        try await telemetry.ingest(as: id) { try await stage(source, as: id, onProgress) }
    }

    private func stage(
        _ source: IngestSource, as id: FileID, _ onProgress: @escaping @Sendable (Int64) -> Void
    ) async throws -> IngestedFile {
        let staging = places.staging
        // A sequence ends when its task is cancelled. Every other source checks the flag.
        if case .chunks = source {
            return try await calls.run("make files") {
                try await staging.ingest(source, as: id, onProgress: onProgress)
            }
        }
        return try await calls.runWatching("make files") { flag in
            try await staging.ingest(source, as: id, watching: flag, onProgress: onProgress)
        }
    }

    /// Removes the bytes of a file that was not inserted. It works in a cancelled task too. If the deletion of the file
    /// is held, the bytes are kept until the deletion is carried out.
    ///
    /// - Throws: ``LFSError/Code/notUploaded`` when a row has the file.
    func discard(_ id: FileID) async throws {
        guard try await runner.readThroughCancellation({ db in try !FileTable.contains(id, db) }) else {
            throw LFSError(
                .notUploaded, message: "A row has this file. Delete the row, which deletes the bytes too.", fileID: id)
        }
        let isHeld = try await runner.readThroughCancellation { db in try !TombstoneTable.held([id], db).isEmpty }
        if isHeld { return }
        let staging = places.staging
        do {
            try await BlockingPool.shared.run { _ in _ = try staging.remove(id) }
        } catch {
            throw FileError.keeping(error, at: staging.path)
        }
    }

    /// Removes the files that were made and not inserted.
    private func discard(all made: [Result<FileData, LFSError>], of sources: [FileSource]) async {
        let requests = zip(made, sources).compactMap { made, source in
            (try? made.get()).map { IngestRequest(source.ingest, as: $0.id) }
        }
        do {
            for page in requests.chunks(of: Self.page) {
                let ids = page.map(\.id)
                let known = try await runner.readThroughCancellation { db in
                    try FileTable.existing(ids, db).union(TombstoneTable.held(ids, db))
                }
                try await places.staging.discard(page.filter { !known.contains($0.id) })
            }
        } catch {
            // The sweep after a later start removes them.
            logger.notice("files were not discarded", metadata: ["error.message": "\(error)"])
        }
    }
}

extension Error {
    /// True if a commit that ended with this error may turn out to have succeeded when the log is read again.
    fileprivate var leavesCommitOpen: Bool {
        guard let error = self as? DatabaseError else { return false }
        return [.SQLITE_IOERR, .SQLITE_FULL, .SQLITE_BUSY].contains(error.resultCode)
    }
}
