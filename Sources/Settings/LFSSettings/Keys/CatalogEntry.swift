/// An entry of a catalog: a key or a family of keys.
///
/// Only ``StorageKey`` and ``StorageKey/Family`` conform. An app does not add conformances.
public protocol CatalogEntry: Sendable {
    /// The entry without the type of its values.
    var registration: KeyRegistration { get }
}

/// The type-erased form of a key or a family, which a catalog stores.
public struct KeyRegistration: Sendable {
    let info: KeyInfo
}

extension StorageKey: CatalogEntry {
    /// The key without the type of its values.
    public var registration: KeyRegistration { KeyRegistration(info: info()) }
}

extension StorageKey.Family: CatalogEntry {
    /// The family without the type of its values.
    public var registration: KeyRegistration { KeyRegistration(info: pattern.info(isFamily: true)) }
}
