/// Runs the bodies concurrently until the first of them ends. Then it cancels the others and waits for them.
///
/// - Returns: the results of all bodies, in the order in which they ended.
@discardableResult
package func race<Result: Sendable>(_ bodies: (@Sendable () async -> Result)...) async -> [Result] {
    await race(bodies)
}

/// Runs an array of bodies, like the function above.
@discardableResult
package func race<Result: Sendable>(_ bodies: [@Sendable () async -> Result]) async -> [Result] {
    await withTaskGroup(of: Result.self) { group in
        for body in bodies { group.addTask { await body() } }
        var results: [Result] = []
        for await result in group {
            results.append(result)
            group.cancelAll()
        }
        return results
    }
}

extension Clock where Duration == Swift.Duration {
    /// Returns when the time is over or the task is cancelled. Used as a body of a race to limit its time.
    package func wait(for time: Duration) async {
        // A sleep throws only if its task is cancelled. Then the wait is over too.
        do { try await sleep(for: time) } catch { return }
    }
}
