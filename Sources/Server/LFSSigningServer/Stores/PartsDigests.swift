import Crypto
import Foundation
import LFSHTTPStorage
import LFSWire

/// The digests over all part digests of an upload, in hex, as the caller announces them.
struct PartsDigests: Hashable, Sendable {
    let sha256: String
    let md5: String?

    /// Compares the digests with those that the store reports for its parts.
    ///
    /// - Returns: false if the parts cannot be compared, so that the whole object must be read. The store may report no
    ///   digests. It may also report tags that look like MD5s but are not. A caller that notices this sends no MD5s.
    /// - Throws: ``WireFailure/Code/incomplete`` if a part is missing or different.
    func isSatisfied(by parts: [SigningAnswer.Part], of ticket: UploadTicket) throws(WireFailure) -> Bool {
        let incomplete = WireFailure(
            .incomplete, message: "Parts are missing or different. Request the state of the upload and send them.")
        guard parts.count == ticket.partCount else { throw incomplete }
        for (index, part) in parts.enumerated() {
            guard part.number == index + 1, part.size == ticket.size(of: index + 1) else { throw incomplete }
        }
        if let all = Self.joined(parts.map(\.sha256)) {
            guard Hex.text(Data(SHA256.hash(data: all))) == sha256 else { throw incomplete }
            return true
        }
        guard let md5, let all = Self.joined(parts.map(\.md5)) else { return false }
        guard Hex.text(Data(Insecure.MD5.hash(data: all))) == md5 else { throw incomplete }
        return true
    }

    /// Returns the concatenated bytes of all digests, or nil if one is unknown.
    private static func joined(_ digests: [String?]) -> [UInt8]? {
        var bytes: [UInt8] = []
        for digest in digests {
            guard let digest = digest.flatMap(Hex.bytes) else { return nil }
            bytes += digest
        }
        return bytes
    }
}
