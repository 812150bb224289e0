/// The token that a device returns to acknowledge a line: its type, scope, position and the epoch of the session. In a
/// line, it is written as `FileV1|account/0196…|0197b214-…|3`.
package struct SyncToken: Hashable, Sendable, CustomStringConvertible {
    /// A type in a scope, to which a position belongs.
    package struct Place: Hashable, Sendable {
        package let type: SyncType
        package let scope: SyncScope

        package init(_ type: SyncType, scope: SyncScope) {
            self.type = type
            self.scope = scope
        }
    }

    package let place: Place
    package let position: SyncPosition
    /// A number that rises with each reset of the session. A late token of an earlier epoch has no effect.
    package let epoch: Int64

    package init(_ place: Place, position: SyncPosition, epoch: Int64) {
        self.place = place
        self.position = position
        self.epoch = epoch
    }

    /// - Parameter text: a text that ``description`` has written. The result is nil for any other text.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 400 else { return nil }
        // Splits by bytes. Splitting by characters takes longer than everything else here.
        let parts = String(text).utf8.split(separator: UInt8(ascii: "|"), omittingEmptySubsequences: false)
            .map { Substring($0) }
        guard parts.count == 4, let type = SyncType(parts[0]), let scope = SyncScope(parts[1]),
            let position = SyncPosition(parts[2]), let epoch = Int64(parts[3]),
            (0...WireFormat.largestNumber).contains(epoch), String(epoch) == parts[3]
        else { return nil }
        self.init(Place(type, scope: scope), position: position, epoch: epoch)
    }

    package var description: String { "\(place.type)|\(place.scope)|\(position)|\(epoch)" }
}
