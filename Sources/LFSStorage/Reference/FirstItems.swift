/// The first items of a listing's page, in the order of their keys' bytes, while they come in no order: in memory for
/// twice as many as the page has, however many there are.
package struct FirstItems<Item> {
    private let request: ListRequest
    private let key: @Sendable (Item) -> ObjectKey
    private var kept: [Item] = []
    /// Whether what is kept is in order, and no more than is wanted.
    private var isCut = true

    /// - Parameter key: by which items are in order.
    package init(of request: ListRequest, key: @escaping @Sendable (Item) -> ObjectKey) {
        self.request = request
        self.key = key
    }

    /// One more than the request's limit, if there are so many.
    package var items: [Item] {
        mutating get {
            cut()
            return kept
        }
    }

    /// Takes an item, also one that the request has not asked for.
    package mutating func add(_ item: Item) {
        guard request.asks(for: key(item).rawValue) else { return }
        kept.append(item)
        isCut = false
        if kept.count > 2 * (request.limit + 1) { cut() }
    }

    /// Whether nothing in a folder can be among them any more.
    ///
    /// - Parameter folder: its path, with a slash at its end.
    package mutating func areBefore(_ folder: String) -> Bool {
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
    /// Whether a key has the prefix and stands behind the position.
    package func asks(for key: String) -> Bool {
        key.hasPrefix(prefix) && (continuation.map { $0.utf8.lexicographicallyPrecedes(key.utf8) } ?? true)
    }

    /// Whether it may ask for something in a folder.
    ///
    /// - Parameter folder: its path, with a slash at its end.
    package func mayLead(into folder: String) -> Bool {
        guard folder.hasPrefix(prefix) || prefix.hasPrefix(folder) else { return false }
        guard let continuation else { return true }
        return !folder.utf8.lexicographicallyPrecedes(continuation.utf8) || continuation.hasPrefix(folder)
    }
}
