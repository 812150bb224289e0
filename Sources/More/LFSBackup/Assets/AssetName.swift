import LFSDatabase

/// The name of an original in its source, such as a path or the identifier of a photo. It consists of bytes, which are
/// almost always valid text.
///
/// Linux paths need not be valid text. Two texts that Swift considers equal (é composed or decomposed) can be two
/// different files.
public struct AssetName: Hashable, Sendable, CustomStringConvertible {
    /// The exact bytes.
    public let bytes: [UInt8]

    /// Creates a name from its bytes.
    public init(bytes: [UInt8]) { self.bytes = bytes }
    /// Creates a name from a text.
    public init(_ text: String) { bytes = Array(text.utf8) }

    /// The exact text. Nil if the bytes are not valid UTF-8.
    public var text: String? { String(validating: bytes, as: UTF8.self) }

    /// A text for display. Invalid bytes appear as U+FFFD. Control characters are escaped, so that a name cannot break
    /// a line or a terminal.
    public var description: String {
        String(decoding: bytes, as: UTF8.self).unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: text += scalar.escaped(asASCII: true)
            default: text.unicodeScalars.append(scalar)
            }
        }
    }

    var source: SourceID { SourceID(bytes: bytes) }

    /// Hashes all bytes at once. As an array, each byte would be hashed separately, which took a tenth of the time of a
    /// walk.
    public func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

    // MARK: Paths

    static let slash = UInt8(ascii: "/")

    /// The parts between the slashes.
    var components: [[UInt8]] { bytes.split(separator: Self.slash).map(Array.init) }

    /// The part after the last slash.
    package var lastComponent: AssetName { AssetName(bytes: components.last ?? bytes) }

    func appending(_ name: [UInt8]) -> AssetName {
        AssetName(bytes: bytes.last == Self.slash ? bytes + name : bytes + [Self.slash] + name)
    }

    /// Returns the absolute path. `.` and `..` are resolved textually.
    func absolute(from folder: String) -> AssetName {
        var parts = bytes.first == Self.slash ? [] : AssetName(folder).components
        for component in components where component != [0x2E] {
            if component == [0x2E, 0x2E] { _ = parts.popLast() } else { parts.append(component) }
        }
        return AssetName(bytes: [Self.slash] + Array(parts.joined(separator: [Self.slash])))
    }

    /// Calls the body with the path as a C string.
    func withCString<Result>(_ body: (UnsafePointer<CChar>) throws -> Result) rethrows -> Result {
        try (bytes.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { buffer in
            // The buffer holds at least the final zero.
            try body(buffer.baseAddress.unsafelyUnwrapped)
        }
    }
}
