import Foundation
import LFSSecretService
import LFSSettings
import LFSStorage

/// The keys of the helper process by the words of its command line.
enum HelperKeys {
    static func counter(_ domain: String, folder: String) throws -> StorageKey<Int> {
        StorageKey(
            "counter", default: 0, domain: try self.domain(domain, folder: folder), security: try security(domain))
    }

    static func first(_ domain: String, folder: String) throws -> StorageKey<String> {
        StorageKey(
            "first", domain: try self.domain(domain, folder: folder), security: try security(domain), sync: sync(domain)
        )
    }

    static func second(_ domain: String, folder: String) throws -> StorageKey<String> {
        StorageKey(
            "second", domain: try self.domain(domain, folder: folder), security: try security(domain),
            sync: sync(domain))
    }

    /// Returns one key of each kind that is durable when a set returns.
    static func ofCuts(folder: String) throws -> [StorageKey<Int>] {
        try ["durable", "file", "keychain", "encryptedFile"].map { word in
            StorageKey("cut.\(word)", domain: try domain(word, folder: folder), security: try security(word))
        }
    }

    /// Returns one key in each kind of store. The key of the database is synced.
    static func everywhere(folder: String) throws -> [StorageKey<String>] {
        try ["synced", "encrypted", "file", "encryptedFile", "keychain"].map { word in
            StorageKey(
                "all.\(word)", domain: try domain(word, folder: folder), security: try security(word), sync: sync(word))
        }
    }

    static let legacy = StorageKey<String>("legacy", domain: .database)

    /// Returns a key whose value is migrated from ``legacy`` and from a file of another type.
    ///
    /// `HELPER_FOREIGN_PROMPTS` is 1 if another program's secret may cause a prompt.
    static func migrated(_ domain: String, kind: String, folder: String) throws -> StorageKey<String> {
        let target = try self.domain(domain, folder: folder)
        let number = StorageKey<Int>("number", domain: .file(in: .folder(folder + "/old")))
        let mayPrompt = ProcessInfo.processInfo.environment["HELPER_FOREIGN_PROMPTS"] == "1"
        let migrations: [KeyMigration<String>] =
            switch kind {
            case "legacy": [.legacy(from: legacy)]
            case "transform": [.transform(from: number) { "\($0)" }]
            case "condition": [.ifPreviousApp(.below("2.0"), migration: .legacy(from: legacy))]
            #if os(Linux)
            case "secretItem":
                [
                    .transform(
                        from: StorageKey<Data>(
                            "foreign", domain: .secretServiceItem(["service": "example"], mayPrompt: mayPrompt),
                            serializer: .data)
                    ) { String(decoding: $0, as: UTF8.self) }
                ]
            #endif
            default: [.legacy(from: StorageKey("nowhere")), .legacy(from: legacy)]
            }
        return StorageKey("migrated", domain: target, security: try security(domain), migrations: migrations)
    }

    static func number(folder: String) -> StorageKey<Int> {
        StorageKey("number", domain: .file(in: .folder(folder + "/old")))
    }

    private static func domain(_ word: String, folder: String) throws -> StorageDomain {
        switch word {
        case "database", "encrypted", "synced": .database
        case "durable": .database(durability: .full)
        case "file", "encryptedFile": .file()
        case "keychain": .keychain()
        default: throw HelperFailure(message: "There is no domain \(word).")
        }
    }

    private static func security(_ word: String) throws -> StorageSecurity {
        word.hasPrefix("encrypted") ? .encrypted : .none
    }

    private static func sync(_ word: String) -> SettingSync {
        word == "synced" ? .automatic(maxByteCount: 100) : .never
    }

    /// Returns the options for the folder that other devices share.
    static func companions(_ domain: String, folder: String) throws -> CompanionOptions {
        guard domain == "synced" else { return CompanionOptions() }
        let shared = try DirectoryStorage(at: URL(fileURLWithPath: folder + "/shared"))
        return CompanionOptions([try RemoteStorageTransport(shared, prefix: "settings")])
    }

    static func options(_ folder: String, appVersion: String? = nil, isPatient: Bool = false) -> StorageOptions {
        StorageOptions(
            appVersion: appVersion, rootKey: .keyFile(folder + "/keys/root"),
            keychain: keyring(isPatient) ?? .sealedFile(at: folder + "/sealed", key: .keyFile(folder + "/keys/sealed")))
    }

    /// Returns the key chain of the bus of Tests/Keyring, if that runs. `HELPER_DEADLINE` is in milliseconds.
    /// `HELPER_PROMPTS` is 0 if prompts are disabled.
    private static func keyring(_ isPatient: Bool) -> KeychainBackend? {
        #if os(Linux)
        let environment = ProcessInfo.processInfo.environment
        guard environment["LFS_KEYRING"] != nil else { return nil }
        let deadline = isPatient ? nil : environment["HELPER_DEADLINE"].flatMap { Int($0) }
        return .secretService(
            mayPrompt: environment["HELPER_PROMPTS"] != "0",
            deadline: deadline.map { .milliseconds($0) } ?? .seconds(600))
        #else
        return nil
        #endif
    }
}

struct HelperFailure: Error {
    let message: String
}
