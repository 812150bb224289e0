public import Foundation
public import LFSSystem

/// A local copy that was evicted, or would be.
public struct EvictedCopy: Identifiable, Hashable, Sendable {
    /// The file.
    public let id: FileID
    /// The size in bytes.
    public let byteCount: Int64
    /// When it was last used on this device, or made if it was never used, as far as it is known.
    public let lastUse: Date
}

/// Why a local copy stays. More reasons may come, so a `switch` needs a `default`.
public struct StayReason: RawRepresentable, Hashable, Codable, Sendable, CustomStringConvertible {
    /// The reason as text.
    public let rawValue: String
    /// A reason from its text.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The reason's text.
    public var description: String { rawValue }

    /// Its upload is not proven, or its object was found missing or damaged: these may be its only bytes.
    public static let notUploaded = StayReason(rawValue: "notUploaded")
    /// The storage vouches for the number of its bytes alone, and the object could not be read back; or the policy does
    /// not want that: ``EvictionPolicy/unproven``.
    public static let unproven = StayReason(rawValue: "unproven")
    /// No row has it. If its time is over, a sweep removes it.
    public static let orphaned = StayReason(rawValue: "orphaned")
    /// ``LFSManager/pin(_:)->()``.
    public static let pinned = StayReason(rawValue: "pinned")
    /// A request of the policy names it.
    public static let named = StayReason(rawValue: "named")
    /// ``EvictionPolicy/keepsContentTypes``.
    public static let contentType = StayReason(rawValue: "contentType")
    /// ``EvictionPolicy/keepsUsedWithin``.
    public static let recentlyUsed = StayReason(rawValue: "recentlyUsed")
    /// This process has it open, or a reader waits for it.
    public static let inUse = StayReason(rawValue: "inUse")
    /// It could go, but need not.
    public static let fits = StayReason(rawValue: "fits")

    /// Those of this version, in the order in which they are asked for.
    public static let all = [notUploaded, orphaned, pinned, named, contentType, recentlyUsed, unproven, inUse, fits]
}

/// What a ``LFSManager/evict(_:onCopy:)`` has evicted, or would evict, and what stays.
public struct EvictionReport: Hashable, Sendable {
    /// A number of local copies.
    public struct Amount: Hashable, Codable, Sendable {
        /// How many copies.
        public var files = 0
        /// Their bytes together.
        public var byteCount: Int64 = 0

        mutating func add(_ byteCount: Int64) {
            files += 1
            self.byteCount += byteCount
        }
    }

    /// What went, or would go.
    public internal(set) var evicted = Amount()
    /// What stays, by the first reason that holds for it.
    public internal(set) var stays: [StayReason: Amount] = [:]
    /// The bytes of unfinished downloads that went; ``LFSManager/evictAll()`` alone removes them.
    public internal(set) var unfinishedByteCount: Int64 = 0
    /// How many more bytes the policy wanted free than could go; 0 when its aims are met.
    public internal(set) var shortfall: Int64 = 0

    /// All that stays.
    public var staying: Amount {
        stays.values.reduce(into: Amount()) { sum, amount in
            sum.files += amount.files
            sum.byteCount += amount.byteCount
        }
    }

    mutating func addStaying(_ reason: StayReason, _ byteCount: Int64) {
        stays[reason, default: Amount()].add(byteCount)
    }
}
