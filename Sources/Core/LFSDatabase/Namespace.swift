package import LFSSystem

/// The prefix of all object keys of one database: half the SHA-256 of its id, so that keys spread over a bucket.
package struct Namespace: Hashable, Sendable {
    package let text: String

    package init(ofDatabase databaseID: String) {
        text = String(ContentHash.hex(ofText: databaseID).prefix(32))
    }

    /// The prefix of the keys with its trailing slash.
    package var prefix: String { text + "/" }

    /// Returns the object key of a file that this database creates.
    package func key(of id: FileID) -> String { prefix + id.text }

    /// Returns true if this database created the file with this key.
    package func isOurs(_ key: String) -> Bool { key.hasPrefix(prefix) }

    /// Returns the id in a key of this database. Nil for a key of another database, and for a key without a valid id.
    package func id(inKey key: String) -> FileID? {
        isOurs(key) ? FileID(text: String(key.dropFirst(prefix.utf8.count))) : nil
    }
}
