import LFSStorage
import LFSSystem
import Synchronization

/// A batcher that combines the requests of several tasks within a few milliseconds. Each batch runs in its own task.
///
/// A cancelled caller leaves its batch at once, and the others stay. When the last caller has left, the batch's task is
/// cancelled and awaited. So no batch runs without a caller. ``Batcher`` has neither the window nor this cancellation.
///
/// The mutex owns the state.
final class SignRequestBatcher<Ask: Sendable, Answer: Sendable>: Sendable {
    typealias Outcome = Result<Answer, StorageError>

    /// The time that the first request of a batch waits for others.
    static var window: Duration { .milliseconds(5) }

    private struct Entry: Sendable {
        let ask: Ask
        let waiter = Waiter<Outcome>()
    }

    /// The state of a batch. It is only read and changed with the batcher's mutex locked.
    private struct Batch: Sendable {
        var entries: [Entry] = []
        /// The number of callers that wait for it.
        var interested = 0
        var task: Task<Void, Never>?
        let isFull = Signal()
    }

    private struct State {
        var batches: [Int: Batch] = [:]
        /// The number of the batch that accepts more requests.
        var open: Int?
        var lastNumber = 0
    }

    private let largest: Int
    private let clock: any Clock<Duration>
    private let send: @Sendable ([Ask]) async -> [Outcome]
    private let state = Mutex(State())

    /// - Parameters:
    ///   - largest: the maximum number of requests in a batch.
    ///   - send: returns the outcome of each request, in order.
    init(upTo largest: Int, clock: any Clock<Duration>, _ send: @escaping @Sendable ([Ask]) async -> [Outcome]) {
        self.largest = max(largest, 1)
        self.clock = clock
        self.send = send
    }

    /// The number of batches that collect requests or run.
    var batchCount: Int { state.withLock { $0.batches.count } }

    /// The number of requests that wait for the end of the window.
    var gatheringCount: Int {
        state.withLock { state in state.open.flatMap { state.batches[$0]?.entries.count } ?? 0 }
    }

    /// - Throws: ``StorageError``, with ``StorageError/Code/cancelled`` as soon as the task is cancelled.
    func answer(to ask: Ask) async throws(StorageError) -> Answer { try await outcomes(of: [ask])[0].get() }

    /// Returns the outcome of each request, in order.
    func outcomes(of asks: [Ask]) async -> [Outcome] {
        let entries = asks.map { Entry(ask: $0) }
        let joined = join(entries)
        var outcomes: [Outcome] = []
        for entry in entries {
            outcomes.append(
                await entry.waiter.wait {
                    entry.waiter.resume(returning: .failure(StorageError(wrapping: CancellationError())))
                })
        }
        for number in joined { await leave(number) }
        return outcomes
    }

    /// - Returns: the batches that contain the entries.
    private func join(_ entries: [Entry]) -> [Int] {
        state.withLock { state in
            var joined: [Int] = []
            for entry in entries {
                let number = state.open ?? open(&state)
                if joined.last != number {
                    joined.append(number)
                    state.batches[number]?.interested += 1
                }
                state.batches[number]?.entries.append(entry)
                if state.batches[number]?.entries.count == largest {
                    state.open = nil
                    state.batches[number]?.isFull.notify()
                }
            }
            return joined
        }
    }

    private func open(_ state: inout State) -> Int {
        state.lastNumber += 1
        let number = state.lastNumber
        var batch = Batch()
        let isFull = batch.isFull
        batch.task = Task {
            await isFull.wait(atMost: Self.window, clock: self.clock)
            await self.run(number)
        }
        state.batches[number] = batch
        state.open = number
        return number
    }

    private func run(_ number: Int) async {
        let entries = state.withLock { state in
            if state.open == number { state.open = nil }
            return state.batches[number]?.entries ?? []
        }
        // All callers have left.
        guard !Task.isCancelled, !entries.isEmpty else { return }
        let outcomes = await send(entries.map(\.ask))
        precondition(outcomes.count == entries.count, "A batch has one outcome for each request.")
        for (entry, outcome) in zip(entries, outcomes) { entry.waiter.resume(returning: outcome) }
    }

    private func leave(_ number: Int) async {
        let task = state.withLock { state -> Task<Void, Never>? in
            state.batches[number]?.interested -= 1
            guard let batch = state.batches[number], batch.interested == 0 else { return nil }
            state.batches[number] = nil
            // No further caller may join it.
            if state.open == number { state.open = nil }
            return batch.task
        }
        task?.cancel()
        await task?.value
    }
}
