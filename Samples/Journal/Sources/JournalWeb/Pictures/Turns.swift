/// Lets a few do something at once, and the others wait in the order in which they came.
///
/// The count and the queue are its own. Whoever waits holds nothing but a connection whose bytes are not read.
actor Turns {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) { free = count }

    /// Does something when it is its turn.
    ///
    /// - Throws: what the closure throws.
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

    /// The turn goes to the next one, if there is one.
    private func give() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
}
