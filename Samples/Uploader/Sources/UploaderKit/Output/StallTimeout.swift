import LFS

/// The limit of the time for which a run continues without progress. The caller passes the time.
package struct StallTimeout: Sendable {
    /// The limit. Nil for forever.
    package let limit: Duration?
    private var last: (figures: [Int64], time: Duration)?

    package init(_ limit: Duration?) { self.limit = limit }

    /// Records the progress at a time.
    ///
    /// - Parameters:
    ///   - figures: numbers that change with every progress.
    ///   - time: the current time, which may start at any value.
    /// - Returns: true if the figures have not changed for the limit or longer.
    package mutating func isOver(_ figures: [Int64], at time: Duration) -> Bool {
        guard let limit else { return false }
        guard let last, last.figures == figures else {
            last = (figures, time)
            return false
        }
        return time - last.time >= limit
    }

    /// The interval of the checks.
    package var interval: Duration {
        guard let limit else { return .seconds(3_600) }
        return min(max(limit / 20, .milliseconds(50)), .seconds(10))
    }
}

extension StallTimeout {
    /// The time for which a storage may refuse everything from the start. It allows several attempts, so that a single
    /// wrong response does not end the run.
    private static let refusalLimit = Duration.seconds(5)

    /// Runs a body while there is progress.
    ///
    /// - Parameter other: runs concurrently with the body, and ends with it.
    /// - Throws: ``GaveUp``, errors of the body or the other work, the database's error, and `CancellationError`.
    func run<Value: Sendable>(
        _ lfs: LFSManager, advance: ProgressMeter, _ body: @escaping @Sendable () async throws -> Value,
        beside other: @escaping @Sendable () async throws -> Void = {}
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { tasks in
            tasks.addTask {
                try await other()
                return nil
            }
            tasks.addTask {
                try await watch(lfs, advance: advance)
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

    /// Watches the progress and never returns. Throws an error when the task is cancelled, or when the limit has passed
    /// without progress.
    ///
    /// Work by another process counts as well, because the rows show it.
    private func watch(_ lfs: LFSManager, advance: ProgressMeter) async throws {
        // A clock that stops while the machine sleeps.
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

    /// Throws an error if the storage still refuses everything after ``refusalLimit``. A run without a limit waits for
    /// other keys too, so the call then returns at once.
    private func watchRefusals(_ advance: ProgressMeter) async throws {
        if limit == nil { return }
        for await _ in advance.refusals.stream {
            try await SuspendingClock().sleep(for: Self.refusalLimit)
            if advance.refusal != nil { throw GaveUp(.refused) }
        }
    }
}

/// An error that ends a run before its work is complete.
struct GaveUp: Error {
    enum Reason {
        /// The run made no progress for the given time.
        case idle(Duration)
        /// The storage refuses everything, and waiting does not help.
        case refused
    }

    let reason: Reason

    init(_ reason: Reason) { self.reason = reason }

    var words: String {
        switch reason {
        case .idle(let limit):
            "gave up: for \(Format.time(limit / .seconds(1))) no byte was accepted and no file was completed"
        case .refused: "gave up: the storage refuses everything, and waiting does not help"
        }
    }
}
