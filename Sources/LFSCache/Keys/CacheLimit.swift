/// How much is kept of a kind. No entry is larger than a tenth of the bytes, or one would evict all others.
public struct CacheLimit: Hashable, Sendable {
    /// How many entries at the most; 0 keeps none.
    public var count: Int
    /// How many bytes at the most.
    public var byteCount: Int

    /// A limit. Less than 0 counts as 0.
    ///
    /// - Parameters:
    ///   - count: how many entries at the most.
    ///   - byteCount: how many bytes at the most.
    public init(count: Int, byteCount: Int = 512 << 20) {
        self.count = max(count, 0)
        self.byteCount = max(byteCount, 0)
    }

    /// The largest entry that is kept, in bytes.
    var largestEntry: Int { count > 0 ? byteCount / 10 : -1 }

    func holds(count: Int, byteCount: Int) -> Bool { count <= self.count && byteCount <= self.byteCount }

    /// To what the disk is emptied when it has passed the limit, so that not every entry has to evict one. A kind that
    /// keeps any keeps the newest.
    var floor: CacheLimit {
        CacheLimit(count: count == 0 ? 0 : max(count / 10 * 9 + count % 10 * 9 / 10, 1), byteCount: byteCount / 10 * 9)
    }
}
