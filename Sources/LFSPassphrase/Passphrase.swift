import Foundation

/// Words that a person knows. They never show in a description or a dump.
public struct Passphrase: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let bytes: Data

    /// A passphrase as the UTF-8 of its canonical composition (NFC, UAX #15), so that two keyboards type the same one.
    public init(_ text: String) { bytes = Data(text.precomposedStringWithCanonicalMapping.utf8) }

    /// Nothing of it.
    public var description: String { "a passphrase" }
    /// Nothing of it.
    public var debugDescription: String { description }
    /// Empty.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
