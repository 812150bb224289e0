package import LFSSystem

/// What a request carries.
package enum RequestBody: Sendable {
    case none
    case bytes([UInt8])
    /// A range of an open file, read while it is sent.
    case file(Descriptor, Range<Int64>)

    package var byteCount: Int64 {
        switch self {
        case .none: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .file(_, let range): Int64(range.count)
        }
    }
}
