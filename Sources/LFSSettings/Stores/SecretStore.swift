package import Foundation

/// A service or a file that keeps secrets, each under a name.
///
/// Rules of an implementation:
/// - an item is whole or not there, whenever the process ends;
/// - a service that is locked, or does not answer in time, is ``SettingsError/Code/locked``, and never "not found";
/// - an item that cannot be read is ``SettingsError/Code/corrupted`` and stays;
/// - names are not secret, items are, and no error has a part of one.
package protocol SecretStore: Sendable {
    /// What the database notes of the kind and the place of the store; another one has other items.
    var kind: String { get }

    /// Nil when there is no such item.
    func read(_ item: String) async throws -> Data?

    /// Changes an item while nobody else does; nil removes it.
    ///
    /// - Parameter body: gets a closure that reads the item.
    func update(_ item: String, _ body: @escaping @Sendable (() throws -> Data?) throws -> SecretChange) async throws

    /// The items of this database.
    func items() async throws -> [String]

    /// Something that is another after another process has changed an item.
    func stamp() async throws -> String?
}

/// What becomes of an item.
package enum SecretChange: Sendable {
    case keep
    case put(Data)
    case remove
}
