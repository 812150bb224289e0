// The part of Apple's framework UIKit that this package uses. Only for typechecking with Tests/House/apple. Written
// from Apple's documentation.

public import Foundation

@MainActor open class UIDevice {
    public enum BatteryState: Int, Sendable { case unknown, unplugged, charging, full }
    open class var current: UIDevice { UIDevice() }
    open var isBatteryMonitoringEnabled: Bool {
        get { false }
        set {}
    }
    open var batteryState: BatteryState { .unknown }
}

public struct UIBackgroundTaskIdentifier: Hashable, RawRepresentable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
}

@MainActor open class UIApplication {
    open class var shared: UIApplication { UIApplication() }
    @discardableResult
    open func beginBackgroundTask(
        expirationHandler handler: (@MainActor @Sendable () -> Void)? = nil
    ) -> UIBackgroundTaskIdentifier { .init(rawValue: 0) }
    open func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {}
}

@MainActor public protocol UIApplicationDelegate: AnyObject {
    func application(
        _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping () -> Void)
}

open class UIImage: @unchecked Sendable {
    public init?(data: Data) {}
}
