import Foundation
import LFSStorage
import LFSSystem
import Logging
import Synchronization

/// A runner that syncs the settings of this device over one transport, one round after another.
///
/// One mutex owns the status. It is never held during a call.
final class CompanionRunner: Sendable {
    let access: ValueAccess
    let calls: DeadlineTransport
    let deviceID: FileID
    let resetCount: Int64
    private let interval: Duration
    private let backoff: Backoff
    private let random: @Sendable () -> Double
    private let clock: any Clock<Duration>
    private let logger: Logger?
    /// Prevents rounds of the router and of the app from running concurrently.
    private let turns = AsyncSemaphore(1)
    private let current: Mutex<CompanionStatus>
    /// The states that were read before. Nil before the first round.
    private let memory = Mutex<CompanionSnapshot?>(nil)

    /// The delay after a change, to combine it with changes that follow immediately.
    static let settling = Duration.milliseconds(500)

    init(
        _ transport: any CompanionTransport, access: ValueAccess, deviceID: FileID, resetCount: Int64,
        options: CompanionOptions, clock: any Clock<Duration>, logger: Logger?
    ) {
        self.access = access
        self.deviceID = deviceID
        self.resetCount = resetCount
        calls = DeadlineTransport(
            transport: transport, deadline: max(options.deadline, CompanionOptions.shortest), clock: clock)
        interval = max(options.interval, CompanionOptions.shortest)
        backoff = options.backoff
        random = options.random
        self.clock = clock
        self.logger = logger
        current = Mutex(CompanionStatus(transport: transport.name))
    }

    var status: CompanionStatus { current.withLock { $0 } }

    /// Runs one round.
    ///
    /// - Parameter includesManual: true if the app has requested the round. It then reads everything, including states
    ///   that were read before.
    /// - Throws: a ``SettingsError`` with the reason why the round failed, or why some values were not published.
    func synchronize(includesManual: Bool) async throws {
        try await turns.withPermit {
            do {
                let known = includesManual ? nil : memory.withLock { $0 }
                let findings = try await CompanionRound(self, includesManual: includesManual, known: known).run()
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

    /// Runs rounds until the second latch opens, the task is cancelled, or all values are removed.
    ///
    /// - Parameter begun: opens when the watch for changes has started. Its first notification must not count as a
    ///   change.
    func run(after begun: Latch, until stop: Latch) async {
        await begun.wait()
        // Changes of keys that do not sync automatically are ignored.
        let scope = CompanionScope(registry: access.registry, includesManual: false, hasRootKey: true)
        let changes = access.hub.subscribe { name in scope.participant(name) != nil }
        await withTaskGroup(of: Void.self) { [transport = calls.transport] group in
            group.addTask { for await _ in transport.changes() { changes.signal.notify() } }
            while !stop.isOpen, !Task.isCancelled {
                let isDone = await turn()
                if status.hasLeft { break }
                guard isDone else {
                    // Only time helps. If it also waited for changes, each change would start another attempt.
                    await stop.wait(atMost: pause(status.failureCount), clock: clock)
                    continue
                }
                await stop.wait(orFor: changes.signal, atMost: interval, clock: clock)
                if !stop.isOpen { await stop.wait(atMost: Self.settling, clock: clock) }
            }
            group.cancelAll()
        }
    }

    /// - Returns: true if the next round follows at the normal interval.
    private func turn() async -> Bool {
        do {
            try await synchronize(includesManual: false)
            return true
        } catch {
            // The error is in the status, and is logged only once.
            let status = status
            if status.failureCount == 1 {
                logger?.warning("\(status.transport) failed: \(status.failureMessage ?? "cancelled")")
            }
            // `tooLarge` is solved by smaller values, not by waiting.
            return status.failure == SettingsError.Code.tooLarge.rawValue
        }
    }

    private func pause(_ failures: Int) -> Duration {
        max(backoff.delay(afterFailures: failures, random: random()), CompanionOptions.shortest)
    }

    private func note(_ findings: CompanionRound.Findings) {
        let now = Date(millisecondsSince1970: access.now())
        let isNew = current.withLock { status in
            let before = status.problems
            if findings.failure == nil {
                status.completedAt = now
                status.failureCount = 0
                status.failure = nil
                status.failureMessage = nil
            }
            status.problems = findings.problems
            status.unknownCount = findings.unknownCount
            status.hasLeft = findings.isReset
            return status.problems != before
        }
        guard isNew else { return }
        for problem in findings.problems {
            let what = problem.key ?? "the whole published state"
            let whose = problem.device == deviceID.text ? "Not published" : "Not accepted from \(problem.device)"
            logger?.warning("\(whose): \(what), \(problem.code)")
        }
    }

    private func note(_ error: SettingsError) {
        current.withLock { status in
            status.failureCount += 1
            status.failure = error.code.rawValue
            status.failureMessage = error.message
        }
    }

    /// Converts an error of a transport. It may be of any type, and may quote a URL with a password. For errors of
    /// other modules only the type is reported.
    private static func wording(_ error: any Error) -> SettingsError {
        if let error = SettingsError.wrapping(error, key: nil) as? SettingsError { return error }
        return SettingsError(
            .transportFailed,
            message: """
                The other devices cannot be reached, because the transport threw an error of the type \
                \(type(of: error)). The attempt is retried.
                """)
    }
}
