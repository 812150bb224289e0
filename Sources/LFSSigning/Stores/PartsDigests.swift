import Crypto
import Foundation
import LFSHTTPStorage
import LFSWire

/// What the caller says of all parts of its upload: digests over their digests, in hex.
struct PartsDigests: Hashable, Sendable {
    let sha256: String
    let md5: String?

    /// Compares with what the store says of the parts that it has.
    ///
    /// - Returns: false when the store says nothing of their bytes: tags that look like MD5s may be none, so that a
    ///   caller that has none of its own to compare leaves it to reading the whole.
    /// - Throws: ``WireFailure/Code/incomplete`` when a part is missing or is another one.
    func areMet(by parts: [SigningAnswer.Part], of ticket: UploadTicket) throws(WireFailure) -> Bool {
        let incomplete = WireFailure(
            .incomplete, "Parts are missing or are others: ask for the upload's state and send them.")
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

    /// nil when one is not known.
    private static func joined(_ digests: [String?]) -> [UInt8]? {
        var bytes: [UInt8] = []
        for digest in digests {
            guard let digest = digest.flatMap(Hex.bytes) else { return nil }
            bytes += digest
        }
        return bytes
    }
}
