public import Foundation

/// How the values of a key become bytes, and bytes values.
///
/// Its id and version are stored beside the bytes. What another serializer or a newer version has written is an error
/// and stays; what an older version has written goes through ``upgrading(from:_:)``.
public struct SettingSerializer<Value: Sendable>: Sendable {
    /// The serializer's name in the database.
    public let id: String
    /// The version that it writes.
    public let version: Int
    let encode: @Sendable (Value) throws -> Data
    let decode: @Sendable (Data) throws -> Value
    private var upgrades: [Int: @Sendable (Data) throws -> Value] = [:]

    private init(
        id: String, version: Int, encode: @escaping @Sendable (Value) throws -> Data,
        decode: @escaping @Sendable (Data) throws -> Value
    ) {
        (self.id, self.version, self.encode, self.decode) = (id, version, encode, decode)
    }

    /// A serializer of the app's own.
    ///
    /// - Parameters:
    ///   - id: its name, which must not change; not one of `json`, `plist`, `data`, `string`.
    ///   - version: from 1 on; a higher one for bytes that an earlier app cannot read.
    ///   - encode: makes the bytes of a value. Equal values should have equal bytes, or observers see them twice.
    ///   - decode: makes the value of bytes of this version, and throws for others. Bytes are input.
    public static func custom(
        id: String, version: Int = 1, encode: @escaping @Sendable (Value) throws -> Data,
        decode: @escaping @Sendable (Data) throws -> Value
    ) -> Self {
        Self(id: id, version: version, encode: encode, decode: decode)
    }

    /// The same serializer, one version higher than all that it can upgrade from.
    ///
    /// The value is written in the new form by the next set.
    ///
    /// - Parameters:
    ///   - version: the version of the bytes that the closure takes.
    ///   - upgrade: makes the present value of bytes of that version.
    public func upgrading(from version: Int, _ upgrade: @escaping @Sendable (Data) throws -> Value) -> Self {
        var copy = Self(id: id, version: max(self.version, version + 1), encode: encode, decode: decode)
        copy.upgrades = upgrades
        copy.upgrades[version] = upgrade
        return copy
    }

    func serialize(_ value: Value) throws -> SerializedValue {
        SerializedValue(serializer: id, version: version, bytes: try encode(value))
    }

    /// - Throws: ``SettingsError/Code/otherSerializer``, ``SettingsError/Code/newerValue``; what the decoder throws.
    func value(of stored: SerializedValue) throws -> Value {
        guard stored.serializer == id else {
            throw SettingsError(
                .otherSerializer,
                """
                The stored value was written by another serializer than “\(id)”. It stays as it is: give the key its \
                former serializer, or another name and a migration.
                """)
        }
        if stored.version == version { return try decode(stored.bytes) }
        guard stored.version < version else {
            throw SettingsError(
                .newerValue,
                """
                The stored value has version \(stored.version) of the serializer “\(id)”, and this app knows up to \
                \(version). It stays as it is: update the app.
                """)
        }
        guard let upgrade = upgrades[stored.version] else {
            throw SettingsError(
                .undecodable,
                """
                The stored value has version \(stored.version) of the serializer “\(id)”, from which nothing upgrades. \
                It stays as it is: add upgrading(from: \(stored.version)) to the key's serializer.
                """)
        }
        return try upgrade(stored.bytes)
    }
}
