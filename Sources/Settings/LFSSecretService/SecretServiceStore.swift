#if os(Linux)
import Crypto
import Foundation
import LFSSettings
import LFSSystem

/// A store for items of the Secret Service.
///
/// An item has two attributes, which are not secret: `install`, the id of the database, and `key`. Its text is one line
/// of Base64 for URLs without padding (RFC 4648, section 5), because some services damage a NUL or a newline.
///
/// The service has no atomic read-modify-write, so a change holds a lock next to the database (`flock`).
struct SecretServiceStore: SecretStore {
    let owner: SecretOwner
    let mayPrompt: Bool
    let deadline: Duration
    /// The holder finishes by its deadline. The wait uses another pool, so that file operations always have threads.
    private let lock: DatabaseLock

    var kind: String { "secretService" }

    init(_ owner: SecretOwner, mayPrompt: Bool, deadline: Duration) {
        self.owner = owner
        self.mayPrompt = mayPrompt
        self.deadline = deadline
        lock = DatabaseLock(databasePath: owner.databasePath, .secrets, waitingOn: .foreign)
    }

    func read(_ item: String, requiring required: String?) async throws -> Data? {
        let attributes = attributes(item)
        return try await call(mayPrompt) { items in
            let found = try await items.find(attributes).first
            if found == nil { try await require(required, of: items) }
            return try Self.content(of: found)
        }
    }

    func update(
        _ item: String, requiring required: String?,
        _ body: @escaping @Sendable (() throws -> Data?) throws -> SecretChange
    ) async throws {
        do {
            // The first attempt does not prompt, so that no other process waits for the lock while the user enters a
            // password.
            try await change(item, required: required, mayPrompt: false, body)
        } catch let unasked as SecretFailure.PromptRequired {
            guard mayPrompt else { throw unasked.error }
            let attributes = attributes(item)
            try await call(mayPrompt) { items in
                try await require(required, of: items)
                _ = try await items.find(attributes)
            }
            try await change(item, required: required, mayPrompt: true, body)
        }
    }

    private func change(
        _ item: String, required: String?, mayPrompt: Bool,
        _ body: @escaping @Sendable (() throws -> Data?) throws -> SecretChange
    ) async throws {
        let attributes = attributes(item)
        try await lock.run {
            try await SecretItems.attempt(mayPrompt: mayPrompt, deadline: deadline, clock: owner.clock) { items in
                try await require(required, of: items)
                let found = try await items.find(attributes)
                switch try body({ try Self.content(of: found.first) }) {
                case .keep: return
                case .put(let bytes):
                    let text = bytes.base64URLEncoded
                    try await items.put(text, attributes: attributes, label: "LFS \(item)", into: found.first)
                case .remove: try await items.remove(found, attributes: attributes)
                }
            }
        }
    }

    /// Checks the required item in the same process of the service that the call uses for everything else.
    private func require(_ item: String?, of items: SecretItems) async throws {
        guard let item else { return }
        guard let found = try await items.find(attributes(item)).first else { throw lost }
        guard let text = found.content, Data(base64URLEncoded: text) != nil else {
            throw SettingsError(
                .corrupted,
                message: """
                    The item \(item), which marks the keyring as the one of this database, is damaged, or another \
                    program has changed it. If this is the right keyring, call adoptKeychain().
                    """)
        }
    }

    func items() async throws -> [String] {
        let attributes = ["install": owner.installID.text]
        return try await call(mayPrompt) { items in
            Set(try await items.find(attributes).compactMap(\.name)).sorted()
        }
    }

    /// Returns a hash of the items' contents, because modification times have a resolution of one second. It never
    /// prompts, because it is called every second.
    func stamp() async throws -> String? {
        let attributes = ["install": owner.installID.text]
        return try await call(false) { items in
            var digest = SHA256()
            for item in try await items.find(attributes).sorted(by: { ($0.name ?? "") < ($1.name ?? "") }) {
                digest.update(data: Data((item.name ?? "").utf8) + [0] + (item.content ?? Data()) + [0])
            }
            return Data(digest.finalize()).base64URLEncoded
        }
    }

    private func attributes(_ item: String) -> [String: String] { ["install": owner.installID.text, "key": item] }

    private func call<Result: Sendable>(
        _ mayPrompt: Bool, _ body: @escaping @Sendable (SecretItems) async throws -> Result
    ) async throws -> Result {
        try await SecretItems.run(mayPrompt: mayPrompt, deadline: deadline, clock: owner.clock, body)
    }

    private static func content(of found: SecretItems.Match?) throws -> Data? {
        guard let found else { return nil }
        guard let text = found.content, let bytes = Data(base64URLEncoded: text) else {
            throw SettingsError(
                .corrupted,
                message: """
                    The item of the keyring is damaged, or another program has changed it. It is left unchanged. Set \
                    or remove the key.
                    """)
        }
        return bytes
    }
}

extension Data {
    /// The bytes in Base64 for URLs, without padding.
    var base64URLEncoded: String {
        base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }

    /// Decodes text that ``base64URLEncoded`` has made of at least one byte. Nil for anything else.
    ///
    /// No item of LFS has an empty text. KWallet leaves such an item if it could not read the secret.
    init?(base64URLEncoded bytes: Data) {
        guard !bytes.isEmpty, let text = String(validating: bytes, as: UTF8.self) else { return nil }
        let standard = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        let padding = String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
        guard let decoded = Data(base64Encoded: standard + padding), decoded.base64URLEncoded == text else {
            return nil
        }
        self = decoded
    }
}
#endif
