import Foundation
import LFSStorage
import LFSSystem
import TestSupport
import Testing

@testable import LFSTransfer

extension RemoteObject {
    static let anywhere = URL(string: "memory:///")
}

/// What the pool decides, without a task or a clock.
@Suite("The pool's decisions", .timeLimit(.minutes(10)))
struct PoolStateTests {
    @Test(
        "start an executor when more than twice as many jobs wait as there are executors",
        arguments: [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (18, 9), (19, 10), (21, 10), (256, 10)])
    func scaling(_ jobs: Int, _ executors: Int) throws {
        var state = PoolState(maxExecutors: 10)
        #expect(state.enqueue(try Self.jobs(jobs)) == executors)
        #expect(state.executors == executors)
        #expect(state.enqueue(try Self.jobs(jobs)) == 0, "jobs that are held already do not count twice")
    }

    @Test("let an executor leave when nothing waits, and start one for what comes then")
    func leaving() throws {
        var state = PoolState(maxExecutors: 4)
        #expect(state.enqueue(try Self.jobs(1)) == 1)
        #expect(state.take() != nil)
        #expect(state.take() == nil)
        #expect(state.executors == 0)
        #expect(state.enqueue(try Self.jobs(1, from: 2)) == 1)
    }

    @Test("give turns to both lanes when there is one executor only")
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

    @Test("take no more jobs when too many outcomes wait for the database, and go on afterwards")
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

    @Test("let one upload begin at a time while somebody else needs the network, and all of them afterwards")
    func yielding() throws {
        var state = PoolState(maxExecutors: 4)
        _ = state.enqueue(try Self.jobs(30))
        #expect(state.executors == 4)
        let running = (0..<3).compactMap { _ in state.take() }
        #expect(running.count == 3)
        state.yields += 1
        #expect(state.take() == nil, "it yields, and its executor leaves")
        for job in running.dropLast() {
            _ = state.finish(TransferOutcome(job: job, result: .givenBack))
            #expect(state.take() == nil)
        }
        _ = state.finish(TransferOutcome(job: running[2], result: .givenBack))
        let only = state.take()
        #expect(only != nil, "one goes on, or uploads would stand still")
        #expect(state.executors == 1)
        #expect(state.executorsToStart() == 0)
        #expect(state.enqueue(try Self.jobs(10, from: 100)) == 0)
        state.yields -= 1
        #expect(state.executorsToStart() == 3)
        #expect(Array(state.running.keys) == [only?.id])
    }

    @Test("begin to yield with an empty queue, and give the first job that comes an executor")
    func yieldingWhenIdle() throws {
        var state = PoolState(maxExecutors: 4)
        state.yields += 1
        #expect(state.enqueue(try Self.jobs(10)) == 1)
        #expect(state.take() != nil)
        #expect(state.executorsToStart() == 0)
    }

    @Test("hold for every order of a few steps", arguments: [1, 2, 3])
    func everyOrder(_ maxExecutors: Int) {
        var count = 0
        func go(_ model: PoolModel, _ path: [PoolModel.Step]) {
            for step in PoolModel.Step.allCases where step != .drop && step != .giveBack && step != .refuse {
                var next = model
                next.apply(step, pick: path.count)
                count += 1
                if let rule = next.brokenRule {
                    Issue.record("'\(rule)' does not hold after \(path + [step])")
                    return
                }
                if path.count < 4 { go(next, path + [step]) }
            }
        }
        for first in [PoolModel.Step.enqueueSmall, .enqueueLarge] {
            var model = PoolModel(maxExecutors: maxExecutors)
            model.apply(first, pick: 2)
            model.apply(.enqueueSmall, pick: 1)
            model.apply(.take, pick: 0)
            go(model, [])
        }
        #expect(count > 100_000)
    }

    /// The numbers 0 to 149 and one more that nobody has tried; a failure names it.
    @Test(
        "hold for random steps, and in the end nothing is stranded",
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

    /// Executors ask more often than jobs end, or hardly two jobs would ever run beside each other.
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
