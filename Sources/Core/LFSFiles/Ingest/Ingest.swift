import Foundation
package import LFSSystem
import Synchronization

/// The result of an ingest. Its bytes are durable, or in an original.
package struct IngestedFile: Hashable, Sendable {
    package let id: FileID
    package let byteCount: Int64
    /// SHA-256 of the content in lowercase hex.
    package let sha256: String
    /// CRC-64/NVME of the content in lowercase hex.
    package let crc64: String
    /// The file that has the bytes, if they were not copied.
    package let original: OriginalFile?
}

/// The byte count and the checksums of an incoming file, computed together.
struct IngestSums {
    private var hash = ContentHash()
    private var crc64 = CyclicRedundancyCheck(.crc64NVME)

    var byteCount: Int64 { hash.byteCount }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        hash.update(bytes)
        crc64.update(bytes)
    }

    func file(as id: FileID, original: OriginalFile? = nil) -> IngestedFile {
        IngestedFile(id: id, byteCount: byteCount, sha256: hash.hex, crc64: crc64.hex, original: original)
    }
}

extension StagingArea {
    /// Makes the bytes of a source durable under a new id.
    ///
    /// - Parameters:
    ///   - flag: cancels the ingest, like a cancellation of the task. Only its task cancels a source of chunks.
    ///   - onProgress: receives the number of bytes ingested so far.
    /// - Throws: ``FileError``. Then the area contains nothing of the file.
    package func ingest(
        _ source: IngestSource, as id: FileID, watching flag: CancellationFlag = CancellationFlag(),
        onProgress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws -> IngestedFile {
        do {
            return try await Ingest(area: self, id: id, onProgress: onProgress).run(source, flag: flag)
        } catch {
            throw FileError.keeping(error, at: path)
        }
    }
}

/// An ingest of one file: a single pass that writes, counts and hashes in pieces of a fixed size.
struct Ingest: Sendable {
    let area: StagingArea
    let id: FileID
    /// Receives the number of bytes ingested so far.
    let onProgress: @Sendable (Int64) -> Void

    /// - Parameter flag: cancels the ingest if other code sets it, such as a manager that stops.
    func run(_ source: IngestSource, flag: CancellationFlag) async throws -> IngestedFile {
        switch source {
        case .moving(let path): return try await IngestMove(ingest: self, flag: flag, path: path).run()
        case .chunks(let forEach): return try await collect(forEach)
        case .original(let original): return try await read(original, flag: flag)
        case .bytes, .copying: return try await write(source, on: .shared, flag: flag)
        case .handle, .stream: return try await write(source, on: .foreign, flag: flag)
        }
    }

    private func read(_ original: OriginalSource, flag: CancellationFlag) async throws -> IngestedFile {
        try await BlockingPool.shared.run(watching: flag) { flag in
            try original.read(as: id, keepingIn: area.originalBytes, flag, onProgress)
        }
    }

    /// Runs the whole ingest on one thread.
    private func write(
        _ source: IngestSource, on threads: BlockingPool, flag: CancellationFlag
    ) async throws -> IngestedFile {
        try await threads.run(watching: flag) { flag in
            let file = try Self.seal(try write(source, flag: flag).get(), in: area)
            try area.settle([id])
            return file
        }
    }

    /// Writes all bytes of a source, and removes them after an error. Blocks the thread.
    ///
    /// - Returns: the writer, or the failure if the source caused it.
    /// - Throws: an error if the area cannot store the bytes, and `CancellationError`.
    func write(_ source: IngestSource, flag: CancellationFlag) throws -> Result<IngestWriter, FileError> {
        let writer = try IngestWriter(id, in: area.directory, onProgress: onProgress)
        do {
            try Self.fill(writer, from: source, flag: flag)
            try flag.check()
            return .success(writer)
        } catch {
            let isSource = !writer.hasFailed && !(error is CancellationError)
            let failure = Self.discarding(writer, after: error, at: area.path)
            if isSource, (failure.cause as? SystemError)?.isShortage != true { return .failure(failure) }
            throw failure
        }
    }

    /// Makes the content of the file durable, and removes the file after an error. The file's name becomes durable when
    /// the folder is synced (``StagingArea/settle(_:)``). Blocks the thread.
    static func seal(_ writer: IngestWriter, in area: StagingArea) throws(FileError) -> IngestedFile {
        do {
            return try writer.seal()
        } catch {
            throw discarding(writer, after: error, at: area.path)
        }
    }

    // MARK: Sources

    private static func fill(_ writer: IngestWriter, from source: IngestSource, flag: CancellationFlag) throws {
        switch source {
        case .bytes(let bytes): try feed(bytes, to: writer)
        case .copying(let path), .moving(let path):
            let file: Descriptor
            do {
                file = try Descriptor.openForReading(path)
            } catch {
                throw FileError.reading(error, from: path)
            }
            if SparseFile.isSparse(file.raw) { writer.leaveHoles() }
            try SourceFile(file).read(flag) { try writer.write($0) }
        case .handle(let handle, let byteCount): try read(handle, limit: byteCount, into: writer, flag: flag)
        case .stream(let stream): try drain(writer, flag: flag, stream.read)
        case .chunks: preconditionFailure("Chunks come one by one: see collect.")
        case .original(let original): try fill(writer, from: original.copied, flag: flag)
        }
    }

    private static func read(
        _ handle: FileHandle, limit: Int64?, into writer: IngestWriter, flag: CancellationFlag
    ) throws {
        // The caller keeps the handle. A `Descriptor` would close it, so its number is only borrowed.
        let number = handle.fileDescriptor
        let before = BorrowedDescriptor.status(number)
        let mayBlock = before?.isRegularFile != true
        if let before, !mayBlock, limit == nil { try SourceFile.requireSize(before, of: "The file behind the handle") }
        if !mayBlock, SparseFile.isSparse(number) { writer.leaveHoles() }
        var left = limit ?? .max
        try drain(writer, flag: flag) { buffer in
            if left == 0 { return 0 }
            // A read from a pipe without a writer would keep a cancelled task forever.
            while try mayBlock && !BorrowedDescriptor.waitUntilReadable(number, milliseconds: 200) { try flag.check() }
            let wanted = Int(min(Int64(buffer.count), left))
            let count = try BorrowedDescriptor.read(number, into: .init(rebasing: buffer[..<wanted]))
            left -= Int64(count)
            return count
        }
        if limit == nil, let before, before.isRegularFile, let after = BorrowedDescriptor.status(number),
            after.modified != before.modified || after.byteCount != before.byteCount
        {
            throw SourceFile.changed("The file behind the handle")
        }
    }

    private static func feed(_ bytes: IngestSource.Bytes, to writer: IngestWriter) throws {
        try bytes.withUnsafeBytes { try writer.write($0) }
    }

    private static func drain(
        _ writer: IngestWriter, flag: CancellationFlag, _ read: (UnsafeMutableRawBufferPointer) throws -> Int
    ) throws {
        try withUnsafeTemporaryAllocation(byteCount: FileCopy.chunkSize, alignment: 16) { buffer in
            while true {
                try flag.check()
                let count: Int
                do {
                    count = try read(buffer)
                } catch is CancellationError {
                    throw CancellationError()
                } catch {
                    throw FileError(
                        .sourceFailed, message: "The source of the bytes failed: \(error)", path: "", cause: error)
                }
                if count == 0 { return }
                try writer.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            }
        }
    }

    /// Combines small chunks, so that a source of single bytes does not switch threads for each of them.
    private func collect(
        _ forEach: @Sendable ((IngestSource.Bytes) async throws -> Void) async throws -> Void
    ) async throws -> IngestedFile {
        let (area, id) = (area, id)
        let writer = try await BlockingPool.shared.run { [onProgress] _ in
            try IngestWriter(id, in: area.directory, onProgress: onProgress)
        }
        do {
            var buffer: [UInt8] = []
            try await forEach { chunk in
                try Task.checkCancellation()
                chunk.withUnsafeBytes { buffer.append(contentsOf: $0) }
                if buffer.count >= FileCopy.chunkSize {
                    let full = buffer
                    buffer.removeAll(keepingCapacity: true)
                    try await BlockingPool.shared.run { _ in try Self.feed(full, to: writer) }
                }
            }
            // A stream whose task is cancelled ends without an error, as if it were complete.
            try Task.checkCancellation()
            let rest = buffer
            return try await BlockingPool.shared.run { _ in
                try Self.feed(rest, to: writer)
                let file = try writer.seal()
                try area.settle([id])
                return file
            }
        } catch {
            throw Self.discarding(writer, after: error, at: area.path)
        }
    }

    /// Removes the written bytes and returns the first error to throw. If the removal fails too, its message names the
    /// leftover.
    static func discarding(_ writer: IngestWriter, after error: any Error, at path: String) -> FileError {
        let failure = FileError.keeping(error, at: path)
        do {
            try writer.discard()
            return failure
        } catch {
            return FileError(
                failure.code,
                message: "\(failure.message) The unfinished file stays until the next sweep: \(error.message)",
                path: failure.path, cause: failure.cause)
        }
    }
}

extension StagingArea {
    /// Makes the names of new files durable. On failure it removes the files, because their names may not survive a
    /// power failure. Blocks the thread.
    func settle(_ ids: [FileID]) throws(FileError) {
        do {
            try directory.synchronize()
        } catch {
            let failure = FileError.keeping(error, at: path)
            do throws(SystemError) {
                for id in ids { try remove(id) }
            } catch {
                throw FileError(
                    failure.code, message: "\(failure.message) New files stay until the next sweep: \(error)",
                    path: failure.path, cause: failure.cause)
            }
            throw failure
        }
    }
}

/// The file that one ingest writes. It receives bytes, and returns their size and checksums. After an error it is
/// removed.
///
/// One task writes at a time, from a thread that may block.
final class IngestWriter: Sendable {
    private struct State {
        var sums = IngestSums()
        var writeback = EarlyWriteback()
        var hasFailed = false
        var leavesHoles = false
    }

    private let directory: Directory
    private let id: FileID
    private let file: Descriptor
    private let state = Mutex(State())
    private let onProgress: @Sendable (Int64) -> Void

    init(
        _ id: FileID, in directory: Directory, onProgress: @escaping @Sendable (Int64) -> Void
    ) throws(FileError) {
        self.directory = directory
        self.id = id
        self.onProgress = onProgress
        do {
            file = try directory.create(id.text)
        } catch {
            throw FileError.keeping(error, at: directory.path)
        }
    }

    /// True if the place of the file failed to store the bytes.
    var hasFailed: Bool { state.withLock { $0.hasFailed } }

    /// Skips blocks of zeros in later writes, for a source with holes. Their bytes are still read and hashed, because
    /// only reading them proves that they are zeros.
    func leaveHoles() { state.withLock { $0.leavesHoles = true } }

    func write(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
        let leavesHoles = state.withLock { $0.leavesHoles }
        try keeping { () throws(SystemError) in
            if leavesHoles { try file.writeSparsely(bytes) } else { try file.write(bytes) }
        }
        let (count, due) = state.withLock { state in
            state.sums.update(bytes)
            return (state.sums.byteCount, state.writeback.next(state.sums.byteCount))
        }
        if let due { file.beginWriteback(due) }
        onProgress(count)
    }

    /// Asks the device to start writing all bytes so far. For a caller that writes other files before it calls
    /// ``seal()``.
    func beginSeal() {
        let count = state.withLock { $0.sums.byteCount }
        if count > 0 { file.beginWriteback(0..<count) }
    }

    /// Makes the content of the file durable. Its name becomes durable only when the folder is synced.
    func seal() throws(FileError) -> IngestedFile {
        let (written, leavesHoles) = state.withLock { ($0.sums.file(as: id), $0.leavesHoles) }
        let kept = try keeping { () throws(SystemError) in
            if leavesHoles { try file.truncate(to: written.byteCount) }
            try file.synchronizeBeforeFolder()
            return try file.status().byteCount
        }
        guard kept == written.byteCount else {
            state.withLock { $0.hasFailed = true }
            throw FileError(
                .system, message: "\(directory.path) stored \(kept) of \(written.byteCount) bytes without an error.",
                path: directory.path)
        }
        return written
    }

    private func keeping<Value>(_ call: () throws(SystemError) -> Value) throws(FileError) -> Value {
        do {
            return try call()
        } catch {
            state.withLock { $0.hasFailed = true }
            throw FileError.keeping(error, at: directory.path)
        }
    }

    /// Removes the written bytes after an error.
    func discard() throws(FileError) {
        do {
            try directory.remove(id.text)
            // Truncating frees the bytes now, not when the last thread releases the file, because the disk may be full.
            try file.truncate(to: 0)
        } catch {
            throw FileError.keeping(error, at: directory.path)
        }
    }
}
