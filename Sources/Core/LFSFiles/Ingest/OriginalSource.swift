package import Foundation
import LFSSystem

/// An original to attach: its path, and the open file if the caller has it.
package struct OriginalSource: Sendable {
    let path: [UInt8]
    private let handle: FileHandle?

    package init(path: [UInt8], handle: FileHandle? = nil) {
        self.path = path
        self.handle = handle
    }

    /// The same bytes as a source that is copied.
    package var copied: IngestSource {
        handle.map { .handle($0) } ?? .copying(path: String(decoding: path, as: UTF8.self))
    }

    /// Reads the original once, and returns only its size, its checksums and its stamp. Blocks the thread.
    ///
    /// - Parameter kept: keeps the bytes of a small original for its upload.
    /// - Throws: ``FileError/Code/sourceChanged`` if another program changed it in the meantime.
    func read(
        as id: FileID, keepingIn kept: OriginalBytes, _ flag: CancellationFlag,
        _ onProgress: @Sendable (Int64) -> Void
    ) throws -> IngestedFile {
        let source = try SourceFile(try opened())
        let isSmall = source.before.byteCount <= OriginalBytes.largest
        var sums = IngestSums()
        var content: [UInt8] = []
        try source.read(flag) { bytes in
            sums.update(bytes)
            if isSmall { content.append(contentsOf: bytes) }
            onProgress(sums.byteCount)
        }
        if isSmall { kept.keep(content, of: id) }
        return sums.file(as: id, original: OriginalFile(path: path, status: source.before))
    }

    private func opened() throws(FileError) -> Descriptor {
        let shown = String(decoding: path, as: UTF8.self)
        do {
            if let handle { return Descriptor(handle.fileDescriptor, of: handle, path: shown) }
            guard let file = try OriginalFile.open(path) else {
                throw FileError(.missing, message: "There is no regular file at \(shown).", path: shown)
            }
            return file
        } catch let error as FileError {
            throw error
        } catch {
            throw FileError.reading(error, from: shown)
        }
    }
}
