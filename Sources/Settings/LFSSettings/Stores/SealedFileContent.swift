import Crypto
import Foundation

/// The content of a sealed file: `LFSS`, version 1, length and bytes of the note, number of items, for each the length
/// and text of its name and the length of its envelope, SHA-256 of all this, and then the envelopes.
///
/// Numbers have 4 bytes with the most significant first. Damage in an envelope affects only that item. The envelope of
/// a damaged item is written back unchanged.
struct SealedFileContent: Sendable {
    var note: Data?
    var items: [String: Data] = [:]

    /// Returns true if an item is encrypted with a key. Nil if no item names its key.
    func names(_ id: DataKeyID) -> Bool? {
        let ids = items.values.compactMap(Envelope.keyID(of:))
        return ids.isEmpty ? nil : ids.contains(id)
    }

    private static let magic = Data("LFSS".utf8) + [1]

    init() {}

    func encoded() throws -> Data {
        var bytes = Self.magic
        bytes.append(UInt32(note?.count ?? 0))
        bytes.append(note ?? Data())
        bytes.append(UInt32(items.count))
        let inOrder = items.sorted { $0.key < $1.key }
        for (name, envelope) in inOrder {
            bytes.append(UInt32(name.utf8.count))
            bytes.append(contentsOf: name.utf8)
            bytes.append(UInt32(envelope.count))
        }
        bytes.append(contentsOf: SHA256.hash(data: bytes))
        for (_, envelope) in inOrder { bytes.append(envelope) }
        return bytes
    }

    /// - Throws: ``SettingsError/Code/corrupted``, and ``SettingsError/Code/newerValue`` for a later format.
    init(encoded bytes: Data) throws(SettingsError) {
        var reader = ByteReader(bytes)
        guard let magic = reader.take(5), magic.prefix(4) == Self.magic.prefix(4) else { throw Self.damaged }
        guard magic == Self.magic else {
            throw SettingsError(
                .newerValue, message: "The sealed file has a newer format. It is left unchanged. Update the app.")
        }
        guard let note = reader.bytes(), let count = reader.length(), count <= bytes.count else { throw Self.damaged }
        var lengths: [(name: String, length: Int)] = []
        var listCount = 5 + 4 + note.count + 4
        for _ in 0..<count {
            guard let name = reader.text(), let length = reader.length() else { throw Self.damaged }
            lengths.append((name, length))
            listCount += 4 + name.utf8.count + 4
        }
        guard let digest = reader.take(SHA256.byteCount),
            Data(SHA256.hash(data: bytes.prefix(listCount))) == digest
        else { throw Self.damaged }
        for (name, length) in lengths {
            // A truncated file ends in the middle of an item. That item and those after it are damaged.
            items[name] = reader.take(length) ?? Data()
        }
        self.note = note.isEmpty ? nil : note
    }

    private static var damaged: SettingsError {
        SettingsError(
            .corrupted,
            message: """
                The sealed file is incomplete, damaged, or changed by another program. It is left unchanged, and \
                nothing is written to it. Restore it from a backup, or move it away and call adoptKeychain().
                """)
    }
}
