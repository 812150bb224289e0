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

    /// Creates a catalog.
    ///
    /// - Parameters:
    ///   - name: identifies the catalog in the database, and must not change.
    ///   - version: the version of the data that this app writes, from 1 on. Data of a higher version is not touched
    ///     (``SettingsError/Code/newerData``).
    ///   - steps: migrate data from one version to the next. A version without a step changes nothing.
    ///   - keys: ``StorageKey`` and ``StorageKey/Family``.
    public init(
        _ name: String, version: Int = 1, steps: [DataStep] = [],
        @CatalogBuilder keys: () -> [any CatalogEntry]
    ) {
        self.name = name
        self.version = version
        self.steps = steps
        self.keys = keys().map(\.registration)
    }
}

/// The result builder for the list of a catalog's keys.
@resultBuilder
public enum CatalogBuilder {
    /// Adds one entry.
    public static func buildExpression(_ entry: any CatalogEntry) -> [any CatalogEntry] { [entry] }
    /// Adds the entries of an array.
    public static func buildExpression(_ entries: [any CatalogEntry]) -> [any CatalogEntry] { entries }
    /// Joins the entries of a block.
    public static func buildBlock(_ parts: [any CatalogEntry]...) -> [any CatalogEntry] { parts.flatMap { $0 } }
    /// Adds the entries of an `if`.
    public static func buildOptional(_ part: [any CatalogEntry]?) -> [any CatalogEntry] { part ?? [] }
    /// Adds the entries of the first branch.
    public static func buildEither(first part: [any CatalogEntry]) -> [any CatalogEntry] { part }
    /// Adds the entries of the second branch.
    public static func buildEither(second part: [any CatalogEntry]) -> [any CatalogEntry] { part }
    /// Adds the entries of a loop.
    public static func buildArray(_ parts: [[any CatalogEntry]]) -> [any CatalogEntry] { parts.flatMap { $0 } }
    /// Adds the entries of an availability check.
    public static func buildLimitedAvailability(_ part: [any CatalogEntry]) -> [any CatalogEntry] { part }
}

/// An entry of a catalog: a key or a family of keys.
///
/// Only ``StorageKey`` and ``StorageKey/Family`` conform. An app does not add conformances.
public protocol CatalogEntry: Sendable {
    /// The entry without the type of its values.
    var registration: KeyInfo { get }
}

extension StorageKey: CatalogEntry {
    /// The key without the type of its values.
    public var registration: KeyInfo { info() }
}

extension StorageKey.Family: CatalogEntry {
    /// The family without the type of its values.
    public var registration: KeyInfo { pattern.info(isFamily: true) }
}
