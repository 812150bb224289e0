import Foundation

extension StorageKey {
    private var isSecret: Bool { security != .none || domain.isSecret }

    /// - Throws: ``SettingsError/Code/unencodable``, ``SettingsError/Code/tooLarge``.
    func serialized(_ value: Value) throws -> SerializedValue {
        let content: SerializedValue
        do {
            content = try serializer.serialize(value)
        } catch {
            throw SettingsError(
                .unencodable, "The value for \(publicName) cannot be encoded\(Self.place(of: error)).",
                key: publicName, cause: isSecret ? nil : error)
        }
        let limit = min(domain.limit, sync.limit ?? .max)
        guard content.bytes.count <= limit else {
            throw SettingsError(
                .tooLarge,
                """
                The value for \(publicName) has \(content.bytes.count) bytes, and \(domain) takes \(limit). Keep large \
                content in a file: FileData.
                """,
                key: publicName)
        }
        return content
    }

    /// - Returns: nil for bytes that are no value, where the key's policy is to use the default.
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

    /// The default as a set would store it; nil without one, and for one that cannot be encoded.
    var serializedDefault: SerializedValue? {
        guard let defaultValue else { return nil }
        do { return try serializer.serialize(defaultValue) } catch { return nil }
    }

    /// - Throws: ``SettingsError/Code/noValue``.
    func orDefault(_ value: Value?) throws -> Value {
        if let value = value ?? defaultValue { return value }
        throw SettingsError(
            .noValue,
            """
            Nothing is stored for \(publicName), and it has no default. Call getIfPresent(_:) or get(_:default:), or \
            give the key a default.
            """,
            key: publicName)
    }

    private static func place(of error: any Error) -> String { KeyInfo.place(of: error) }
}

extension KeyInfo {
    /// An error of a decoder. That of a secret is reduced to where it happened, since its text quotes what stands
    /// there.
    func decodingError(_ error: any Error) -> SettingsError {
        if let error = error as? SettingsError { return error.about(publicName) }
        return SettingsError(
            .undecodable,
            """
            What is stored for \(publicName) is no \(type)\(Self.place(of: error)). It stays as it is: let the \
            serializer take it (upgrading(from:)), or set or remove the key.
            """,
            key: publicName, cause: isSecret ? nil : error)
    }

    /// Where in a value an error happened, without what stands there. Keys of dictionaries may be a user's words, so
    /// only how deep it is.
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
