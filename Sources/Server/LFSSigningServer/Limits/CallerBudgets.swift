import LFSSystem
import LFSWire
import Synchronization

/// The recent consumption of each caller: a token bucket of objects, and the bytes of open actions.
///
/// The mutex owns the state. It is never held across a call.
final class CallerBudgets: Sendable {
    private struct Budget {
        var tokens: Double
        /// The time at which the tokens were counted.
        var counted: Duration
        /// The bytes of actions by the second in which they expire, the earliest first. Actions of the same second
        /// share an entry.
        var open: [(expires: Int64, byteCount: Int64)] = []

        mutating func add(_ byteCount: Int64, expires: Int64) {
            if let last = open.indices.last, open[last].expires >= expires {
                open[last].byteCount = open[last].byteCount.addingSaturated(byteCount)
            } else {
                open.append((expires, byteCount))
            }
        }
    }

    private static let callerLimit = 10_000

    private let limits: SigningLimits
    private let uptime: @Sendable () -> Duration
    private let budgets = Mutex<[String: Budget]>([:])

    /// - Parameter uptime: a clock that cannot be set.
    init(_ limits: SigningLimits, uptime: @escaping @Sendable () -> Duration) {
        self.limits = limits
        self.uptime = uptime
    }

    /// Takes the tokens for a request.
    ///
    /// - Throws: ``WireFailure/Code/throttled`` with the seconds until enough tokens are available.
    func take(_ count: Int, caller: String) throws(WireFailure) {
        let missing = change(caller) { budget in
            // More tokens than the burst would never be available.
            let wanted = min(Double(count), Double(limits.burst))
            if budget.tokens >= wanted {
                budget.tokens -= wanted
                return 0.0
            }
            return wanted - budget.tokens
        }
        guard missing > 0 else { return }
        let seconds = Int64(saturating: (missing / max(limits.objectsPerSecond, 0.001)).rounded(.up))
        throw WireFailure(.throttled, message: "Too many requests. Try again later.", retryAfter: max(seconds, 1))
    }

    /// Counts the bytes of an action.
    ///
    /// - Throws: ``WireFailure/Code/throttled`` if the caller would have too many open bytes.
    func open(_ byteCount: Int64, caller: String) throws(WireFailure) {
        let expires = expiry
        let wait: Int64? = change(caller) { budget in
            let sum = budget.open.reduce(Int64(0)) { $0.addingSaturated($1.byteCount) }
            // The first action is always accepted. Otherwise an action above the limit could never be accepted.
            if sum > 0, sum > limits.openBytes - byteCount {
                return max((budget.open.first?.expires ?? 0) - budget.counted.components.seconds, 1)
            }
            budget.add(byteCount, expires: expires)
            return nil
        }
        guard let wait else { return }
        throw WireFailure(.throttled, message: "Too many bytes are in transfer. Try again later.", retryAfter: wait)
    }

    /// Counts bytes that were transferred in vain, even if they exceed the limit.
    func charge(_ byteCount: Int64, caller: String) {
        let expires = expiry
        change(caller) { $0.add(byteCount, expires: expires) }
    }

    private var expiry: Int64 { (uptime() + limits.expiry).components.seconds }

    private func change<Result: Sendable>(_ caller: String, _ body: (inout Budget) -> Result) -> Result {
        let now = uptime()
        return budgets.withLock { budgets in
            if budgets.count >= Self.callerLimit, budgets[caller] == nil { forgetIdle(&budgets, now: now) }
            var budget = budgets[caller] ?? Budget(tokens: Double(limits.burst), counted: now)
            refresh(&budget, now: now)
            let result = body(&budget)
            budgets[caller] = budget
            return result
        }
    }

    private func refresh(_ budget: inout Budget, now: Duration) {
        let seconds = (now - budget.counted) / .seconds(1)
        budget.tokens = min(budget.tokens + seconds * limits.objectsPerSecond, Double(limits.burst))
        budget.counted = now
        budget.open.removeAll { $0.expires <= now.components.seconds }
    }

    /// Removes budgets that are equal to new ones.
    private func forgetIdle(_ budgets: inout [String: Budget], now: Duration) {
        for (caller, old) in budgets {
            var budget = old
            refresh(&budget, now: now)
            let isIdle = budget.tokens >= Double(limits.burst) && budget.open.isEmpty
            budgets[caller] = isIdle ? nil : budget
        }
    }
}
