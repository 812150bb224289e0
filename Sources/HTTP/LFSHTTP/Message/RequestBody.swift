package import LFSSystem

/// The body of a request.
package enum RequestBody: Sendable {
    case none
    case bytes([UInt8])
    /// A byte range that is read while it is sent. It can be read again from any offset.
    case reading(Range<Int64>, Read)

    /// Reads at an offset and returns the number of bytes read. It returns 0 only at the end.
    package typealias Read = @Sendable (_ buffer: UnsafeMutableRawBufferPointer, _ offset: Int64) throws -> Int

    /// Creates a body from a range of an open file.
    package static func file(_ file: Descriptor, range: Range<Int64>) -> RequestBody {
        .reading(range) { try file.read(into: $0, at: $1) }
    }

    package var byteCount: Int64 {
        switch self {
        case .none: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .reading(let range, _): Int64(range.count)
        }
    }
}
