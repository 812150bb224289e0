/// A collector of the first items of a listing's page in the order of their keys' bytes, from items in any order. It
/// stores at most twice as many items as the page has, however many are added.
package struct FirstItems<Item> {
    private let request: ListRequest
    private let key: @Sendable (Item) -> ObjectKey
    private var kept: [Item] = []
    /// True if the stored items are sorted and not more than needed.
    private var isCut = true

    /// - Parameter key: returns the key by which items are sorted.
    package init(of request: ListRequest, key: @escaping @Sendable (Item) -> ObjectKey) {
        self.request = request
        self.key = key
    }

    /// The first items, one more than the request's limit if there are enough.
    package var items: [Item] {
        mutating get {
            cut()
            return kept
        }
    }

    /// Adds an item, or ignores it if the request does not match it.
    package mutating func add(_ item: Item) {
        guard request.asks(for: key(item).rawValue) else { return }
        kept.append(item)
        isCut = false
        if kept.count > 2 * (request.limit + 1) { cut() }
    }

    /// Returns true if no key in a folder can be among the first items any more.
    ///
    /// - Parameter folder: the path of the folder with a trailing slash.
    package mutating func precedes(_ folder: String) -> Bool {
        cut()
        guard kept.count > request.limit, let last = kept.last else { return false }
        return key(last).rawValue.utf8.lexicographicallyPrecedes(folder.utf8)
    }

    private mutating func cut() {
        if isCut { return }
        kept.sort { key($0).rawValue.utf8.lexicographicallyPrecedes(key($1).rawValue.utf8) }
        kept.removeLast(max(kept.count - request.limit - 1, 0))
        isCut = true
    }
}

extension ListRequest {
    /// Returns true if a key has the prefix and comes after the position.
    package func asks(for key: String) -> Bool {
        key.hasPrefix(prefix) && (continuation.map { $0.utf8.lexicographicallyPrecedes(key.utf8) } ?? true)
    }

    /// Returns true if the request may match a key in a folder.
    ///
    /// - Parameter folder: the path of the folder with a trailing slash.
    package func mayLead(into folder: String) -> Bool {
        guard folder.hasPrefix(prefix) || prefix.hasPrefix(folder) else { return false }
        guard let continuation else { return true }
        return !folder.utf8.lexicographicallyPrecedes(continuation.utf8) || continuation.hasPrefix(folder)
    }
}
