import LFSStorage
import LFSSystem

/// Bytes of a file in pieces of 256 KiB at the most, each read when it is asked for.
public struct FilePieces: AsyncSequence, Sendable {
    /// One piece.
    public typealias Element = [UInt8]

    /// How many bytes there are together.
    public var byteCount: Int64 { range.upperBound - range.lowerBound }

    let file: Descriptor
    let range: Range<Int64>
    let threads: BlockingPool

    /// Reads them in order.
    public func makeAsyncIterator() -> Iterator { Iterator(pieces: self, offset: range.lowerBound) }

    fileprivate func read(_ count: Int, at offset: Int64) async throws -> [UInt8] {
        try await threads.run { [file] _ in
            var bytes = [UInt8](repeating: 0, count: count)
            let result = bytes.withUnsafeMutableBytes { buffer in
                Result { () throws(SystemError) in try file.read(into: buffer, at: offset) }
            }
            return Array(bytes.prefix(try result.get()))
        }
    }

    /// Where a reader stands.
    public struct Iterator: AsyncIteratorProtocol {
        let pieces: FilePieces
        var offset: Int64

        /// The next piece; nil at the end.
        ///
        /// - Throws: the system's error, and one when the file has become shorter meanwhile.
        public mutating func next() async throws -> [UInt8]? {
            guard offset < pieces.range.upperBound else { return nil }
            let count = Int(Swift.min(pieces.range.upperBound - offset, 256 << 10))
            let bytes = try await pieces.read(count, at: offset)
            guard !bytes.isEmpty else { throw StorageError(.changed, "A file has become shorter while it was sent.") }
            offset += Int64(bytes.count)
            return bytes
        }
    }
}
