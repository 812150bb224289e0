import Foundation
import LFSSettings
import LFSSystem
import Synchronization

/// A network that connects the devices of one process, for tests of settings sync.
///
/// Each device gets a ``LoopbackTransport``. One mutex owns the published bytes.
final class LoopbackNetwork: Sendable {
    private struct State {
        var published: [String: Data] = [:]
        var lastListener = 0
        var listeners: [Int: AsyncStream<Void>.Continuation] = [:]
    }

    private let state = Mutex(State())

    /// Creates a network without published bytes.
    init() {}

    /// The bytes that each device published last, by its id.
    var published: [String: Data] { state.withLock { $0.published } }

    /// Replaces the bytes that a device has published, and notifies all listeners. The bytes need not be valid. Nil
    /// removes them.
    func put(_ bytes: Data?, of device: String) {
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

/// A transport between devices of one process, for tests. States are encoded to bytes and decoded, as between real
/// devices.
struct LoopbackTransport: CompanionTransport {
    private let network: LoopbackNetwork
    /// The name `loopback`.
    var name: String { "loopback" }
    /// The limits that were passed to the initializer.
    let limits: CompanionLimits
    /// True if the transport claims to be confidential, so that it may carry secrets.
    let isConfidential: Bool

    /// Creates a device's transport.
    ///
    /// - Parameters:
    ///   - network: the network with the other devices.
    ///   - isConfidential: true if it accepts the values of encrypted keys.
    ///   - limits: the limits of the transport.
    init(
        _ network: LoopbackNetwork, isConfidential: Bool = true, limits: CompanionLimits = CompanionLimits()
    ) {
        self.network = network
        self.isConfidential = isConfidential
        self.limits = limits
    }

    /// Replaces the device's published state, and notifies all listeners.
    ///
    /// - Throws: nothing.
    func publish(_ state: CompanionState) async throws { network.put(state.encoded(), of: state.device) }

    /// Passes on the states: first that of the requesting device, and then the others in the order of their ids. The
    /// version of a state is its SHA-256.
    ///
    /// - Throws: errors of `take`.
    func states(
        for query: CompanionQuery, _ take: @escaping @Sendable (CompanionReading) async throws -> Void
    ) async throws {
        let published = network.published.sorted { left, right in
            (left.key == query.device ? "" : left.key) < (right.key == query.device ? "" : right.key)
        }
        for (device, bytes) in published {
            let version = Self.version(of: bytes)
            let isKnown = query.versions[device] == version
            try await take(isKnown ? .unchanged(device: device) : reading(device, bytes: bytes, version: version))
        }
    }

    private static func version(of bytes: Data) -> String {
        bytes.withUnsafeBytes { buffer in
            var hash = ContentHash()
            hash.update(buffer)
            return hash.hex
        }
    }

    private func reading(_ device: String, bytes: Data, version: String) -> CompanionReading {
        do throws(SettingsError) {
            return .state(try CompanionState(encoded: bytes, limits: limits), version: version)
        } catch {
            return .unreadable(device: device, error)
        }
    }

    /// A stream with an element for each published state, including those of this device.
    func changes() -> AsyncStream<Void> { network.changes() }
}
