import Synchronization

/// Does what several tasks ask for at about the same time in one go.
///
/// A call is served by a batch that begins after it came. When none is under way it gets one of its own at once.
/// Otherwise it waits for the end of one, and the next serves all who wait by then, or for so many others that a
/// further batch is worth it. So nobody waits in vain, and the batches grow with the work.
///
/// A batch runs in the task of one of those it serves, and to its end: the body must not end early with the
/// cancellation of that task, because the others have not asked for that.
package final class Batching<Item: Sendable, Outcome: Sendable>: Sendable {
    private enum Word: Sendable {
        case ended(Outcome)
        /// To serve a batch: oneself and these. Oneself is left out, or the waiter would keep itself.
        case lead([Entry])
    }

    private struct Entry: Sendable {
        let item: Item
        let waiter: Waiter<Word>
    }

    private struct State {
        /// Batches under way. Nobody waits when there are none.
        var running = 0
        var waiting: [Entry] = []

        /// Takes out those who have waited longest.
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
    ///   - largest: how many calls a batch serves at the most.
    ///   - crowd: how many calls that wait are worth a further batch beside others.
    ///   - maxBatches: how many batches run at once at the most.
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

    /// How many calls wait for their batch.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Returns the outcome of the item once its batch has ended. A cancelled task waits too.
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
        let word = if let others { Word.lead(others) } else { await entry.waiter.wait() }
        switch word {
        case .ended(let outcome): return outcome
        case .lead(let others): return await serve(item, others)
        }
    }

    /// Returns the outcome of the item.
    private func serve(_ item: Item, _ others: [Entry]) async -> Outcome {
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
