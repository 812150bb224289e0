/// The conditions under which uploads may start.
public struct UploadConditions: OptionSet, Hashable, Sendable {
    /// The conditions as bits.
    public let rawValue: Int
    /// Creates conditions from their bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// An unmetered network: a cable or Wi-Fi.
    public static let unmetered = UploadConditions(rawValue: 1)
    /// Mains power.
    public static let mains = UploadConditions(rawValue: 2)

    /// Returns a message with the unmet conditions, or nil if the device meets all of them. A network that is not known
    /// to be unmetered counts as metered.
    package func unmet(by state: DeviceState) -> String? {
        var reasons: [String] = []
        if contains(.unmetered) {
            switch state.network {
            case .wired, .wifi: break
            case .mobile(let name): reasons.append("an unmetered network (\(name) is a mobile one)")
            case .unknown(let name): reasons.append("an unmetered network (\(name) may be metered)")
            case .none: reasons.append("an unmetered network (there is none)")
            }
        }
        if contains(.mains), state.power == .battery { reasons.append("mains power") }
        return reasons.isEmpty ? nil : "waits for " + reasons.joined(separator: " and ")
    }
}
