import Foundation
public import LFS
import LFSSystem
import Synchronization

/// A gate that holds the uploads of a manager while conditions are not met. No upload starts in this time. Uploads in
/// progress continue.
///
/// ```swift
/// let gate = UploadGate(lfs, conditions: { [.unmetered, .mains] })
/// try await gate.look()      // before the start, so that no upload starts too early
/// try lfs.start()
/// try await gate.run()       // until it is cancelled
/// ```
///
/// When the conditions are met again, they must hold for one interval before uploads continue. This way an unstable
/// network does not start uploads only to interrupt them. `LFSStatus.hold` has the reason.
public final class UploadGate: Sendable {
    private let lfs: LFSManager
    private let conditions: @Sendable () async throws -> UploadConditions
    private let device: @Sendable () throws -> DeviceState
    private let interval: Duration
    private let clock: any Clock<Duration>
    private let state = Mutex(GateState())

    /// Creates a gate. It holds no uploads before the first check.
    ///
    /// - Parameters:
    ///   - lfs: the manager.
    ///   - conditions: returns the required conditions. It is called at each check, so that a changed setting applies
    ///     at once.
    ///   - device: returns the state of the device. It may block. On Linux and iOS, ``SystemState`` reads it.
    ///   - interval: the time between two checks, at least 10 ms.
    public convenience init(
        _ lfs: LFSManager, conditions: @escaping @Sendable () async throws -> UploadConditions,
        device: @escaping @Sendable () throws -> DeviceState = { try SystemState().read() },
        interval: Duration = .seconds(5)
    ) {
        self.init(lfs, conditions: conditions, device: device, interval: interval, clock: ContinuousClock())
    }

    package init(
        _ lfs: LFSManager, conditions: @escaping @Sendable () async throws -> UploadConditions,
        device: @escaping @Sendable () throws -> DeviceState, interval: Duration, clock: any Clock<Duration>
    ) {
        self.lfs = lfs
        self.conditions = conditions
        self.device = device
        self.interval = max(interval, .milliseconds(10))
        self.clock = clock
    }

    /// Checks the conditions once, and holds or releases the uploads. Calls must not overlap.
    ///
    /// - Returns: the reason why uploads are held. Nil if they are not. If the state of the device cannot be read, no
    ///   condition is met.
    /// - Throws: errors of the conditions closure, and `LFSError` when the reason cannot be recorded. The uploads are
    ///   held even then.
    @discardableResult
    public func look() async throws -> String? {
        let reason = try await unmet()
        switch state.withLock({ $0.decide(reason) }) {
        case .hold(let reason):
            try await lfs.holdUploads(because: reason)
            return reason
        case .release: try await lfs.releaseUploads()
        case .stay(let reason): return reason
        }
        return nil
    }

    /// Checks the conditions repeatedly until the task is cancelled. Afterwards the uploads stay held or released.
    ///
    /// - Throws: the errors of ``look()``.
    public func run() async throws {
        while !Task.isCancelled {
            try await look()
            await clock.wait(for: interval)
        }
    }

    private func unmet() async throws -> String? {
        let conditions = try await conditions()
        if conditions.isEmpty { return nil }
        let device = device
        do {
            let state = try await BlockingPool.shared.run { _ in try device() }
            return conditions.unmet(by: state)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            return "waits until the state of network and power can be read: \(error)"
        }
    }
}

/// The state machine of a gate, as a value.
struct GateState: Sendable {
    enum Decision: Hashable, Sendable {
        case hold(String)
        case release
        /// No change. The associated value is the reason why uploads are held.
        case stay(String?)
    }

    /// The reason why uploads are held now.
    private var reason: String?
    /// True if the conditions were met at the previous check.
    private var wasMet = false

    /// - Parameter unmet: the unmet conditions. Nil if all are met.
    mutating func decide(_ unmet: String?) -> Decision {
        defer { wasMet = unmet == nil }
        if let unmet {
            if unmet == reason { return .stay(reason) }
            reason = unmet
            return .hold(unmet)
        }
        guard reason != nil else { return .stay(nil) }
        guard wasMet else { return .stay(reason) }
        reason = nil
        return .release
    }
}
