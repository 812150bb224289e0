public import GRDB

/// How much space local copies may take, and which of them stay in any case. As it comes, it evicts nothing.
///
/// ```swift
/// var policy = EvictionPolicy(maxByteCount: 2 << 30)
/// policy.keepsUsedWithin = .seconds(7 * 86_400)
/// policy.keep { FileData.filter(sql: "id IN (SELECT photoId FROM recipe WHERE isFavourite)") }
/// ```
///
/// ``maxByteCount`` and ``minAvailableByteCount`` say how much has to go; the copy that was not used for the longest
/// time goes first. All else says what stays, and that always wins: what could not be evicted for it is the
/// ``EvictionReport/shortfall``. Whatever the policy, a copy stays while its upload is not proven, while it is pinned,
/// and while this process reads it.
public struct EvictionPolicy: Sendable {
    /// Names files that stay. It is called when copies are evicted, so it may depend on the time.
    public typealias Request = @Sendable () -> QueryInterfaceRequest<FileData>

    /// How many bytes the files in the local store may have together; nil for any number.
    ///
    /// All of them count, also those that cannot go because they are not uploaded yet. What waits for its commit,
    /// unfinished downloads and damaged files in quarantine do not.
    public var maxByteCount: Int64?
    /// How many bytes the disk of the local store shall have left; nil for any number.
    public var minAvailableByteCount: Int64?
    /// A copy stays for this long after its last use, and after its file was made if it was never used.
    public var keepsUsedWithin: Duration?
    /// Media types that stay, such as `image/jpeg` or `image/*`, in upper or lower case.
    public var keepsContentTypes: [String] = []
    /// What is done with a copy whose object the storage vouches for by its size alone (``FileData/Proof/byteCount``).
    public enum Unproven: Hashable, Sendable {
        /// The object is read back and compared first, once for each file; what cannot be read back stays.
        case readBack
        /// The copy stays.
        case keep
        /// The copy goes, though nobody has seen that the storage has the right bytes.
        case evict
    }

    /// What is done with copies of files whose objects are not proven.
    public var unproven = Unproven.readBack
    /// The requests of ``keep(_:)``.
    public private(set) var requests: [Request] = []

    /// A policy with its aims.
    public init(maxByteCount: Int64? = nil, minAvailableByteCount: Int64? = nil) {
        self.maxByteCount = maxByteCount
        self.minAvailableByteCount = minAvailableByteCount
    }

    /// Keeps the files that a request names. Called again, it keeps those of the other request as well.
    ///
    /// - Parameter request: made anew whenever copies are evicted, while the database is used: it builds a request, and
    ///   does not touch the database itself. It may have an order and a limit: "the last hundred". While it fails
    ///   nothing is evicted, which the log warns of.
    public mutating func keep(_ request: @escaping Request) { requests.append(request) }

    /// Whether it can free anything.
    var hasAim: Bool { maxByteCount != nil || minAvailableByteCount != nil }

    /// How many bytes have to go.
    ///
    /// - Parameters:
    ///   - byteCount: of the local copies, with what is about to come.
    ///   - available: how many bytes the disk has left, less what is about to come.
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
