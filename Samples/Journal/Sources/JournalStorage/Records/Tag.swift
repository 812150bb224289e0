import Crypto
public import Foundation

/// A word that groups records.
public struct Tag: Codable, Hashable, Sendable, Identifiable {
    /// The tag's id, which records store.
    public var id: UUID
    /// The text that is shown. It may be empty.
    public var name: String
    /// The color of the tag, such as `#3a7bd5`. Nil for the default color of the page. The color is not validated here.
    /// A page that shows it must check it.
    public var color: String?

    /// Creates a tag with a new id.
    public init(id: UUID = UUID(), name: String, color: String? = nil) {
        self.id = id
        self.name = name
        self.color = color
    }

    enum CodingKeys: String, CodingKey {
        case id, name, color
    }

    /// Reads the format of `tags.json`.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        id = try values.decode(UUID.self, forKey: .id)
        name = try values.decode(String.self, forKey: .name)
        color = try values.decodeIfPresent(String.self, forKey: .color)
    }

    /// Writes the format of `tags.json`, with the id in lowercase.
    ///
    /// - Throws: `EncodingError`.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(id.text, forKey: .id)
        try values.encode(name, forKey: .name)
        try values.encodeIfPresent(color, forKey: .color)
    }
}

extension UUID {
    /// The lowercase text, which names records and pictures everywhere.
    package var text: String { uuidString.lowercased() }

    /// Creates a UUID of version 8 (RFC 9562, section 5.8), which is the same for the same text.
    init(hashing text: String) {
        var bytes = Array(SHA256.hash(data: Data(text.utf8)).prefix(16))
        bytes[6] = bytes[6] & 0x0f | 0x80
        bytes[8] = bytes[8] & 0x3f | 0x80
        self = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// - Parameter text: The id in lowercase. Any other form is refused, so that an id has exactly one name.
    package init?(text: String) {
        guard let id = UUID(uuidString: text), id.text == text else { return nil }
        self = id
    }
}
