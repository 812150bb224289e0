/// What a catalog lists: a key or a family of them.
///
/// ``StorageKey`` and ``StorageKey/Family`` are the two; an app makes none of its own.
public protocol CatalogEntry: Sendable {
    /// The entry without its type.
    var registration: KeyRegistration { get }
}

/// A key or a family in a catalog.
public struct KeyRegistration: Sendable {
    let info: KeyInfo
}

extension StorageKey: CatalogEntry {
    /// The key without its type.
    public var registration: KeyRegistration { KeyRegistration(info: info()) }
}

extension StorageKey.Family: CatalogEntry {
    /// The family without its type.
    public var registration: KeyRegistration { KeyRegistration(info: pattern.info(isFamily: true)) }
}
