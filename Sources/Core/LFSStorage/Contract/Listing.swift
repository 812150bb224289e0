/// A request for a page of objects.
public struct ListRequest: Hashable, Sendable {
    /// The prefix of the keys, empty for all.
    public var prefix: String
    /// The ``ListPage/next`` of the previous page, or nil for the first page.
    public var continuation: String?
    /// The most objects on a page. Numbers below 1 become 1.
    public var limit: Int { didSet { limit = max(limit, 1) } }

    /// Creates a request for the first page, or for the page after a previous one.
    ///
    /// - Parameters:
    ///   - prefix: the prefix of the keys, empty for all.
    ///   - continuation: the ``ListPage/next`` of the previous page, which must have the same prefix.
    ///   - limit: the most objects. A storage may return fewer together with a next page.
    public init(prefix: String, continuation: String? = nil, limit: Int = 1_000) {
        self.prefix = prefix
        self.continuation = continuation
        self.limit = max(limit, 1)
    }
}

/// A page of a listing.
public struct ListPage: Hashable, Sendable {
    /// The objects in the order of their keys' bytes. Checksums may be missing, even if ``RemoteStorage/head(_:)``
    /// returns them.
    public var objects: [RemoteObject]
    /// The continuation for the next page, or nil on the last one.
    public var next: String?

    /// Creates a page as a storage returns it.
    ///
    /// - Parameters:
    ///   - objects: the objects in the order of their keys' bytes. The array may be empty even if there is a next page.
    ///   - next: a text in the storage's own format, or nil on the last page.
    public init(objects: [RemoteObject], next: String? = nil) {
        self.objects = objects
        self.next = next
    }
}
