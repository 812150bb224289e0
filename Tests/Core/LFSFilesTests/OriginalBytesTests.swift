import LFSSystem
import Synchronization
import Testing

@testable import LFSFiles

@Suite("Bytes of originals between attachment and upload")
struct OriginalBytesTests {
    /// A clock that a test moves.
    private final class Time: Sendable {
        private let value = Mutex(ContinuousClock.now)

        var now: ContinuousClock.Instant { value.withLock(\.self) }
        func advance(by duration: Duration) { value.withLock { $0 += duration } }
    }

    private let ids = (0..<10).map { _ in FileID.make() }

    @Test("Kept bytes are returned once")
    func once() {
        let kept = OriginalBytes()
        kept.keep([1, 2, 3], of: ids[0])
        kept.keep([], of: ids[1])
        #expect(kept.take(ids[0]) == [1, 2, 3])
        #expect(kept.take(ids[0]) == nil)
        #expect(kept.take(ids[1]) == [])
        #expect(kept.take(ids[2]) == nil)
    }

    @Test("Bytes that do not fit are not kept until others are taken")
    func full() {
        let kept = OriginalBytes(capacity: 5_000)
        for id in ids { kept.keep([UInt8](repeating: 7, count: 1_000), of: id) }
        #expect(kept.take(ids[3]) == nil)
        #expect(kept.take(ids[0])?.count == 1_000)
        kept.keep([1], of: ids[9])
        #expect(kept.take(ids[9]) == [1])
    }

    @Test("Bytes whose upload does not start make room for others")
    func old() {
        let time = Time()
        let kept = OriginalBytes(capacity: 5_000) { time.now }
        for id in ids.prefix(2) { kept.keep([UInt8](repeating: 7, count: 1_500), of: id) }
        time.advance(by: .seconds(20))
        kept.keep([1], of: ids[2])
        time.advance(by: .seconds(20))
        kept.keep([UInt8](repeating: 8, count: 1_500), of: ids[3])
        #expect(kept.take(ids[0]) == nil)
        #expect(kept.take(ids[2]) == [1])
        #expect(kept.take(ids[3])?.count == 1_500)
    }
}
