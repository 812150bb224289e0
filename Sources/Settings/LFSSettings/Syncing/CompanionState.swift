import LFSSystem

/// The settings that one device publishes to the others. For each key it contains the latest known value, or a record
/// of its removal.
///
/// A transport encodes it with ``encoded()`` and decodes it with ``init(encoded:limits:)``.
public struct CompanionState: Sendable, Hashable {
    /// The latest state of one key that a device knows.
    struct Entry: Sendable, Hashable {
        /// The id of the update. Of two devices' entries, the later id wins.
        let updateID: FileID
        /// Nil for a removed value.
        let content: SerializedValue?

        /// Returns true if this entry replaces that of a device. One update has two contents only after a database was
        /// copied, or if an attacker forges them. All devices then still choose the same one.
        func wins(over other: Entry) -> Bool {
            if updateID != other.updateID { return updateID > other.updateID }
            guard let content else { return false }
            guard let standing = other.content else { return true }
            return Self.order(standing, right: content)
        }

        /// Returns the size in bytes under a name.
        func byteCount(of name: String) -> Int {
            guard let content else { return CompanionState.removalFrame + name.utf8.count }
            return CompanionState.entryFrame + name.utf8.count + content.serializer.utf8.count + content.bytes.count
        }

        private static func order(_ left: SerializedValue, right: SerializedValue) -> Bool {
            if left.bytes != right.bytes { return left.bytes.lexicographicallyPrecedes(right.bytes) }
            return (left.serializer, left.version) < (right.serializer, right.version)
        }
    }

    let deviceID: FileID
    /// The number of removals of all values on the device. The device ignores states that it published before the
    /// latest one.
    let resetCount: Int64
    let entries: [String: Entry]

    /// The id of the device: lowercase letters, digits and dashes. It stays the same as long as the device's database.
    public var device: String { deviceID.text }
}

extension CompanionState: CustomStringConvertible, CustomReflectable {
    /// The device and the number of keys, without any value.
    public var description: String { "\(entries.count) keys of \(device)" }
    /// An empty mirror, because the values may be secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The limits for the time in the id of an update.
enum UpdateTime {
    /// The tolerated difference to a clock that is ahead, in milliseconds.
    static let furthestAhead: Int64 = 24 * 3_600_000

    /// The start of 2026, in milliseconds since 1970. A clock that shows an earlier time was never set, for example
    /// after its battery was empty.
    static let earliest: Int64 = 1_767_225_600_000

    /// The minimum time in milliseconds for which a removal is published: half a year.
    static let removalLifetime: Int64 = 180 * 24 * 3_600_000

    static func isLongAgo(_ milliseconds: Int64, now: Int64) -> Bool { milliseconds < now &- removalLifetime }

    static func isTooFarAhead(_ id: FileID, now: Int64) -> Bool { id.milliseconds > now &+ furthestAhead }
}
