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
