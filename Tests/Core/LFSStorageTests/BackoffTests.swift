import LFSStorage
import TestSupport
import Testing

@Suite("Backoff", .timeLimit(.minutes(10)))
struct BackoffTests {
    private let backoff = Backoff()

    @Test("The maximum delay doubles from 100 milliseconds up to 60 seconds")
    func ceilings() {
        let expected: [Int: Duration] = [
            1: .milliseconds(100), 2: .milliseconds(200), 3: .milliseconds(400), 9: .milliseconds(25_600),
            10: .milliseconds(51_200), 11: .seconds(60), 12: .seconds(60), 1_000: .seconds(60),
        ]
        for (failures, ceiling) in expected { #expect(backoff.ceiling(afterFailures: failures) == ceiling) }
    }

    @Test("The backoff accepts any number of failures", arguments: [Int.min, -1, 0, Int.max])
    func anyCount(_ failures: Int) {
        let ceiling = backoff.ceiling(afterFailures: failures)
        #expect(ceiling == (failures > 1 ? .seconds(60) : .milliseconds(100)))
    }

    @Test("A delay never exceeds its bounds", arguments: [-1.0, 0, 0.25, 0.999, 1, 7])
    func bounds(_ random: Double) {
        for failures in 1...20 {
            let delay = backoff.delay(afterFailures: failures, random: random)
            #expect(delay >= .zero && delay <= backoff.ceiling(afterFailures: failures))
        }
    }

    @Test("The backoff keeps its cap when the base is above it")
    func capBelowBase() {
        #expect(Backoff(base: .seconds(5), cap: .seconds(1)).ceiling(afterFailures: 3) == .seconds(1))
        #expect(Backoff(base: .zero).ceiling(afterFailures: 30) == .zero)
    }

    @Test("The jitter spreads delays over the whole range")
    func jitter() {
        var generator = SeededGenerator(seed: 7)
        let delays = (0..<1_000).map { _ in
            backoff.delay(afterFailures: 4, random: Double.random(in: 0..<1, using: &generator))
        }
        #expect(delays.contains { $0 < .milliseconds(80) } && delays.contains { $0 > .milliseconds(720) })
    }
}
