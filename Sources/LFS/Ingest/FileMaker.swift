import Foundation
import GRDB
import LFSDatabase
import LFSFiles
import LFSSystem
import Logging

/// Makes bytes durable in the staging area under a new id, and describes them in a record that is to be inserted.
struct FileMaker: Sendable {
    let namespace: Namespace
    let runner: BackgroundRunner
    let places: FilePlaces
    let calls: Calls
    let wallClock: @Sendable () -> Date
    let logger: Logger
    let telemetry: Telemetry

    func make(
        from source: FileSource, name: String?, contentType: String?, _ onProgress: @escaping @Sendable (Int64) -> Void
    ) async throws -> FileData {
        if let refusal = source.refusal { throw refusal }
        let now = wallClock()
        let file = try await ingest(source.ingest, as: FileID.make(at: now), onProgress)
        let name = name ?? source.suggestedName
        return FileData(
            id: file.id, status: .local, url: nil, name: name, contentType: contentType ?? MediaType.of(name: name),
            byteCount: file.byteCount, sha256: file.sha256, key: namespace.key(of: file.id),
            createdAt: Date(timeIntervalSince1970: Double(now.millisecondsSince1970) / 1_000))
    }

    /// Makes one file after the other and gives them to the body. When that, or one of the files, fails, all of them
    /// are discarded but those that the body has inserted.
    func withFiles<Result>(
        from sources: [FileSource], _ body: ([FileData]) async throws -> Result
    ) async throws -> Result {
        var files: [FileData] = []
        do {
            for source in sources { files.append(try await make(from: source, name: nil, contentType: nil) { _ in }) }
            return try await body(files)
        } catch {
            if !error.leavesCommitOpen { await discard(all: files) }
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
        // A sequence ends when its task is cancelled; everything else looks at the flag.
        if case .chunks = source {
            return try await calls.run("make files") {
                try await staging.ingest(source, as: id, onProgress: onProgress)
            }
        }
        return try await calls.runWatching("make files") { flag in
            try await staging.ingest(source, as: id, watching: flag, onProgress: onProgress)
        }
    }

    /// Removes the bytes of a file that was not inserted. Works in a cancelled task too.
    ///
    /// - Throws: ``LFSError/Code/notUploaded`` when a row has it.
    func discard(_ id: FileID) async throws {
        guard try await runner.readThroughCancellation({ db in try !FileTable.contains(id, db) }) else {
            throw LFSError(.notUploaded, "A row has this file. Delete the row, and its bytes go as well.", fileID: id)
        }
        let staging = places.staging
        do {
            try await BlockingPool.shared.run { _ in _ = try staging.remove(id) }
        } catch {
            throw FileError.keeping(error, at: staging.path)
        }
    }

    private func discard(all files: [FileData]) async {
        for file in files {
            do {
                try await discard(file.id)
            } catch let error as LFSError where error.code == .notUploaded {
                // It was inserted before the failure, so it is the app's.
            } catch {
                // The sweep after a later start removes it.
                logger.debug("a file was not discarded", metadata: ["error.message": "\(error)"])
            }
        }
    }
}

extension Error {
    /// Whether a commit that ended with this error may turn out to have happened, once the log is read again.
    fileprivate var leavesCommitOpen: Bool {
        guard let error = self as? DatabaseError else { return false }
        return [.SQLITE_IOERR, .SQLITE_FULL, .SQLITE_BUSY].contains(error.resultCode)
    }
}
