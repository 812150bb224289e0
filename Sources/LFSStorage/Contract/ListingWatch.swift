/// Ends a listing with an error when its pages go in circles. A faulty server may send the same page for ever, with the
/// same token for the next page, with tokens that alternate, or with a new token each time.
///
/// Names come in ascending order, so a page should bring a name that is greater than all before it. A page without one
/// is allowed, because some servers sort in another way and a page can be empty after many deletions. ``patience``
/// pages in a row without one are not.
package struct ListingWatch: Sendable {
    /// How many pages in a row may come without a name that is greater than all before it.
    package static let patience = 1_000

    private let key: ObjectKey?
    private var last: String?
    private var idleCount = 0
    private var token: String?

    /// - Parameter key: what the listing is about, if it is one object.
    package init(key: ObjectKey? = nil) {
        self.key = key
    }

    /// Looks at a page.
    ///
    /// - Parameters:
    ///   - names: what the page names, in any order.
    ///   - next: the token of the next page; nil for the last page, which always passes.
    /// - Throws: ``StorageError/Code/serverError`` when the listing would not end.
    package mutating func check(_ names: some Sequence<String>, next: String?) throws(StorageError) {
        guard let next else { return }
        guard next != token else { throw circle }
        token = next
        let greatest = names.max()
        if let greatest, last.map({ $0 < greatest }) ?? true {
            (last, idleCount) = (greatest, 0)
            return
        }
        idleCount += 1
        guard idleCount < Self.patience else { throw circle }
    }

    private var circle: StorageError {
        StorageError(.serverError, "The storage lists the same page again and again.", key: key)
    }
}
