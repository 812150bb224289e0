import CDeflate
import Hummingbird

/// The compression of replies in gzip format (RFC 1952).
///
/// A page contains the token of its forms beside text from its address, and the size of a compressed page could reveal
/// the token to a site that requests many addresses (https://www.breachattack.com). Cookies are `SameSite=Strict`, so
/// requests of other sites get pages without a token of value.
enum Gzip {
    /// The sizes of bodies that are compressed. A smaller one fits into a packet, and no page is larger.
    private static let sizes = 1_000...(8 << 20)
    /// A compromise: 292 KB of a page take 4 ms, and shrink to 23 KB.
    private static let level: Int32 = 5
    private static let types = ["text/html", "text/css", "text/javascript", "application/json", "image/svg+xml"]

    /// Returns the reply with a compressed body if the browser accepts it and the body is a text.
    static func reply(_ response: Response, to request: Request) async throws -> Response {
        guard let count = response.body.contentLength, sizes.contains(count),
            let type = response.headers[.contentType], types.contains(where: type.hasPrefix),
            response.headers[.contentEncoding] == nil
        else { return response }
        var response = response
        response.headers[.vary] = "Accept-Encoding"
        guard accepts(request.headers[.acceptEncoding] ?? "") else { return response }
        let collected = Collected()
        try await response.body.write(Writer(collected: collected))
        guard let data = compressed(collected.bytes) else { return response }
        response.headers[.contentEncoding] = "gzip"
        response.body = ResponseBody(byteBuffer: ByteBuffer(bytes: data))
        return response
    }

    /// Returns whether a field names gzip and does not exclude it (RFC 9110, section 12.5.3).
    static func accepts(_ field: String) -> Bool {
        field.split(separator: ",").contains { part in
            let words = part.lowercased().split { $0 == ";" || $0.isWhitespace }
            let isExcluded = words.dropFirst().contains {
                $0.hasPrefix("q=0") && !$0.contains { "123456789".contains($0) }
            }
            return words.first == "gzip" && !isExcluded
        }
    }

    private static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        var stream = z_stream()
        // 31 is the largest window with the header of gzip. The macro deflateInit2 calls this function.
        let size = Int32(MemoryLayout<z_stream>.size)
        let status = deflateInit2_(&stream, level, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
        guard status == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        var (input, output) = (bytes, [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count)))))
        let end = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                return deflate(&stream, Z_FINISH)
            }
        }
        return end == Z_STREAM_END ? Array(output.prefix(Int(stream.total_out))) : nil
    }

    /// The bytes of a body. Only the call that writes the body uses it.
    private final class Collected {
        var bytes: [UInt8] = []
    }

    private struct Writer: ResponseBodyWriter {
        let collected: Collected

        mutating func write(_ buffer: ByteBuffer) async throws { collected.bytes += Array(buffer.readableBytesView) }

        consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
    }
}
