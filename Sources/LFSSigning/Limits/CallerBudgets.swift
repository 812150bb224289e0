import LFSSystem
import LFSWire
import Synchronization

/// How much each caller has asked for lately: a token bucket of objects, and the bytes of open actions.
///
/// Owner of its state: the mutex, never held across a call.
final class CallerBudgets: Sendable {
    private struct Budget {
        var tokens: Double
        /// When the tokens were counted.
        var counted: Duration
        /// Bytes of actions by the time at which they expire, the earliest first. Those of one second stand together.
        var open: [(expires: Int64, byteCount: Int64)] = []

        mutating func add(_ byteCount: Int64, _ expires: Int64) {
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

    /// - Parameter uptime: a clock that nobody can set.
    init(_ limits: SigningLimits, uptime: @escaping @Sendable () -> Duration) {
        self.limits = limits
        self.uptime = uptime
    }

    /// Takes the tokens for a request.
    ///
    /// - Throws: ``WireFailure/Code/throttled``, with the seconds until there are enough.
    func take(_ count: Int, caller: String) throws(WireFailure) {
        let missing = change(caller) { budget in
            // More than the burst would never be there.
            let wanted = min(Double(count), Double(limits.burst))
            if budget.tokens >= wanted {
                budget.tokens -= wanted
                return 0.0
            }
            return wanted - budget.tokens
        }
        guard missing > 0 else { return }
        let seconds = Int64(saturating: (missing / max(limits.objectsPerSecond, 0.001)).rounded(.up))
        throw WireFailure(.throttled, "Too many requests: try again later.", retryAfter: max(seconds, 1))
    }

    /// Counts the bytes of an action.
    ///
    /// - Throws: ``WireFailure/Code/throttled`` when they would be too many.
    func open(_ byteCount: Int64, caller: String) throws(WireFailure) {
        let expires = expiry
        let wait: Int64? = change(caller) { budget in
            let sum = budget.open.reduce(Int64(0)) { $0.addingSaturated($1.byteCount) }
            // A first one is let through, or what is larger than the limit would never be.
            if sum > 0, sum > limits.openBytes - byteCount {
                return max((budget.open.first?.expires ?? 0) - budget.counted.components.seconds, 1)
            }
            budget.add(byteCount, expires)
            return nil
        }
        guard let wait else { return }
        throw WireFailure(.throttled, "Too many bytes are on their way: try again later.", retryAfter: wait)
    }

    /// Counts bytes that were moved in vain, also when they are too many.
    func charge(_ byteCount: Int64, caller: String) {
        let expires = expiry
        change(caller) { $0.add(byteCount, expires) }
    }

    private var expiry: Int64 { (uptime() + limits.expiry).components.seconds }

    private func change<Result: Sendable>(_ caller: String, _ body: (inout Budget) -> Result) -> Result {
        let now = uptime()
        return budgets.withLock { budgets in
            if budgets.count >= Self.callerLimit, budgets[caller] == nil { forgetIdle(&budgets, now) }
            var budget = budgets[caller] ?? Budget(tokens: Double(limits.burst), counted: now)
            refresh(&budget, now)
            let result = body(&budget)
            budgets[caller] = budget
            return result
        }
    }

    private func refresh(_ budget: inout Budget, _ now: Duration) {
        let seconds = (now - budget.counted) / .seconds(1)
        budget.tokens = min(budget.tokens + seconds * limits.objectsPerSecond, Double(limits.burst))
        budget.counted = now
        budget.open.removeAll { $0.expires <= now.components.seconds }
    }

    /// One that is as it would be made anew need not be kept.
    private func forgetIdle(_ budgets: inout [String: Budget], _ now: Duration) {
        for (caller, old) in budgets {
            var budget = old
            refresh(&budget, now)
            let isIdle = budget.tokens >= Double(limits.burst) && budget.open.isEmpty
            budgets[caller] = isIdle ? nil : budget
        }
    }
}
