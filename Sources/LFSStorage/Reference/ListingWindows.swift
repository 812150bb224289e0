import Synchronization

/// What one walk through a folder tree has found, in the order of the keys, kept for the pages that are asked for next.
///
/// A folder gives its names in no order, so every walk reads all of it. A walk for each page would make a listing of n
/// objects cost n times n; one walk for each ``size`` keys does not, and the memory stays bounded. A page that no
/// window has, such as the first of a listing, is the first of a walk of its own.
///
/// Owner of its state: the mutex, which is not held during a walk.
package final class ListingWindows<Item: Sendable>: Sendable {
    private struct Window {
        let prefix: String
        /// The last key of the page before.
        let position: String
        let items: ArraySlice<Item>
        /// Whether there are more behind them.
        let hasMore: Bool
    }

    /// How many listings may be under way before the oldest has to walk again.
    private static var limit: Int { 2 }

    private let windows = Mutex<[Window]>([])
    private let size: Int
    private let key: @Sendable (Item) -> ObjectKey

    /// - Parameters:
    ///   - size: how many items a walk brings at the most.
    ///   - key: by which items are in order.
    package init(size: Int, key: @escaping @Sendable (Item) -> ObjectKey) {
        self.size = size
        self.key = key
    }

    package struct Page: Sendable {
        package var items: [Item]
        /// Where the next page begins; nil on the last one.
        package var next: String?
    }

    /// A page.
    ///
    /// - Parameter walk: brings the first items of a request, in order: one more than its limit, if there are so many.
    package func page(_ request: ListRequest, _ walk: (ListRequest) throws -> [Item]) throws -> Page {
        try kept(request) ?? page(request, of: walk(whole(request)))
    }

    /// A page that an earlier walk has brought, if there is one.
    package func kept(_ request: ListRequest) -> Page? { take(request).map { cut($0, request) } }

    /// What a walk has to bring, so that the pages after this one need none.
    package func whole(_ request: ListRequest) -> ListRequest {
        var whole = request
        whole.limit = max(request.limit, size)
        return whole
    }

    /// A page of what a walk has brought.
    ///
    /// - Parameter items: of ``whole(_:)``: one more than its limit, if there are so many.
    package func page(_ request: ListRequest, of items: [Item]) -> Page {
        let limit = whole(request).limit
        let window = Window(
            prefix: request.prefix, position: request.continuation ?? "", items: items.prefix(limit),
            hasMore: items.count > limit)
        return cut(window, request)
    }

    private func cut(_ window: Window, _ request: ListRequest) -> Page {
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
