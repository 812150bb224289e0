public import Foundation
import LFSFiles
import LFSSystem

/// The bytes of a file, in chunks, read as they are asked for.
///
/// It holds the file open, so that it can be read to its end even if its local copy is removed meanwhile. Every
/// iteration begins at the first byte. `contents[0..<100]` is a part of them.
public struct FileContents: AsyncSequence, Sendable {
    /// A chunk of the content.
    public typealias Element = Data

    private let copy: OpenCopy
    private let range: Range<Int64>
    /// The size in bytes.
    public var byteCount: Int64 { range.upperBound - range.lowerBound }

    init(_ copy: OpenCopy, byteCount: Int64) {
        self.copy = copy
        range = 0..<byteCount
    }

    private init(_ copy: OpenCopy, _ range: Range<Int64>) {
        self.copy = copy
        self.range = range
    }

    /// A part of these bytes, such as a server sends for a `Range` request. It shares the open file.
    ///
    /// - Parameter part: offsets from 0 on. What lies beyond the end is left out, as `clamped(to:)` does it.
    public subscript(part: Range<Int64>) -> FileContents {
        let part = part.clamped(to: 0..<byteCount)
        return FileContents(copy, range.lowerBound + part.lowerBound..<range.lowerBound + part.upperBound)
    }

    /// An iteration from the first byte.
    public func makeAsyncIterator() -> Iterator { Iterator(copy: copy, range: range) }

    /// Reads one chunk after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let copy: OpenCopy
        /// What is still to come.
        var range: Range<Int64>

        /// The next chunk of up to 256 KiB, nil at the end.
        ///
        /// - Throws: ``LFSError/Code/sourceChanged`` when the local copy ends early: somebody has changed it;
        ///   ``LFSError/Code/sourceFailed`` when the disk does not give it back.
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
