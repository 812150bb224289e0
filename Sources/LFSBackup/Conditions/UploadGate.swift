import Foundation
public import LFS
import LFSSystem
import Synchronization

/// Holds the uploads of a manager while its conditions are not met: no upload is begun then. Those under way go on.
///
/// ```swift
/// let gate = UploadGate(lfs, conditions: { [.unmetered, .mains] })
/// try await gate.look()      // before the start, so that nothing is begun that must not be
/// try lfs.start()
/// try await gate.run()       // until it is cancelled
/// ```
///
/// Conditions that are met again have to hold for one interval before uploads go on, so that a network that comes and
/// goes does not begin uploads that it cuts off. The reason is in `LFSStatus.hold`.
public final class UploadGate: Sendable {
    private let lfs: LFSManager
    private let conditions: @Sendable () async throws -> UploadConditions
    private let device: @Sendable () throws -> DeviceState
    private let interval: Duration
    private let clock: any Clock<Duration>
    private let state = Mutex(GateState())

    /// A gate; it holds nothing before the first look.
    ///
    /// - Parameters:
    ///   - lfs: the manager.
    ///   - conditions: what has to hold; asked at each look, so that a setting counts at once.
    ///   - device: how the device is connected, which may block; on Linux ``SystemState`` tells it.
    ///   - interval: between two looks, at least 10 ms.
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
        (self.lfs, self.conditions, self.device) = (lfs, conditions, device)
        (self.interval, self.clock) = (max(interval, .milliseconds(10)), clock)
    }

    /// Looks once, and holds the uploads or lets them go on. Looks are made one after the other.
    ///
    /// - Returns: what uploads wait for; nil when they go on. A device that cannot be asked meets no condition.
    /// - Throws: what the conditions throw; `LFSError` when the reason cannot be noted, though it holds.
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

    /// Looks again and again until the task is cancelled. Uploads stay then as they are, held or not.
    ///
    /// - Throws: as ``look()``.
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
            return "waits until network and power can be told: \(error)"
        }
    }
}

/// What the looks of a gate lead to, as a value.
struct GateState: Sendable {
    enum Decision: Hashable, Sendable {
        case hold(String)
        case release
        /// Nothing changes; with what uploads wait for.
        case stay(String?)
    }

    /// What uploads wait for now.
    private var reason: String?
    /// Whether the conditions were met at the look before.
    private var wasMet = false

    /// - Parameter unmet: what the device lacks; nil when it lacks nothing.
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
