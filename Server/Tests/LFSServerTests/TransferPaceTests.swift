import NIOCore
import Testing

@testable import LFSServer

@Suite("Transfer pace")
struct TransferPaceTests {
    private func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(1_000 + seconds) }

    private func pace() -> TransferPace {
        var pace = TransferPace(ConnectionLimits())
        pace.setWaiting(true, at: at(0))
        return pace
    }

    @Test func `A peer that transfers nothing has 30 seconds`() {
        #expect(pace().deadline == at(30))
    }

    @Test func `A peer that transfers 1 KiB per second keeps its remaining time`() {
        var pace = pace()
        for second in 1...1_000 { pace.add(1_024, at: at(Int64(second))) }
        let left = (pace.deadline ?? at(0)) - at(1_000)
        // The time of a byte is rounded down to whole nanoseconds.
        #expect(left > .seconds(29) && left <= .seconds(30))
    }

    @Test func `A peer that transfers a byte every 3 seconds has about half a minute`() {
        var pace = pace()
        var second: Int64 = 0
        while (pace.deadline ?? at(0)) > at(second) {
            second += 3
            pace.add(1, at: at(second))
        }
        #expect(second == 33)
    }

    @Test func `A large transfer leaves at most a minute of remaining time`() {
        var pace = pace()
        pace.add(1 << 20, at: at(1))
        #expect(pace.deadline == at(61))
        pace.add(.max, at: at(1))
        #expect(pace.deadline == at(61))
    }

    @Test func `The remaining time does not decrease while the server does not wait`() {
        var pace = pace()
        pace.setWaiting(false, at: at(10))
        #expect(pace.deadline == nil)
        pace.setWaiting(true, at: at(500))
        #expect(pace.deadline == at(520))
    }
}
