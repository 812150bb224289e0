/// A limit on the number of concurrent operations. Others wait in the order of their arrival.
///
/// The actor owns the count and the queue. A waiting request occupies only a connection whose bytes are not read.
actor KeyedMutex {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) { free = count }

    /// Waits for a free place and runs an operation.
    ///
    /// - Throws: The errors of the closure.
    nonisolated func run<Value>(_ body: () async throws -> Value) async throws -> Value {
        await take()
        do {
            let value = try await body()
            await give()
            return value
        } catch {
            await give()
            throw error
        }
    }

    private func take() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    /// Passes the place to the next waiting operation, if there is one.
    private func give() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
}
