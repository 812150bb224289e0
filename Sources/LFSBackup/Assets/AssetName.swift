import LFSDatabase

/// What a source calls an original, such as a path or the identifier of a photo: bytes, which are text nearly always.
///
/// Linux does not require a path to be text, and two texts that Swift holds for equal (é composed or not) are two
/// files.
public struct AssetName: Hashable, Sendable, CustomStringConvertible {
    /// The exact bytes.
    public let bytes: [UInt8]

    /// A name from its bytes.
    public init(bytes: [UInt8]) { self.bytes = bytes }
    /// A name from a text.
    public init(_ text: String) { bytes = Array(text.utf8) }

    /// The exact text; nil when the bytes are none.
    public var text: String? { String(validating: bytes, as: UTF8.self) }

    /// For people: what is no text shows as U+FFFD, and control characters as escapes, so that a name cannot break a
    /// line or a terminal.
    public var description: String {
        String(decoding: bytes, as: UTF8.self).unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: text += scalar.escaped(asASCII: true)
            default: text.unicodeScalars.append(scalar)
            }
        }
    }

    var source: SourceID { SourceID(bytes: bytes) }

    /// All bytes at once: as an array they would go in one by one, which took a tenth of a walk's time.
    public func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

    // MARK: As a path

    static let slash = UInt8(ascii: "/")

    /// What is between the slashes.
    var components: [[UInt8]] { bytes.split(separator: Self.slash).map(Array.init) }

    /// The part behind the last slash.
    public var lastComponent: AssetName { AssetName(bytes: components.last ?? bytes) }

    func appending(_ name: [UInt8]) -> AssetName {
        AssetName(bytes: bytes.last == Self.slash ? bytes + name : bytes + [Self.slash] + name)
    }

    /// The path from the root of the file system, with `.` and `..` resolved by name.
    func absolute(from folder: String) -> AssetName {
        var parts = bytes.first == Self.slash ? [] : AssetName(folder).components
        for component in components where component != [0x2E] {
            if component == [0x2E, 0x2E] { _ = parts.popLast() } else { parts.append(component) }
        }
        return AssetName(bytes: [Self.slash] + Array(parts.joined(separator: [Self.slash])))
    }

    /// Calls the body with the path as C has it.
    func withCString<Result>(_ body: (UnsafePointer<CChar>) throws -> Result) rethrows -> Result {
        try (bytes.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { buffer in
            // The buffer holds at least the final zero.
            try body(buffer.baseAddress.unsafelyUnwrapped)
        }
    }
}
