/// The content of a cache, and its statistics since it was opened.
public struct CacheUsage: Hashable, Sendable {
    /// A number of entries and bytes.
    public struct Amount: Hashable, Sendable {
        /// The number of entries.
        public var count = 0
        /// The number of bytes.
        public var byteCount = 0
    }

    /// The content of one kind.
    public struct Kind: Hashable, Sendable {
        /// The entries on the disk. The bytes are those of the contents.
        public var disk = Amount()
        /// The entries in memory. The bytes are the costs that ``CacheOptions/memoryLimits`` defines.
        public var memory = Amount()
    }

    /// The content of each kind.
    public var kinds: [CacheKind: Kind] = [:]
    /// The number of reads that memory answered.
    public var memoryHits = 0
    /// The number of reads that the disk answered.
    public var diskHits = 0
    /// The number of loads, including failed ones.
    public var loads = 0
    /// The number of failures to read or write the disk. They cost time but lose no data.
    public var failures = 0
    /// The last of these failures.
    public var lastFailure: String?
    /// The number of entries that were dropped because their checksums did not match.
    public var damagedEntries = 0

    /// Creates a usage without entries.
    package init() {}
}
