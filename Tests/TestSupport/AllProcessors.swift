import Foundation

/// Runs the body with each number, begun in their order: twice as many at once as there are processors, for each waits
/// for its databases at times. The first error ends it.
///
/// - Parameter onProgress: gets the number below which all are done, each time that it has grown.
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
