import Foundation
import LFSDatabase
import LFSFiles
import LFSStorage
public import LFSSystem
import LFSTransfer

extension LFSManager {
    /// Makes bytes durable and returns the record to insert. It takes no part in any transaction.
    ///
    /// When it returns, the bytes are on the device under the file's id. A file that is never inserted is swept
    /// ``LFSOptions/temporaryFileGracePeriod`` after its process has ended.
    ///
    /// - Parameters:
    ///   - name: The name to show; nil takes the source's own, if it has one.
    ///   - contentType: The media type; nil takes it from the name's extension.
    ///   - onProgress: Takes the number of bytes that are in so far, from any thread, for every 256 KiB or so.
    /// - Throws: ``LFSError``, ``LFSError/Code/notRunning`` after a stop, which ends it too; nothing is kept then, and a file that should have been moved is where it was.
    public func makeFile(
        from source: FileSource, name: String? = nil, contentType: String? = nil,
        onProgress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws -> FileData {
        let now = options.wallClock()
        if let refusal = source.refusal { throw refusal }
        do {
            let file = try await ingest(source.ingest, as: FileID.make(at: now), onProgress)
            let name = name ?? source.suggestedName
            return FileData(
                id: file.id, status: .local, url: nil, name: name,
                contentType: contentType ?? MediaType.of(name: name), byteCount: file.byteCount, sha256: file.sha256,
                key: namespace.key(of: file.id),
                createdAt: Date(timeIntervalSince1970: Double(now.millisecondsSince1970) / 1_000))
        } catch {
            throw LFSError.wrapping(error)
        }
    }

    func ingest(
        _ source: IngestSource, as id: FileID, _ onProgress: @escaping @Sendable (Int64) -> Void
    ) async throws -> IngestedFile {
        let staging = places.staging
        // A sequence ends when its task is cancelled; everything else looks at the flag.
        if case .chunks = source {
            return try await lifecycle.calls.run("make files") {
                try await staging.ingest(source, as: id, onProgress: onProgress)
            }
        }
        return try await lifecycle.calls.runWatching("make files") { flag in
            try await staging.ingest(source, as: id, watching: flag, onProgress: onProgress)
        }
    }

    /// Removes the bytes of a file that was made and will not be inserted after all. Works in a cancelled task too.
    ///
    /// - Throws: ``LFSError/Code/notUploaded`` when a row has it; delete the row then.
    public func discard(_ file: FileData) async throws {
        let id = file.id
        guard try await runner.readThroughCancellation({ db in try !FileTable.contains(id, db) }) else {
            throw LFSError(
                .notUploaded, "A row has this file. Delete the row, and its bytes go as well.", fileID: file.id)
        }
        let staging = places.staging
        do {
            try await BlockingPool.shared.run { _ in _ = try staging.remove(id) }
        } catch {
            throw LFSError.wrapping(FileError.keeping(error, at: staging.path), fileID: file.id)
        }
    }

    /// Whether the bytes of a file are on this device, so that reading it needs no network.
    public func hasLocalCopy(of id: FileID) async throws -> Bool {
        let places = places
        do {
            return try await BlockingPool.shared.run { _ in try places.contains(id) }
        } catch {
            throw LFSError.wrapping(error, fileID: id)
        }
    }
}
