public import Foundation
import LFSFiles
import LFSSystem

/// The bytes of a file, in chunks, read as they are asked for.
///
/// It holds the file open, so that it can be read to its end even if its local copy is removed meanwhile. Every
/// iteration begins at the first byte.
public struct FileContents: AsyncSequence, Sendable {
    /// A chunk of the content.
    public typealias Element = Data

    private let copy: OpenCopy
    /// The size in bytes.
    public let byteCount: Int64

    init(_ copy: OpenCopy, byteCount: Int64) {
        self.copy = copy
        self.byteCount = byteCount
    }

    /// An iteration from the first byte.
    public func makeAsyncIterator() -> Iterator { Iterator(copy: copy, byteCount: byteCount) }

    /// Reads one chunk after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let copy: OpenCopy
        let byteCount: Int64
        var offset: Int64 = 0

        /// The next chunk of up to 256 KiB, nil at the end.
        ///
        /// - Throws: ``LFSError/Code/sourceChanged`` when the local copy ends early: somebody has changed it.
        public mutating func next() async throws -> Data? {
            let (file, offset) = (copy.file, offset)
            let wanted = Int(Swift.min(Int64(FileCopy.chunkSize), byteCount - offset))
            if wanted <= 0 { return nil }
            let chunk = try await BlockingPool.shared.run { flag in
                try flag.check()
                var chunk = Data(count: wanted)
                let count = try chunk.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }
                chunk.removeLast(chunk.count - count)
                return chunk
            }
            if chunk.isEmpty { throw copy.isDamaged }
            self.offset += Int64(chunk.count)
            return chunk
        }
    }
}

/// The bytes of a file, open, and noted as in use until this is given up.
struct OpenCopy: Sendable {
    let id: FileID
    let file: Descriptor
    /// Keeps policies from evicting what is read; nil where nothing evicts meanwhile, or nobody minds.
    let use: CopyUse?

    var isDamaged: LFSError { Self.isDamaged(id) }

    func data(byteCount: Int64) async throws -> Data { try await data(0..<byteCount) }

    /// - Throws: ``LFSError/Code/sourceChanged`` when the file ends before the range does.
    func data(_ range: Range<Int64>) async throws -> Data {
        let file = file
        let bytes = try await BlockingPool.shared.run { flag in
            var bytes = Data(capacity: range.count)
            try FileCopy.forEachChunk(of: file, range, flag) { bytes.append(contentsOf: $0) }
            return bytes
        }
        if bytes.count < range.count { throw isDamaged }
        return bytes
    }

    static func isDamaged(_ id: FileID) -> LFSError {
        LFSError(
            .sourceChanged,
            "The local copy is damaged: it has not the size that was recorded. A verification with repairs mends it.",
            fileID: id)
    }
}
