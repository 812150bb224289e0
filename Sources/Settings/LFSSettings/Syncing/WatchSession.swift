/// The calls of Apple's WatchConnectivity that ``WatchTransport`` makes.
///
/// Rules of an implementation:
/// - Contexts are property lists. An update replaces the earlier one, whether that was delivered or not.
/// - The system stores the last sent and the last received context, also while the app does not run.
/// - Events arrive one at a time, on any thread. A context may arrive before the activation ends.
protocol WatchSession: Sendable {
    /// The state of the session now.
    var status: WatchSessionStatus { get }
    /// The last context that this device has sent (`applicationContext`). Empty for none.
    var sentContext: [String: Any] { get }
    /// The last context of the counterpart (`receivedApplicationContext`). Empty for none.
    var receivedContext: [String: Any] { get }

    /// Begins to report events, and activates the session (`activate`). The event `activationEnded` has the outcome.
    func activate(_ receive: @escaping @Sendable (WatchSessionEvent) -> Void)
    /// Sends a context (`updateApplicationContext`).
    func update(_ context: [String: Any]) throws(WatchFailure)
}

/// The state of a session with a counterpart: the Apple Watch of an iPhone, or the iPhone of an Apple Watch.
struct WatchSessionStatus: Hashable, Sendable {
    /// The activation with the numbers of `WCSessionActivationState`.
    enum Activation: Int, Sendable {
        case notActivated = 0
        /// The user switches to another Apple Watch.
        case inactive = 1
        case activated = 2
    }

    /// True if this device can have a counterpart. Otherwise no other call is allowed.
    var isSupported: Bool
    var activation: Activation
    var isPaired: Bool
    /// True if the app is installed on the counterpart.
    var isAppInstalled: Bool
}

/// An event that a session reports.
enum WatchSessionEvent: Sendable {
    /// The activation has ended, with the reason if it failed.
    case activationEnded(WatchFailure?)
    /// The session with the former Apple Watch has ended, and can be activated for the next one.
    case deactivated
    /// A context of the counterpart has arrived.
    case contextReceived
    /// The pairing or the installation of the counterpart's app may have changed.
    case statusChanged
}

/// An error of WatchConnectivity (`WCError.Code`, with the numbers of Apple's `WCError.h`).
struct WatchFailure: Error, Hashable {
    let code: Int

    static let sessionNotSupported = WatchFailure(code: 7_002)
    static let sessionNotActivated = WatchFailure(code: 7_004)
    static let deviceNotPaired = WatchFailure(code: 7_005)
    static let watchAppNotInstalled = WatchFailure(code: 7_006)
    static let payloadTooLarge = WatchFailure(code: 7_009)
    static let payloadUnsupportedTypes = WatchFailure(code: 7_010)
    static let insufficientSpace = WatchFailure(code: 7_015)
    static let sessionInactive = WatchFailure(code: 7_016)
    static let companionAppNotInstalled = WatchFailure(code: 7_018)

    /// The error for the app. Codes without a name here are `transportFailed`, with their number.
    var settingsError: SettingsError {
        switch self {
        case .sessionNotSupported:
            failed("This device cannot be paired with an Apple Watch. Use the transport if WCSession.isSupported().")
        case .sessionNotActivated:
            failed(
                """
                The session with the paired device is not activated. It is activated again with the next attempt. Let \
                no other part of the app set the delegate of WCSession.default.
                """)
        case .deviceNotPaired:
            failed("No Apple Watch is paired with this iPhone. Pair one in the app Watch.")
        case .watchAppNotInstalled, .companionAppNotInstalled:
            failed("The app is not installed on the paired device. Install it there.")
        case .sessionInactive:
            failed("The user is switching to another Apple Watch. The attempt is retried.")
        case .payloadTooLarge:
            SettingsError(
                .tooLarge,
                message: """
                    The system refuses the settings for the paired device, because they are too large. Remove some \
                    synced values, or make them smaller.
                    """,
                cause: self)
        case .insufficientSpace:
            SettingsError(
                .noSpace, message: "The device has no space for the settings of the paired device. Make room on it.",
                cause: self)
        default:
            failed("WatchConnectivity failed with the code \(code), which Apple's WCError.Code explains.")
        }
    }

    private func failed(_ message: String) -> SettingsError {
        SettingsError(.transportFailed, message: message, cause: self)
    }
}
