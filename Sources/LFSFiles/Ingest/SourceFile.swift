import LFSSystem

/// A file that someone else may be writing to while we read it.
struct SourceFile {
    let file: Descriptor
    let before: FileStatus

    /// - Throws: ``FileError/Code/notAFile`` for a folder, a pipe, a device.
    init(_ file: Descriptor) throws {
        self.file = file
        do {
            before = try file.status()
        } catch {
            throw FileError.reading(error, from: file.path)
        }
        guard before.isRegularFile else {
            throw FileError(.notAFile, "\(file.path) is not a regular file.", path: file.path)
        }
    }

    /// Calls `body` with the whole content, and throws when it was not the same from beginning to end.
    func read(_ flag: CancellationFlag, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        var count: Int64 = 0
        do {
            // One byte beyond the size shows a file that grows.
            try FileCopy.forEachChunk(of: file, 0..<(before.byteCount + 1), flag) { bytes in
                count += Int64(bytes.count)
                try body(bytes)
            }
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
            .sourceChanged, "\(what) changed while it was read. Try again when nothing writes to it.", path: what)
    }
}
