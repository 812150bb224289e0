/// What a device says when it has a line: the type and scope, how far that is, and in which epoch of the session. In a
/// line it is `FileV1|account/0196…|0197b214-…|3`.
package struct SyncToken: Hashable, Sendable, CustomStringConvertible {
    /// What a position is of.
    package struct Place: Hashable, Sendable {
        package let type: SyncType
        package let scope: SyncScope

        package init(_ type: SyncType, _ scope: SyncScope) {
            self.type = type
            self.scope = scope
        }
    }

    package let place: Place
    package let position: SyncPosition
    /// Rises with each reset of the session: a late token of the time before says nothing any more.
    package let epoch: Int64

    package init(_ place: Place, _ position: SyncPosition, epoch: Int64) {
        self.place = place
        self.position = position
        self.epoch = epoch
    }

    /// - Parameter text: as ``description`` writes it; nil for anything else.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 400 else { return nil }
        // By bytes: looking for characters takes longer than all the rest.
        let parts = String(text).utf8.split(separator: UInt8(ascii: "|"), omittingEmptySubsequences: false)
            .map { Substring($0) }
        guard parts.count == 4, let type = SyncType(parts[0]), let scope = SyncScope(parts[1]),
            let position = SyncPosition(parts[2]), let epoch = Int64(parts[3]),
            (0...WireFormat.largestNumber).contains(epoch), String(epoch) == parts[3]
        else { return nil }
        self.init(Place(type, scope), position, epoch: epoch)
    }

    package var description: String { "\(place.type)|\(place.scope)|\(position)|\(epoch)" }
}
