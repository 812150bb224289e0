import Synchronization

/// A cache of the results of walks through a folder tree, in the order of the keys, for the following pages of a
/// listing.
///
/// A folder returns its names in no particular order, so every walk must read all of it. One walk per page would make
/// the cost of a listing of n objects quadratic. One walk per ``size`` keys avoids that, and memory stays bounded. A
/// page that no window contains, such as the first one of a listing, starts a new walk.
///
/// The mutex owns the state and is not held during a walk.
package final class ListingWindows<Item: Sendable>: Sendable {
    private struct Window {
        let prefix: String
        /// The last key of the previous page.
        let position: String
        let items: ArraySlice<Item>
        /// True if more items follow.
        let hasMore: Bool
    }

    /// The most concurrent listings. With one more, the oldest has to walk again.
    private static var limit: Int { 2 }

    private let windows = Mutex<[Window]>([])
    private let size: Int
    private let key: @Sendable (Item) -> ObjectKey

    /// - Parameters:
    ///   - size: the most items that a walk returns.
    ///   - key: returns the key by which items are sorted.
    package init(size: Int, key: @escaping @Sendable (Item) -> ObjectKey) {
        self.size = size
        self.key = key
    }

    package struct Page: Sendable {
        package var items: [Item]
        /// The start of the next page, or nil on the last one.
        package var next: String?
    }

    /// Returns a page.
    ///
    /// - Parameter walk: returns the first items of a request, in order: one more than its limit if there are enough.
    package func page(_ request: ListRequest, _ walk: (ListRequest) throws -> [Item]) throws -> Page {
        try kept(request) ?? page(request, of: walk(whole(request)))
    }

    /// Returns a page from an earlier walk, or nil if no window contains it.
    package func kept(_ request: ListRequest) -> Page? { take(request).map { cut($0, request: request) } }

    /// Returns the request for a walk that also covers the following pages.
    package func whole(_ request: ListRequest) -> ListRequest {
        var whole = request
        whole.limit = max(request.limit, size)
        return whole
    }

    /// Returns a page from the items of a walk, and keeps the rest for the following pages.
    ///
    /// - Parameter items: the items of ``whole(_:)``: one more than its limit if there are enough.
    package func page(_ request: ListRequest, of items: [Item]) -> Page {
        let limit = whole(request).limit
        let window = Window(
            prefix: request.prefix, position: request.continuation ?? "", items: items.prefix(limit),
            hasMore: items.count > limit)
        return cut(window, request: request)
    }

    private func cut(_ window: Window, request: ListRequest) -> Page {
        let page = window.items.prefix(request.limit)
        let rest = window.items.dropFirst(request.limit)
        guard let last = page.last.map(key)?.rawValue, window.hasMore || !rest.isEmpty else {
            return Page(items: Array(page))
        }
        if !rest.isEmpty {
            keep(Window(prefix: request.prefix, position: last, items: rest, hasMore: window.hasMore))
        }
        return Page(items: Array(page), next: last)
    }

    private func take(_ request: ListRequest) -> Window? {
        guard let continuation = request.continuation else { return nil }
        return windows.withLock { windows in
            for (index, window) in windows.enumerated()
            where window.prefix == request.prefix && window.position == continuation {
                return windows.remove(at: index)
            }
            return nil
        }
    }

    private func keep(_ window: Window) {
        windows.withLock { windows in
            windows.append(window)
            if windows.count > Self.limit { windows.removeFirst() }
        }
    }
}
