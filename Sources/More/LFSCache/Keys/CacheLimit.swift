/// The limit of a kind. No entry may be larger than a tenth of the bytes, so that one entry cannot evict all others.
public struct CacheLimit: Hashable, Sendable {
    /// The maximum number of entries. 0 keeps none.
    public var count: Int
    /// The maximum number of bytes. The default is 512 MiB.
    public var byteCount: Int

    /// Creates a limit. Negative values count as 0.
    ///
    /// - Parameters:
    ///   - count: the maximum number of entries.
    ///   - byteCount: the maximum number of bytes.
    public init(count: Int, byteCount: Int = 512 << 20) {
        self.count = max(count, 0)
        self.byteCount = max(byteCount, 0)
    }

    /// The size of the largest entry that is kept, in bytes.
    var largestEntry: Int { count > 0 ? byteCount / 10 : -1 }

    func holds(count: Int, byteCount: Int) -> Bool { count <= self.count && byteCount <= self.byteCount }

    /// The level to which the disk is emptied when it exceeds the limit, so that not every new entry evicts one. Unless
    /// the limit is 0 entries, the newest entry is kept.
    var floor: CacheLimit {
        CacheLimit(count: count == 0 ? 0 : max(count / 10 * 9 + count % 10 * 9 / 10, 1), byteCount: byteCount / 10 * 9)
    }
}
