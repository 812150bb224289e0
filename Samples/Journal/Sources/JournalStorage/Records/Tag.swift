public import Foundation

/// A word that records are sorted by.
public struct Tag: Codable, Hashable, Sendable, Identifiable {
    /// What records name it by.
    public var id: UUID
    /// The text to show: any text, also none.
    public var name: String
    /// The colour to show it in, such as `#3a7bd5`; nil for that of the page. Whoever shows it checks it.
    public var color: String?

    /// A tag with an id of its own.
    public init(id: UUID = UUID(), name: String, color: String? = nil) {
        self.id = id
        self.name = name
        self.color = color
    }

    enum CodingKeys: String, CodingKey {
        case id, name, color
    }

    /// Reads the form of `tags.json`.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        id = try values.decode(UUID.self, forKey: .id)
        name = try values.decode(String.self, forKey: .name)
        color = try values.decodeIfPresent(String.self, forKey: .color)
    }

    /// Writes the form of `tags.json`: the id in lowercase.
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
    /// The lowercase text, by which records and pictures are named everywhere.
    package var text: String { uuidString.lowercased() }

    /// - Parameter text: is read in lowercase only, so that one id has one name.
    package init?(text: String) {
        guard let id = UUID(uuidString: text), id.text == text else { return nil }
        self = id
    }
}
