import LFSSystem

/// A file that another program may change while it is read.
struct SourceFile {
    let file: Descriptor
    let before: FileStatus

    /// - Throws: ``FileError/Code/notAFile`` for a folder, a pipe or a device.
    ///   ``FileError/Code/sourceFailed`` for a file that is too large.
    init(_ file: Descriptor) throws {
        self.file = file
        do {
            before = try file.status()
        } catch {
            throw FileError.reading(error, from: file.path)
        }
        guard before.isRegularFile else {
            throw FileError(.notAFile, message: "\(file.path) is not a regular file.", path: file.path)
        }
        try Self.requireSize(before, of: file.path)
    }

    /// A sparse file can have any size, and takes no space.
    static func requireSize(_ status: FileStatus, of what: String) throws(FileError) {
        guard status.byteCount > FileSize.max else { return }
        throw FileError(
            .sourceFailed, message: "\(what) is larger than 1 PiB, the largest size of a file.", path: what)
    }

    /// Calls `body` with each chunk of the content, in order.
    ///
    /// - Throws: ``FileError/Code/sourceChanged`` if the file changed during the read, and the errors of `body`.
    func read(_ flag: CancellationFlag, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        var count: Int64 = 0
        var isAtEnd = false
        do {
            // Reading one byte past the size detects a growing file.
            try FileCopy.forEachChunk(
                0..<(before.byteCount + 1), flag: flag,
                reading: { buffer, offset in
                    if isAtEnd { return 0 }
                    let read = try file.read(into: buffer, at: offset)
                    // A further read would only return that there is nothing more.
                    isAtEnd = read < buffer.count && offset + Int64(read) == before.byteCount
                    return read
                },
                { bytes in
                    count += Int64(bytes.count)
                    try body(bytes)
                })
        } catch let error as SystemError {
            throw FileError.reading(error, from: file.path)
        }
        let after: FileStatus
        do {
            after = try file.status()
        } catch {
            throw FileError.reading(error, from: file.path)
        }
        guard count == before.byteCount, after.byteCount == count, after.modified == before.modified else {
            throw Self.changed(file.path)
        }
    }

    static func changed(_ what: String) -> FileError {
        FileError(
            .sourceChanged, message: "\(what) changed while it was read. Try again when nothing writes to it.",
            path: what)
    }
}
