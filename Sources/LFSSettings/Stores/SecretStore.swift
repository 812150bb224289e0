package import Foundation

/// A service or a file that keeps secrets, each under a name.
///
/// Rules of an implementation:
/// - an item is whole or not there, whenever the process ends, as far as a service does so;
/// - a service that is locked, or does not answer in time, is ``SettingsError/Code/locked``, and never "not found";
/// - an item that cannot be read is ``SettingsError/Code/corrupted`` and stays;
/// - names are not secret, items are, and no error has a part of one.
package protocol SecretStore: Sendable {
    /// What the database notes of the kind and the place of the store; another one has other items.
    var kind: String { get }

    /// The same with the place relative to the database's folder; nil for a store that has no such place.
    var movingKind: String? { get }

    /// Nil when there is no such item.
    ///
    /// - Parameter required: an item of the store that is meant. Where the first is not there, this one has to be, at
    ///   the same moment.
    /// - Throws: ``lost`` without it.
    func read(_ item: String, requiring required: String?) async throws -> Data?

    /// Changes an item while nobody else does.
    ///
    /// - Parameters:
    ///   - required: an item of the store that is meant. Without it nothing is changed.
    ///   - body: gets a closure that reads the item.
    /// - Throws: ``lost`` without what is required.
    func update(
        _ item: String, requiring required: String?,
        _ body: @escaping @Sendable (() throws -> Data?) throws -> SecretChange
    ) async throws

    /// The items of this database.
    func items() async throws -> [String]

    /// Something that is another after another process has changed an item.
    func stamp() async throws -> String?
}

extension SecretStore {
    package var movingKind: String? { nil }

    /// The store is not the one that had the secrets.
    package var lost: SettingsError {
        SettingsError(
            .keychainReplaced,
            """
            \(kind) has lost the secrets of this database: it was emptied or put in place of another one. Put back the \
            former one. If it is gone for good, adoptKeychain() begins without its secrets.
            """)
    }
}

/// What becomes of an item.
package enum SecretChange: Sendable {
    case keep
    case put(Data)
    case remove
}
