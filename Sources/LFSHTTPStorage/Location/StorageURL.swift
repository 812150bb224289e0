package import Foundation
package import LFSStorage

/// The URL of a storage as people write it in settings and on command lines: `scheme://authority/path?name=value`.
///
/// Each storage says by a ``Form`` what may stand in it. A secret may not: command lines and settings are seen by many.
package struct StorageURL: Hashable, Sendable {
    /// What may stand in the URLs of one kind of storage.
    package struct Form: Sendable {
        /// How one is written, for messages: `s3://bucket/prefix?endpoint=URL`.
        package let example: String
        /// What a URL names, for messages: `bucket`.
        package let noun: String
        /// Where the secrets belong that must not stand here, as the end of a sentence.
        package let secrets: String
        /// The names of its settings. Their case and marks do not count.
        package let settings: [String]
        /// Other tools' names of the same settings.
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

        /// What is said about a secret in the URL, without the URL.
        package var secretFound: StorageError {
            StorageError(
                .invalidRequest,
                """
                Keep secrets out of the URL, where everybody sees them: use \(secrets). Whatever of them was written \
                here is known by now: make new ones. An @ that is no secret's is written as %40.
                """)
        }
    }

    /// In lowercase.
    package let scheme: String
    /// What stands before the first slash, as it is written.
    package let authority: String
    /// What stands behind it, without percent-encoding.
    package let path: String
    private let settings: [String: String]

    /// - Throws: `StorageError.Code.invalidRequest`, which repeats nothing that may be a secret.
    package init(parsing text: String, _ form: Form) throws(StorageError) {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let place = parts.first, let colon = place.firstRange(of: "://") else {
            throw StorageError(.invalidRequest, "'\(text)' is not the URL of a storage. Write \(form.example).")
        }
        // A secret may have slashes, so that the part before the first one need not show the sign.
        guard !place.contains("@") else { throw form.secretFound }
        scheme = place[..<colon.lowerBound].lowercased()
        let names = place[colon.upperBound...].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        authority = names.first.map(String.init) ?? ""
        path = try Self.decoded(names.dropFirst().first.map(String.init) ?? "")
        settings = try Self.settings(parts.dropFirst().first ?? "", form)
        guard !authority.isEmpty else {
            throw StorageError(.invalidRequest, "'\(text)' names no \(form.noun). Write \(form.example).")
        }
    }

    /// A setting; nil where the URL leaves it open.
    package subscript(_ name: String) -> String? { settings[Self.plain(name)] }

    /// The path as the beginning of keys: a path below the place and nothing else.
    ///
    /// - Throws: `StorageError.Code.invalidRequest` for one that leads elsewhere.
    package func prefix() throws(StorageError) -> String {
        guard !path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }), !path.contains("//"),
            !path.hasPrefix("/")
        else {
            throw StorageError(
                .invalidRequest, "The prefix '\(path)' has '.', '..' or an empty name in it. Write it as a plain path.")
        }
        return path
    }

    /// A setting that is the URL of a server.
    ///
    /// - Throws: `StorageError.Code.invalidRequest` for what is none, or more than one.
    package func server(_ name: String, _ form: Form) throws(StorageError) -> URL? {
        guard let text = self[name] else { return nil }
        guard !text.contains("@") else { throw form.secretFound }
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme), url.host != nil else {
            throw StorageError(
                .invalidRequest, "'\(text)' is not the URL of a server: write \(name)=https://host.")
        }
        _ = try Endpoint(url)
        return url
    }

    /// A setting that is one of a few words.
    ///
    /// - Throws: `StorageError.Code.invalidRequest`, with all of them.
    package func choice<Value>(
        _ name: String, _ all: [String], _ make: (String) -> Value?
    ) throws(StorageError) -> Value? {
        guard let text = self[name] else { return nil }
        if let value = make(text) { return value }
        throw StorageError(
            .invalidRequest, "'\(text)' is no \(name). There are: \(all.joined(separator: ", ")).")
    }

    /// A setting that is `true` or `false`.
    ///
    /// - Throws: `StorageError.Code.invalidRequest` for another word.
    package func flag(_ name: String) throws(StorageError) -> Bool? {
        try choice(name, ["true", "false"]) { Bool($0) }
    }

    private static func settings(_ query: String, _ form: Form) throws(StorageError) -> [String: String] {
        let known = Dictionary(form.settings.map { (plain($0), plain($0)) }) { first, _ in first }
            .merging(form.aliases.map { (plain($0.key), plain($0.value)) }) { first, _ in first }
        var settings: [String: String] = [:]
        for item in query.split(separator: "&") {
            let pair = item.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else {
                throw StorageError(.invalidRequest, "'\(item)' is not a setting: write name=value.")
            }
            let (name, value) = (try decoded(String(pair[0])), try decoded(String(pair[1])))
            guard let setting = known[plain(name)] else {
                let all = form.settings.joined(separator: ", ")
                throw StorageError(
                    .invalidRequest, "'\(name)' is no setting of a \(form.noun). There are: \(all).")
            }
            guard settings.updateValue(value, forKey: setting) == nil else {
                throw StorageError(.invalidRequest, "'\(name)' stands twice: write it once.")
            }
        }
        return settings
    }

    private static func decoded(_ text: String) throws(StorageError) -> String {
        guard let decoded = text.removingPercentEncoding else {
            throw StorageError(
                .invalidRequest,
                "'\(text)' has a % that no two hexadecimal digits follow, or that is no text. Write %25 for %.")
        }
        return decoded
    }

    private static func plain(_ name: String) -> String { name.lowercased().filter { $0 != "-" && $0 != "_" } }
}
