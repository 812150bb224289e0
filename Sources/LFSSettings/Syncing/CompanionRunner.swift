import Foundation
import LFSStorage
import LFSSystem
import Logging
import Synchronization

/// Keeps the settings of this device and those of the others equal, by one transport, one round after the other.
///
/// Owner of the status: one mutex, which no call is made under.
final class CompanionRunner: Sendable {
    private let access: ValueAccess
    private let calls: CompanionCalls
    private let deviceID: FileID
    private let resetCount: Int64
    private let interval: Duration
    private let backoff: Backoff
    private let random: @Sendable () -> Double
    private let clock: any Clock<Duration>
    private let logger: Logger?
    /// The router's and the app's rounds come one after the other.
    private let turns = Permits(1)
    private let current: Mutex<CompanionStatus>
    /// What was read before; nil before the first round.
    private let memory = Mutex<CompanionMemory?>(nil)

    /// How long to wait after a change for others that come with it.
    static let settling = Duration.milliseconds(500)

    init(
        _ transport: any CompanionTransport, _ access: ValueAccess, deviceID: FileID, resetCount: Int64,
        options: CompanionOptions, clock: any Clock<Duration>, logger: Logger?
    ) {
        (self.access, self.deviceID, self.resetCount) = (access, deviceID, resetCount)
        calls = CompanionCalls(
            transport: transport, deadline: max(options.deadline, CompanionOptions.shortest), clock: clock)
        interval = max(options.interval, CompanionOptions.shortest)
        (backoff, random) = (options.backoff, options.random)
        (self.clock, self.logger) = (clock, logger)
        current = Mutex(CompanionStatus(transport: transport.name))
    }

    var status: CompanionStatus { current.withLock { $0 } }

    /// One round.
    ///
    /// - Parameter includesManual: whether the app has asked for it: then all is read, also what was read before.
    /// - Throws: as a ``SettingsError`` why it could not be carried out, or why not all that is here was published.
    func synchronize(includesManual: Bool) async throws {
        try await turns.withPermit {
            let round = CompanionRound(
                access: access, calls: calls, deviceID: deviceID, resetCount: resetCount,
                includesManual: includesManual)
            do {
                let findings = try await round.run(includesManual ? nil : memory.withLock { $0 })
                memory.withLock { $0 = findings.memory }
                note(findings)
                if let failure = findings.failure { throw failure }
            } catch {
                guard !Task.isCancelled else { throw CancellationError() }
                let error = Self.wording(error)
                note(error)
                throw error
            }
        }
    }

    /// Returns when the second latch opens, the task is cancelled, or everything was removed.
    ///
    /// - Parameter begun: opens once changes are seen: its beginning would count as one.
    func run(after begun: Latch, until stop: Latch) async {
        await begun.wait()
        // A change of a key that does not travel by itself is none of this.
        let scope = CompanionScope(registry: access.registry, includesManual: false, hasRootKey: true)
        let changes = access.hub.subscribe { name in scope.participant(name) != nil }
        await withTaskGroup(of: Void.self) { [transport = calls.transport] group in
            group.addTask { for await _ in transport.changes() { changes.signal.notify() } }
            while !stop.isOpen, !Task.isCancelled {
                let isDone = await turn()
                if status.hasLeft { break }
                guard isDone else {
                    // Nothing but time helps: with each change it would be tried anew.
                    await stop.wait(atMost: pause(status.failureCount), clock: clock)
                    continue
                }
                await stop.wait(orFor: changes.signal, atMost: interval, clock: clock)
                if !stop.isOpen { await stop.wait(atMost: Self.settling, clock: clock) }
            }
            group.cancelAll()
        }
    }

    /// - Returns: whether it went well.
    private func turn() async -> Bool {
        do {
            try await synchronize(includesManual: false)
            return true
        } catch {
            // It is in the status, and told once.
            let status = status
            if status.failureCount == 1 {
                logger?.warning("\(status.transport) failed: \(status.failureMessage ?? "cancelled")")
            }
            // Smaller values help then, and no time does.
            return status.failure == SettingsError.Code.tooLarge.rawValue
        }
    }

    private func pause(_ failures: Int) -> Duration {
        max(backoff.delay(afterFailures: failures, random: random()), CompanionOptions.shortest)
    }

    private func note(_ findings: CompanionTally.Findings) {
        let now = Date(millisecondsSince1970: access.sealing.now())
        let isNew = current.withLock { status in
            let before = status.problems
            if findings.failure == nil {
                (status.completedAt, status.failureCount) = (now, 0)
                (status.failure, status.failureMessage) = (nil, nil)
            }
            (status.problems, status.unknownCount) = (findings.problems, findings.ofOthers.unknownCount)
            status.hasLeft = findings.isReset
            return status.problems != before
        }
        guard isNew else { return }
        for problem in findings.problems {
            let what = problem.key ?? "all that it has published"
            let whose = problem.device == deviceID.text ? "Not told the others" : "Not taken from \(problem.device)"
            logger?.warning("\(whose): \(what), \(problem.code)")
        }
    }

    private func note(_ error: SettingsError) {
        current.withLock { status in
            status.failureCount += 1
            (status.failure, status.failureMessage) = (error.code.rawValue, error.message)
        }
    }

    /// What a transport throws may be of any type, and may quote a URL with a password: of another module's error
    /// nothing but the type is told.
    private static func wording(_ error: any Error) -> SettingsError {
        if let error = SettingsError.wrapping(error, nil) as? SettingsError { return error }
        return SettingsError(
            .transportFailed,
            """
            The other devices cannot be reached: the transport has thrown an error of the type \(type(of: error)). It \
            is tried again.
            """)
    }
}
