public import Foundation
import GRDB
public import LFSSettings

extension StorageKey<String> {
    /// The URL of the sync server.
    public static var accountServerURL: Self { .init("account.serverURL") }
    /// The URL that requests are sent to, if it is not that of the server, such as an address in the local network.
    public static var accountEndpoint: Self { .init("account.endpoint") }
    /// The id of the account, as the server has sent it.
    public static var accountUser: Self { .init("account.user") }
    /// The token of this device.
    public static var accessToken: Self { .init("account.accessToken", domain: .keychain()) }
}

/// The account of a journal on a sync server: its address, its user and the token of this device.
public enum AccountSettings {
    /// Stores the account. The token is stored first, so that no address is without a token after a crash.
    ///
    /// - Parameters:
    ///   - server: The URL of the server.
    ///   - endpoint: The URL that requests are sent to. Nil for that of the server.
    ///   - token: The token of this device.
    ///   - settings: The settings of the journal.
    /// - Throws: `SettingsError`.
    public static func logIn(server: URL, endpoint: URL?, token: String, _ settings: StorageRouter) async throws {
        try await settings.set(token, for: .accessToken)
        try await settings.write { batch in
            try batch.set(server.absoluteString, for: .accountServerURL)
            if let endpoint {
                try batch.set(endpoint.absoluteString, for: .accountEndpoint)
            } else {
                try batch.remove(.accountEndpoint)
            }
            // The server sends the user of the new token.
            try batch.remove(.accountUser)
        }
    }

    /// Returns the URL that requests are sent to. Nil if the journal has no account.
    ///
    /// - Throws: `SettingsError`.
    public static func address(_ settings: StorageRouter) async throws -> String? {
        if let endpoint = try await settings.getIfPresent(.accountEndpoint) { return endpoint }
        return try await settings.getIfPresent(.accountServerURL)
    }

    /// Removes the address and the user within a transaction. The token is a secret, and is removed separately.
    static func remove(_ settings: StorageRouter, in db: Database) throws {
        for key in [StorageKey<String>.accountServerURL, .accountEndpoint, .accountUser] {
            try settings.remove(key, in: db)
        }
    }
}
