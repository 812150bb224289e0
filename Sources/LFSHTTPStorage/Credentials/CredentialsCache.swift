package import Foundation
import LFSStorage
import LFSSystem

/// Keeps credentials until shortly before they end, and lets one caller at a time ask the provider for others.
///
/// The first caller who needs credentials asks in its own task, and the others wait for the answer. When that task is
/// cancelled, one of those that wait asks instead.
package final class CredentialsCache<Credentials: ExpiringCredentials>: Sendable {
    /// How long before their end credentials are replaced.
    private static var margin: TimeInterval { 300 }
    /// How long credentials that are still good are kept after the provider failed or gave none that last longer.
    private static var pause: TimeInterval { 30 }

    /// Credentials with the number of the provider's answer that they came in. When the server refuses them, only that
    /// answer counts as refused, and not a later one.
    package struct Issued: Sendable {
        package let credentials: Credentials
        fileprivate let number: Int
    }

    private enum Answer: Sendable {
        case issued(Issued)
        case failure(any Error)
        /// There is no answer: the task that asked was cancelled, or the one that waits.
        case none
    }

    private struct State {
        var held: Issued?
        var lastNumber = 0
        /// When the provider may be asked again for others while those that are held are still good.
        var nextTry = Date.distantPast
        var isAsking = false
    }

    private let provide: @Sendable () async throws -> Credentials
    private let now: @Sendable () -> Date
    /// The credentials, and the callers that wait for the answer to another one.
    private let queue = WaitQueue<State, Answer>(State())

    /// - Parameter provide: the provider. It may throw any error; a ``StorageError`` comes out as it is.
    package init(
        _ provide: @escaping @Sendable () async throws -> Credentials, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.provide = provide
        self.now = now
    }

    /// How many callers wait for the answer to another one.
    package var waiterCount: Int { queue.waiterCount }

    /// Credentials that have not ended.
    ///
    /// - Throws: ``StorageError``: what the provider threw, ``StorageError/Code/unauthorized`` when it gave some that
    ///   have ended, ``StorageError/Code/cancelled``.
    package func credentials() async throws -> Credentials { try await current().credentials }

    /// As ``credentials()``, for callers that tell by ``invalidate(_:)`` when the server refuses them.
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

    /// Forgets credentials that the server refused, unless the provider has been asked again meanwhile: many requests
    /// may be refused at once, and it is asked once for all of them, even if it gives the same again.
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
                // While one asks, the others go on with what is still good.
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
                (state.held, state.nextTry) = (issued, now.addingTimeInterval(Self.pause))
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
            let new = try await provide()
            if Self.rest(of: new, at: now()) > 0 { return .success(new) }
            return .failure(
                StorageError(.unauthorized, "The provider gave \(new), which have ended: look why it has no new ones."))
        } catch {
            return .failure(error)
        }
    }

    private func wait() async -> Answer {
        // The answer may have come since the decision to wait.
        await queue.wait(ifCancelled: Answer.none) { $0.isAsking ? nil : Answer.none }
    }

    private static func rest(of credentials: Credentials, at now: Date) -> TimeInterval {
        credentials.expiration?.timeIntervalSince(now) ?? .infinity
    }
}
