/// A way between the devices of a user, by which they tell each other their settings.
///
/// Each device publishes all that it has to tell as one ``CompanionState``, in the place of what it has published
/// before. So nothing depends on a state that is lost, comes twice, or comes after a later one.
///
/// Rules of an implementation:
/// - `publish` returns when the state is where the other devices look, or will look.
/// - `states` hands out what each device has published last as far as is known, one after the other. That of the device
///   that asks comes first, and comes whatever a listing says and however many devices there are. One that cannot be
///   read is handed out as such, and does not keep those of others.
/// - Nothing is tried again here: who calls does that.
/// - A cancelled task ends its call soon, with an error. A call is cancelled when it hands out nothing for as long as
///   ``CompanionOptions/deadline``.
public protocol CompanionTransport: Sendable {
    /// What the status calls it.
    var name: String { get }
    /// How much it carries.
    var limits: CompanionLimits { get }
    /// Whether nobody but the user can read what it carries, so that it may carry the values of encrypted keys.
    var isConfidential: Bool { get }

    /// Puts a state in the place of the one that this device has published before.
    ///
    /// - Throws: when it did not get there, or may not have.
    func publish(_ state: CompanionState) async throws

    /// Hands out the states of all devices.
    ///
    /// - Parameters:
    ///   - query: who asks, and what it has taken before.
    ///   - take: called for one after the other; what it throws ends the call, and comes out of it.
    /// - Throws: when it is not known what has been published, also where some were handed out already.
    func states(
        for query: CompanionQuery, _ take: @escaping @Sendable (CompanionReading) async throws -> Void
    ) async throws

    /// Tells that another device may have published something, as soon as that is known. It may never do so, or end:
    /// then it is asked again once in an interval.
    func changes() -> AsyncStream<Void>
}

extension CompanionTransport {
    /// A transport that does not hear of changes.
    public func changes() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
}

/// Who asks a transport for states, and what it has of them.
public struct CompanionQuery: Hashable, Sendable {
    /// The id of the device that asks.
    public var device: String
    /// The versions of states that it has taken, by the ids of their devices. What has that version still need not be
    /// read: it is handed out as ``CompanionReading/unchanged(device:)``.
    public var versions: [String: String]

    /// A question.
    ///
    /// - Parameters:
    ///   - device: the id of the device that asks.
    ///   - versions: those of the states that it has taken, by the ids of their devices.
    public init(device: String, versions: [String: String] = [:]) { (self.device, self.versions) = (device, versions) }
}

/// What a transport has of one device.
public enum CompanionReading: Sendable {
    /// What the device has published, and a name for that: another one for other bytes, and nil where there is none, so
    /// that it is read each time.
    case state(CompanionState, version: String? = nil)
    /// It is what the query has a version of.
    case unchanged(device: String)
    /// Something that cannot be read, by the id of the device.
    case unreadable(device: String, SettingsError)

    /// The id of the device.
    public var device: String {
        switch self {
        case .state(let state, _): state.device
        case .unchanged(let device), .unreadable(let device, _): device
        }
    }
}

/// How much a transport carries, and how much is read from it. More is an error, and is not held in memory.
public struct CompanionLimits: Hashable, Sendable {
    /// Bytes of a device's state.
    public var stateByteCount: Int
    /// How many devices are read beside the one that asks.
    public var deviceCount: Int

    /// Limits.
    ///
    /// - Parameters:
    ///   - stateByteCount: bytes of a device's state at most; more than 1 GiB counts as that.
    ///   - deviceCount: how many devices are read at most, beside the one that asks.
    public init(stateByteCount: Int = 1 << 20, deviceCount: Int = 100) {
        (self.stateByteCount, self.deviceCount) = (min(max(stateByteCount, 0), 1 << 30), max(deviceCount, 1))
    }
}
