import LFSSystem

/// The results of states that earlier rounds have accepted, so that they do not have to be read again.
///
/// They are valid as long as the ids of the rows only become later. Once a day, and whenever the app asks, everything
/// is read again.
struct CompanionSnapshot: Sendable {
    /// The time in milliseconds after which everything is read again, whatever versions a transport reports.
    static let lifetime: Int64 = 24 * 3_600_000

    struct Device: Sendable {
        let version: String
        let merged: CompanionRound.Merged
    }

    struct Own: Sendable {
        let version: String
        let state: CompanionState
    }

    var devices: [String: Device] = [:]
    var own: Own?
    /// The time of the last complete read, in milliseconds since 1970.
    var readAt: Int64
    /// True if encrypted keys took part.
    var hasRootKey: Bool

    func query(of device: FileID) -> CompanionQuery {
        var versions = devices.mapValues(\.version)
        versions[device.text] = own?.version
        return CompanionQuery(device: device.text, versions: versions)
    }

    func isUsable(hasRootKey: Bool, now: Int64) -> Bool {
        hasRootKey == self.hasRootKey && (0..<Self.lifetime).contains(now &- readAt)
    }
}
