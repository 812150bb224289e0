import Foundation

/// Runs the body with each number, started in order, with two tasks per processor, because each task sometimes waits
/// for its databases. The first error ends the run.
///
/// - Parameter onProgress: receives the number below which all are done, each time it grows.
package func forEachOnAllProcessors(
    _ numbers: Range<Int>, _ body: @escaping @Sendable (Int) async throws -> Void,
    onProgress: (Int) -> Void = { _ in }
) async throws {
    try await withThrowingTaskGroup(of: Int.self) { group in
        var waiting = numbers.makeIterator()
        func begin() {
            guard let number = waiting.next() else { return }
            group.addTask {
                try await body(number)
                return number
            }
        }
        for _ in 0..<2 * ProcessInfo.processInfo.activeProcessorCount { begin() }
        var done: Set<Int> = []
        var next = numbers.lowerBound
        while let number = try await group.next() {
            done.insert(number)
            while done.remove(next) != nil {
                next += 1
                onProgress(next)
            }
            begin()
        }
    }
}
