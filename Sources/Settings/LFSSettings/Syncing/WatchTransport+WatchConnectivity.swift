#if canImport(WatchConnectivity)
import Foundation
import Synchronization
import WatchConnectivity

extension WatchTransport {
    /// Creates the transport over `WCSession.default`, and becomes its delegate when a router first uses it.
    ///
    /// - Parameter isConfidential: true if values of encrypted keys may be in the contexts that the system stores, see
    ///   ``isConfidential``.
    public convenience init(isConfidential: Bool = false) {
        self.init(DefaultWatchSession(), isConfidential: isConfidential)
    }
}

/// The default session of the process, and its delegate.
///
/// `WCSession` is not stored, because Apple does not declare it as Sendable.
private final class DefaultWatchSession: NSObject, WatchSession, WCSessionDelegate {
    private let receive = Mutex<(@Sendable (WatchSessionEvent) -> Void)?>(nil)

    var status: WatchSessionStatus {
        guard WCSession.isSupported() else {
            return WatchSessionStatus(
                isSupported: false, activation: .notActivated, isPaired: false, isAppInstalled: false)
        }
        let session = WCSession.default
        #if os(watchOS)
        let (isPaired, isAppInstalled) = (true, session.isCompanionAppInstalled)
        #else
        let (isPaired, isAppInstalled) = (session.isPaired, session.isWatchAppInstalled)
        #endif
        return WatchSessionStatus(
            isSupported: true,
            activation: WatchSessionStatus.Activation(rawValue: session.activationState.rawValue) ?? .notActivated,
            isPaired: isPaired, isAppInstalled: isAppInstalled)
    }

    var sentContext: [String: Any] { WCSession.default.applicationContext }
    var receivedContext: [String: Any] { WCSession.default.receivedApplicationContext }

    func activate(_ receive: @escaping @Sendable (WatchSessionEvent) -> Void) {
        self.receive.withLock { $0 = receive }
        WCSession.default.delegate = self
        WCSession.default.activate()
    }

    func update(_ context: [String: Any]) throws(WatchFailure) {
        do {
            try WCSession.default.updateApplicationContext(context)
        } catch {
            throw WatchFailure(error)
        }
    }

    private func report(_ event: WatchSessionEvent) { receive.withLock(\.self)?(event) }

    // MARK: Events, on a serial queue of the system

    func session(
        _ session: WCSession, activationDidCompleteWith activationState: WCSessionActivationState, error: (any Error)?
    ) {
        report(.activationEnded(error.map(WatchFailure.init)))
    }

    func session(_ session: WCSession, didReceiveApplicationContext applicationContext: [String: Any]) {
        report(.contextReceived)
    }

    #if os(watchOS)
    func sessionCompanionAppInstalledDidChange(_ session: WCSession) { report(.statusChanged) }
    #else
    func sessionWatchStateDidChange(_ session: WCSession) { report(.statusChanged) }
    /// Does nothing. The session ends soon, and `sessionDidDeactivate` follows.
    func sessionDidBecomeInactive(_ session: WCSession) {}
    func sessionDidDeactivate(_ session: WCSession) { report(.deactivated) }
    #endif
}

extension WatchFailure {
    fileprivate init(_ error: any Error) { self.init(code: (error as NSError).code) }
}
#endif
