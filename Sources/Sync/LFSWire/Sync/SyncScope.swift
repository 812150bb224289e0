/// A set of rows that an account can read either completely or not at all: `account/<id>`, or a shared container such
/// as `album/<id>`.
package struct SyncScope: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// Either `account` or the table of the container.
    package let kind: String
    package let id: String

    package static let accountKind = "account"

    package init(kind: String, id: String) {
        self.kind = kind
        self.id = id
    }

    package static func account(_ id: String) -> SyncScope { SyncScope(kind: accountKind, id: id) }

    /// - Parameter text: a text that ``description`` has written. The result is nil for any other text.
    package init?(_ text: some StringProtocol) {
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        let kind = text[..<mark]
        let id = text[text.utf8.index(after: mark)...]
        let isKind =
            (1...60).contains(kind.utf8.count)
            && kind.utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "_") }
        guard isKind, Self.isID(id) else { return nil }
        self.init(kind: String(kind), id: String(id))
    }

    package var description: String { "\(kind)/\(id)" }

    package static func < (left: SyncScope, right: SyncScope) -> Bool { left.description < right.description }

    /// Returns true for a text that can be part of a token: 1 to 128 visible ASCII characters without separators.
    package static func isID(_ text: some StringProtocol) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"|/\"\\".utf8.contains($0) }
    }
}
