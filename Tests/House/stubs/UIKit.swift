// The part of Apple's framework UIKit that this package uses. Only for typechecking with Tests/House/apple. Written
// from Apple's documentation.

@MainActor open class UIDevice {
    public enum BatteryState: Int, Sendable { case unknown, unplugged, charging, full }
    open class var current: UIDevice { UIDevice() }
    open var isBatteryMonitoringEnabled: Bool {
        get { false }
        set {}
    }
    open var batteryState: BatteryState { .unknown }
}
