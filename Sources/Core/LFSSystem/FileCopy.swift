/// Functions that read a file in pieces of a fixed size, so that memory use does not grow with the file.
package enum FileCopy {
    /// The size of a piece. It is large enough to make the cost of system calls negligible, and small enough to hold
    /// ten pieces at once.
    package static let chunkSize = 256 * 1_024

    /// Calls `body` with each chunk of a range, in order. Returns early, without an error, if the file ends.
    ///
    /// It reads by offset and keeps the descriptor's position. Blocks the thread.
    package static func forEachChunk(
        of file: Descriptor, _ range: Range<Int64>, flag: CancellationFlag,
        _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        try forEachChunk(range, flag: flag, reading: { try file.read(into: $0, at: $1) }, body)
    }

    /// Does the same as ``forEachChunk(of:_:_:_:)`` with a function that reads at an offset and returns 0 at the end.
    package static func forEachChunk(
        _ range: Range<Int64>, flag: CancellationFlag,
        reading read: (UnsafeMutableRawBufferPointer, Int64) throws -> Int,
        _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let size = Int(min(Int64(chunkSize), max(range.upperBound - range.lowerBound, 1)))
        try withUnsafeTemporaryAllocation(byteCount: size, alignment: 16) { buffer in
            var offset = range.lowerBound
            while offset < range.upperBound {
                try flag.check()
                let wanted = Int(min(Int64(size), range.upperBound - offset))
                let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
                let count = try read(piece, offset)
                if count == 0 { return }
                try body(UnsafeRawBufferPointer(rebasing: piece[..<count]))
                offset += Int64(count)
            }
        }
    }
}

extension ContentHash {
    /// Hashes the first `byteCount` bytes of a file, or all bytes of a shorter file. Blocks the thread.
    package init(of file: Descriptor, byteCount: Int64, _ flag: CancellationFlag) throws {
        self.init()
        try FileCopy.forEachChunk(of: file, 0..<byteCount, flag: flag) { update($0) }
    }
}
