/// Runs the bodies beside each other until the first of them has ended. The others are cancelled then, and waited for.
///
/// - Returns: what they have returned, in the order in which they ended.
@discardableResult
package func race<Result: Sendable>(_ bodies: (@Sendable () async -> Result)...) async -> [Result] {
    await race(bodies)
}

/// As the one above, for a number of bodies that is known only now.
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
    /// Returns when the time is over or the task is cancelled. A body of a race that is over with the time.
    package func wait(for time: Duration) async {
        // A sleep throws only when its task is cancelled, and then the wait is over.
        do { try await sleep(for: time) } catch { return }
    }
}
