import Crypto
import Foundation
import LFSSystem

/// A store for items of Apple's Keychain.
///
/// An item has the service `lfs.<id of the database>`, and the name of the key as its account.
///
/// The Keychain has no atomic read-modify-write, so a change holds a lock next to the database (`flock`).
struct KeychainItemStore: SecretStore {
    let items: any KeychainItems
    let owner: SecretOwner
    /// The access group, or nil for the app's own.
    let accessGroup: String?
    private let lock: DatabaseLock

    init(_ items: any KeychainItems, owner: SecretOwner, accessGroup: String?) {
        self.items = items
        self.owner = owner
        self.accessGroup = accessGroup
        lock = DatabaseLock(databasePath: owner.databasePath, .secrets, waitingOn: .foreign)
    }

    var kind: String { accessGroup.map { "appleKeychain:\($0)" } ?? "appleKeychain" }

    private var service: String { "lfs.\(owner.installID.text)" }

    func read(_ item: String, requiring required: String?) async throws -> Data? {
        try await call {
            let found = try content(item)
            if found == nil { try require(required) }
            return found
        }
    }

    func update(
        _ item: String, requiring required: String?,
        _ body: @escaping @Sendable (() throws -> Data?) throws -> SecretChange
    ) async throws {
        try await lock.run {
            try await call {
                try require(required)
                switch try body({ try content(item) }) {
                case .keep: return
                case .put(let bytes): try put(bytes, item: item)
                case .remove: try remove(item)
                }
            }
        }
    }

    func items() async throws -> [String] {
        try await call { try names() }
    }

    /// Returns a hash of the items' contents, because modification times have a resolution of one second.
    func stamp() async throws -> String? {
        try await call {
            var digest = SHA256()
            for name in try names() {
                digest.update(data: Data(name.utf8) + [0] + (try content(name) ?? Data()) + [0])
            }
            return Data(digest.finalize()).base64EncodedString()
        }
    }

    // MARK: Calls of the Keychain

    private func call<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        do {
            // The Keychain is another process, so a call must not delay those on files.
            return try await BlockingPool.foreign.run { _ in try body() }
        } catch let failure as KeychainFailure {
            throw failure.settingsError
        }
    }

    /// Returns nil if the item does not exist.
    private func ifFound<Result>(_ body: () throws(KeychainFailure) -> Result) throws(KeychainFailure) -> Result? {
        do throws(KeychainFailure) {
            return try body()
        } catch {
            guard error == .itemNotFound else { throw error }
            return nil
        }
    }

    private func content(_ item: String) throws(KeychainFailure) -> Data? {
        try ifFound { () throws(KeychainFailure) in try items.content(service: service, account: item) }
    }

    private func names() throws(KeychainFailure) -> [String] {
        try ifFound { () throws(KeychainFailure) in try items.accounts(service: service).sorted() } ?? []
    }

    private func require(_ item: String?) throws {
        guard let item else { return }
        guard try content(item) != nil else { throw lost }
    }

    /// Updates the item, or adds it. Another process of the app may add it between the two calls.
    private func put(_ bytes: Data, item: String) throws(KeychainFailure) {
        let update = { () throws(KeychainFailure) in try items.update(bytes, service: service, account: item) }
        if try ifFound(update) != nil { return }
        do throws(KeychainFailure) {
            try items.add(bytes, service: service, account: item)
        } catch {
            guard error == .duplicateItem else { throw error }
            try update()
        }
    }

    private func remove(_ item: String) throws(KeychainFailure) {
        _ = try ifFound { () throws(KeychainFailure) in try items.remove(service: service, account: item) }
    }
}
