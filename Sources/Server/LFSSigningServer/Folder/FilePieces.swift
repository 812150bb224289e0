import LFSStorage
import LFSSystem

/// A sequence of a file's bytes in pieces of at most 256 KiB. Each piece is read on demand.
public struct FilePieces: AsyncSequence, Sendable {
    /// A piece of the file.
    public typealias Element = [UInt8]

    /// The number of bytes in all pieces.
    public var byteCount: Int64 { range.upperBound - range.lowerBound }

    let file: Descriptor
    let range: Range<Int64>
    let threads: BlockingPool

    /// Returns an iterator that reads the pieces in order.
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

    /// A reader at a position in the file.
    public struct Iterator: AsyncIteratorProtocol {
        let pieces: FilePieces
        var offset: Int64

        /// Reads the next piece, or returns nil at the end.
        ///
        /// - Throws: the system's error, or an error if the file has become shorter in the meantime.
        public mutating func next() async throws -> [UInt8]? {
            guard offset < pieces.range.upperBound else { return nil }
            let count = Int(Swift.min(pieces.range.upperBound - offset, 256 << 10))
            let bytes = try await pieces.read(count, at: offset)
            guard !bytes.isEmpty else {
                throw StorageError(.changed, message: "A file became shorter while it was sent.")
            }
            offset += Int64(bytes.count)
            return bytes
        }
    }
}
