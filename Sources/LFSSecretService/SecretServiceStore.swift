#if os(Linux)
import Crypto
import Foundation
import LFSSettings
import LFSSystem

/// Items of the Secret Service.
///
/// An item has two attributes, which are not secret: `install`, the id of the database, and `key`. Its text is one line
/// of Base64 for URLs without padding (RFC 4648, section 5), since there are services that a NUL or a newline harms.
///
/// The service knows no change that reads before it writes, so a change holds a lock beside the database (`flock`).
struct SecretServiceStore: SecretStore {
    let owner: SecretOwner
    let mayPrompt: Bool
    let deadline: Duration
    private let turns = Permits(1)

    var kind: String { "secretService" }

    init(_ owner: SecretOwner, mayPrompt: Bool, deadline: Duration) {
        (self.owner, self.mayPrompt, self.deadline) = (owner, mayPrompt, deadline)
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
            // Nobody else waits for the lock while somebody looks for a password.
            try await change(item, required, mayPrompt: false, body)
        } catch let unasked as SecretFailure.Unasked {
            guard mayPrompt else { throw unasked.error }
            let attributes = attributes(item)
            try await call(mayPrompt) { items in
                try await require(required, of: items)
                _ = try await items.find(attributes)
            }
            try await change(item, required, mayPrompt: true, body)
        }
    }

    private func change(
        _ item: String, _ required: String?, mayPrompt: Bool,
        _ body: @escaping @Sendable (() throws -> Data?) throws -> SecretChange
    ) async throws {
        let attributes = attributes(item)
        try await turns.withPermit {
            // Whoever holds the lock is through at its deadline; no file waits for a thread of this pool.
            let lock = DatabaseLock(databasePath: owner.databasePath, .secrets, waitingOn: .foreign)
            try await lock.run {
                try await SecretItems.attempt(mayPrompt: mayPrompt, deadline: deadline, clock: owner.clock) { items in
                    try await require(required, of: items)
                    let found = try await items.find(attributes)
                    switch try body({ try Self.content(of: found.first) }) {
                    case .keep: return
                    case .put(let bytes):
                        let text = bytes.base64URLEncoded
                        try await items.put(text, attributes, label: "LFS \(item)", into: found.first)
                    case .remove: try await items.remove(found, attributes)
                    }
                }
            }
        }
    }

    /// In the process of the service in which the call looks for everything else.
    private func require(_ item: String?, of items: SecretItems) async throws {
        guard let item else { return }
        guard let found = try await items.find(attributes(item)).first else { throw lost }
        guard let text = found.content, Data(base64URLEncoded: text) != nil else {
            throw SettingsError(
                .corrupted,
                """
                The item \(item) of the keyring, which marks it as the one of this database, is damaged, or another \
                program has changed it. Call adoptKeychain() if it is the right keyring.
                """)
        }
    }

    func items() async throws -> [String] {
        let attributes = ["install": owner.installID.text]
        return try await call(mayPrompt) { items in
            Set(try await items.find(attributes).compactMap(\.name)).sorted()
        }
    }

    /// Nobody is asked for a password, for a look every second. Times of items have seconds only, so it is made of what
    /// they hold.
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

    private static func content(of found: SecretItems.Found?) throws -> Data? {
        guard let found else { return nil }
        guard let text = found.content, let bytes = Data(base64URLEncoded: text) else {
            throw SettingsError(
                .corrupted,
                """
                The item of the keyring is damaged, or another program has changed it. It stays as it is: set or \
                remove the key.
                """)
        }
        return bytes
    }
}

extension Data {
    /// Base64 for URLs, without padding.
    var base64URLEncoded: String {
        base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }

    /// Nil when it is anything else than ``base64URLEncoded`` makes of one byte or more.
    ///
    /// Nothing of ours is without text: KWallet leaves such an item where it could not read the secret.
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
