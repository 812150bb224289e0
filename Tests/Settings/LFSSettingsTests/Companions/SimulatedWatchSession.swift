import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LFSSettings

/// A session of WatchConnectivity that behaves as Apple documents, and records its calls.
///
/// - Properties of a session have their values only after the activation.
/// - An update needs an activated session, a paired device with the app, and a property list. It replaces the earlier
///   one, whether that was delivered or not.
/// - A context is delivered later, before or after the activation of the receiver.
///
/// One mutex owns the state. It is never held while an event is reported.
final class SimulatedWatchSession: WatchSession {
    private struct State {
        var status = WatchSessionStatus(
            isSupported: true, activation: .notActivated, isPaired: true, isAppInstalled: true)
        var sent: [String: any Sendable] = [:]
        var received: [String: any Sendable] = [:]
        /// The context that was sent and not delivered.
        var outgoing: [String: any Sendable]?
        var receive: (@Sendable (WatchSessionEvent) -> Void)?
        var endsActivations = true
        var activationFailure: WatchFailure?
        var updateFailure: WatchFailure?
        var whenSent: (@Sendable () -> Void)?
    }

    /// The maximum size of a context in bytes. Apple's is unknown.
    static let contextLimit = 55_000

    let calls = EventLog<String>()
    private let state = Mutex(State())

    // MARK: Calls of the transport

    var status: WatchSessionStatus {
        state.withLock { state in
            if state.status.activation == .activated { return state.status }
            var status = state.status
            status.isPaired = false
            status.isAppInstalled = false
            return status
        }
    }

    var sentContext: [String: Any] { state.withLock(\.sent) }
    var receivedContext: [String: Any] { state.withLock(\.received) }

    func activate(_ receive: @escaping @Sendable (WatchSessionEvent) -> Void) {
        calls.add("activate")
        let (isSupported, ends) = state.withLock { state in
            state.receive = receive
            return (state.status.isSupported, state.endsActivations)
        }
        if !isSupported { Issue.record("A session that is not supported must not be activated.") }
        if ends { endActivation() }
    }

    func update(_ context: [String: Any]) throws(WatchFailure) {
        calls.add("update")
        let bytes = context.compactMapValues { $0 as? Data }
        let isList = PropertyListSerialization.propertyList(context, isValidFor: .binary)
        let whenSent = try state.withLock { state throws(WatchFailure) in
            if let failure = state.updateFailure { throw failure }
            switch state.status.activation {
            case .notActivated: throw .sessionNotActivated
            case .inactive: throw .sessionInactive
            case .activated: break
            }
            guard state.status.isPaired else { throw .deviceNotPaired }
            guard state.status.isAppInstalled else { throw .watchAppNotInstalled }
            guard isList, bytes.count == context.count else { throw .payloadUnsupportedTypes }
            let size = bytes.reduce(0) { $0 + $1.key.utf8.count + $1.value.count }
            guard size <= Self.contextLimit else { throw .payloadTooLarge }
            state.sent = bytes
            state.outgoing = bytes
            return state.whenSent
        }
        whenSent?()
    }

    // MARK: The system

    /// Changes the state of the session without an event.
    func change(_ body: (inout WatchSessionStatus) -> Void) { state.withLock { body(&$0.status) } }
    /// Keeps activations running until ``endActivation()``.
    func holdActivations() { state.withLock { $0.endsActivations = false } }
    func failActivations(with failure: WatchFailure?) { state.withLock { $0.activationFailure = failure } }
    func failUpdates(with failure: WatchFailure?) { state.withLock { $0.updateFailure = failure } }
    func whenSent(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.whenSent = body } }

    func report(_ event: WatchSessionEvent) { state.withLock(\.receive)?(event) }

    func endActivation() {
        let failure = state.withLock { state in
            if state.activationFailure == nil { state.status.activation = .activated }
            return state.activationFailure
        }
        report(.activationEnded(failure))
    }

    /// Replaces the contexts, as for another Apple Watch or after a hostile update.
    func put(sent: [String: any Sendable]? = nil, received: [String: any Sendable]? = nil) {
        state.withLock { state in
            if let sent { state.sent = sent }
            if let received { state.received = received }
        }
        if received != nil { report(.contextReceived) }
    }

    /// Returns the context that was sent last and not delivered.
    func takeOutgoing() -> [String: any Sendable]? { state.withLock { $0.outgoing.take() } }
}

/// The simulated sessions of an iPhone and its Apple Watch.
struct WatchLink: Sendable {
    let phone = SimulatedWatchSession()
    let watch = SimulatedWatchSession()

    /// - Parameter isAutomatic: true to deliver each context at once.
    init(isAutomatic: Bool = false) {
        guard isAutomatic else { return }
        for (sender, receiver) in [(phone, watch), (watch, phone)] {
            sender.whenSent { [weak sender, weak receiver] in
                if let context = sender?.takeOutgoing() { receiver?.put(received: context) }
            }
        }
    }

    /// Delivers the latest contexts of both devices.
    func deliver() {
        for (sender, receiver) in [(phone, watch), (watch, phone)] {
            if let context = sender.takeOutgoing() { receiver.put(received: context) }
        }
    }
}
