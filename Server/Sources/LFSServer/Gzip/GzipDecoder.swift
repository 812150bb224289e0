import CZlib

/// Takes a compressed body apart as it comes in, up to a limit: what little bytes can unfold to is never held.
final class GzipDecoder {
    private let stream: UnsafeMutablePointer<z_stream>
    private let limit: Int
    private var isAtEnd = false
    /// At most one byte more than the limit.
    private(set) var output: [UInt8] = []

    /// Whether there is more than may be: nothing further is taken apart.
    var isOverLimit: Bool { output.count > limit }

    init(limit: Int) throws(GzipFailure) {
        self.limit = limit
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // 2^15 bytes of the past, whatever the sender has chosen, and 16 for the form of gzip alone.
        guard inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw .noMemory
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// - Throws: ``GzipFailure``.
    func decode(_ bytes: [UInt8]) throws(GzipFailure) {
        let failure = bytes.withUnsafeBytes { input -> GzipFailure? in
            stream.pointee.next_in = input.zlibInput
            stream.pointee.avail_in = UInt32(input.count)
            while !isOverLimit {
                // Something behind the end, which nobody would read.
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

    /// The whole body.
    ///
    /// - Throws: ``GzipFailure/invalid`` for one that is cut off.
    func finish() throws(GzipFailure) -> [UInt8] {
        guard isAtEnd || isOverLimit else { throw .invalid }
        return output
    }
}
