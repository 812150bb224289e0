import CZlib

/// A streaming decoder of a compressed body. It stops at a limit, so a decompression bomb is never held in memory.
final class GzipDecoder {
    private let stream: UnsafeMutablePointer<z_stream>
    private let limit: Int
    private var isAtEnd = false
    /// The decoded bytes, at most one more than the limit.
    private(set) var output: [UInt8] = []

    /// Indicates that the body exceeds the limit. The decoder then ignores further input.
    var isOverLimit: Bool { output.count > limit }

    init(limit: Int) throws(GzipFailure) {
        self.limit = limit
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // A window of 2^15 bytes accepts every sender's choice. The 16 selects the gzip format only.
        guard inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw .noMemory
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Decodes the next piece.
    ///
    /// - Throws: ``GzipFailure``.
    func decode(_ bytes: [UInt8]) throws(GzipFailure) {
        let failure = bytes.withUnsafeBytes { input -> GzipFailure? in
            stream.pointee.next_in = input.zlibInput
            stream.pointee.avail_in = UInt32(input.count)
            while !isOverLimit {
                // Data after the end would be ignored silently, so it is an error.
                if isAtEnd { return stream.pointee.avail_in > 0 ? .invalid : nil }
                let room = min(16 << 10, limit + 1 - output.count)
                switch output.appendFromZlib(stream, limit: room, { inflate(stream, Z_NO_FLUSH) }) {
                case Z_OK: break
                case Z_STREAM_END: isAtEnd = true
                case Z_BUF_ERROR: return nil
                case Z_MEM_ERROR: return .noMemory
                default: return .invalid
                }
                if !isAtEnd, stream.pointee.avail_in == 0, stream.pointee.avail_out > 0 { return nil }
            }
            return nil
        }
        if let failure { throw failure }
    }

    /// Returns the whole body.
    ///
    /// - Throws: ``GzipFailure/invalid`` if the data is truncated.
    func finish() throws(GzipFailure) -> [UInt8] {
        guard isAtEnd || isOverLimit else { throw .invalid }
        return output
    }
}
