public import Foundation
public import LFSSettings
import LFSSystem
import Synchronization

/// The place at which devices of one process meet, for tests of how their settings are kept equal.
///
/// Each device gets a ``LoopbackTransport`` of it. Owner of what is published: one mutex.
public final class LoopbackNetwork: Sendable {
    private struct State {
        var published: [String: Data] = [:]
        var lastListener = 0
        var listeners: [Int: AsyncStream<Void>.Continuation] = [:]
    }

    private let state = Mutex(State())

    /// A place where nothing is published.
    public init() {}

    /// The bytes that each device has published last, by its id.
    public var published: [String: Data] { state.withLock { $0.published } }

    /// Puts bytes in the place of what a device has published, whatever they are, and tells everybody.
    public func put(_ bytes: Data?, of device: String) {
        let listeners = state.withLock { state in
            state.published[device] = bytes
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.yield() }
    }

    fileprivate func changes() -> AsyncStream<Void> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let id = state.withLock { state in
                state.lastListener += 1
                state.listeners[state.lastListener] = continuation
                return state.lastListener
            }
            continuation.onTermination = { [weak self] _ in
                self?.state.withLock { _ = $0.listeners.removeValue(forKey: id) }
            }
        }
    }
}

/// Devices of one process, for tests. States go through their bytes, as between real devices.
public struct LoopbackTransport: CompanionTransport {
    private let network: LoopbackNetwork
    /// `loopback`.
    public var name: String { "loopback" }
    /// As they were given.
    public let limits: CompanionLimits
    /// As it was given.
    public let isConfidential: Bool

    /// A device's way to a network.
    ///
    /// - Parameters:
    ///   - network: where the other devices are.
    ///   - isConfidential: whether it takes the values of encrypted keys.
    ///   - limits: how much it carries.
    public init(
        _ network: LoopbackNetwork, isConfidential: Bool = true, limits: CompanionLimits = CompanionLimits()
    ) {
        (self.network, self.isConfidential, self.limits) = (network, isConfidential, limits)
    }

    /// Puts the state in the place of the one before, and tells the others.
    ///
    /// - Throws: nothing.
    public func publish(_ state: CompanionState) async throws { network.put(state.encoded(), of: state.device) }

    /// Hands out the states: that of the device that asks, and then the others in the order of their ids. The version
    /// of one is its SHA-256.
    ///
    /// - Throws: what `take` throws.
    public func states(
        for query: CompanionQuery, _ take: @escaping @Sendable (CompanionReading) async throws -> Void
    ) async throws {
        let published = network.published.sorted { left, right in
            (left.key == query.device ? "" : left.key) < (right.key == query.device ? "" : right.key)
        }
        for (device, bytes) in published {
            let version = Self.version(of: bytes)
            let isKnown = query.versions[device] == version
            try await take(isKnown ? .unchanged(device: device) : reading(device, bytes, version))
        }
    }

    private static func version(of bytes: Data) -> String {
        bytes.withUnsafeBytes { buffer in
            var hash = ContentHash()
            hash.update(buffer)
            return hash.hex
        }
    }

    private func reading(_ device: String, _ bytes: Data, _ version: String) -> CompanionReading {
        do throws(SettingsError) {
            return .state(try CompanionState(encoded: bytes, limits: limits), version: version)
        } catch {
            return .unreadable(device: device, error)
        }
    }

    /// Tells of each state that is published, this device's own too.
    public func changes() -> AsyncStream<Void> { network.changes() }
}
