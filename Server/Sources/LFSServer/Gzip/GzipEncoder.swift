import CZlib

/// A streaming encoder of a body (gzip, RFC 1952). A client can decode each piece completely when it arrives.
///
/// The encoder holds 32 KiB, because an open stream holds it for its whole life. With zlib's 256 KiB, lines of rows
/// would be only two percent smaller. The compression level is a fast one for the same reason.
final class GzipEncoder {
    private let stream: UnsafeMutablePointer<z_stream>

    private static let level: Int32 = 3
    /// A window of 2^12 bytes. The 16 selects the gzip format.
    private static let windowBits: Int32 = 12 + 16
    private static let memoryLevel: Int32 = 5

    init() throws(GzipFailure) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let code = deflateInit2_(
            stream, Self.level, Z_DEFLATED, Self.windowBits, Self.memoryLevel, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        guard code == Z_OK else { throw .noMemory }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Compresses a piece completely.
    func encode(_ bytes: [UInt8]) throws(GzipFailure) -> [UInt8] { try run(bytes, flush: Z_SYNC_FLUSH) }

    /// Returns the final bytes of the stream.
    func finish() throws(GzipFailure) -> [UInt8] { try run([], flush: Z_FINISH) }

    private func run(_ bytes: [UInt8], flush: Int32) throws(GzipFailure) -> [UInt8] {
        let (output, isDone) = bytes.withUnsafeBytes { input in
            var output: [UInt8] = []
            stream.pointee.next_in = input.zlibInput
            stream.pointee.avail_in = UInt32(input.count)
            while true {
                let code = output.appendFromZlib(stream) { deflate(stream, flush) }
                // Output space that remains shows that the input is compressed. `Z_BUF_ERROR` only means that there is
                // no work left.
                if code != Z_OK, code != Z_STREAM_END, code != Z_BUF_ERROR { return (output, false) }
                if stream.pointee.avail_out > 0 { return (output, stream.pointee.avail_in == 0) }
            }
        }
        guard isDone else { throw .noMemory }
        return output
    }
}

/// An error of the compression or decompression of a body.
enum GzipFailure: Error {
    case noMemory
    /// The data is not gzip, is truncated, or has trailing bytes.
    case invalid
}

extension UnsafeRawBufferPointer {
    /// The pointer type that zlib requires. zlib does not modify the input.
    var zlibInput: UnsafeMutablePointer<Bytef>? {
        UnsafeMutablePointer(mutating: bindMemory(to: Bytef.self).baseAddress)
    }
}

extension [UInt8] {
    /// Appends the output of one zlib call, at most 16 KiB.
    ///
    /// - Returns: the result of the call.
    mutating func appendFromZlib(
        _ stream: UnsafeMutablePointer<z_stream>, limit: Int = 16 << 10, _ call: () -> Int32
    ) -> Int32 {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: limit) { room in
            stream.pointee.next_out = room.baseAddress
            stream.pointee.avail_out = UInt32(limit)
            let code = call()
            append(contentsOf: room.prefix(limit - Int(stream.pointee.avail_out)))
            return code
        }
    }
}
