import Foundation
package import LFSSystem
import Synchronization

/// What an ingest has made durable.
package struct IngestedFile: Hashable, Sendable {
    package let id: FileID
    package let byteCount: Int64
    /// SHA-256 of the content in lowercase hex.
    package let sha256: String
    /// CRC-64/NVME of the content in lowercase hex.
    package let crc64: String
}

/// What is counted and computed of the bytes of a file that comes in.
struct IngestSums {
    private var hash = ContentHash()
    private var crc64 = CyclicRedundancyCheck(.crc64NVME)

    var byteCount: Int64 { hash.byteCount }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        hash.update(bytes)
        crc64.update(bytes)
    }

    func file(as id: FileID) -> IngestedFile {
        IngestedFile(id: id, byteCount: byteCount, sha256: hash.hex, crc64: crc64.hex)
    }
}

extension StagingArea {
    /// Makes the bytes of a source durable under a new id.
    ///
    /// - Parameters:
    ///   - flag: ends it early, as the cancellation of the task does. A source of chunks is ended by its task alone.
    ///   - onProgress: takes the number of bytes that are in so far.
    /// - Throws: ``FileError``; nothing is left in the area then.
    package func ingest(
        _ source: IngestSource, as id: FileID, watching flag: CancellationFlag = CancellationFlag(),
        onProgress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws -> IngestedFile {
        do {
            return try await Ingest(area: self, id: id, onProgress: onProgress).run(source, flag)
        } catch {
            throw FileError.keeping(error, at: path)
        }
    }
}

/// Takes bytes in: one pass that writes, counts and hashes, in pieces of a fixed size.
struct Ingest: Sendable {
    let area: StagingArea
    let id: FileID
    /// Takes the number of bytes that are in so far.
    let onProgress: @Sendable (Int64) -> Void

    /// - Parameter flag: ends it when somebody else sets it, such as a manager that stops.
    func run(_ source: IngestSource, _ flag: CancellationFlag) async throws -> IngestedFile {
        switch source {
        case .moving(let path): return try await IngestMove(ingest: self, flag: flag, path: path).run()
        case .chunks(let forEach): return try await collect(forEach)
        case .bytes, .copying: return try await write(source, on: .shared, flag)
        case .handle, .stream: return try await write(source, on: .foreign, flag)
        }
    }

    /// Everything happens on one thread, without a switch between.
    private func write(
        _ source: IngestSource, on threads: BlockingPool, _ flag: CancellationFlag
    ) async throws -> IngestedFile {
        try await threads.run(watching: flag) { flag in
            let file = try Self.seal(try write(source, flag).get(), in: area)
            try area.settle([id])
            return file
        }
    }

    /// Writes all bytes of a source, and nothing is left after an error. Blocks the thread.
    ///
    /// - Returns: a failure for which the source is to blame.
    /// - Throws: why the place does not take the bytes, and the cancellation.
    func write(_ source: IngestSource, _ flag: CancellationFlag) throws -> Result<IngestWriter, FileError> {
        let writer = try IngestWriter(id, in: area.directory, onProgress: onProgress)
        do {
            try Self.fill(writer, from: source, flag)
            try flag.check()
            return .success(writer)
        } catch {
            let isSource = !writer.hasFailed && !(error is CancellationError)
            let failure = Self.discarding(writer, after: error, at: area.path)
            if isSource, (failure.cause as? SystemError)?.isShortage != true { return .failure(failure) }
            throw failure
        }
    }

    /// Has what is written on the device, and nothing is left after an error. Its name is there once the folder is
    /// synced (``StagingArea/settle(_:)``). Blocks the thread.
    static func seal(_ writer: IngestWriter, in area: StagingArea) throws(FileError) -> IngestedFile {
        do {
            return try writer.seal()
        } catch {
            throw discarding(writer, after: error, at: area.path)
        }
    }

    // MARK: Sources

    private static func fill(_ writer: IngestWriter, from source: IngestSource, _ flag: CancellationFlag) throws {
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
        case .handle(let handle, let byteCount): try read(handle, byteCount, into: writer, flag)
        case .stream(let stream): try drain(writer, flag, stream.read)
        case .chunks: preconditionFailure("Chunks come one by one: see collect.")
        }
    }

    private static func read(
        _ handle: FileHandle, _ limit: Int64?, into writer: IngestWriter, _ flag: CancellationFlag
    ) throws {
        // The handle stays the caller's: its descriptor is borrowed, so no `Descriptor` may own and close it.
        let number = handle.fileDescriptor
        let before = BorrowedDescriptor.status(number)
        let mayBlock = before?.isRegularFile != true
        if !mayBlock, SparseFile.isSparse(number) { writer.leaveHoles() }
        var left = limit ?? .max
        try drain(writer, flag) { buffer in
            if left == 0 { return 0 }
            // A pipe that nobody writes to would keep a cancelled task for ever.
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
        _ writer: IngestWriter, _ flag: CancellationFlag, _ read: (UnsafeMutableRawBufferPointer) throws -> Int
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
                    throw FileError(.sourceFailed, "The source of the bytes failed: \(error)", path: "", cause: error)
                }
                if count == 0 { return }
                try writer.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            }
        }
    }

    /// Gathers small chunks, so that a source of single bytes does not cost a thread switch for each.
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
            // A stream whose task is cancelled just ends, as if that had been all of it.
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

    /// Removes what was written. The error to throw is the first one, with a word on what stays if that fails too.
    static func discarding(_ writer: IngestWriter, after error: any Error, at path: String) -> FileError {
        let failure = FileError.keeping(error, at: path)
        do {
            try writer.discard()
            return failure
        } catch {
            return FileError(
                failure.code, "\(failure.message) The unfinished file stays until the next sweep: \(error.message)",
                path: failure.path, cause: failure.cause)
        }
    }
}

extension StagingArea {
    /// Has the names of new files on the device, or removes the files: whether their names would outlast a power cut is
    /// not known then. Blocks the thread.
    func settle(_ ids: [FileID]) throws(FileError) {
        do {
            try directory.synchronize()
        } catch {
            let failure = FileError.keeping(error, at: path)
            do throws(SystemError) {
                for id in ids { try remove(id) }
            } catch {
                throw FileError(
                    failure.code, "\(failure.message) New files stay until the next sweep: \(error)",
                    path: failure.path, cause: failure.cause)
            }
            throw failure
        }
    }
}

/// The file that one ingest writes: bytes go in, size and checksum come out, and on an error nothing stays.
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

    /// Whether the place has refused the bytes.
    var hasFailed: Bool { state.withLock { $0.hasFailed } }

    /// Writes no blocks of zeros from now on, for a source that has holes. Their bytes are read and hashed all the
    /// same: only what was read is known to be zeros.
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

    /// Asks the device to begin with all that is written, for whoever has other files to write before ``seal()``.
    func beginSeal() {
        let count = state.withLock { $0.sums.byteCount }
        if count > 0 { file.beginWriteback(0..<count) }
    }

    /// Has the content of the file on the device. Its name is not before its folder is synced.
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
                .system, "\(directory.path) took \(kept) of \(written.byteCount) bytes without an error.",
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

    /// Removes what was written, after an error.
    func discard() throws(FileError) {
        do {
            try directory.remove(id.text)
            // The bytes go now, not when the last thread lets go of the file: the disk may be full.
            try file.truncate(to: 0)
        } catch {
            throw FileError.keeping(error, at: directory.path)
        }
    }
}
