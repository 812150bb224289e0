import Crypto
public import Foundation
import LFSSystem

/// The form of a state: `LFSC`, version 1, the id of the device (16 bytes), how often it was reset, the number of keys,
/// the keys in the order of their names, SHA-256 (FIPS 180-4) of all before it.
///
/// A key is its name, the id of the update (16 bytes, UUID version 7), 1 for a removed value or 0, and then the id of
/// the serializer, its version, and the bytes. Numbers have the most significant byte first: lengths and counts have 4
/// bytes, the others 8; texts and bytes have their length before them.
extension CompanionState {
    private static let magic = Data("LFSC".utf8)
    private static let version: UInt8 = 1
    private static let digestCount = SHA256.byteCount
    /// Bytes of a state without keys.
    static let frame = magic.count + 1 + 16 + 8 + 4 + digestCount
    /// Bytes of a key beside its name, its serializer's id and its value.
    static let entryFrame = 4 + 16 + 1 + 4 + 8 + 4
    /// Bytes of a removed key beside its name.
    static let removalFrame = 4 + 16 + 1
    private static let shortestEntry = removalFrame + 1

    /// The bytes that another device reads. The same state has the same bytes.
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

    /// Reads what ``encoded()`` has made. The bytes are input: whatever they are, this ends with an error at most.
    ///
    /// - Parameters:
    ///   - bytes: those of a device.
    ///   - limits: more bytes are an error.
    /// - Throws: ``SettingsError/Code/tooLarge``; ``SettingsError/Code/newerValue`` for a later form;
    ///   ``SettingsError/Code/corrupted``.
    public init(encoded bytes: Data, limits: CompanionLimits) throws(SettingsError) {
        guard bytes.count <= limits.stateByteCount else { throw Self.tooLarge(Int64(bytes.count), limits) }
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
        guard let updateID = reader.fileID(), updateID.bits.areOfVersion7, let isRemoved = reader.take(1)?.first else {
            return nil
        }
        if isRemoved == 1 { return Entry(updateID: updateID, content: nil) }
        guard isRemoved == 0, let serializer = reader.text(), let number = reader.number(),
            let version = Int(exactly: number), let bytes = reader.bytes()
        else { return nil }
        return Entry(
            updateID: updateID, content: SerializedValue(serializer: serializer, version: version, bytes: bytes))
    }

    /// Bytes that the state has when it is encoded.
    var byteCount: Int {
        entries.reduce(Self.frame) { count, item in count + item.value.byteCount(of: item.key) }
    }

    /// Bytes of a state that has the largest value of a key, or of a member of a family, and no other.
    static func byteCount(ofLargest value: Int, _ key: KeyInfo) -> Int {
        let name = key.isFamily ? StorageLimits.name : key.name.utf8.count
        return frame + entryFrame + name + key.serializer.utf8.count + value
    }

    private static var damaged: SettingsError {
        SettingsError(
            .corrupted,
            """
            What a device has published is damaged, or another program has written it. Nothing of it is taken. The \
            device mends it when it publishes again; if there is no such device any more, remove it from the transport.
            """)
    }

    private static var newer: SettingsError {
        SettingsError(
            .newerValue,
            """
            What a device has published is of a later form, and this app does not know it. Nothing of it is taken, and \
            it stays as it is: update the app.
            """)
    }

    static func tooLarge(_ byteCount: Int64, _ limits: CompanionLimits) -> SettingsError {
        SettingsError(
            .tooLarge,
            """
            What a device has published has \(byteCount) bytes, and \(limits.stateByteCount) are the limit. Nothing of \
            it is taken: raise CompanionLimits.stateByteCount on all devices, or remove it from the transport.
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
