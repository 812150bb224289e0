public import Foundation
import LFSFiles
import LFSSystem

/// The bytes of a file, in chunks, read on demand.
///
/// It holds the file open, so the file can be read to its end even if its local copy is removed during the reading.
/// Every iteration begins at the first byte. `contents[0..<100]` is a part of the bytes.
public struct FileContents: AsyncSequence, Sendable {
    private let copy: OpenCopy
    private let range: Range<Int64>
    /// The size in bytes.
    public var byteCount: Int64 { range.upperBound - range.lowerBound }

    init(_ copy: OpenCopy, byteCount: Int64) {
        self.copy = copy
        range = 0..<byteCount
    }

    private init(_ copy: OpenCopy, range: Range<Int64>) {
        self.copy = copy
        self.range = range
    }

    /// A part of these bytes, for example for a `Range` request to a server. It shares the open file.
    ///
    /// - Parameter part: offsets, from 0 on. A part beyond the end is left out, as by `clamped(to:)`.
    public subscript(part: Range<Int64>) -> FileContents {
        let part = part.clamped(to: 0..<byteCount)
        return FileContents(copy, range: range.lowerBound + part.lowerBound..<range.lowerBound + part.upperBound)
    }

    /// Returns an iterator that begins at the first byte.
    public func makeAsyncIterator() -> Iterator { Iterator(copy: copy, range: range) }

    /// An iterator over the chunks.
    public struct Iterator: AsyncIteratorProtocol {
        let copy: OpenCopy
        /// The range that was not read yet.
        var range: Range<Int64>

        /// Returns the next chunk of up to 256 KiB. Nil at the end.
        ///
        /// - Throws: ``LFSError/Code/sourceChanged`` when the local copy ends early because it was changed, and
        ///   ``LFSError/Code/sourceFailed`` when the disk cannot read it.
        public mutating func next() async throws -> Data? {
            let (file, offset) = (copy.file, range.lowerBound)
            let wanted = Int(Swift.min(Int64(FileCopy.chunkSize), range.upperBound - offset))
            if wanted <= 0 { return nil }
            let chunk = try await LFSError.catching(about: copy.id) {
                try await BlockingPool.shared.run { flag in
                    try flag.check()
                    var chunk = Data(count: wanted)
                    let count = try chunk.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }
                    chunk.removeLast(chunk.count - count)
                    return chunk
                }
            }
            if chunk.isEmpty { throw copy.isDamaged }
            range = offset + Int64(chunk.count)..<range.upperBound
            return chunk
        }
    }
}

/// The open bytes of a file, marked as in use until this value is released.
struct OpenCopy: Sendable {
    let id: FileID
    let file: Descriptor
    /// Keeps policies from evicting the copy. Nil when no eviction runs in this process, or when the copy need not be
    /// kept.
    let use: ReadLease?

    var isDamaged: LFSError { Self.isDamaged(id) }

    func data(byteCount: Int64) async throws -> Data { try await data(0..<byteCount) }

    /// - Throws: ``LFSError/Code/sourceChanged`` when the file ends before the range does.
    func data(_ range: Range<Int64>) async throws -> Data {
        let file = file
        let bytes = try await BlockingPool.shared.run { flag in
            var bytes = Data(capacity: range.count)
            try FileCopy.forEachChunk(of: file, range, flag: flag) { bytes.append(contentsOf: $0) }
            return bytes
        }
        if bytes.count < range.count { throw isDamaged }
        return bytes
    }

    static func isDamaged(_ id: FileID) -> LFSError {
        LFSError(
            .sourceChanged,
            message:
                "The local copy is damaged: its size is not the recorded one. Run a verification with repairs.",
            fileID: id)
    }
}
