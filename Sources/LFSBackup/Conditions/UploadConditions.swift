/// What has to hold before an upload begins.
public struct UploadConditions: OptionSet, Hashable, Sendable {
    /// The conditions as bits.
    public let rawValue: Int
    /// Conditions from their bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// A network that costs nothing by the byte: a cable or Wi-Fi.
    public static let unmetered = UploadConditions(rawValue: 1)
    /// Mains power.
    public static let mains = UploadConditions(rawValue: 2)

    /// What a device lacks, in words for a person; nil when it lacks nothing. A network that is not known to be
    /// unmetered is not.
    public func unmet(by state: DeviceState) -> String? {
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
