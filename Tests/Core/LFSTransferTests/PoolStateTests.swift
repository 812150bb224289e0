import Foundation
import LFSStorage
import LFSSystem
import TestSupport
import Testing

@testable import LFSTransfer

extension RemoteObject {
    static let anywhere = URL(string: "memory:///")
}

/// Tests of the pool's decisions, without a task or a clock.
@Suite("Decisions of the pool", .timeLimit(.minutes(10)))
struct PoolStateTests {
    @Test(
        "An executor starts when more than twice as many jobs wait as there are executors",
        arguments: [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (18, 9), (19, 10), (21, 10), (256, 10)])
    func scaling(_ jobs: Int, executors: Int) throws {
        var state = PoolState(maxExecutors: 10)
        #expect(state.enqueue(try Self.jobs(jobs)) == executors)
        #expect(state.executors == executors)
        #expect(state.enqueue(try Self.jobs(jobs)) == 0, "held jobs do not count twice")
    }

    @Test("An executor leaves an empty queue, and one starts for the next job")
    func leaving() throws {
        var state = PoolState(maxExecutors: 4)
        #expect(state.enqueue(try Self.jobs(1)) == 1)
        #expect(state.take() != nil)
        #expect(state.take() == nil)
        #expect(state.executors == 0)
        #expect(state.enqueue(try Self.jobs(1, from: 2)) == 1)
    }

    @Test("A single executor alternates between the lanes")
    func oneExecutor() throws {
        var state = PoolState(maxExecutors: 1)
        _ = state.enqueue(try Self.jobs(3) + Self.jobs(3, from: 10, byteCount: LargeFile.byteCount))
        var lanes: [TransferLane] = []
        while let job = state.take() {
            lanes.append(job.lane)
            _ = state.finish(TransferOutcome(job: job, result: .givenBack))
        }
        #expect(lanes == [.large, .small, .large, .small, .large, .small])
    }

    @Test("The pool takes no job while too many outcomes are unrecorded")
    func unrecordedOutcomes() throws {
        var state = PoolState(maxExecutors: 3)
        _ = state.enqueue(try Self.jobs(PoolState.maxUnrecorded + 5))
        var outcomes: [TransferOutcome] = []
        while let job = state.take() {
            let outcome = TransferOutcome(job: job, result: .givenBack)
            _ = state.finish(outcome)
            outcomes.append(outcome)
        }
        #expect(outcomes.count == PoolState.maxUnrecorded)
        #expect(state.recorded(outcomes) > 0)
        #expect(state.take() != nil)
    }

    @Test("While uploads yield, one runs at a time, and all run afterwards")
    func yielding() throws {
        var state = PoolState(maxExecutors: 4)
        _ = state.enqueue(try Self.jobs(30))
        #expect(state.executors == 4)
        let running = (0..<3).compactMap { _ in state.take() }
        #expect(running.count == 3)
        state.yields += 1
        #expect(state.take() == nil, "the job yields, and its executor ends")
        for job in running.dropLast() {
            _ = state.finish(TransferOutcome(job: job, result: .givenBack))
            #expect(state.take() == nil)
        }
        _ = state.finish(TransferOutcome(job: running[2], result: .givenBack))
        let only = state.take()
        #expect(only != nil, "one executor continues, or no upload would run")
        #expect(state.executors == 1)
        #expect(state.executorsToStart() == 0)
        #expect(state.enqueue(try Self.jobs(10, from: 100)) == 0)
        state.yields -= 1
        #expect(state.executorsToStart() == 3)
        #expect(Array(state.running.keys) == [only?.id])
    }

    @Test("A pool that yields with an empty queue gives the next jobs one executor")
    func yieldingWhenIdle() throws {
        var state = PoolState(maxExecutors: 4)
        state.yields += 1
        #expect(state.enqueue(try Self.jobs(10)) == 1)
        #expect(state.take() != nil)
        #expect(state.executorsToStart() == 0)
    }

    @Test("The rules of the pool hold for every order of a few steps", arguments: [1, 2, 3])
    func everyOrder(_ maxExecutors: Int) {
        var count = 0
        func go(_ model: PoolModel, path: [PoolModel.Step]) {
            for step in PoolModel.Step.allCases where step != .drop && step != .giveBack && step != .refuse {
                var next = model
                next.apply(step, pick: path.count)
                count += 1
                if let rule = next.brokenRule {
                    Issue.record("'\(rule)' does not hold after \(path + [step])")
                    return
                }
                if path.count < 4 { go(next, path: path + [step]) }
            }
        }
        for first in [PoolModel.Step.enqueueSmall, .enqueueLarge] {
            var model = PoolModel(maxExecutors: maxExecutors)
            model.apply(first, pick: 2)
            model.apply(.enqueueSmall, pick: 1)
            model.apply(.take, pick: 0)
            go(model, path: [])
        }
        #expect(count > 100_000)
    }

    /// The seeds 0 to 149 and a random one. A failure names the seed.
    @Test(
        "The rules of the pool hold for random steps, and no job is stranded",
        arguments: Array(0..<150) + [UInt64.random(in: .min ... .max)])
    func randomSteps(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var model = PoolModel(maxExecutors: Int.random(in: 1...6, using: &generator))
        var path: [PoolModel.Step] = []
        for _ in 0..<400 {
            guard let step = Self.oftenTaking.randomElement(using: &generator) else { return }
            path.append(step)
            model.apply(step, pick: Int.random(in: 0..<1_000, using: &generator))
            if let rule = model.brokenRule {
                Issue.record("seed \(seed): '\(rule)' does not hold after \(path.suffix(12))")
                return
            }
        }
        #expect(model.drain() == 0, "seed \(seed): jobs are stranded")
        #expect(model.brokenRule == nil)
    }

    /// Executors take jobs more often than jobs end. Otherwise two jobs would rarely run concurrently.
    private static let oftenTaking =
        PoolModel.Step.allCases + Array(repeating: .take, count: 8) + [.enqueueSmall, .enqueueLarge, .allowProbe]

    static func jobs(_ count: Int, from first: Int = 1, byteCount: Int64 = 1) throws -> [TransferJob] {
        try (first..<first + count).map { number in
            TransferJob(
                id: "\(number)", key: try ObjectKey("test/\(number)"), byteCount: byteCount,
                content: .ofNothing, attempts: 0, checkpoint: nil)
        }
    }
}
