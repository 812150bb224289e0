/// How far something has come in a scope: an `updateID` of the server, which is a UUID version 7 in lowercase. Those of
/// one scope ascend as texts do.
package struct SyncPosition: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let text: String

    /// Before the first.
    package static let start = SyncPosition(unchecked: "")

    private init(unchecked text: String) { self.text = text }

    /// - Parameter text: of a UUID, or empty for ``start``; nil for anything else.
    package init?(_ text: some StringProtocol) {
        guard !text.isEmpty else {
            self = .start
            return
        }
        guard text.utf8.count == 36 else { return nil }
        for (index, byte) in text.utf8.enumerated() {
            let isRight =
                [8, 13, 18, 23].contains(index)
                ? byte == UInt8(ascii: "-") : byte.isBetween("0", "9") || byte.isBetween("a", "f")
            guard isRight else { return nil }
        }
        self.text = String(text)
    }

    package var description: String { text }

    package static func < (left: SyncPosition, right: SyncPosition) -> Bool { left.text < right.text }
}
