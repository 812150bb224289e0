/// Lets other tasks run as long as a condition holds, for what no event reports.
///
/// A condition that never ends meets the time limit of its suite, which cancels the test.
package func yield(while condition: @autoclosure () throws -> Bool) async throws {
    while try condition() {
        try Task.checkCancellation()
        await Task.yield()
    }
}

/// Does the same for a condition that waits itself.
package func yieldAsync(while condition: () async throws -> Bool) async throws {
    while try await condition() {
        try Task.checkCancellation()
        await Task.yield()
    }
}
