/// Lets other tasks run while a condition holds, for states that no event reports.
///
/// If the condition never ends, the time limit of the suite cancels the test.
package func yield(while condition: @autoclosure () throws -> Bool) async throws {
    while try condition() {
        try Task.checkCancellation()
        await Task.yield()
    }
}

/// Does the same for an asynchronous condition.
package func yieldAsync(while condition: () async throws -> Bool) async throws {
    while try await condition() {
        try Task.checkCancellation()
        await Task.yield()
    }
}
