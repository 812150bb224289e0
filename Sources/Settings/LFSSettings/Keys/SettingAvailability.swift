/// The platforms on which a key is available.
public struct SettingAvailability: OptionSet, Hashable, Sendable {
    /// The platforms as bits.
    public let rawValue: Int
    /// Creates a set of platforms from bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Linux.
    public static let linux = SettingAvailability(rawValue: 1)
    /// macOS.
    public static let macOS = SettingAvailability(rawValue: 2)
    /// iOS, iPadOS and visionOS.
    public static let iOS = SettingAvailability(rawValue: 4)
    /// watchOS.
    public static let watchOS = SettingAvailability(rawValue: 8)
    /// All platforms.
    public static let everywhere: SettingAvailability = [.linux, .macOS, .iOS, .watchOS]

    static var here: SettingAvailability {
        #if os(macOS)
        .macOS
        #elseif os(watchOS)
        .watchOS
        #elseif canImport(Darwin)
        .iOS
        #else
        .linux
        #endif
    }
}
