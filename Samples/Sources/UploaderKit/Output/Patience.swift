import ArgumentParser
import LFS

/// How long a run goes on without getting anywhere; a value that is told the time.
package struct Patience: Sendable {
    /// Nil for ever.
    package let limit: Duration?
    private var last: (figures: [Int64], time: Duration)?

    package init(_ limit: Duration?) { self.limit = limit }

    /// Takes what has been done by a time, which begins anywhere, in figures that change with it.
    ///
    /// - Returns: whether nothing was done for longer than the limit.
    package mutating func isOver(_ figures: [Int64], at time: Duration) -> Bool {
        guard let limit else { return false }
        guard let last, last.figures == figures else {
            last = (figures, time)
            return false
        }
        return time - last.time >= limit
    }

    /// How often to look.
    package var interval: Duration {
        guard let limit else { return .seconds(3_600) }
        return min(max(limit / 20, .milliseconds(50)), .seconds(10))
    }
}

extension Patience {
    /// How long a storage may refuse everything from the start: some tries, so that a single odd answer ends nothing.
    private static let refusalLimit = Duration.seconds(5)

    /// Runs a body as long as something gets done.
    ///
    /// - Parameter other: what goes on beside it, and ends with it.
    /// - Throws: ``GaveUp``, what the body or the other work throws, the database's error, and `CancellationError`.
    func run<Value: Sendable>(
        _ lfs: LFSManager, _ advance: Advance, _ body: @escaping @Sendable () async throws -> Value,
        beside other: @escaping @Sendable () async throws -> Void = {}
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { tasks in
            tasks.addTask {
                try await other()
                return nil
            }
            tasks.addTask {
                try await watch(lfs, advance)
                return nil
            }
            tasks.addTask {
                try await watchRefusals(advance)
                return nil
            }
            tasks.addTask { try await body() }
            defer { tasks.cancelAll() }
            while let ended = try await tasks.next() { if let ended { return ended } }
            throw CancellationError()
        }
    }

    /// Returns never; it ends with the task, or with the patience.
    ///
    /// Work that another process does counts as well: the rows show it.
    private func watch(_ lfs: LFSManager, _ advance: Advance) async throws {
        // One that stands still while the machine sleeps.
        let (clock, start) = (SuspendingClock(), SuspendingClock.now)
        var patience = self
        while true {
            try await clock.sleep(for: interval)
            let status = try await lfs.status()
            let figures = [status.files, status.remote, status.failed, status.cancelled].map(Int64.init)
            let all = figures + [status.pendingBytes, Int64(truncatingIfNeeded: advance.count)]
            if patience.isOver(all, at: clock.now - start) { throw GaveUp(.idle(limit ?? .zero)) }
        }
    }

    /// Returns only with the task; one that waits for ever waits for other keys, too.
    private func watchRefusals(_ advance: Advance) async throws {
        if limit == nil { return }
        for await _ in advance.refusals.stream {
            try await SuspendingClock().sleep(for: Self.refusalLimit)
            if advance.refusal != nil { throw GaveUp(.refused) }
        }
    }
}

/// A run ends before its work.
struct GaveUp: Error {
    enum Reason {
        /// Nothing was done for as long as a run waits.
        case idle(Duration)
        /// The storage takes nothing, and waiting does not mend that.
        case refused
    }

    let reason: Reason

    init(_ reason: Reason) { self.reason = reason }

    var words: String {
        switch reason {
        case .idle(let limit):
            "gave up: for \(Format.time(limit / .seconds(1))) no byte was accepted and no file got through"
        case .refused: "gave up: the storage refuses everything, and waiting does not mend that"
        }
    }
}

/// A time as people write it: `90s`, `30m`, `2h`, `1d`; `never` has no end.
package struct TimeSpan: ExpressibleByArgument, Hashable, Sendable, CustomStringConvertible {
    package let duration: Duration?
    package let description: String

    package static func minutes(_ number: Int) -> TimeSpan { TimeSpan(.seconds(number * 60), "\(number)m") }

    private init(_ duration: Duration, _ description: String) {
        self.duration = duration
        self.description = description
    }

    /// nil for anything else, and for more than ten years.
    package init?(argument: String) {
        description = argument
        if argument == "never" {
            duration = nil
            return
        }
        let digits = argument.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let units: [Substring: Double] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
        guard let number = Double(digits), let unit = units[argument.dropFirst(digits.count)] else { return nil }
        guard number * unit >= 0.1, number * unit <= 3_650 * 86_400 else { return nil }
        duration = .milliseconds(Int64(number * unit * 1_000))
    }
}
