import Synchronization

/// Keys that one walk through a folder tree has found, kept for the pages that are asked for next.
///
/// A folder gives its names in no order, so every walk reads all of it. A walk for each page would make a listing of n
/// objects cost n times n; one walk for each ``size`` keys does not, and the memory stays bounded. A page that no
/// window has, such as the first of a listing, is the first of a walk of its own.
///
/// Owner of its state: the mutex, which is not held during a walk.
final class ListingWindows: Sendable {
    private struct Window {
        let prefix: String
        /// The last key of the page before.
        let position: String
        let keys: ArraySlice<ObjectKey>
        /// Whether there are more keys behind them.
        let hasMore: Bool
    }

    /// How many keys a walk brings at the most.
    static let size = 1 << 16
    /// How many listings may be under way before the oldest has to walk again.
    private static let limit = 2

    private let windows = Mutex<[Window]>([])
    private let size: Int

    init(size: Int = ListingWindows.size) {
        self.size = size
    }

    struct Page: Sendable {
        var keys: [ObjectKey]
        /// Where the next page begins; nil on the last one.
        var next: String?
    }

    /// The keys of a page.
    ///
    /// - Parameter walk: brings the first keys of a request, in order: one more than its limit, if there are so many.
    func page(
        _ request: ListRequest, _ walk: (ListRequest) throws -> [ObjectKey]
    ) throws -> Page {
        let window: Window
        if let kept = take(request) { window = kept } else { window = try fill(request, walk) }
        let page = window.keys.prefix(request.limit)
        let rest = window.keys.dropFirst(request.limit)
        guard let last = page.last?.rawValue, window.hasMore || !rest.isEmpty else { return Page(keys: Array(page)) }
        if !rest.isEmpty {
            keep(Window(prefix: request.prefix, position: last, keys: rest, hasMore: window.hasMore))
        }
        return Page(keys: Array(page), next: last)
    }

    private func fill(_ request: ListRequest, _ walk: (ListRequest) throws -> [ObjectKey]) throws -> Window {
        var whole = request
        whole.limit = max(request.limit, size)
        let keys = try walk(whole)
        return Window(
            prefix: request.prefix, position: request.continuation ?? "", keys: keys.prefix(whole.limit),
            hasMore: keys.count > whole.limit)
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
