/// A number of things that may happen at once; who asks for more waits for its turn, in order.
package final class Permits: Sendable {
    /// How many permits are free, and who waits for one. The answer is whether there is a turn.
    private let queue: WaitQueue<Int, Bool>

    /// - Parameter count: at least 1, and less counts as 1.
    package init(_ count: Int) {
        queue = WaitQueue(max(count, 1))
    }

    /// How many tasks wait for their turn.
    var waiterCount: Int { queue.waiterCount }

    /// Runs the body when its turn comes.
    ///
    /// - Throws: `CancellationError` when the task was cancelled while it waited.
    package func withPermit<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await acquire()
        defer { release() }
        return try await body()
    }

    /// As ``withPermit(_:)``, but a cancelled task waits too. For what has to be done at a stop as well.
    package func withPermitThroughCancellation<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        _ = await queue.wait(ifCancelled: nil, Self.take)
        defer { release() }
        return try await body()
    }

    /// Waits for a turn, which ``release()`` gives back.
    ///
    /// - Throws: `CancellationError` when the task was cancelled first; there is nothing to give back then.
    package func acquire() async throws {
        let isGranted = await queue.wait(ifCancelled: false, Self.take)
        if !isGranted { throw CancellationError() }
    }

    /// Ends a turn; the next one begins.
    package func release() {
        queue.change { free, line in
            if !line.answerFirst(true) { free += 1 }
        }
    }

    private static func take(_ free: inout Int) -> Bool? {
        guard free > 0 else { return nil }
        free -= 1
        return true
    }
}
