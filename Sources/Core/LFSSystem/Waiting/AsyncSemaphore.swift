/// A semaphore for tasks: it limits how many run at once and lets further ones wait in order.
package final class AsyncSemaphore: Sendable {
    /// The number of free permits, and the tasks that wait for one. The answer is true if the task received a permit.
    private let queue: WaitQueue<Int, Bool>

    /// - Parameter count: the number of permits, at least 1. Smaller numbers become 1.
    package init(_ count: Int) {
        queue = WaitQueue(max(count, 1))
    }

    /// The number of tasks that wait for a permit.
    var waiterCount: Int { queue.waiterCount }

    /// Waits for a permit and then runs the body.
    ///
    /// - Throws: `CancellationError` when the task was cancelled while it waited.
    package func withPermit<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await acquire()
        defer { release() }
        return try await body()
    }

    /// Runs the body like ``withPermit(_:)``, but also in a cancelled task. For work that must be done during a stop
    /// too.
    package func withPermitThroughCancellation<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        _ = await queue.wait(ifCancelled: nil, Self.take)
        defer { release() }
        return try await body()
    }

    /// Waits for a permit, which the caller returns with ``release()``.
    ///
    /// - Throws: `CancellationError` if the task was cancelled first. Then the caller holds no permit.
    package func acquire() async throws {
        let isGranted = await queue.wait(ifCancelled: false, Self.take)
        if !isGranted { throw CancellationError() }
    }

    /// Returns a permit, which passes to the next waiting task.
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
