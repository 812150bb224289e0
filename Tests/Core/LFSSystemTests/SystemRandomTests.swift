import Testing

@testable import LFSSystem

@Suite("Random bytes of the system")
struct SystemRandomTests {
    @Test("Every byte is filled randomly, for any count", arguments: [0, 1, 255, 256, 257, 1_000])
    func fill(count: Int) {
        // A byte is 0 in all of twenty fills with a probability of 1 in 256²⁰.
        var seen = [UInt8](repeating: 0, count: count)
        var fills: Set<[UInt8]> = []
        for _ in 0..<20 {
            var bytes = [UInt8](repeating: 0, count: count)
            bytes.withUnsafeMutableBytes { SystemRandom.fill($0) }
            for index in bytes.indices { seen[index] |= bytes[index] }
            fills.insert(bytes)
        }
        #expect(seen.firstIndex(of: 0) == nil)
        if count >= 255 { #expect(fills.count == 20) }
    }

    @Test("Random numbers do not repeat")
    func words() {
        var words = RandomWords()
        #expect(Set((0..<10_000).map { _ in words.next() }).count == 10_000)
    }
}
