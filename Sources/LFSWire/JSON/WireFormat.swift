package import Foundation

/// How messages are written, and what a text in one may be.
package enum WireFormat {
    /// The largest number that every language's JSON keeps exactly.
    package static let largestNumber: Int64 = (1 << 53) - 1
    /// The largest upload token in bytes.
    package static let tokenLimit = 4_096

    /// A message as JSON, with its members in the order of their names.
    ///
    /// - Throws: `EncodingError`, which no value of this module brings about.
    package static func encode(_ message: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(message)
    }

    /// A message that somebody else has written.
    ///
    /// - Throws: ``WireFailure``, with what is wrong with it. It repeats nothing of the message.
    package static func decode<Message: Decodable>(
        _ type: Message.Type, from data: Data, _ limits: StrictJSON.Limits
    ) throws(WireFailure) -> Message {
        try StrictJSON.check(Array(data), limits)
        do {
            return try JSONDecoder().decode(type, from: data)
        } catch {
            throw WireFailure(decoding: error)
        }
    }

    /// So many bytes as lowercase hex digits.
    package static func isHex(_ text: String, byteCount: Int) -> Bool {
        text.utf8.count == 2 * byteCount && text.utf8.allSatisfy { $0.isBetween("0", "9") || $0.isBetween("a", "f") }
    }

    /// An upload token: letters, digits, `-`, `_` and `.`.
    package static func isToken(_ text: String) -> Bool {
        (1...tokenLimit).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isLetterOrDigit || "-_.".utf8.contains($0) }
    }

    /// Visible ASCII and spaces, which may stand in a header field or a message.
    package static func isPlain(_ text: String, limit: Int) -> Bool {
        text.utf8.count <= limit && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    /// The name of a header field (RFC 9110, 5.1).
    package static func isFieldName(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isLetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains($0) }
    }

    /// A URL that an action may lead to: http or https, a host, no user and no fragment.
    package static func isActionURL(_ text: String) -> Bool {
        guard text.utf8.count <= 16_384, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let parts = URLComponents(string: text), ["http", "https"].contains(parts.scheme?.lowercased()),
            parts.host?.isEmpty == false
        else { return false }
        return parts.user == nil && parts.password == nil && parts.fragment == nil
    }
}

extension UInt8 {
    func isBetween(_ first: Unicode.Scalar, _ last: Unicode.Scalar) -> Bool {
        self >= UInt8(ascii: first) && self <= UInt8(ascii: last)
    }

    var isLetterOrDigit: Bool { isBetween("0", "9") || isBetween("a", "z") || isBetween("A", "Z") }
}
