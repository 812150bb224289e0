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
        let text = String(text)
        guard Self.isUUID(text) else { return nil }
        self.text = text
    }

    /// One for each row on both sides, so it is no generic code.
    private static func isUUID(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            guard bytes.count == 36 else { return false }
            for (index, byte) in bytes.enumerated() {
                switch index {
                case 8, 13, 18, 23: guard byte == UInt8(ascii: "-") else { return false }
                default: guard byte.isBetween("0", "9") || byte.isBetween("a", "f") else { return false }
                }
            }
            return true
        }
    }

    package var description: String { text }

    package static func < (left: SyncPosition, right: SyncPosition) -> Bool { left.text < right.text }
}
