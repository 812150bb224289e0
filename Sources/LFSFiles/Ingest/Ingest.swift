import Foundation
package import LFSSystem

/// What an ingest has made durable.
package struct IngestedFile: Hashable, Sendable {
    package let id: FileID
    package let byteCount: Int64
    /// SHA-256 of the content in lowercase hex.
    package let sha256: String
}

/// Takes bytes in: one pass that writes, counts and hashes, in pieces of a fixed size.
struct Ingest: Sendable {
    let area: StagingArea
    let id: FileID
    /// Ends the ingest when somebody else sets it, such as a manager that stops.
    let flag: CancellationFlag
    /// Takes the number of bytes that are in so far.
    let onProgress: @Sendable (Int64) -> Void

    func run(_ source: IngestSource) async throws -> IngestedFile {
        switch source {
        case .bytes(let bytes): return try await write { writer, _ in try Self.feed(bytes, to: writer) }
        case .copying(let path): return try await copy(from: path)
        case .moving(let path): return try await IngestMove(ingest: self, path: path).run()
        case .handle(let handle): return try await read(handle)
        case .stream(let stream):
            return try await write(on: .foreign) { writer, flag in try Self.drain(writer, flag, stream.read) }
        case .chunks(let forEach): return try await collect(forEach)
        }
    }

    // MARK: Sources

    func copy(from path: String) async throws -> IngestedFile {
        try await write { writer, flag in
            let file: Descriptor
            do {
                file = try Descriptor.openForReading(path)
            } catch {
                throw FileError.reading(error, from: path)
            }
            try SourceFile(file).read(flag) { try writer.write($0) }
        }
    }

    private func read(_ handle: FileHandle) async throws -> IngestedFile {
        try await write(on: .foreign) { writer, flag in
            // The handle stays the caller's: its descriptor is borrowed, so no `Descriptor` may own and close it.
            let number = handle.fileDescriptor
            let before = BorrowedDescriptor.status(number)
            let mayBlock = before?.isRegularFile != true
            try Self.drain(writer, flag) { buffer in
                // A pipe that nobody writes to would keep a cancelled task for ever.
                while try mayBlock && !BorrowedDescriptor.waitUntilReadable(number, milliseconds: 200) {
                    try flag.check()
                }
                return try BorrowedDescriptor.read(number, into: buffer)
            }
            if let before, before.isRegularFile, let after = BorrowedDescriptor.status(number),
                after.modified != before.modified || after.byteCount != before.byteCount
            {
                throw SourceFile.changed("The file behind the handle")
            }
        }
    }

    /// Gathers small chunks, so that a source of single bytes does not cost a thread switch for each.
    private func collect(
        _ forEach: @Sendable ((IngestSource.Bytes) async throws -> Void) async throws -> Void
    ) async throws -> IngestedFile {
        let (area, id) = (area, id)
        let writer = try await area.writer(for: id, onProgress)
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
                return try writer.finish(as: id)
            }
        } catch {
            throw Self.discarding(writer, after: error, at: area.path)
        }
    }

    // MARK: Writing

    /// Everything happens on one thread, without a switch between.
    private func write(
        on threads: BlockingPool = .shared, _ body: @escaping @Sendable (IngestWriter, CancellationFlag) throws -> Void
    ) async throws -> IngestedFile {
        let (area, id, onProgress) = (area, id, onProgress)
        return try await threads.run(watching: flag) { flag in
            let writer = try IngestWriter(id.text, in: area.directory, onProgress: onProgress)
            do {
                try body(writer, flag)
                try flag.check()
                return try writer.finish(as: id)
            } catch {
                throw Self.discarding(writer, after: error, at: area.path)
            }
        }
    }

    /// Removes what was written. The error to throw is the first one, with a word on what stays if that fails too.
    private static func discarding(_ writer: IngestWriter, after error: any Error, at path: String) -> FileError {
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
}
