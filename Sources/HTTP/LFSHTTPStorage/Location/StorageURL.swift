package import Foundation
package import LFSStorage

/// The URL of a storage as users write it in settings and on command lines: `scheme://authority/path?name=value`.
///
/// Each storage describes its URLs by a ``Form``. A URL must not contain secrets, because command lines and settings
/// are visible to other people.
package struct StorageURL: Hashable, Sendable {
    /// The form of the URLs of one kind of storage.
    package struct Form: Sendable {
        /// A sample URL for messages, such as `s3://bucket/prefix?endpoint=URL`.
        package let example: String
        /// The kind of place that a URL names, for messages, such as `bucket`.
        package let noun: String
        /// The place for secrets, which must not be in the URL, as the end of a sentence.
        package let secrets: String
        /// The names of the settings. Case, hyphens and underscores are ignored.
        package let settings: [String]
        /// Names of other tools for these settings, mapped to the names above.
        package let aliases: [String: String]

        package init(
            example: String, noun: String, secrets: String, settings: [String], aliases: [String: String] = [:]
        ) {
            self.example = example
            self.noun = noun
            self.secrets = secrets
            self.settings = settings
            self.aliases = aliases
        }

        /// The error for a secret in the URL. It does not repeat the URL.
        package var secretFound: StorageError {
            StorageError(
                .invalidRequest,
                message: """
                    Keep secrets out of the URL, where others can see them: use \(secrets). Replace every secret \
                    that this URL contained. Write an @ that does not belong to a secret as %40.
                    """)
        }
    }

    /// The scheme in lowercase.
    package let scheme: String
    /// The text before the first slash, unchanged.
    package let authority: String
    /// The text after the first slash, percent-decoded.
    package let path: String
    private let settings: [String: String]

    /// - Throws: `StorageError.Code.invalidRequest`. Its message never repeats text that may be a secret.
    package init(parsing text: String, _ form: Form) throws(StorageError) {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let place = parts.first, let colon = place.firstRange(of: "://") else {
            throw StorageError(
                .invalidRequest, message: "'\(text)' is not the URL of a storage. Write \(form.example).")
        }
        // A secret may contain slashes, so the `@` can follow the first slash.
        guard !place.contains("@") else { throw form.secretFound }
        scheme = place[..<colon.lowerBound].lowercased()
        let names = place[colon.upperBound...].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        authority = names.first.map(String.init) ?? ""
        path = try Self.decoded(names.dropFirst().first.map(String.init) ?? "")
        settings = try Self.settings(parts.dropFirst().first ?? "", form: form)
        guard !authority.isEmpty else {
            throw StorageError(.invalidRequest, message: "'\(text)' names no \(form.noun). Write \(form.example).")
        }
    }

    /// The value of a setting, or nil if the URL does not set it.
    package subscript(_ name: String) -> String? { settings[Self.plain(name)] }

    /// Returns the path as a prefix of keys. It must be a plain path below the authority.
    ///
    /// - Throws: `StorageError.Code.invalidRequest` for a path that leads elsewhere.
    package func prefix() throws(StorageError) -> String {
        guard !path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }), !path.contains("//"),
            !path.hasPrefix("/")
        else {
            throw StorageError(
                .invalidRequest,
                message: "The prefix '\(path)' has '.', '..' or an empty name in it. Write it as a plain path.")
        }
        return path
    }

    /// Returns a setting that is the URL of a server.
    ///
    /// - Throws: `StorageError.Code.invalidRequest` for text that is not such a URL, and for a URL with other parts.
    package func server(_ name: String, form: Form) throws(StorageError) -> URL? {
        guard let text = self[name] else { return nil }
        guard !text.contains("@") else { throw form.secretFound }
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme), url.host != nil else {
            throw StorageError(
                .invalidRequest, message: "'\(text)' is not the URL of a server: write \(name)=https://host.")
        }
        _ = try Endpoint(url)
        return url
    }

    /// Returns a setting that accepts a few values.
    ///
    /// - Throws: `StorageError.Code.invalidRequest`, with a message that lists all values.
    package func choice<Value>(
        _ name: String, all: [String], _ make: (String) -> Value?
    ) throws(StorageError) -> Value? {
        guard let text = self[name] else { return nil }
        if let value = make(text) { return value }
        throw StorageError(
            .invalidRequest, message: "'\(text)' is not a valid \(name). Valid values: \(all.joined(separator: ", ")).")
    }

    /// Returns a setting that is `true` or `false`.
    ///
    /// - Throws: `StorageError.Code.invalidRequest` for any other value.
    package func flag(_ name: String) throws(StorageError) -> Bool? {
        try choice(name, all: ["true", "false"]) { Bool($0) }
    }

    private static func settings(_ query: String, form: Form) throws(StorageError) -> [String: String] {
        let known = Dictionary(form.settings.map { (plain($0), plain($0)) }) { first, _ in first }
            .merging(form.aliases.map { (plain($0.key), plain($0.value)) }) { first, _ in first }
        var settings: [String: String] = [:]
        for item in query.split(separator: "&") {
            let pair = item.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else {
                throw StorageError(.invalidRequest, message: "'\(item)' is not a setting: write name=value.")
            }
            let (name, value) = (try decoded(String(pair[0])), try decoded(String(pair[1])))
            guard let setting = known[plain(name)] else {
                let all = form.settings.joined(separator: ", ")
                throw StorageError(
                    .invalidRequest, message: "'\(name)' is not a setting of a \(form.noun). Settings: \(all).")
            }
            guard settings.updateValue(value, forKey: setting) == nil else {
                throw StorageError(.invalidRequest, message: "'\(name)' is set twice: write it once.")
            }
        }
        return settings
    }

    private static func decoded(_ text: String) throws(StorageError) -> String {
        guard let decoded = text.removingPercentEncoding else {
            throw StorageError(
                .invalidRequest,
                message: "'\(text)' has a % without two hexadecimal digits after it, or is not UTF-8. Write %25 for %."
            )
        }
        return decoded
    }

    private static func plain(_ name: String) -> String { name.lowercased().filter { $0 != "-" && $0 != "_" } }
}
