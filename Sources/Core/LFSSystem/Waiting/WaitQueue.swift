import Synchronization

/// A state, and the tasks that wait for it to change, in order of arrival.
///
/// A task is answered by the code that removes it from the line: a change of the state, or the task's cancellation. So
/// each task receives exactly one answer, and no answer is lost to a task that has left.
///
/// One mutex owns both. It is released before a task is resumed.
package final class WaitQueue<State: Sendable, Answer: Sendable>: Sendable {
    /// The waiting tasks, first come, first served.
    package struct Line: Sendable {
        fileprivate var waiting: [Waiter<Answer>] = []
        fileprivate var answered: [(waiter: Waiter<Answer>, answer: Answer)] = []

        /// Answers the task that has waited longest. Returns false if no task waits.
        package mutating func answerFirst(_ answer: Answer) -> Bool {
            if waiting.isEmpty { return false }
            answered.append((waiting.removeFirst(), answer))
            return true
        }

        package mutating func answerAll(_ answer: Answer) {
            while answerFirst(answer) {}
        }

        fileprivate mutating func takeAnswered() -> [(waiter: Waiter<Answer>, answer: Answer)] {
            defer { answered = [] }
            return answered
        }

        /// Removes a task. Returns true if it was still in line.
        fileprivate mutating func remove(_ waiter: Waiter<Answer>) -> Bool {
            guard let index = waiting.firstIndex(where: { $0 === waiter }) else { return false }
            waiting.remove(at: index)
            return true
        }
    }

    private let contents: Mutex<(state: State, line: Line)>

    package init(_ state: State) {
        contents = Mutex((state, Line()))
    }

    /// The number of waiting tasks.
    package var waiterCount: Int { contents.withLock { $0.line.waiting.count } }

    /// Changes the state. The tasks that the body answers resume after it returns.
    package func change<Result: Sendable>(_ body: (inout State, inout Line) -> Result) -> Result {
        let (result, answered) = contents.withLock { contents in
            let result = body(&contents.state, &contents.line)
            return (result, contents.line.takeAnswered())
        }
        for (waiter, answer) in answered { waiter.resume(returning: answer) }
        return result
    }

    /// Returns the answer if the state has one ready. Otherwise waits for the answer of a later change.
    ///
    /// - Parameters:
    ///   - cancelled: the answer for a cancelled task, even if the state has one ready. If nil, a cancelled task waits
    ///     too.
    ///   - ready: takes the answer from the state, or returns nil if the state has no answer yet.
    package func wait(ifCancelled cancelled: Answer?, _ ready: (inout State) -> Answer?) async -> Answer {
        let waiter = Waiter<Answer>()
        let answer: Answer? = contents.withLock { contents in
            if let cancelled, Task.isCancelled { return cancelled }
            if let answer = ready(&contents.state) { return answer }
            contents.line.waiting.append(waiter)
            return nil
        }
        if let answer { return answer }
        guard let cancelled else { return await waiter.wait() }
        return await waiter.wait {
            let wasInLine = self.contents.withLock { $0.line.remove(waiter) }
            if wasInLine { waiter.resume(returning: cancelled) }
        }
    }
}
