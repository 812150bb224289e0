/// What a cache holds, and how it fares since it was opened.
public struct CacheUsage: Hashable, Sendable {
    /// Entries and bytes.
    public struct Amount: Hashable, Sendable {
        /// How many entries.
        public var count = 0
        /// How many bytes.
        public var byteCount = 0
    }

    /// What one kind holds.
    public struct Kind: Hashable, Sendable {
        /// On the disk: the bytes of the contents.
        public var disk = Amount()
        /// In memory: what the entries cost by ``CacheOptions/memoryLimits``.
        public var memory = Amount()
    }

    /// What each kind holds.
    public var kinds: [CacheKind: Kind] = [:]
    /// How often a content was in memory.
    public var memoryHits = 0
    /// How often it was on the disk.
    public var diskHits = 0
    /// How often it was loaded, also in vain.
    public var loads = 0
    /// How often the disk could not be read or written. Nothing is lost by it but time.
    public var failures = 0
    /// The last of these failures.
    public var lastFailure: String?
    /// How many entries did not agree with their checksums and were dropped.
    public var damagedEntries = 0

    /// Nothing.
    public init() {}
}
