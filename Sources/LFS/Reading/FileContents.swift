public import Foundation
import LFSSystem

/// The bytes of a file, in chunks, read as they are asked for.
///
/// It holds the file open, so that it can be read to its end even if its local copy is removed meanwhile. Every
/// iteration begins at the first byte.
public struct FileContents: AsyncSequence, Sendable {
    /// A chunk of the content.
    public typealias Element = Data

    private let file: Descriptor
    /// Keeps policies from freeing what is read.
    private let use: CopyUse
    /// The size in bytes.
    public let byteCount: Int64

    init(_ copy: OpenCopy, byteCount: Int64) {
        file = copy.file
        use = copy.use
        self.byteCount = byteCount
    }

    /// An iteration from the first byte.
    public func makeAsyncIterator() -> Iterator { Iterator(file: file, use: use) }

    /// Reads one chunk after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let file: Descriptor
        let use: CopyUse
        var offset: Int64 = 0

        /// The next chunk of up to 256 KiB, nil at the end.
        public mutating func next() async throws -> Data? {
            let (file, offset) = (file, offset)
            let chunk = try await BlockingPool.shared.run { flag in
                try flag.check()
                var chunk = Data(count: FileCopy.chunkSize)
                let count = try chunk.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }
                chunk.removeLast(chunk.count - count)
                return chunk
            }
            self.offset += Int64(chunk.count)
            return chunk.isEmpty ? nil : chunk
        }
    }
}

/// The bytes of a file, open, and noted as in use until this is given up.
struct OpenCopy: Sendable {
    let file: Descriptor
    let use: CopyUse
}
