import LFSSystem

/// All that one device tells the others: for each key the value that was set last, as far as it knows, or that it was
/// removed.
///
/// A transport carries it by ``encoded()`` and ``init(encoded:limits:)``.
public struct CompanionState: Sendable, Hashable {
    /// What a device knows of one key.
    struct Entry: Sendable, Hashable {
        /// The later one of two devices' counts.
        let updateID: FileID
        /// Nil for a removed value.
        let content: SerializedValue?

        /// Whether it is to take the place of what a device has. Of one update there are two contents only where a
        /// database was copied, or somebody forges them: then the devices still agree on one.
        func wins(over other: Entry) -> Bool {
            if updateID != other.updateID { return updateID > other.updateID }
            guard let content else { return false }
            guard let standing = other.content else { return true }
            return Self.order(standing, content)
        }

        /// Bytes that it has under a name.
        func byteCount(of name: String) -> Int {
            guard let content else { return CompanionState.removalFrame + name.utf8.count }
            return CompanionState.entryFrame + name.utf8.count + content.serializer.utf8.count + content.bytes.count
        }

        private static func order(_ left: SerializedValue, _ right: SerializedValue) -> Bool {
            if left.bytes != right.bytes { return left.bytes.lexicographicallyPrecedes(right.bytes) }
            return (left.serializer, left.version) < (right.serializer, right.version)
        }
    }

    let deviceID: FileID
    /// How often everything was removed on the device. What it has published before counts no more for itself.
    let resetCount: Int64
    /// By the names of the keys.
    let entries: [String: Entry]

    /// The id of the device: lowercase letters, digits and dashes, the same for as long as its database.
    public var device: String { deviceID.text }

    init(deviceID: FileID, resetCount: Int64, entries: [String: Entry]) {
        (self.deviceID, self.resetCount, self.entries) = (deviceID, resetCount, entries)
    }
}

extension CompanionState: CustomStringConvertible, CustomReflectable {
    /// The device and how many keys there are. It has no value.
    public var description: String { "\(entries.count) keys of \(device)" }
    /// Empty: the values may be secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
