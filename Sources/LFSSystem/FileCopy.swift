/// Reading a file in pieces of a fixed size, so that memory does not grow with it.
package enum FileCopy {
    /// The size of a piece: large enough that system calls do not show, small enough for ten of them at once.
    package static let chunkSize = 256 * 1_024

    /// Calls `body` with the bytes of a range, in order. Ends early, without an error, where the file ends.
    ///
    /// It reads by offset, so the descriptor's own position stays. Blocks the thread.
    package static func forEachChunk(
        of file: Descriptor, _ range: Range<Int64>, _ flag: CancellationFlag,
        _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        try forEachChunk(range, flag, reading: { try file.read(into: $0, at: $1) }, body)
    }

    /// As ``forEachChunk(of:_:_:_:)``, of what is read by a function that takes an offset and returns 0 at the end.
    package static func forEachChunk(
        _ range: Range<Int64>, _ flag: CancellationFlag,
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
    /// Of a file's first bytes, or of fewer where it ends early. Blocks the thread.
    package init(of file: Descriptor, byteCount: Int64, _ flag: CancellationFlag) throws {
        self.init()
        try FileCopy.forEachChunk(of: file, 0..<byteCount, flag) { update($0) }
    }
}
