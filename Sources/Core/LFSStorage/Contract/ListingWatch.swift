/// A check that ends a listing with an error if its pages repeat. A faulty server may return the same page forever. The
/// token for the next page may stay the same, alternate, or be a new one each time.
///
/// Names are sorted in ascending order, so a page should contain a name that is greater than all earlier ones. A page
/// without such a name is allowed, because some servers sort differently, and a page can be empty after many deletions.
/// ``patience`` consecutive pages without one are an error.
package struct ListingWatch: Sendable {
    /// The number of consecutive pages without a greater name that is an error.
    package static let patience = 1_000

    private let key: ObjectKey?
    private var last: String?
    private var idleCount = 0
    private var token: String?

    /// - Parameter key: the object that the listing concerns, if it is a single one.
    package init(key: ObjectKey? = nil) {
        self.key = key
    }

    /// Checks a page.
    ///
    /// - Parameters:
    ///   - names: the names on the page, in any order.
    ///   - next: the token of the next page, or nil for the last page, which is always accepted.
    /// - Throws: ``StorageError/Code/serverError`` if the listing would not end.
    package mutating func check(_ names: some Sequence<String>, next: String?) throws(StorageError) {
        guard let next else { return }
        guard next != token else { throw circle }
        token = next
        let greatest = names.max()
        if let greatest, last.map({ $0 < greatest }) ?? true {
            last = greatest
            idleCount = 0
            return
        }
        idleCount += 1
        guard idleCount < Self.patience else { throw circle }
    }

    private var circle: StorageError {
        StorageError(.serverError, message: "The storage returns the same page of its listing repeatedly.", key: key)
    }
}
