#if canImport(Security)
import Foundation
import Security

extension KeychainBackend {
    /// Apple's Keychain, for iOS, and for macOS apps with an entitlement.
    ///
    /// Items are readable after the first unlock since the start of the device, also in the background. They stay on
    /// this device: no backup and no iCloud Keychain contains them, so a restored device reports
    /// ``SettingsError/Code/keychainReplaced``. iOS keeps them when the app is removed.
    ///
    /// Calls throw ``SettingsError/Code/locked`` before the first unlock, and
    /// ``SettingsError/Code/keychainUnavailable`` without the entitlement of the access group.
    ///
    /// - Parameter accessGroup: the group that the app shares with its extensions, with the team's prefix. nil is the
    ///   app's own.
    public static func keychain(accessGroup: String? = nil) -> KeychainBackend {
        KeychainBackend { owner in
            KeychainItemStore(SecurityItems(accessGroup: accessGroup), owner: owner, accessGroup: accessGroup)
        }
    }
}

/// The items of Keychain Services. On macOS it uses the data protection keychain, which behaves as that of iOS.
struct SecurityItems: KeychainItems {
    let accessGroup: String?

    func content(service: String, account: String) throws(KeychainFailure) -> Data {
        var query = query(service, account: account)
        query[kSecReturnData as String] = true
        query[kSecMatchLimit as String] = kSecMatchLimitOne
        var result: CFTypeRef?
        try check(SecItemCopyMatching(query as CFDictionary, &result))
        guard let content = result as? Data else { throw .itemNotFound }
        return content
    }

    func accounts(service: String) throws(KeychainFailure) -> [String] {
        var query = query(service, account: nil)
        query[kSecReturnAttributes as String] = true
        query[kSecMatchLimit as String] = kSecMatchLimitAll
        var result: CFTypeRef?
        try check(SecItemCopyMatching(query as CFDictionary, &result))
        let found = result as? [[String: Any]] ?? []
        return found.compactMap { $0[kSecAttrAccount as String] as? String }
    }

    func add(_ content: Data, service: String, account: String) throws(KeychainFailure) {
        var item = query(service, account: account)
        item[kSecValueData as String] = content
        item[kSecAttrLabel as String] = "LFS \(account)"
        item[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
        try check(SecItemAdd(item as CFDictionary, nil))
    }

    func update(_ content: Data, service: String, account: String) throws(KeychainFailure) {
        let change: [String: Any] = [kSecValueData as String: content]
        try check(SecItemUpdate(query(service, account: account) as CFDictionary, change as CFDictionary))
    }

    func remove(service: String, account: String) throws(KeychainFailure) {
        try check(SecItemDelete(query(service, account: account) as CFDictionary))
    }

    private func query(_ service: String, account: String?) -> [String: Any] {
        var query: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: service,
            kSecAttrSynchronizable as String: false,
            kSecUseDataProtectionKeychain as String: true,
        ]
        if let account { query[kSecAttrAccount as String] = account }
        if let accessGroup { query[kSecAttrAccessGroup as String] = accessGroup }
        return query
    }

    private func check(_ status: OSStatus) throws(KeychainFailure) {
        guard status == errSecSuccess else { throw KeychainFailure(status: status) }
    }
}
#endif
