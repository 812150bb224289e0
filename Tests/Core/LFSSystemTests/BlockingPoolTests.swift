import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LFSSystem

@Suite("Pool of blocking threads", .timeLimit(.minutes(10)))
struct BlockingPoolTests {
    struct Refusal: Error {}

    @Test("The pool runs as many calls at once as its width, and then the others", arguments: [1, 3])
    func width(_ width: Int) async throws {
        let pool = BlockingPool(width: width)
        let begun = EventLog<Int>()
        let gate = DispatchSemaphore(value: 0)
        let steps = EventLog<Int>()
        let tasks = (0..<10).map { number in
            Task {
                try await pool.run { _ in
                    steps.add(1)
                    begun.add(number)
                    gate.wait()
                    steps.add(-1)
                }
            }
        }
        await begun.wait { $0.count == width }
        for _ in 0..<10 { gate.signal() }
        for task in tasks { try await task.value }
        var inside = 0
        let levels = steps.events.map { step in
            inside += step
            return inside
        }
        #expect(levels.max() == width)
        #expect(Set(begun.events) == Set(0..<10))
    }

    @Test("A call learns that its task was cancelled")
    func cancellation() async throws {
        let pool = BlockingPool(width: 1)
        let begun = EventLog<Int>()
        let gate = DispatchSemaphore(value: 0)
        let task = Task {
            try await pool.run { flag in
                begun.add(flag.isCancelled ? 1 : 0)
                gate.wait()
                try flag.check()
            }
        }
        await begun.wait { !$0.isEmpty }
        task.cancel()
        gate.signal()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(begun.events == [0])
    }

    @Test("The pool passes results and errors to the caller")
    func results() async throws {
        let pool = BlockingPool(width: 2)
        #expect(try await pool.run { _ in 42 } == 42)
        await #expect(throws: Refusal.self) { try await pool.run { _ in throw Refusal() } }
        #expect(try await pool.run { _ in "again" } == "again")
    }

    @Test("A call from the main actor runs on a thread of the pool")
    @MainActor
    func mainActor() async throws {
        let pool = BlockingPool(width: 1)
        MainActor.assertIsolated()
        let name = try await pool.run { _ in Thread.current.name }
        #expect(name == "lfs-io")
        MainActor.assertIsolated()
    }

    /// An actor whose calls run on the caller's thread unless they switch to another executor.
    private actor Counter {
        let pool: BlockingPool
        var isBusy = false

        init(_ pool: BlockingPool) { self.pool = pool }

        func run(_ gate: DispatchSemaphore, begun: EventLog<String?>) async throws {
            try await pool.run { _ in
                begun.add(Thread.current.name)
                gate.wait()
            }
        }

        func answer() -> Int { 42 }
    }

    @Test("An actor stays free while its call blocks")
    func actor() async throws {
        let counter = Counter(BlockingPool(width: 1))
        let gate = DispatchSemaphore(value: 0)
        let begun = EventLog<String?>()
        async let call: Void = counter.run(gate, begun: begun)
        await begun.wait { !$0.isEmpty }
        #expect(begun.events == ["lfs-io"])
        #expect(await counter.answer() == 42)
        gate.signal()
        try await call
    }

    @Test("A call from a task that prefers the pool runs on that task's thread")
    func inPlace() async throws {
        let pool = BlockingPool(width: 2)
        let isSame = try await withTaskExecutorPreference(pool) {
            let before = Self.threadNumber()
            let inside = try await pool.run { _ in Self.threadNumber() }
            return inside == before && before == Self.threadNumber()
        }
        #expect(isSame)
    }

    @Test("A task that prefers the pool resumes there after a wait and leaves it afterwards")
    func preference() async throws {
        let pool = BlockingPool(width: 1)
        try await withTaskExecutorPreference(pool) {
            #expect(Self.threadName() == "lfs-io")
            await Task.yield()
            #expect(Self.threadName() == "lfs-io")
            let one = try await BlockingPool.shared.run { _ in 1 }
            #expect(one == 1)
            #expect(Self.threadName() == "lfs-io")
        }
        #expect(Self.threadName() != "lfs-io")
    }

    private static func threadNumber() -> ObjectIdentifier { ObjectIdentifier(Thread.current) }
    private static func threadName() -> String? { Thread.current.name }

    @Test("The pool releases what a finished call held while its queue is never empty")
    func steadyLoad() async throws {
        let pool = BlockingPool(width: 1)
        let load = SteadyLoad(pool, calls: 20_000)
        load.begin()
        await load.ended.wait { !$0.isEmpty }
        // The call that runs, and those that wait.
        #expect(load.mostAlive <= SteadyLoad.waiting + 2)
    }

    @Test("Calls end without a thread of the pool if the system creates none")
    func withoutThreads() async throws {
        let attempts = Mutex(0)
        let pool = BlockingPool(width: 4) { _ throws(SystemError) in
            attempts.withLock { $0 += 1 }
            throw SystemError(call: "pthread_create", path: "lfs-io", errno: EAGAIN)
        }
        let results = try await runEach(Array(0..<20), atMost: 20) { number in try await pool.run { _ in number } }
        #expect(Set(results) == Set(0..<20))
        #expect(attempts.withLock { $0 } > 0)
    }

    @Test("Calls continue on the threads that the system created")
    func fewThreads() async throws {
        let threads = Mutex(1)
        let pool = BlockingPool(width: 4) { body throws(SystemError) in
            let isLeft = threads.withLock { threads in
                threads -= 1
                return threads >= 0
            }
            guard isLeft else { throw SystemError(call: "pthread_create", path: "lfs-io", errno: EAGAIN) }
            try SystemThread.start("lfs-io", body)
        }
        let results = try await runEach(Array(0..<20), atMost: 20) { number in try await pool.run { _ in number } }
        #expect(Set(results) == Set(0..<20))
    }

    @Test("The pool creates threads again once the system allows it")
    func threadsAgain() async throws {
        let isShort = Mutex(true)
        let names = EventLog<Bool>()
        let pool = BlockingPool(width: 4) { body throws(SystemError) in
            if isShort.withLock({ $0 }) {
                throw SystemError(call: "pthread_create", path: "lfs-io", errno: EAGAIN)
            }
            try SystemThread.start("lfs-io") {
                names.add(true)
                body()
            }
        }
        try await pool.run { _ in }
        isShort.withLock { $0 = false }
        try await pool.run { _ in }
        await names.wait { !$0.isEmpty }
    }
}

/// Calls that each add another call, so that the queue is never empty before the end.
///
/// The mutex owns the counts.
private final class SteadyLoad: Sendable {
    /// The content that a call holds.
    private final class Content: Sendable {
        let load: SteadyLoad
        init(_ load: SteadyLoad) {
            self.load = load
            load.count(1)
        }
        deinit { load.count(-1) }
    }

    static let waiting = 8
    let ended = EventLog<Bool>()
    private let pool: BlockingPool
    private let state: Mutex<(left: Int, alive: Int, most: Int)>

    init(_ pool: BlockingPool, calls: Int) {
        self.pool = pool
        state = Mutex((calls, 0, 0))
    }

    var mostAlive: Int { state.withLock { $0.most } }

    func begin() {
        for _ in 0..<Self.waiting { add() }
    }

    private func add() {
        let content = Content(self)
        pool.start { content.load.go() }
    }

    private func go() {
        let left = state.withLock { state in
            state.left -= 1
            return state.left
        }
        if left > 0 { add() } else if left == 0 { ended.add(true) }
    }

    private func count(_ change: Int) {
        state.withLock { state in
            state.alive += change
            state.most = max(state.most, state.alive)
        }
    }
}
