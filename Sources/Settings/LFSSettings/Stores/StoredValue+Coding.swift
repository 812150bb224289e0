import Crypto
import Foundation

/// The format of a stored value in a file or in an item of a key chain: `LFSV`, version 1, length and text of the
/// serializer's id, its version, the time, length of the bytes, the bytes, SHA-256 (FIPS 180-4).
///
/// Numbers have the most significant byte first. Lengths have 4 bytes, other numbers 8. The digest covers everything
/// before it and the place of the value, so that a file under the name of another key counts as damaged.
extension StoredValue {
    private static let magic = Data("LFSV".utf8) + [1]
    private static let digestCount = SHA256.byteCount

    /// The maximum size in bytes in addition to the value.
    static let longestFrame = 4_096

    func encoded(for place: String) -> Data {
        var bytes = Self.magic
        bytes.append(UInt32(content.serializer.utf8.count))
        bytes.append(contentsOf: content.serializer.utf8)
        bytes.append(UInt64(bitPattern: Int64(content.version)))
        bytes.append(UInt64(bitPattern: updatedAt))
        bytes.append(UInt32(content.bytes.count))
        bytes.append(content.bytes)
        return bytes + Self.digest(bytes, place: place)
    }

    /// - Throws: ``SettingsError/Code/corrupted``, and ``SettingsError/Code/newerValue`` for a later format.
    init(encoded bytes: Data, for place: String) throws(SettingsError) {
        guard bytes.count >= Self.magic.count + Self.digestCount, bytes.prefix(4) == Self.magic.prefix(4) else {
            throw Self.damaged
        }
        let body = bytes.dropLast(Self.digestCount)
        guard Data(Self.digest(Data(body), place: place)) == bytes.suffix(Self.digestCount) else { throw Self.damaged }
        guard body.dropFirst(4).first == Self.magic.last else {
            throw SettingsError(
                .newerValue, message: "The value was stored in a newer format. It is left unchanged. Update the app.")
        }
        var reader = ByteReader(body.dropFirst(Self.magic.count))
        guard let serializer = reader.text(), let version = reader.number(), let time = reader.number(),
            let value = reader.bytes(), reader.isAtEnd, let number = Int(exactly: version)
        else { throw Self.damaged }
        self.init(SerializedValue(serializer: serializer, version: number, bytes: value), updatedAt: time)
    }

    private static func digest(_ bytes: Data, place: String) -> SHA256.Digest {
        var function = SHA256()
        function.update(data: bytes)
        function.update(data: Data(place.utf8))
        return function.finalize()
    }

    static var damaged: SettingsError {
        SettingsError(
            .corrupted,
            message: """
                The stored value is incomplete, damaged, changed by another program, or belongs to another key. It is \
                left unchanged. Restore it from a backup, or set or remove the key.
                """)
    }
}

extension Data {
    /// Appends a number with its most significant byte first.
    mutating func append(_ number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}

/// A reader for the numbers and texts that `append` writes. The bytes are untrusted: no input crashes the process.
struct ByteReader {
    private var rest: Data

    init(_ bytes: Data) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func number() -> Int64? {
        take(8).map { Int64(bitPattern: $0.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }) }
    }

    mutating func length() -> Int? { take(4).map { $0.reduce(0) { $0 << 8 | Int($1) } } }

    mutating func bytes() -> Data? { length().flatMap { take($0) } }

    mutating func text() -> String? { bytes().flatMap { String(validating: $0, as: UTF8.self) } }

    mutating func take(_ count: Int) -> Data? {
        guard rest.count >= count else { return nil }
        let taken = Data(rest.prefix(count))
        rest = rest.dropFirst(count)
        return taken
    }
}
