/// How a device is connected, as far as uploads care.
public struct DeviceState: Hashable, Sendable {
    /// The network that leads to the storage. In the order of what it costs.
    public enum Network: Hashable, Sendable {
        /// A cable.
        case wired
        /// Wi-Fi.
        case wifi
        /// A mobile network, or a phone's that is shared.
        case mobile(String)
        /// One of which it is not known whether it is metered, such as a tunnel, by its interface.
        case unknown(String)
        /// No default route leads anywhere.
        case none
    }

    /// Where the power comes from.
    public enum Power: Hashable, Sendable {
        /// The mains, or a device that has no battery.
        case mains
        /// A battery.
        case battery
    }

    /// The network.
    public var network: Network
    /// The power.
    public var power: Power

    /// A state.
    public init(network: Network, power: Power) { (self.network, self.power) = (network, power) }
}
