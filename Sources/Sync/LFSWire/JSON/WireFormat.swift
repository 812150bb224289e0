package import Foundation

/// The encoding of messages, and the rules for the texts in them.
package enum WireFormat {
    /// The largest number that JSON libraries of every language keep exactly.
    package static let largestNumber: Int64 = (1 << 53) - 1
    /// The maximum length of an upload token in bytes.
    package static let tokenLimit = 4_096

    /// Returns a message as JSON, with its members sorted by name.
    ///
    /// - Throws: `EncodingError`, which the values of this module never cause.
    package static func encode(_ message: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(message)
    }

    /// Decodes an untrusted message.
    ///
    /// - Throws: ``WireFailure`` that describes what is wrong. It does not quote the message.
    package static func decode<Message: Decodable>(
        _ type: Message.Type, from data: Data, limits: StrictJSON.Limits
    ) throws(WireFailure) -> Message {
        try StrictJSON.check(Array(data), limits: limits)
        do {
            return try JSONDecoder().decode(type, from: data)
        } catch {
            throw WireFailure(decoding: error)
        }
    }

    /// Returns true for a number of bytes as lowercase hex digits.
    package static func isHex(_ text: String, byteCount: Int) -> Bool {
        text.utf8.count == 2 * byteCount
            && text.utf8.allSatisfy { $0.isBetween("0", last: "9") || $0.isBetween("a", last: "f") }
    }

    /// Returns true for an upload token: letters, digits, `-`, `_` and `.`.
    package static func isToken(_ text: String) -> Bool {
        (1...tokenLimit).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isLetterOrDigit || "-_.".utf8.contains($0) }
    }

    /// Returns true for visible ASCII and spaces, which are allowed in header fields and messages.
    package static func isPlain(_ text: String, limit: Int) -> Bool {
        text.utf8.count <= limit && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    /// Returns true for the name of a header field (RFC 9110, section 5.1).
    package static func isFieldName(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isLetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains($0) }
    }

    /// Returns true for a URL that an action may use: http or https, with a host, without a user and a fragment.
    package static func isActionURL(_ text: String) -> Bool {
        guard text.utf8.count <= 16_384, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let parts = URLComponents(string: text), ["http", "https"].contains(parts.scheme?.lowercased()),
            parts.host?.isEmpty == false
        else { return false }
        return parts.user == nil && parts.password == nil && parts.fragment == nil
    }
}

extension UInt8 {
    func isBetween(_ first: Unicode.Scalar, last: Unicode.Scalar) -> Bool {
        self >= UInt8(ascii: first) && self <= UInt8(ascii: last)
    }

    var isLetterOrDigit: Bool { isBetween("0", last: "9") || isBetween("a", last: "z") || isBetween("A", last: "Z") }
}
