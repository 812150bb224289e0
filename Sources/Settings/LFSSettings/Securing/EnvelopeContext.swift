import Foundation
import LFSSystem

/// The identity of an encrypted value. An envelope opens only with the context that it was made for.
struct EnvelopeContext: Sendable, Hashable {
    /// The id of the database's install.
    let installID: FileID
    let domain: String
    /// The name of the key.
    let name: String
    let serializer: String
    let version: Int

    /// The texts, each preceded by its length as four bytes with the most significant byte first, so that no two
    /// contexts have the same bytes.
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
