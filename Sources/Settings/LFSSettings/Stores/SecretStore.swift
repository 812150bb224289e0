package import Foundation
package import LFSSystem

/// A service or a file that stores secrets, each under a name.
///
/// Rules of an implementation:
/// - An item is complete or absent whenever the process ends, if the service ensures this.
/// - A service that is locked or does not answer in time is ``SettingsError/Code/locked``, and never "not found".
/// - An item that cannot be read is ``SettingsError/Code/corrupted`` and is kept.
/// - Names are not secret. Items are, and no error contains a part of one.
package protocol SecretStore: Sendable {
    /// The kind and the place of the store, as the database records it. A store with another kind has other items.
    var kind: String { get }

    /// The kind with the place relative to the database's folder. Nil for a store without such a place.
    var movingKind: String? { get }

    /// Reads an item, or returns nil if it does not exist.
    ///
    /// - Parameter required: an item that only the expected store has. If the first item is missing, this one has to be
    ///   there at the same moment.
    /// - Throws: ``lost`` if the required item is missing.
    func read(_ item: String, requiring required: String?) async throws -> Data?

    /// Changes an item atomically.
    ///
    /// - Parameters:
    ///   - required: an item that only the expected store has. Without it nothing is changed.
    ///   - body: receives a closure that reads the item.
    /// - Throws: ``lost`` if the required item is missing.
    func update(
        _ item: String, requiring required: String?,
        _ body: @escaping @Sendable (() throws -> Data?) throws -> SecretChange
    ) async throws

    /// Returns the names of this database's items.
    func items() async throws -> [String]

    /// Returns a stamp that differs after another process has changed an item.
    func stamp() async throws -> String?
}

extension SecretStore {
    package var movingKind: String? { nil }

    /// The error of a store that is not the one with the secrets.
    package var lost: SettingsError {
        SettingsError(
            .keychainReplaced,
            message: """
                \(kind) has lost the secrets of this database. It was emptied, or it has replaced another one. Put \
                back the former one. If it is lost for good, adoptKeychain() starts without its secrets.
                """)
    }
}

/// The result of a change of an item.
package enum SecretChange: Sendable {
    case keep
    case put(Data)
    case remove
}

/// The database that secrets belong to.
package struct SecretOwner: Sendable {
    /// The id that distinguishes its items from those of other databases.
    package let installID: FileID
    /// The path of the database file, or empty for a database in memory.
    package let databasePath: String
    /// The clock for deadlines.
    package let clock: any Clock<Duration>

    package init(installID: FileID, databasePath: String, clock: any Clock<Duration> = ContinuousClock()) {
        self.installID = installID
        self.databasePath = databasePath
        self.clock = clock
    }
}
