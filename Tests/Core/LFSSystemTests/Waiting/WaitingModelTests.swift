import TestSupport
import Testing

@testable import LFSSystem

@Suite("Latches, signals and permits against a model", .timeLimit(.minutes(10)))
struct WaitingModelTests {
    /// A run of random steps, each applied to the real object and to the model.
    private struct Run {
        let subject: Awaited
        var model: WaitingModel
        var tasks: [Task<Void, Never>] = []
        let endings = EventLog<WaitingModel.Ending>()
        /// The waits that must have ended by now.
        var expected: [WaitingModel.Ending] = []
        var generator: SeededGenerator

        init(_ kind: Awaited.Kind, seed: UInt64) {
            generator = SeededGenerator(seed: seed)
            subject = Awaited(kind, permits: Int.random(in: 1...3, using: &generator))
            model = WaitingModel(subject)
        }

        mutating func step() async throws {
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<5: wait(WaitingModel.Way.allCases.randomElement(using: &generator) ?? .ordinary)
            case 5..<8: wake()
            default: cancel()
            }
            try await settle()
        }

        private mutating func wait(_ drawn: WaitingModel.Way) {
            // Permits that outlive a cancellation are released automatically, which this model does not do.
            var way = drawn
            if case .permits = subject, way == .throughCancellation { way = .ordinary }
            let (subject, endings, id, isCancelled) = (subject, endings, tasks.count, way == .cancelledBefore)
            expected += model.wait(id, way: way)
            tasks.append(
                Task { [way] in
                    if isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
                    let isGranted = await subject.wait(way)
                    endings.add(WaitingModel.Ending(id: id, isGranted: isGranted))
                })
        }

        mutating func wake() {
            guard model.mayWake else { return }
            expected += model.wake()
            subject.wake()
        }

        private mutating func cancel() {
            guard let id = tasks.indices.randomElement(using: &generator) else { return }
            expected += model.cancel(id)
            tasks[id].cancel()
        }

        /// Returns when the object is in the state of the model.
        mutating func settle() async throws {
            let count = expected.count
            await endings.wait { $0.count >= count }
            try await yield(while: subject.waiterCount != model.line.count)
            // Tasks that end by the same step end in any order.
            #expect(Set(endings.events) == Set(expected))
            #expect(endings.events.count == expected.count)
        }

        /// Wakes all remaining waiters, one after the other.
        mutating func end() async throws {
            while !model.line.isEmpty {
                wake()
                try await settle()
            }
            for task in tasks { await task.value }
            #expect(endings.events.count == tasks.count, "each task ends exactly once")
        }
    }

    @Test("Random steps have the same result on the object and on its model", arguments: Awaited.Kind.allCases)
    func randomSteps(_ kind: Awaited.Kind) async throws {
        for seed in 1...100 {
            var run = Run(kind, seed: UInt64(seed))
            for _ in 1...50 { try await run.step() }
            try await run.end()
        }
    }
}
