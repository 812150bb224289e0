#if os(iOS)
import Dispatch
import Foundation
import Network
import Synchronization
import UIKit

extension SystemState {
    /// The time in which the system reports the network. It usually takes milliseconds.
    private static let patience = DispatchTimeInterval.seconds(2)

    /// Reads the network from Apple's Network framework and the power from UIKit. Blocks the thread.
    ///
    /// - Throws: ``BackupError/Code/deviceUnknown`` if the system does not report the network in time.
    static func readDevice() throws -> DeviceState {
        DeviceState(network: try path().network, power: power)
    }

    private static func path() throws -> NetworkPath {
        let monitor = NWPathMonitor()
        // The handler may run once more after the cancellation, so it owns what it uses.
        let report = PathReport()
        monitor.pathUpdateHandler = { report.add(NetworkPath($0)) }
        monitor.start(queue: DispatchQueue(label: "lfs-network"))
        defer { monitor.cancel() }
        guard let path = report.wait(patience) else {
            throw BackupError(.deviceUnknown, message: "The system did not report the state of the network.")
        }
        return path
    }

    /// The power supply. A device that does not know its battery, such as a simulator, counts as one without.
    private static var power: DeviceState.Power {
        if Thread.isMainThread { return MainActor.assumeIsolated { devicePower } }
        return DispatchQueue.main.sync { MainActor.assumeIsolated { devicePower } }
    }

    @MainActor private static var devicePower: DeviceState.Power {
        UIDevice.current.isBatteryMonitoringEnabled = true
        return UIDevice.current.batteryState == .unplugged ? .battery : .mains
    }
}

/// The first path that a monitor reports.
private final class PathReport: Sendable {
    private let path = Mutex<NetworkPath?>(nil)
    private let arrived = DispatchSemaphore(value: 0)

    func add(_ new: NetworkPath) {
        path.withLock { $0 = new }
        arrived.signal()
    }

    func wait(_ patience: DispatchTimeInterval) -> NetworkPath? {
        _ = arrived.wait(timeout: .now() + patience)
        return path.withLock(\.self)
    }
}

extension NetworkPath {
    fileprivate init(_ path: NWPath) {
        let first = path.availableInterfaces.first
        let interface: Interface =
            switch first?.type {
            case .wiredEthernet: .wired
            case .wifi: .wifi
            case .cellular: .cellular
            default: .other
            }
        self.init(
            isSatisfied: path.status == .satisfied, interface: interface, name: first?.name ?? "",
            isExpensive: path.isExpensive, isConstrained: path.isConstrained)
    }
}
#endif
