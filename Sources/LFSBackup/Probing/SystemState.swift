import LFSSystem

/// Network and power as Linux tells them: the interface of the default route from `/proc/net` (proc(5)) and
/// `/sys/class/net`, and `/sys/class/power_supply` (the kernel's ABI/testing/sysfs-class-net and sysfs-class-power).
///
/// Elsewhere reading fails: the app gives ``UploadGate`` a closure of its own that returns both.
public struct SystemState: Sendable {
    private let root: SystemRoot

    /// - Parameter root: the folder that `proc` and `sys` are in.
    public init(root: String = "/") { self.root = SystemRoot(path: root) }

    /// Reads both, which may block.
    ///
    /// - Throws: ``BackupError/Code/deviceUnknown``.
    public func read() throws -> DeviceState {
        do {
            guard root.exists("proc/net"), root.exists("sys/class") else {
                throw BackupError(
                    .deviceUnknown,
                    "There is no /proc/net or no /sys/class: give UploadGate a closure that returns network and power.")
            }
            return DeviceState(network: try network(), power: try PowerSupply.power(root))
        } catch let error as SystemError {
            throw BackupError(.deviceUnknown, "\(error)")
        }
    }

    /// The most costly of the networks that IPv4 and IPv6 have default routes over.
    private func network() throws -> DeviceState.Network {
        try DefaultRoute.interfaces(root).map { try NetworkInterface.kind($0, root) }
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
