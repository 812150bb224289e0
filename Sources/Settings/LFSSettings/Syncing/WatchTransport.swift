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
        /// The result of the last activation.
        var outcome: Result<Void, any Error> = .success(())
    }

    /// The key of the encoded state in a context.
    static let contextKey = "LFSSettings"
    /// The device that readings name if the state of the counterpart has no readable id.
    static let counterpart = "counterpart"

    private let session: any WatchSession
    private let activation = WaitQueue<Activation, Result<Void, any Error>>(Activation())
    private let listeners = Mutex<[UUID: AsyncStream<Void>.Continuation]>([:])

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
        let bytes = try state.encoded(within: limits)
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
        if let own = reading(session.sentContext, isOwn: true, query: query) { try await take(own) }
        if let other = reading(session.receivedContext, isOwn: false, query: query) { try await take(other) }
    }

    /// Returns a stream that reports each context of the counterpart, and each session with another one.
    public func changes() -> AsyncStream<Void> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let id = UUID()
            listeners.withLock { $0[id] = continuation }
            continuation.onTermination = { [weak self] _ in self?.listeners.withLock { $0[id] = nil } }
        }
    }

    // MARK: Readings

    /// Reads the context of this device or of its counterpart. Returns nil if the device has published nothing.
    private func reading(_ context: [String: Any], isOwn: Bool, query: CompanionQuery) -> CompanionReading? {
        guard let value = context[Self.contextKey] else { return nil }
        do throws(SettingsError) {
            guard let bytes = value as? Data else { throw Self.unexpected }
            let state = try CompanionState(encoded: bytes, limits: limits)
            if isOwn != (state.device == query.device) {
                // A former database of the app may have left its state.
                if isOwn { return nil }
                throw Self.copied
            }
            let version = "sha256 " + ContentHash.hex(of: SHA256.hash(data: bytes))
            return query.versions[state.device] == version
                ? .unchanged(device: state.device) : .state(state, version: version)
        } catch {
            return .unreadable(device: isOwn ? query.device : Self.counterpart, error)
        }
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
        let begins = activation.change { activation, _ in
            if activation.isRunning { return false }
            if activation.hasBegun, session.status.activation != .notActivated { return false }
            activation.hasBegun = true
            activation.isRunning = true
            return true
        }
        if begins { beginActivation() }
        // Another part of the app may have activated the session before. Then no event may follow.
        if session.status.activation == .notActivated {
            try await activation.wait(ifCancelled: .failure(CancellationError())) { activation in
                activation.isRunning ? nil : activation.outcome
            }.get()
        }
        switch session.status.activation {
        case .activated: return
        case .inactive: throw WatchFailure.sessionInactive.settingsError
        case .notActivated: throw WatchFailure.sessionNotActivated.settingsError
        }
    }

    private func beginActivation() { session.activate { [weak self] event in self?.receive(event) } }

    private func receive(_ event: WatchSessionEvent) {
        switch event {
        case .activationEnded(let failure):
            let outcome: Result<Void, any Error> = failure.map { .failure($0.settingsError) } ?? .success(())
            activation.change { activation, line in
                activation.isRunning = false
                activation.outcome = outcome
                line.answerAll(outcome)
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
        for stream in listeners.withLock({ Array($0.values) }) { stream.yield() }
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
