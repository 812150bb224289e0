/// The keys of an app, or of a part of one, with the version of their data.
///
/// ```swift
/// let catalog = StorageCatalog("recipes", version: 3) {
///     StorageKey<Bool>.backupRequiresWiFi
///     StorageKey<String>.accessToken
/// }
/// ```
public struct StorageCatalog: Sendable {
    /// The catalog's name in the database.
    public let name: String
    /// The version of the data that this app writes, from 1 on.
    public let version: Int
    let steps: [DataStep]
    let keys: [KeyInfo]

    /// A catalog.
    ///
    /// - Parameters:
    ///   - name: stands for it in the database, and must not change.
    ///   - version: of the data that this app writes, from 1 on. Data of a higher one is not touched:
    ///     ``SettingsError/Code/newerData``.
    ///   - steps: bring data from one version to the next; a version without a step has nothing to change.
    ///   - keys: ``StorageKey`` and ``StorageKey/Family``.
    public init(
        _ name: String, version: Int = 1, steps: [DataStep] = [],
        @CatalogBuilder keys: () -> [any CatalogEntry]
    ) {
        (self.name, self.version, self.steps) = (name, version, steps)
        self.keys = keys().map(\.registration.info)
    }
}

/// Makes the list of a catalog.
@resultBuilder
public enum CatalogBuilder {
    /// One entry.
    public static func buildExpression(_ entry: any CatalogEntry) -> [any CatalogEntry] { [entry] }
    /// Entries of an array.
    public static func buildExpression(_ entries: [any CatalogEntry]) -> [any CatalogEntry] { entries }
    /// All of a block.
    public static func buildBlock(_ parts: [any CatalogEntry]...) -> [any CatalogEntry] { parts.flatMap { $0 } }
    /// Those behind an `if`.
    public static func buildOptional(_ part: [any CatalogEntry]?) -> [any CatalogEntry] { part ?? [] }
    /// Those of the first branch.
    public static func buildEither(first part: [any CatalogEntry]) -> [any CatalogEntry] { part }
    /// Those of the second branch.
    public static func buildEither(second part: [any CatalogEntry]) -> [any CatalogEntry] { part }
    /// Those of a loop.
    public static func buildArray(_ parts: [[any CatalogEntry]]) -> [any CatalogEntry] { parts.flatMap { $0 } }
    /// Those of a platform.
    public static func buildLimitedAvailability(_ part: [any CatalogEntry]) -> [any CatalogEntry] { part }
}
