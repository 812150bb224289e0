import LFSSystem

/// What a round knows of states that earlier ones have taken, so that they need not be read again.
///
/// It is true for as long as the rows that they were compared with only become later. Once a day, and whenever the app
/// asks, all is read anew.
struct CompanionMemory: Sendable {
    /// Milliseconds after which all is read anew, whatever a transport says of versions.
    static let lifetime: Int64 = 24 * 3_600_000

    /// Of another device.
    struct Device: Sendable {
        let version: String
        let findings: CompanionMerge.Findings
    }

    /// Of this device.
    struct Own: Sendable {
        let version: String
        let state: CompanionState
    }

    var devices: [String: Device] = [:]
    var own: Own?
    /// When all was read for the last time, in milliseconds since 1970.
    var readAt: Int64
    /// Whether encrypted keys took part.
    var hasRootKey: Bool

    /// As transports are asked with it.
    func query(of device: FileID) -> CompanionQuery {
        var versions = devices.mapValues(\.version)
        versions[device.text] = own?.version
        return CompanionQuery(device: device.text, versions: versions)
    }

    /// Whether it is true still.
    func isUsable(hasRootKey: Bool, now: Int64) -> Bool {
        hasRootKey == self.hasRootKey && (0..<Self.lifetime).contains(now &- readAt)
    }
}
