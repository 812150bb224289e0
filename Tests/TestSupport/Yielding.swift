/// Lets other tasks run as long as a condition holds, for what no event tells of.
///
/// A condition that never ends meets the time limit of its suite, which cancels the test.
package func yield(while condition: @autoclosure () async throws -> Bool) async throws {
    while try await condition() {
        try Task.checkCancellation()
        await Task.yield()
    }
}
