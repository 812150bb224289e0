import Testing

@testable import LFSSystem

@Suite("Available space")
struct AvailableSpaceTests {
    @Test("The bytes that the system makes available for important files count")
    func important() {
        #expect(AvailableSpace.byteCount(free: 1_000, important: 5_000) == 5_000)
        #expect(AvailableSpace.byteCount(free: 1_000, important: 400) == 400)
    }

    @Test("The free bytes count where the system reports nothing", arguments: [nil, 0, -1] as [Int64?])
    func unreported(important: Int64?) {
        #expect(AvailableSpace.byteCount(free: 1_000, important: important) == 1_000)
    }
}
