import Crypto
public import Foundation
import LFSSystem

extension CompanionState {
    private static let magic = Data("LFSC".utf8)
    private static let version: UInt8 = 1
    private static let digestCount = SHA256.byteCount
    /// The size in bytes of a state without keys.
    static let frame = magic.count + 1 + 16 + 8 + 4 + digestCount
    /// The size in bytes of a key without its name, its serializer's id and its value.
    static let entryFrame = 4 + 16 + 1 + 4 + 8 + 4
    /// The size in bytes of a removed key without its name.
    static let removalFrame = 4 + 16 + 1
    private static let shortestEntry = removalFrame + 1

    /// Returns the bytes that another device reads. Equal states have equal bytes.
    ///
    /// The format: `LFSC`, version 1, the id of the device (16 bytes), the reset count, the number of keys, the keys in
    /// the order of their names, SHA-256 (FIPS 180-4) of everything before it.
    ///
    /// A key consists of its name, the id of the update (16 bytes, UUID version 7), and 1 for a removed value or 0.
    /// After a 0 follow the id of the serializer, its version, and the bytes. Numbers have the most significant byte
    /// first. Lengths and counts have 4 bytes, other numbers 8. Texts and bytes are preceded by their length.
    public func encoded() -> Data {
        var bytes = Self.magic
        bytes.append(Self.version)
        bytes.append(deviceID)
        bytes.append(UInt64(bitPattern: resetCount))
        bytes.append(UInt32(entries.count))
        for (name, entry) in entries.sorted(by: { $0.key < $1.key }) {
            bytes.appendText(name)
            bytes.append(entry.updateID)
            bytes.append(UInt8(entry.content == nil ? 1 : 0))
            guard let content = entry.content else { continue }
            bytes.appendText(content.serializer)
            bytes.append(UInt64(bitPattern: Int64(content.version)))
            bytes.append(UInt32(content.bytes.count))
            bytes.append(content.bytes)
        }
        return bytes + SHA256.hash(data: bytes)
    }

    /// Returns the bytes for a transport with these limits.
    ///
    /// - Throws: ``SettingsError/Code/tooLarge``.
    func encoded(within limits: CompanionLimits) throws(SettingsError) -> Data {
        let bytes = encoded()
        guard bytes.count <= limits.stateByteCount else { throw Self.tooLarge(Int64(bytes.count), limits: limits) }
        return bytes
    }

    /// Reads the bytes that ``encoded()`` returns. They are untrusted input: any bytes lead to a state or an error.
    ///
    /// - Parameters:
    ///   - bytes: the bytes that a device has published.
    ///   - limits: the limits. More bytes are an error.
    /// - Throws: ``SettingsError/Code/tooLarge``, ``SettingsError/Code/newerValue`` for a later format, and
    ///   ``SettingsError/Code/corrupted``.
    public init(encoded bytes: Data, limits: CompanionLimits) throws(SettingsError) {
        guard bytes.count <= limits.stateByteCount else { throw Self.tooLarge(Int64(bytes.count), limits: limits) }
        guard bytes.count >= Self.frame, bytes.prefix(Self.magic.count) == Self.magic else { throw Self.damaged }
        let body = bytes.dropLast(Self.digestCount)
        guard Data(SHA256.hash(data: body)) == bytes.suffix(Self.digestCount) else { throw Self.damaged }
        guard body.dropFirst(Self.magic.count).first == Self.version else { throw Self.newer }
        var reader = ByteReader(body.dropFirst(Self.magic.count + 1))
        guard let device = reader.fileID(), let resetCount = reader.number(), let count = reader.length(),
            count <= bytes.count / Self.shortestEntry
        else { throw Self.damaged }
        var entries: [String: Entry] = [:]
        entries.reserveCapacity(count)
        var last = ""
        for _ in 0..<count {
            guard let name = reader.text(), last < name, StorageLimits.isName(name), let entry = Self.entry(&reader)
            else { throw Self.damaged }
            entries[name] = entry
            last = name
        }
        guard reader.isAtEnd else { throw Self.damaged }
        self.init(deviceID: device, resetCount: resetCount, entries: entries)
    }

    private static func entry(_ reader: inout ByteReader) -> Entry? {
        guard let updateID = reader.fileID(), updateID.bits.isVersion7, let isRemoved = reader.take(1)?.first else {
            return nil
        }
        if isRemoved == 1 { return Entry(updateID: updateID, content: nil) }
        guard isRemoved == 0, let serializer = reader.text(), let number = reader.number(),
            let version = Int(exactly: number), let bytes = reader.bytes()
        else { return nil }
        return Entry(
            updateID: updateID, content: SerializedValue(serializer: serializer, version: version, bytes: bytes))
    }

    /// Returns the size in bytes of a state with one value of the given size, for a key or a member of a family.
    static func byteCount(ofLargest value: Int, _ key: KeyInfo) -> Int {
        let name = key.isFamily ? StorageLimits.name : key.name.utf8.count
        return frame + entryFrame + name + key.serializer.utf8.count + value
    }

    private static var damaged: SettingsError {
        SettingsError(
            .corrupted,
            message: """
                The published state of a device is damaged, or another program has written it. It is ignored. The \
                device replaces it when it publishes again. If the device no longer exists, remove the state from the \
                transport.
                """)
    }

    private static var newer: SettingsError {
        SettingsError(
            .newerValue,
            message: """
                The published state of a device has a newer format that this app does not support. It is ignored and \
                left unchanged. Update the app.
                """)
    }

    static func tooLarge(_ byteCount: Int64, limits: CompanionLimits) -> SettingsError {
        SettingsError(
            .tooLarge,
            message: """
                The published state of a device has \(byteCount) bytes, and the limit is \(limits.stateByteCount). It \
                is ignored. Raise CompanionLimits.stateByteCount on all devices, or remove the state from the transport.
                """)
    }
}

extension Data {
    fileprivate mutating func append(_ id: FileID) {
        append(id.bits.high)
        append(id.bits.low)
    }

    fileprivate mutating func appendText(_ text: String) {
        append(UInt32(text.utf8.count))
        append(contentsOf: text.utf8)
    }
}

extension ByteReader {
    fileprivate mutating func fileID() -> FileID? {
        guard let high = number(), let low = number() else { return nil }
        return FileID(FileID.Bits(high: UInt64(bitPattern: high), low: UInt64(bitPattern: low)))
    }
}
