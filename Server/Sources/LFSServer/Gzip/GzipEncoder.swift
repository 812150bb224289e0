import CZlib

/// Compresses a body as it comes about (gzip, RFC 1952): whoever has got a piece can read all of it.
///
/// It holds 32 KiB, since streams that stay open hold it as long: of what zlib could remember by 256 KiB, lines of rows
/// gain two parts in a hundred. The level is one of the quick ones for the same reason.
final class GzipEncoder {
    private let stream: UnsafeMutablePointer<z_stream>

    private static let level: Int32 = 3
    /// 2^12 bytes of the past, and 16 for the form of gzip.
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

    /// All of a piece, compressed.
    func encode(_ bytes: [UInt8]) throws(GzipFailure) -> [UInt8] { try run(bytes, Z_SYNC_FLUSH) }

    /// What stands at the end.
    func finish() throws(GzipFailure) -> [UInt8] { try run([], Z_FINISH) }

    private func run(_ bytes: [UInt8], _ flush: Int32) throws(GzipFailure) -> [UInt8] {
        let (output, isDone) = bytes.withUnsafeBytes { input in
            var output: [UInt8] = []
            stream.pointee.next_in = input.zlibInput
            stream.pointee.avail_in = UInt32(input.count)
            while true {
                let code = output.appendFromZlib(stream) { deflate(stream, flush) }
                // All of it is out when there was room left; nothing to do is no error.
                if code != Z_OK, code != Z_STREAM_END, code != Z_BUF_ERROR { return (output, false) }
                if stream.pointee.avail_out > 0 { return (output, stream.pointee.avail_in == 0) }
            }
        }
        guard isDone else { throw .noMemory }
        return output
    }
}

/// Why a body could not be compressed, or taken apart.
enum GzipFailure: Error {
    case noMemory
    /// It is no gzip, or one that is cut off, or that something follows.
    case invalid
}

extension UnsafeRawBufferPointer {
    /// As zlib takes it, which changes nothing of it.
    var zlibInput: UnsafeMutablePointer<Bytef>? {
        UnsafeMutablePointer(mutating: bindMemory(to: Bytef.self).baseAddress)
    }
}

extension [UInt8] {
    /// Adds what one call of zlib brings, at most 16 KiB.
    ///
    /// - Returns: what the call returned.
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
