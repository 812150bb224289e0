/// A path to the network as Apple's Network framework reports it.
struct NetworkPath: Hashable, Sendable {
    /// The kind of the interface that the path uses first.
    enum Interface: Sendable { case wired, wifi, cellular, other }

    /// True if a route exists now.
    var isSatisfied: Bool
    var interface: Interface
    /// The name of that interface, such as `en0`.
    var name: String
    /// True for a mobile network and for the shared network of a phone.
    var isExpensive: Bool
    /// True in Low Data Mode, in which the user asks apps to save data.
    var isConstrained: Bool

    /// The network for the conditions of uploads.
    var network: DeviceState.Network {
        if !isSatisfied { return .none }
        if interface == .cellular || isExpensive { return .mobile(name) }
        if isConstrained { return .unknown(name) }
        return switch interface {
        case .wired: .wired
        case .wifi: .wifi
        case .cellular, .other: .unknown(name)
        }
    }
}
