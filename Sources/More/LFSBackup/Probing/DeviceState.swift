/// The network and the power supply of a device, on which uploads depend.
public struct DeviceState: Hashable, Sendable {
    /// The network that leads to the storage, in the order of its cost.
    public enum Network: Hashable, Sendable {
        /// A cable.
        case wired
        /// Wi-Fi.
        case wifi
        /// A mobile network, or the shared network of a phone, with the name of the interface.
        case mobile(String)
        /// A network that may be metered, such as a tunnel, with the name of the interface.
        case unknown(String)
        /// No default route exists.
        case none
    }

    /// The source of the power.
    public enum Power: Hashable, Sendable {
        /// Mains power, or a device without a battery.
        case mains
        /// A battery.
        case battery
    }

    /// The network.
    public var network: Network
    /// The power.
    public var power: Power

    /// Creates a state.
    public init(network: Network, power: Power) { (self.network, self.power) = (network, power) }
}
