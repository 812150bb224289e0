public import GRDB

/// A limit for the space of local copies, and rules for copies that are always kept. The default policy evicts nothing.
///
/// ```swift
/// var policy = EvictionPolicy(maxByteCount: 2 << 30)
/// policy.keepsUsedWithin = .seconds(7 * 86_400)
/// policy.keep { FileData.filter(sql: "id IN (SELECT photoId FROM recipe WHERE isFavourite)") }
/// ```
///
/// ``maxByteCount`` and ``minAvailableByteCount`` determine how much is evicted. The least recently used copy is
/// evicted first. All other properties name copies that are kept, and they always win. Bytes that could not be evicted
/// because of them are the ``EvictionReport/shortfall``. Under every policy, a copy is kept while its file is not
/// uploaded, while it is pinned, and while this process reads it. ``unproven`` decides about a copy whose object the
/// storage confirms only by its size.
public struct EvictionPolicy: Sendable {
    /// Returns a request for files to keep. It is called at each eviction, so it may depend on the time.
    package typealias Request = @Sendable () -> QueryInterfaceRequest<FileData>

    /// The maximum size of all files in the local store in bytes. Nil for no limit.
    ///
    /// All files of the store count, including those that cannot be evicted because they are not uploaded yet. Files
    /// before their commit, unfinished downloads and damaged files in quarantine do not count.
    public var maxByteCount: Int64?
    /// The number of bytes that must stay available on the disk of the local store. Nil for no limit.
    public var minAvailableByteCount: Int64?
    /// The time for which a copy is kept after its last use, or after its file was made if it was never used. Nil keeps
    /// no copy for its age.
    public var keepsUsedWithin: Duration?
    /// Media types that are kept, such as `image/jpeg` or `image/*`. Case is ignored.
    public var keepsContentTypes: [String] = []
    /// The treatment of a copy whose object the storage confirms only by its size (``FileData/Proof/byteCount``).
    public enum Unproven: Hashable, Sendable {
        /// The object is read back and compared first, once per file. A copy is kept if its object cannot be read back.
        case readBack
        /// The copy is kept.
        case keep
        /// The copy is evicted, although the bytes on the storage were never checked.
        case evict
    }

    /// The treatment of copies whose objects are not proven. The default is `readBack`.
    public var unproven = Unproven.readBack
    /// The requests of ``keep(_:)``.
    package private(set) var requests: [Request] = []

    /// Creates a policy with its limits. Both are nil by default, which evicts nothing.
    public init(maxByteCount: Int64? = nil, minAvailableByteCount: Int64? = nil) {
        self.maxByteCount = maxByteCount
        self.minAvailableByteCount = minAvailableByteCount
    }

    /// Keeps the files that a request matches. A further call adds its request to the earlier ones.
    ///
    /// - Parameter request: called at each eviction while the database is in use. It builds a request and must not
    ///   access the database itself. The request may have an order and a limit, such as "the last hundred". While it
    ///   fails, nothing is evicted and the log has a warning.
    public mutating func keep(_ request: @escaping @Sendable () -> QueryInterfaceRequest<FileData>) {
        requests.append(request)
    }

    /// True if the policy has a limit, and so can free space.
    var hasAim: Bool { maxByteCount != nil || minAvailableByteCount != nil }

    /// Returns the number of bytes to evict.
    ///
    /// - Parameters:
    ///   - byteCount: the size of the local copies and of the downloads that are about to arrive.
    ///   - available: the bytes available on the disk, less the downloads that are about to arrive.
    func excess(byteCount: Int64, available: Int64) -> Int64 {
        let tooMany = maxByteCount.map { byteCount - max($0, 0) } ?? 0
        let tooFew = minAvailableByteCount.map { $0 - available } ?? 0
        return max(tooMany, tooFew, 0)
    }

    func keeps(contentType: String?) -> Bool {
        guard !keepsContentTypes.isEmpty, let contentType else { return false }
        // Parameters may follow the type: RFC 9110, section 8.3.1.
        let type = contentType.prefix { $0 != ";" && $0 != " " }.lowercased()
        return keepsContentTypes.contains { pattern in
            let pattern = pattern.lowercased()
            return pattern.hasSuffix("*") ? type.hasPrefix(pattern.dropLast()) : type == pattern
        }
    }
}
