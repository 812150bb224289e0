import Foundation
import GRDB
import LFSSettings
import LFSSync

extension StorageKey<String> {
    /// The URL of the sync server, for 'sync' without --sync.
    static var accountServerURL: Self { .init("account.serverURL") }
    /// The URL that requests are sent to, if it is not that of the server, such as an address in the local network.
    static var accountEndpoint: Self { .init("account.endpoint") }
    /// The id of the account, as the server has sent it.
    static var accountUser: Self { .init("account.user") }
}

/// The account of an uploader's database on a sync server. Its token is never stored.
enum AccountSettings {
    static let catalog = StorageCatalog("uploader.account") {
        StorageKey<String>.accountServerURL
        StorageKey<String>.accountEndpoint
        StorageKey<String>.accountUser
    }

    static let lines = [
        SettingLine(
            StorageKey<String>.accountEndpoint, form: "another address of the sync server, such as https://host",
            meaning: "another address of the server, as in the local network", text: { $0 }, value: address),
        SettingLine(
            StorageKey<String>.accountServerURL, form: "the sync server of 'sync', such as https://host",
            meaning: "the server of 'sync' without --sync, such as https://host", text: { $0 }, value: address),
        SettingLine(
            StorageKey<String>.accountUser, form: "the account's id, which 'sync' stores",
            meaning: "the account's id, which 'sync' stores", text: { $0 }, value: { _ in nil }),
    ]

    /// Parses the address of a sync server.
    ///
    /// - Returns: nil for anything else.
    /// - Throws: ``UploaderError`` for `http` to another machine, which 'sync' would refuse.
    private static func address(_ text: String) throws -> String? {
        guard let server = SyncArgument(argument: text) else { return nil }
        try StorageArgument.requireEncryption(server.url)
        return text
    }

    /// Returns the server in the settings of a database, which may receive credentials. Nil for a database without one.
    ///
    /// - Parameter isAllowed: true if the command line allows a host that the user has never named.
    /// - Throws: ``UploaderError``, `SettingsError`.
    static func trustedServer(of options: DatabaseOptions, isAllowed: Bool) async throws -> SyncArgument? {
        guard let server = try await server(of: options) else { return nil }
        try StorageArgument.requireEncryption(server.url)
        try TrustedHosts().require(
            StorageLocation.host(server.url), claim: "its sync server is \(Printable.text(server.url.absoluteString))",
            option: "--sync with the server", isAllowed: isAllowed)
        return server
    }

    /// Adds the host of a server that the user has stored to the list of trusted ones.
    static func noteHost(of key: String, value: String) {
        guard [StorageKey<String>.accountServerURL.name, StorageKey<String>.accountEndpoint.name].contains(key),
            let server = SyncArgument(argument: value)
        else { return }
        TrustedHosts().note(StorageLocation.host(server.url))
    }

    private static func server(of options: DatabaseOptions) async throws -> SyncArgument? {
        let file = try DatabaseFile(at: options.database)
        guard file.isOurs else { return nil }
        let database = try DocumentDatabase.open(file)
        let address: String? = try await UploaderSettings.use(database) { settings in
            if let endpoint = try await settings.getIfPresent(.accountEndpoint) { return endpoint }
            return try await settings.getIfPresent(.accountServerURL)
        }
        try DocumentDatabase.close(database)
        return address.flatMap { SyncArgument(argument: $0) }
    }

    /// Stores the id of the account that the server has sent.
    ///
    /// - Throws: `SettingsError`, the database's error.
    static func record(_ client: SyncClient, in database: any DatabaseWriter) async throws {
        guard let user = try await client.ownAccount() else { return }
        try await UploaderSettings.use(database) { settings in
            if try await settings.getIfPresent(.accountUser) != user { try await settings.set(user, for: .accountUser) }
        }
    }

    /// Removes the account within a transaction.
    static func remove(_ settings: StorageRouter, in db: Database) throws {
        for key in [StorageKey<String>.accountServerURL, .accountEndpoint, .accountUser] {
            try settings.remove(key, in: db)
        }
    }
}
