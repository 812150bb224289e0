import LFSSystem

/// A reader of network and power information on Linux and iOS.
///
/// On Linux it takes the interface of the default route from `/proc/net` (proc(5)) and `/sys/class/net`, and the power
/// supply from `/sys/class/power_supply` (the kernel's ABI/testing/sysfs-class-net and sysfs-class-power). On iOS it
/// asks the Network framework and UIKit. A shared network of a phone counts as mobile, and any network in Low Data Mode
/// as one that may be metered.
///
/// On other systems the read fails. The app then passes ``UploadGate`` a closure that returns both.
public struct SystemState: Sendable {
    private let root: SystemRoot

    /// Creates a reader.
    ///
    /// - Parameter root: the folder that contains `proc` and `sys`. iOS does not use it.
    public init(root: String = "/") { self.root = SystemRoot(path: root) }

    /// Reads network and power. It may block.
    ///
    /// - Throws: ``BackupError/Code/deviceUnknown``.
    public func read() throws -> DeviceState {
        #if os(iOS)
        return try Self.readDevice()
        #else
        return try readFiles()
        #endif
    }

    private func readFiles() throws -> DeviceState {
        do {
            guard root.exists("proc/net"), root.exists("sys/class") else {
                throw BackupError(
                    .deviceUnknown,
                    message: """
                        There is no /proc/net or no /sys/class: give UploadGate a closure that returns network and \
                        power.
                        """)
            }
            return DeviceState(network: try network(), power: try PowerSupply.power(root))
        } catch let error as SystemError {
            throw BackupError(.deviceUnknown, message: "\(error)")
        }
    }

    /// Returns the most costly network among the default routes of IPv4 and IPv6.
    private func network() throws -> DeviceState.Network {
        try DefaultRoute.interfaces(root).map { try NetworkInterface.kind($0, root: root) }
            .max { $0.cost < $1.cost } ?? .none
    }
}

extension DeviceState.Network {
    fileprivate var cost: Int {
        switch self {
        case .wired: 0
        case .wifi: 1
        case .unknown: 2
        case .mobile: 3
        case .none: 4
        }
    }
}
