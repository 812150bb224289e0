import Foundation

/// A passphrase of the user. It never appears in a description or a dump.
public struct Passphrase: Sendable, CustomStringConvertible, CustomReflectable {
    let bytes: Data

    /// Creates a passphrase from text. It is stored as the UTF-8 of the canonical composition (NFC, UAX #15), so that
    /// different keyboards produce the same passphrase.
    public init(_ text: String) { bytes = Data(text.precomposedStringWithCanonicalMapping.utf8) }

    /// A fixed text that reveals nothing of the passphrase.
    public var description: String { "a passphrase" }
    /// An empty mirror, so that a dump shows nothing of the passphrase.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
