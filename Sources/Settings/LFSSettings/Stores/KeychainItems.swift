import Foundation

/// The calls of Apple's Keychain Services that ``KeychainItemStore`` makes, for items of the class "generic password".
///
/// Rules of an implementation:
/// - An item is identified by its service and its account, within one access group.
/// - A call changes one item completely or not at all.
/// - A call may block.
protocol KeychainItems: Sendable {
    /// Returns the content of an item (`SecItemCopyMatching`).
    func content(service: String, account: String) throws(KeychainFailure) -> Data
    /// Returns the accounts of all items of a service (`SecItemCopyMatching`).
    func accounts(service: String) throws(KeychainFailure) -> [String]
    /// Adds an item (`SecItemAdd`).
    func add(_ content: Data, service: String, account: String) throws(KeychainFailure)
    /// Replaces the content of an item (`SecItemUpdate`).
    func update(_ content: Data, service: String, account: String) throws(KeychainFailure)
    /// Removes an item (`SecItemDelete`).
    func remove(service: String, account: String) throws(KeychainFailure)
}

/// A status of Keychain Services other than success (`OSStatus`, named in Apple's `SecBase.h`).
struct KeychainFailure: Error, Hashable {
    let status: Int32

    static let userCanceled = KeychainFailure(status: -128)
    static let notAvailable = KeychainFailure(status: -25_291)
    static let duplicateItem = KeychainFailure(status: -25_299)
    static let itemNotFound = KeychainFailure(status: -25_300)
    static let interactionNotAllowed = KeychainFailure(status: -25_308)
    static let missingEntitlement = KeychainFailure(status: -34_018)

    /// The error for the app. Statuses without a name here are `keychainUnavailable`, with their number.
    var settingsError: SettingsError {
        switch self {
        case .interactionNotAllowed:
            SettingsError(
                .locked,
                message: """
                    The Keychain is locked, because the device was not unlocked since its last start. Try again after \
                    that.
                    """)
        case .userCanceled:
            SettingsError(.promptDismissed, message: "The user dismissed the request for access to the Keychain.")
        case .missingEntitlement:
            SettingsError(
                .keychainUnavailable,
                message: """
                    The app may not use this access group of the Keychain. Sign the app, and add the capability \
                    Keychain Sharing with that group to the target.
                    """)
        default:
            SettingsError(
                .keychainUnavailable,
                message: "The Keychain failed with the status \(status), which `security error \(status)` explains.")
        }
    }
}
