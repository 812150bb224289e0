public import Foundation

extension SettingSerializer where Value: Codable {
    /// JSON (RFC 8259) with sorted keys, and dates as whole milliseconds since 1970.
    public static var json: Self {
        custom(
            id: "json",
            encode: { value in
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
                encoder.dateEncodingStrategy = .custom { date, encoder in
                    var container = encoder.singleValueContainer()
                    try container.encode(try JSONDate.milliseconds(of: date, encoder.codingPath))
                }
                return try encoder.encode(value)
            },
            decode: { bytes in
                let decoder = JSONDecoder()
                decoder.dateDecodingStrategy = .custom { decoder in
                    let milliseconds = try decoder.singleValueContainer().decode(Int64.self)
                    return Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
                }
                return try decoder.decode(Value.self, from: bytes)
            })
    }

    /// A property list in Apple's binary format.
    ///
    /// The value is stored in an array of one element, because a property list cannot represent nil or a top-level
    /// value other than an array or dictionary.
    public static var propertyList: Self {
        custom(
            id: "plist",
            encode: { value in
                let encoder = PropertyListEncoder()
                encoder.outputFormat = .binary
                return try encoder.encode([value])
            },
            decode: { bytes in
                let values = try PropertyListDecoder().decode([Value].self, from: bytes)
                guard values.count == 1, let value = values.first else { throw UnreadableBytes() }
                return value
            })
    }
}

extension SettingSerializer<Data> {
    /// The bytes as they are.
    public static var data: Self { custom(id: "data", encode: { $0 }, decode: { $0 }) }
}

extension SettingSerializer<String> {
    /// Text in UTF-8 (RFC 3629). Invalid bytes are an error, and are not replaced by replacement characters.
    public static var string: Self {
        custom(
            id: "string",
            encode: { Data($0.utf8) },
            decode: { bytes in
                guard let text = String(validating: bytes, as: UTF8.self) else { throw UnreadableBytes() }
                return text
            })
    }
}

/// An error for bytes that are not a value of the expected type.
struct UnreadableBytes: Error {}

private enum JSONDate {
    static func milliseconds(of date: Date, _ path: [any CodingKey]) throws -> Int64 {
        let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
        guard let whole = Int64(exactly: milliseconds) else {
            throw EncodingError.invalidValue(
                date, EncodingError.Context(codingPath: path, debugDescription: "The date is out of range."))
        }
        return whole
    }
}
