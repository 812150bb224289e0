import Dispatch
import GRDB

/// A write of the host that has begun, and ends when the test says so.
struct HeldWrite: Sendable {
    private struct Back: Error {}

    private let release = DispatchSemaphore(value: 0)
    private let task: Task<Void, any Error>

    /// - Parameter rollsBack: whether nothing of it is kept.
    init(_ database: any DatabaseWriter, _ sql: String, rollsBack: Bool) async {
        let (hasBegun, begins) = AsyncStream<Void>.makeStream()
        let release = release
        task = Task {
            do {
                try await database.write { db in
                    try db.execute(sql: sql)
                    begins.finish()
                    release.wait()
                    if rollsBack { throw Back() }
                }
            } catch is Back {}
            begins.finish()
        }
        for await _ in hasBegun {}
    }

    func end() async throws {
        release.signal()
        try await task.value
    }
}
