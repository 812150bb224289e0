import Synchronization

/// A batcher that handles concurrent calls together.
///
/// Each call is served by a batch that starts after the call. If no batch is running, the call starts one at once.
/// Otherwise it waits until a running batch ends, and the next batch serves all calls that wait by then. If enough
/// calls wait (`crowd`), a further batch starts early. So every call is served, and batches grow with the load.
///
/// A batch runs in the task of one of its callers. It must run to its end even if that task is cancelled, because the
/// other callers did not cancel.
package final class Batcher<Item: Sendable, Outcome: Sendable>: Sendable {
    private enum Signal: Sendable {
        case ended(Outcome)
        /// The waiter leads a batch of itself and these entries. Its own entry is left out, because the waiter would
        /// retain itself.
        case lead([Entry])
    }

    private struct Entry: Sendable {
        let item: Item
        let waiter: Waiter<Signal>
    }

    private struct State {
        /// The number of running batches. If it is 0, no call waits.
        var running = 0
        var waiting: [Entry] = []

        /// Removes and returns the entries that have waited longest.
        mutating func take(_ count: Int) -> [Entry] {
            let taken = Array(waiting.prefix(count))
            waiting.removeFirst(taken.count)
            return taken
        }
    }

    private let largest: Int
    private let crowd: Int
    private let maxBatches: Int
    private let body: @Sendable ([Item]) async -> [Outcome]
    private let state = Mutex(State())

    /// - Parameters:
    ///   - largest: the most calls that one batch serves.
    ///   - crowd: the number of waiting calls that starts a further batch while others run.
    ///   - maxBatches: the most batches that run at once.
    ///   - body: returns the outcome of each item, in order.
    package init(
        upTo largest: Int, crowd: Int = 1, atOnce maxBatches: Int = 1,
        _ body: @escaping @Sendable ([Item]) async -> [Outcome]
    ) {
        self.largest = max(largest, 1)
        self.crowd = crowd
        self.maxBatches = max(maxBatches, 1)
        self.body = body
    }

    /// The number of calls that wait for their batch.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Returns the outcome of the item when its batch has ended. A cancelled task waits too.
    package func run(_ item: Item) async -> Outcome {
        let entry = Entry(item: item, waiter: Waiter())
        let others = state.withLock { state -> [Entry]? in
            let isCrowd = state.running < maxBatches && state.waiting.count + 1 >= crowd
            guard state.running == 0 || isCrowd else {
                state.waiting.append(entry)
                return nil
            }
            state.running += 1
            return state.take(largest - 1)
        }
        let word = if let others { Signal.lead(others) } else { await entry.waiter.wait() }
        switch word {
        case .ended(let outcome): return outcome
        case .lead(let others): return await serve(item, others: others)
        }
    }

    /// Runs the batch and returns the outcome of the leader's item.
    private func serve(_ item: Item, others: [Entry]) async -> Outcome {
        let outcomes = await body([item] + others.map(\.item))
        precondition(outcomes.count == 1 + others.count, "A batch has one outcome for each of its items.")
        let next = state.withLock { state in
            let next = state.take(largest)
            if next.isEmpty { state.running -= 1 }
            return next
        }
        next.first?.waiter.resume(returning: .lead(Array(next.dropFirst())))
        for (entry, outcome) in zip(others, outcomes.dropFirst()) { entry.waiter.resume(returning: .ended(outcome)) }
        return outcomes[0]
    }
}
