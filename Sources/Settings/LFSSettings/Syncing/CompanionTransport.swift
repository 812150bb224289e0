/// A transport by which the devices of a user exchange their settings.
///
/// Each device publishes one ``CompanionState`` with all of its settings, which replaces its earlier one. So a state
/// may be lost, delivered twice, or delivered after a later one.
///
/// Rules of an implementation:
/// - `publish` returns when the state is stored where the other devices look for it, now or later.
/// - `states` delivers the latest known state of each device, one at a time. The state of the requesting device comes
///   first. It is delivered even if a listing omits it, and regardless of the number of devices. An unreadable state is
///   delivered as ``CompanionReading/unreadable(device:_:)``, and does not prevent the delivery of the others.
/// - An implementation does not retry. The caller does.
/// - A cancelled task ends its call soon, with an error. A call is cancelled if it delivers nothing for
///   ``CompanionOptions/deadline``.
public protocol CompanionTransport: Sendable {
    /// The name that the status shows.
    var name: String { get }
    /// The limits on the data that it transfers.
    var limits: CompanionLimits { get }
    /// True if only the user can read the data, so that the transport may transfer the values of encrypted keys.
    var isConfidential: Bool { get }

    /// Publishes a state, and replaces the earlier one of this device.
    ///
    /// - Throws: if the state was not stored, or may not have been.
    func publish(_ state: CompanionState) async throws

    /// Delivers the states of all devices.
    ///
    /// - Parameters:
    ///   - query: the requesting device, and the versions that it has already accepted.
    ///   - take: called with one state at a time. If it throws, the call ends with that error.
    /// - Throws: if the published states cannot be determined, even after some were delivered.
    func states(
        for query: CompanionQuery, _ take: @escaping @Sendable (CompanionReading) async throws -> Void
    ) async throws

    /// Returns a stream that reports, as soon as this is known, that another device may have published a state. It may
    /// stay silent or end. The router also asks for states once per ``CompanionOptions/interval``.
    func changes() -> AsyncStream<Void>
}

extension CompanionTransport {
    /// Returns a stream that ends at once, for a transport without change reports.
    public func changes() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
}

/// A request for states, with the versions that the requesting device has already accepted.
public struct CompanionQuery: Hashable, Sendable {
    /// The id of the requesting device.
    public var device: String
    /// The versions of accepted states, by the ids of their devices. A state that still has this version does not have
    /// to be read. It is delivered as ``CompanionReading/unchanged(device:)``.
    public var versions: [String: String]

    /// Creates a query.
    public init(device: String, versions: [String: String] = [:]) { (self.device, self.versions) = (device, versions) }
}

/// The data that a transport has for one device.
public enum CompanionReading: Sendable {
    /// The published state, and its version. Different bytes have different versions. A state without a version is read
    /// each time.
    case state(CompanionState, version: String? = nil)
    /// The state still has the version that the query contains.
    case unchanged(device: String)
    /// The state of the device cannot be read.
    case unreadable(device: String, SettingsError)

    /// The id of the device.
    public var device: String {
        switch self {
        case .state(let state, _): state.device
        case .unchanged(let device), .unreadable(let device, _): device
        }
    }
}

/// The limits on the data that a transport transfers and reads. More data is an error, and is not held in memory.
public struct CompanionLimits: Hashable, Sendable {
    /// The maximum size of a device's state in bytes.
    public var stateByteCount: Int
    /// The maximum number of devices to read, without the requesting one.
    public var deviceCount: Int

    /// Creates limits. Sizes above 1 GiB count as 1 GiB, and counts below 1 as 1.
    public init(stateByteCount: Int = 1 << 20, deviceCount: Int = 100) {
        self.stateByteCount = min(max(stateByteCount, 0), 1 << 30)
        self.deviceCount = max(deviceCount, 1)
    }
}
