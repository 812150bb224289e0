// The part of Apple's framework WatchConnectivity that this package uses on iOS. Only for typechecking with
// Tests/House/apple. Written from Apple's documentation.
public import Foundation

@available(iOS 9.3, *)
public enum WCSessionActivationState: Int, Sendable { case notActivated, inactive, activated }

@available(iOS 9.0, *)
open class WCSession: NSObject {
    open class func isSupported() -> Bool { false }
    open class var `default`: WCSession { WCSession() }
    open weak var delegate: (any WCSessionDelegate)?
    @available(iOS 9.3, *)
    open var activationState: WCSessionActivationState { .notActivated }
    open var isPaired: Bool { false }
    open var isWatchAppInstalled: Bool { false }
    open var applicationContext: [String: Any] { [:] }
    open var receivedApplicationContext: [String: Any] { [:] }
    open func activate() {}
    open func updateApplicationContext(_ applicationContext: [String: Any]) throws {}
}

@available(iOS 9.0, *)
public protocol WCSessionDelegate: NSObjectProtocol {
    @available(iOS 9.3, *)
    func session(
        _ session: WCSession, activationDidCompleteWith activationState: WCSessionActivationState, error: (any Error)?)
    @available(iOS 9.3, *)
    func sessionDidBecomeInactive(_ session: WCSession)
    @available(iOS 9.3, *)
    func sessionDidDeactivate(_ session: WCSession)
    func sessionWatchStateDidChange(_ session: WCSession)
    func session(_ session: WCSession, didReceiveApplicationContext applicationContext: [String: Any])
}

// Apple's protocol declares these methods as optional.
@available(iOS 9.0, *)
extension WCSessionDelegate {
    public func sessionWatchStateDidChange(_ session: WCSession) {}
    public func session(_ session: WCSession, didReceiveApplicationContext applicationContext: [String: Any]) {}
}
