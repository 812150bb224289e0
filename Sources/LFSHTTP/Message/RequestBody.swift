package import LFSSystem

/// What a request carries.
package enum RequestBody: Sendable {
    case none
    case bytes([UInt8])
    /// A range of something that can be read again at any offset, read while it is sent.
    case reading(Range<Int64>, Read)

    /// Reads at an offset, and returns how many bytes it has read: 0 only at the end.
    package typealias Read = @Sendable (_ buffer: UnsafeMutableRawBufferPointer, _ offset: Int64) throws -> Int

    /// A range of an open file.
    package static func file(_ file: Descriptor, _ range: Range<Int64>) -> RequestBody {
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
