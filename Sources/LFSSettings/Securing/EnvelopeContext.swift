import Foundation
import LFSSystem

/// What an envelope belongs to: it opens nowhere else.
struct EnvelopeContext: Sendable, Hashable {
    /// The id of the database's install.
    let installID: FileID
    let domain: String
    /// The name of the key.
    let name: String
    let serializer: String
    let version: Int

    /// Each text with its length before it, as four bytes with the most significant first, so that no two contexts
    /// have the same bytes.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256)
        for text in [installID.text, domain, name, serializer, String(version)] {
            withUnsafeBytes(of: UInt32(text.utf8.count).bigEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: text.utf8)
        }
        return bytes
    }
}
