public import Foundation

/// The conversion of a key's values to bytes and back.
///
/// Its id and version are stored with the bytes. Bytes of another serializer or of a newer version are an error and are
/// kept. Bytes of an older version are converted by ``upgrading(from:_:)``.
public struct SettingSerializer<Value: Sendable>: Sendable {
    /// The id of the serializer in the database.
    public let id: String
    /// The version that it writes.
    public let version: Int
    let encode: @Sendable (Value) throws -> Data
    let decode: @Sendable (Data) throws -> Value
    private var upgrades: [Int: @Sendable (Data) throws -> Value] = [:]

    /// Creates a custom serializer.
    ///
    /// - Parameters:
    ///   - id: the id, which must not change. Not one of `json`, `plist`, `data`, `string`.
    ///   - version: the version, from 1 on. Raise it for bytes that an earlier app cannot read.
    ///   - encode: converts a value to bytes. Equal values should have equal bytes, or observers receive them twice.
    ///   - decode: converts bytes of this version to a value, and throws for invalid bytes. The bytes are untrusted.
    public static func custom(
        id: String, version: Int = 1, encode: @escaping @Sendable (Value) throws -> Data,
        decode: @escaping @Sendable (Data) throws -> Value
    ) -> Self {
        Self(id: id, version: version, encode: encode, decode: decode)
    }

    /// Returns a serializer that also reads an older version. Its own version is higher than all versions that it
    /// reads.
    ///
    /// The next `set` writes the value in the new format.
    ///
    /// - Parameters:
    ///   - version: the version of the bytes that the closure converts.
    ///   - upgrade: converts bytes of that version to a current value.
    public func upgrading(from version: Int, _ upgrade: @escaping @Sendable (Data) throws -> Value) -> Self {
        var copy = Self(id: id, version: max(self.version, version + 1), encode: encode, decode: decode)
        copy.upgrades = upgrades
        copy.upgrades[version] = upgrade
        return copy
    }

    func serialize(_ value: Value) throws -> SerializedValue {
        SerializedValue(serializer: id, version: version, bytes: try encode(value))
    }

    /// - Throws: ``SettingsError/Code/otherSerializer``, ``SettingsError/Code/newerValue``, and the errors of the
    ///   decoder.
    func value(of stored: SerializedValue) throws -> Value {
        guard stored.serializer == id else {
            throw SettingsError(
                .otherSerializer,
                message: """
                    The stored value was written by a serializer other than “\(id)”. It is left unchanged. Give the \
                    key its former serializer, or another name and a migration.
                    """)
        }
        if stored.version == version { return try decode(stored.bytes) }
        guard stored.version < version else {
            throw SettingsError(
                .newerValue,
                message: """
                    The stored value has version \(stored.version) of the serializer “\(id)”, and this app supports \
                    versions up to \(version). It is left unchanged. Update the app.
                    """)
        }
        guard let upgrade = upgrades[stored.version] else {
            throw SettingsError(
                .undecodable,
                message: """
                    The stored value has version \(stored.version) of the serializer “\(id)”, which has no upgrade \
                    from that version. It is left unchanged. Add upgrading(from: \(stored.version)) to the key's \
                    serializer.
                    """)
        }
        return try upgrade(stored.bytes)
    }
}

extension StorageKey {
    func serialized(_ value: Value) throws -> SerializedValue {
        let content: SerializedValue
        do {
            content = try serializer.serialize(value)
        } catch {
            throw SettingsError(
                .unencodable, message: "The value for \(publicName) cannot be encoded\(KeyInfo.place(of: error)).",
                key: publicName, cause: info().isSecret ? nil : error)
        }
        let limit = min(domain.limit, sync.limit ?? .max)
        guard content.bytes.count <= limit else {
            throw SettingsError(
                .tooLarge,
                message: """
                    The value for \(publicName) has \(content.bytes.count) bytes, and \(domain) accepts at most \
                    \(limit). Keep large content in a file: FileData.
                    """,
                key: publicName)
        }
        return content
    }

    /// - Returns: nil for bytes that are not a value, if the key's policy is to use the default.
    /// - Throws: ``SettingsError/Code/undecodable``, ``SettingsError/Code/otherSerializer``,
    ///   ``SettingsError/Code/newerValue``.
    func value(of content: SerializedValue) throws -> Value? {
        do {
            return try serializer.value(of: content)
        } catch {
            let problem = info().decodingError(error)
            if problem.code == .undecodable, onUndecodable == .useDefault { return nil }
            throw problem
        }
    }

    /// The serialized default. Nil without a default, or if it cannot be encoded.
    var serializedDefault: SerializedValue? {
        guard let defaultValue else { return nil }
        do { return try serializer.serialize(defaultValue) } catch { return nil }
    }

    func orDefault(_ value: Value?) throws -> Value {
        if let value = value ?? defaultValue { return value }
        throw SettingsError(
            .noValue,
            message: """
                Nothing is stored for \(publicName), and it has no default. Call getIfPresent(_:) or get(_:default:), \
                or give the key a default.
                """,
            key: publicName)
    }
}

extension KeyInfo {
    /// Converts an error of a decoder. For a secret it keeps only the position of the error, because the decoder's
    /// message quotes the value.
    func decodingError(_ error: any Error) -> SettingsError {
        if let error = error as? SettingsError { return error.about(publicName) }
        return SettingsError(
            .undecodable,
            message: """
                The stored value for \(publicName) is not a valid \(type)\(Self.place(of: error)). It is left \
                unchanged. Let the serializer accept it with upgrading(from:), or set or remove the key.
                """,
            key: publicName, cause: isSecret ? nil : error)
    }

    /// Returns the position of an error within a value, without quoting it. It returns only the depth, because keys of
    /// dictionaries may be text of the user.
    static func place(of error: any Error) -> String {
        let path: [any CodingKey]? =
            switch error {
            case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
                DecodingError.keyNotFound(_, let context), DecodingError.dataCorrupted(let context):
                context.codingPath
            case EncodingError.invalidValue(_, let context): context.codingPath
            default: nil
            }
        guard let path, !path.isEmpty else { return "" }
        return " (at depth \(path.count))"
    }
}
