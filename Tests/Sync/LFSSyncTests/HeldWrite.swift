import Dispatch
import GRDB

/// A write of the app that has begun and ends when the test says so.
struct HeldWrite: Sendable {
    private struct Back: Error {}

    private let release = DispatchSemaphore(value: 0)
    private let task: Task<Void, any Error>

    /// Begins the write.
    ///
    /// - Parameter rollsBack: true if the write is rolled back at its end.
    init(_ database: any DatabaseWriter, sql: String, rollsBack: Bool) async {
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
