/// Watches over a listing that comes in pages, so that it ends also on a server that goes in circles: one that names
/// the same page for ever, by the same token, by tokens that alternate or by ever new ones.
///
/// What a listing names only grows, so a page has to bring something behind all that came before it. Not each page has
/// to: some servers sort otherwise than by bytes, and pages may be empty after many deletions.
package struct ListingWatch: Sendable {
    /// How many pages in a row may bring nothing new.
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
