import Testing

@testable import LFSCurl

@Suite struct RateLimiterTests {
    let start = ContinuousClock.now

    @Test func itGrantsABurstAndThenTheRate() {
        var limiter = RateLimiter(bytesPerSecond: 1_000_000, now: start)
        let granted1 = limiter.grant(1_000_000, now: start)
        #expect(granted1 == 100_000)
        let granted2 = limiter.grant(1, now: start)
        #expect(granted2 == 0)
        let granted3 = limiter.grant(1_000_000, now: start.advanced(by: .milliseconds(10)))
        #expect(granted3 == 10_000)
        let granted4 = limiter.grant(1_000_000, now: start.advanced(by: .seconds(100)))
        #expect(granted4 == 100_000)
    }

    @Test func takingMayOverdrawAndThenHasToWait() {
        var limiter = RateLimiter(bytesPerSecond: 1_000, now: start)
        let granted5 = limiter.take(2_000, now: start)
        #expect(granted5)
        let granted6 = limiter.take(1, now: start.advanced(by: .milliseconds(1_800)))
        #expect(!granted6)
        let granted7 = limiter.take(1, now: start.advanced(by: .milliseconds(1_902)))
        #expect(granted7)
    }

    @Test func itSaysWhenToAskAgain() {
        var limiter = RateLimiter(bytesPerSecond: 1_000_000, now: start)
        _ = limiter.grant(100_000, now: start)
        let next = limiter.nextGrant
        #expect(next - start > .milliseconds(16))
        #expect(next - start < .milliseconds(17))
        let granted8 = limiter.grant(1_000_000, now: next)
        #expect(granted8 >= 16_383)
    }

    @Test func aClockThatGoesBackGrantsNothing() {
        var limiter = RateLimiter(bytesPerSecond: 1_000, now: start)
        _ = limiter.grant(100, now: start)
        let granted9 = limiter.grant(100, now: start.advanced(by: .seconds(-10)))
        #expect(granted9 == 0)
    }
}
