package import LFSSystem

/// What the object keys of one database begin with: half a SHA-256 of its id, so that keys spread over a bucket.
package struct Namespace: Hashable, Sendable {
    package let text: String

    package init(ofDatabase databaseID: String) {
        text = String(ContentHash.hex(ofText: databaseID).prefix(32))
    }

    /// The first part of the keys, with the slash behind it.
    package var prefix: String { text + "/" }

    /// The object key of a file that this database makes.
    package func key(of id: FileID) -> String { prefix + id.text }

    /// Whether the file with this key was made by this database.
    package func isOurs(_ key: String) -> Bool { key.hasPrefix(prefix) }

    /// The id in a key of this database; nil for a key that it did not make.
    package func id(inKey key: String) -> FileID? {
        isOurs(key) ? FileID(text: String(key.dropFirst(prefix.utf8.count))) : nil
    }
}
