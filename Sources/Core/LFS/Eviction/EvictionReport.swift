package import Foundation
public import LFSSystem

/// A local copy that was evicted, or would be in a preview.
public struct EvictedCopy: Identifiable, Hashable, Sendable {
    /// The file.
    public let id: FileID
    /// The size in bytes.
    public let byteCount: Int64
    /// The last use on this device as far as it is known, or the time when the file was made if it was never used.
    package let lastUse: Date
}

/// The reason why a local copy is kept, in the order in which the reasons are checked.
public enum StayReason: String, CaseIterable, Codable, Sendable {
    /// The upload is not proven, or the object was found missing or damaged. The copy may be the only one.
    case notUploaded
    /// No row has the file. Only a verification with ``VerifyOptions/removesUnknown`` removes it.
    case orphaned
    /// The file is pinned by ``LFSManager/pin(_:)->()``.
    case pinned
    /// A request of the policy matches the file.
    case named
    /// The media type is one of ``EvictionPolicy/keepsContentTypes``.
    case contentType
    /// The last use is within ``EvictionPolicy/keepsUsedWithin``.
    case recentlyUsed
    /// The storage confirms only the number of bytes, and the object could not be read back, or the policy forbids it.
    /// See ``EvictionPolicy/unproven``.
    case unproven
    /// This process has the copy open, or a reader waits for it.
    case inUse
    /// The copy could be evicted, but the limits are met without that.
    case fits
}

/// The result of ``LFSManager/evict(_:onCopy:)``: the copies that were or would be evicted, and the copies that are
/// kept.
public struct EvictionReport: Hashable, Sendable {
    /// A number of local copies with their size.
    public struct Amount: Hashable, Codable, Sendable {
        /// The number of copies.
        public var files = 0
        /// The sum of their sizes in bytes.
        public var byteCount: Int64 = 0

        mutating func add(_ byteCount: Int64) {
            files += 1
            self.byteCount += byteCount
        }
    }

    /// The copies that were evicted, or would be.
    public internal(set) var evicted = Amount()
    /// The copies that are kept, by the first reason that applies.
    public internal(set) var stays: [StayReason: Amount] = [:]
    /// The bytes of removed unfinished downloads. Only ``LFSManager/evictAll()`` removes them.
    public internal(set) var unfinishedByteCount: Int64 = 0
    /// The bytes over the limits that could not be evicted. 0 when the limits are met.
    public internal(set) var shortfall: Int64 = 0

    /// All copies that are kept.
    public var staying: Amount {
        stays.values.reduce(into: Amount()) { sum, amount in
            sum.files += amount.files
            sum.byteCount += amount.byteCount
        }
    }

    mutating func addStaying(_ reason: StayReason, byteCount: Int64) {
        stays[reason, default: Amount()].add(byteCount)
    }
}
