package import Foundation
import LFSStorage
import LFSSystem

/// A cache that keeps credentials until shortly before they expire. Only one caller at a time asks the provider.
///
/// The first caller that needs credentials asks in its own task, and the other callers wait for its answer. If that
/// task is cancelled, one of the waiting callers asks instead.
///
/// It has its own single flight, because callers do not wait for a request while the current credentials are valid.
package final class CredentialsCache<Credentials: ExpiringCredentials>: Sendable {
    /// Credentials are renewed this many seconds before they expire.
    private static var margin: TimeInterval { 300 }
    /// The seconds between requests to the provider while the current credentials are still valid.
    ///
    /// It applies after the provider failed, or returned credentials that do not last longer.
    private static var pause: TimeInterval { 30 }

    /// Credentials with the number of the provider's answer that contained them. A refusal by the server invalidates
    /// only that answer, not a later one.
    package struct Issued: Sendable {
        package let credentials: Credentials
        fileprivate let number: Int
    }

    private enum Answer: Sendable {
        case issued(Issued)
        case failure(any Error)
        /// No answer, because the task that asked or the task that waited was cancelled.
        case none
    }

    private struct State {
        var held: Issued?
        var lastNumber = 0
        /// The earliest time of the next request to the provider while the current credentials are still valid.
        var nextTry = Date.distantPast
        var isAsking = false
    }

    private let provide: @Sendable () async throws -> Credentials
    private let now: @Sendable () -> Date
    /// The credentials, and the callers that wait for another caller's answer.
    private let queue = WaitQueue<State, Answer>(State())

    /// - Parameter provide: the provider. It may throw any error, and a ``StorageError`` is rethrown unchanged.
    package init(
        _ provide: @escaping @Sendable () async throws -> Credentials, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.provide = provide
        self.now = now
    }

    /// The number of callers that wait for another caller's answer.
    package var waiterCount: Int { queue.waiterCount }

    /// Returns credentials that have not expired.
    ///
    /// - Throws: ``StorageError``: the provider's error, ``StorageError/Code/unauthorized`` when the provider returned
    ///   expired credentials, or ``StorageError/Code/cancelled``.
    package func credentials() async throws -> Credentials { try await current().credentials }

    /// Returns the same as ``credentials()``, with the number of the answer for ``invalidate(_:)``.
    package func current() async throws -> Issued {
        while true {
            guard !Task.isCancelled else { throw StorageError(wrapping: CancellationError()) }
            let answer: Answer
            switch decide() {
            case .use(let issued): return issued
            case .ask: answer = await ask()
            case .wait: answer = await wait()
            }
            switch answer {
            case .issued(let issued): return issued
            case .failure(let error): throw StorageError(wrapping: error)
            case .none: continue
            }
        }
    }

    /// Drops credentials that the server refused, unless the provider has been asked again since.
    ///
    /// Many requests may be refused at once. The provider is asked once for all of them, even if it returns the same
    /// credentials again.
    package func invalidate(_ used: Issued) {
        queue.change { state, _ in
            if state.held?.number == used.number { state.held = nil }
        }
    }

    private enum Decision {
        case use(Issued)
        case ask
        case wait
    }

    private func decide() -> Decision {
        let now = now()
        return queue.change { state, _ in
            if let held = state.held {
                let rest = Self.rest(of: held.credentials, at: now)
                // While one caller asks, the others keep using credentials that are still valid.
                if rest > Self.margin || (rest > 0 && (state.isAsking || now < state.nextTry)) { return .use(held) }
            }
            if state.isAsking { return .wait }
            state.isAsking = true
            return .ask
        }
    }

    private func ask() async -> Answer {
        let new = await provided()
        let now = now()
        let wasCancelled = Task.isCancelled
        return queue.change { state, line in
            state.isAsking = false
            let answer: Answer
            switch new {
            case .success(let new):
                state.lastNumber += 1
                let issued = Issued(credentials: new, number: state.lastNumber)
                state.held = issued
                state.nextTry = now.addingTimeInterval(Self.pause)
                answer = .issued(issued)
            case .failure(let error):
                if let held = state.held, Self.rest(of: held.credentials, at: now) > 0 {
                    state.nextTry = now.addingTimeInterval(Self.pause)
                    answer = .issued(held)
                } else {
                    answer = wasCancelled ? .none : .failure(error)
                }
            }
            line.answerAll(answer)
            return answer
        }
    }

    private func provided() async -> Result<Credentials, any Error> {
        do {
            // An app's provider may block its thread, which must not be the one of the engine.
            let new = try await withTaskExecutorPreference(BlockingPool.uploads) { try await provide() }
            if Self.rest(of: new, at: now()) > 0 { return .success(new) }
            return .failure(
                StorageError(
                    .unauthorized,
                    message: "The provider returned \(new), which have expired. Check why it has no new ones."))
        } catch {
            return .failure(error)
        }
    }

    private func wait() async -> Answer {
        // The answer may have arrived since the decision to wait.
        await queue.wait(ifCancelled: Answer.none) { $0.isAsking ? nil : Answer.none }
    }

    private static func rest(of credentials: Credentials, at now: Date) -> TimeInterval {
        credentials.expiration?.timeIntervalSince(now) ?? .infinity
    }
}
