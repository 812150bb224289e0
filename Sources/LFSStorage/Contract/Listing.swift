/// Which objects to list, and where to go on.
public struct ListRequest: Hashable, Sendable {
    /// The text that a key begins with; empty for all.
    public var prefix: String
    /// The ``ListPage/next`` of the page before, nil for the first page.
    public var continuation: String?
    /// How many objects a page holds at the most: at least 1, and less counts as 1.
    public var limit: Int { didSet { limit = max(limit, 1) } }

    /// Asks for the first page, or for the one after a page that was read.
    ///
    /// - Parameters:
    ///   - prefix: the text that a key begins with; empty for all.
    ///   - continuation: the ``ListPage/next`` of the page before, with the same prefix.
    ///   - limit: how many objects at the most; a storage may give fewer and name a next page.
    public init(prefix: String, continuation: String? = nil, limit: Int = 1_000) {
        self.prefix = prefix
        self.continuation = continuation
        self.limit = max(limit, 1)
    }
}

/// One page of a listing.
public struct ListPage: Hashable, Sendable {
    /// Objects in the order of their keys' bytes. Checksums may be missing here even if ``RemoteStorage/head(_:)`` has
    /// them.
    public var objects: [RemoteObject]
    /// What to ask with for the next page; nil on the last one.
    public var next: String?

    /// A page as a storage answers it.
    ///
    /// - Parameters:
    ///   - objects: in the order of their keys' bytes. It may be empty although there is a next page.
    ///   - next: in the storage's own format; nil on the last page.
    public init(objects: [RemoteObject], next: String? = nil) {
        self.objects = objects
        self.next = next
    }
}
