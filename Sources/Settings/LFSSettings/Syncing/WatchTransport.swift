import Crypto
import Foundation
import LFSSystem
import Synchronization

/// A transport between an iPhone and its Apple Watch, by the application context of Apple's WatchConnectivity.
///
/// Each device publishes its state as its context, which replaces the earlier one. The system delivers the latest
/// context when it can, also while the apps do not run. An iPhone exchanges states with the Apple Watch that is active
/// now.
///
/// An app creates one transport per process. It is the delegate of `WCSession.default`, and the only user of the
/// context.
///
/// One mutex owns the activation, and another one the listeners.
public final class WatchTransport: CompanionTransport {
    private struct Activation: Sendable {
        var hasBegun = false
        var isRunning = false
        /// The number of activations that have ended.
        var endCount = 0
        /// The reason why the last activation failed.
        var failure: WatchFailure?
    }

    private enum Outcome: Sendable { case ended(WatchFailure?), cancelled }

    private struct Listeners {
        var last = 0
        var streams: [Int: AsyncStream<Void>.Continuation] = [:]
    }

    /// The content of a context under the key of this package.
    private enum Content { case none, bytes(Data), other }

    /// The key of the encoded state in a context.
    static let contextKey = "LFSSettings"
    /// The device that readings name if the state of the counterpart has no readable id.
    static let counterpart = "counterpart"

    private let session: any WatchSession
    private let activation = WaitQueue<Activation, Outcome>(Activation())
    private let listeners = Mutex(Listeners())

    /// The name `watch`.
    public var name: String { "watch" }
    /// States of up to 48 KiB, and one other device. Apple does not document the maximum size of a context. Developers
    /// report limits between 55 and 262 kB.
    public let limits = CompanionLimits(stateByteCount: 48 << 10, deviceCount: 1)
    /// True if the app has decided that values of encrypted keys may be in the contexts, without their encryption.
    ///
    /// The connection between paired devices is encrypted (Apple Platform Security). But the system also stores the
    /// contexts on both devices, and Apple does not document how they are protected there.
    public let isConfidential: Bool

    /// - Parameter isConfidential: see ``isConfidential``.
    init(_ session: any WatchSession, isConfidential: Bool = false) {
        self.session = session
        self.isConfidential = isConfidential
    }

    /// Sends the state, and replaces the earlier one, even if it was not delivered yet.
    ///
    /// - Throws: ``SettingsError/Code/tooLarge``, and ``SettingsError/Code/transportFailed`` without a paired device
    ///   that has the app.
    public func publish(_ state: CompanionState) async throws {
        let bytes = state.encoded()
        guard bytes.count <= limits.stateByteCount else {
            throw CompanionState.tooLarge(Int64(bytes.count), limits: limits)
        }
        try await connect()
        do throws(WatchFailure) {
            try session.update([Self.contextKey: bytes])
        } catch {
            throw error.settingsError
        }
    }

    /// Reads the contexts that the system has stored: that of this device, and then that of its counterpart.
    ///
    /// - Throws: ``SettingsError/Code/transportFailed`` without a paired device that has the app, and the errors of
    ///   `take`.
    public func states(
        for query: CompanionQuery, _ take: @escaping @Sendable (CompanionReading) async throws -> Void
    ) async throws {
        try await connect()
        if let reading = ownReading(query) { try await take(reading) }
        if let reading = counterpartReading(query) { try await take(reading) }
    }

    /// Returns a stream that reports each context of the counterpart, and each session with another one.
    public func changes() -> AsyncStream<Void> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let id = listeners.withLock { listeners in
                listeners.last += 1
                listeners.streams[listeners.last] = continuation
                return listeners.last
            }
            continuation.onTermination = { [weak self] _ in
                self?.listeners.withLock { _ = $0.streams.removeValue(forKey: id) }
            }
        }
    }

    // MARK: Readings

    /// Returns nil if this database has published nothing. A former database of the app may have left its state.
    private func ownReading(_ query: CompanionQuery) -> CompanionReading? {
        guard case .bytes(let bytes) = Self.content(of: session.sentContext) else { return nil }
        do throws(SettingsError) {
            let state = try CompanionState(encoded: bytes, limits: limits)
            return state.device == query.device ? Self.reading(state, bytes: bytes, query: query) : nil
        } catch {
            return .unreadable(device: query.device, error)
        }
    }

    /// Returns nil if the counterpart has published nothing.
    private func counterpartReading(_ query: CompanionQuery) -> CompanionReading? {
        switch Self.content(of: session.receivedContext) {
        case .none: return nil
        case .other: return .unreadable(device: Self.counterpart, Self.unexpected)
        case .bytes(let bytes):
            do throws(SettingsError) {
                let state = try CompanionState(encoded: bytes, limits: limits)
                guard state.device != query.device else { throw Self.copied }
                return Self.reading(state, bytes: bytes, query: query)
            } catch {
                return .unreadable(device: Self.counterpart, error)
            }
        }
    }

    private static func content(of context: [String: Any]) -> Content {
        guard let value = context[contextKey] else { return .none }
        guard let bytes = value as? Data else { return .other }
        return .bytes(bytes)
    }

    private static func reading(_ state: CompanionState, bytes: Data, query: CompanionQuery) -> CompanionReading {
        let version = "sha256 " + ContentHash.hex(of: SHA256.hash(data: bytes))
        return query.versions[state.device] == version
            ? .unchanged(device: state.device) : .state(state, version: version)
    }

    // MARK: Session

    /// Activates the session if necessary, and checks that a counterpart exists.
    private func connect() async throws {
        guard session.status.isSupported else { throw WatchFailure.sessionNotSupported.settingsError }
        try await activate()
        let status = session.status
        guard status.isPaired else { throw WatchFailure.deviceNotPaired.settingsError }
        guard status.isAppInstalled else { throw WatchFailure.watchAppNotInstalled.settingsError }
    }

    private func activate() async throws {
        let endCount = activation.change { activation, _ in activation.endCount }
        let before = session.status.activation
        let begins = activation.change { activation, _ in
            // An activation that has ended since then may have changed the session.
            if activation.isRunning || activation.endCount != endCount { return false }
            if activation.hasBegun, before != .notActivated { return false }
            activation.hasBegun = true
            activation.isRunning = true
            return true
        }
        if begins { beginActivation() }
        // Another part of the app may have activated the session before. Then no event may follow.
        if session.status.activation == .notActivated { try await waitForActivation() }
        switch session.status.activation {
        case .activated: return
        case .inactive: throw WatchFailure.sessionInactive.settingsError
        case .notActivated: throw WatchFailure.sessionNotActivated.settingsError
        }
    }

    private func waitForActivation() async throws {
        let outcome = await activation.wait(ifCancelled: .cancelled) { activation in
            activation.isRunning ? nil : .ended(activation.failure)
        }
        switch outcome {
        case .ended(let failure): if let failure { throw failure.settingsError }
        case .cancelled: throw CancellationError()
        }
    }

    private func beginActivation() { session.activate { [weak self] event in self?.receive(event) } }

    private func receive(_ event: WatchSessionEvent) {
        switch event {
        case .activationEnded(let failure):
            activation.change { activation, line in
                activation.isRunning = false
                activation.endCount += 1
                activation.failure = failure
                line.answerAll(.ended(failure))
            }
            // The context of another Apple Watch may have become the received one.
            reportChange()
        case .deactivated:
            activation.change { activation, _ in activation.isRunning = true }
            beginActivation()
        case .contextReceived, .statusChanged: reportChange()
        }
    }

    private func reportChange() {
        for stream in listeners.withLock({ Array($0.streams.values) }) { stream.yield() }
    }

    // MARK: Errors

    private static var unexpected: SettingsError {
        SettingsError(
            .corrupted,
            message: """
                The application context of the paired device does not contain settings of this package. It is ignored. \
                Update the app on both devices, and let no other code send a context.
                """)
    }

    private static var copied: SettingsError {
        SettingsError(
            .corrupted,
            message: """
                The paired device has published settings under the id of this device, because its database is a copy. \
                They are ignored. Remove the app from the paired device and install it again.
                """)
    }
}
