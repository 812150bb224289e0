import Foundation
import TestSupport
import Testing

@testable import LFSCache

@Suite("Cache entries in memory", .timeLimit(.minutes(10)))
struct ClockRingTests {
    private static let small = Data(repeating: 1, count: 100)

    private func ring(count: Int, byteCount: Int = 1 << 30) -> ClockRing {
        ClockRing(limit: CacheLimit(count: count, byteCount: byteCount))
    }

    @Test("Uses of evicted entries are bounded, and those of removed entries are forgotten")
    func boundedUses() {
        var ring = ClockRing(limit: CacheLimit(count: 10, byteCount: 100_000))
        for number in 0..<50_000 { ring.insert(Data([1]), name: "name \(number)", tags: [], isUse: true) }
        let uses = ring.takeUses()
        #expect(uses.count <= 5_000)
        #expect(uses.last == "name 49999")
        for number in 0..<20 { ring.insert(Data([1]), name: "name \(number)", tags: [], isUse: true) }
        for number in 0..<20 { ring.remove("name \(number)") }
        #expect(ring.takeUses() == [])
    }

    @Test("An entry is found until others need the room, and always with its own content")
    func find() {
        var ring = ring(count: 2)
        for name in ["a", "b", "c"] { ring.insert(Data(name.utf8), name: name, tags: [], isUse: false) }
        #expect(ring.count == 2)
        for name in ["a", "b", "c"] {
            if let content = ring.content(name) { #expect(content == Data(name.utf8)) }
        }
        #expect(ring.content("c") == Data("c".utf8))
        ring.insert(Data("new".utf8), name: "c", tags: [], isUse: false)
        #expect(ring.content("c") == Data("new".utf8))
        #expect(ring.count == 2)
    }

    @Test("The clock ring keeps both limits at each of 20,000 steps", arguments: [1, 2, 3] as [UInt64])
    func limits(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var ring = ring(count: 50, byteCount: 40_000)
        for step in 0..<20_000 {
            let name = "\(Int.random(in: 0..<200, using: &generator))"
            switch Int.random(in: 0..<20, using: &generator) {
            case 0: ring.remove(name)
            case 1: ring.remove(tag: .asset(name))
            case 2 where step % 50 == 0:
                ring.setLimit(
                    CacheLimit(
                        count: Int.random(in: 0..<80, using: &generator),
                        byteCount: Int.random(in: 0..<60_000, using: &generator)))
            case 3 where step % 500 == 0: ring.dropAll()
            case 4..<10: _ = ring.content(name)
            default:
                let content = Data(count: Int.random(in: 0..<5_000, using: &generator))
                ring.insert(content, name: name, tags: [.asset(name), .album("x")], isUse: step % 2 == 0)
            }
            #expect(ring.count <= ring.limit.count && ring.cost <= ring.limit.byteCount)
            if ring.count > ring.limit.count || ring.cost > ring.limit.byteCount { return }
        }
        ring.remove(tag: .album("x"))
        #expect(ring.count == 0 && ring.cost == 0)
    }

    @Test("An entry above a tenth of the limit is not kept, and neither is its old content")
    func tenth() {
        var ring = ring(count: 100, byteCount: 100_000)
        let fits = 10_000 - ClockRing.overhead - 1
        ring.insert(Data(count: fits), name: "a", tags: [], isUse: false)
        #expect(ring.content("a")?.count == fits)
        ring.insert(Data(count: fits + 1), name: "a", tags: [], isUse: false)
        #expect(ring.content("a") == nil)
        ring.insert(Data(count: fits), name: "a", tags: [], isUse: false)
        ring.setLimit(CacheLimit(count: 100, byteCount: 99_999))
        #expect(ring.content("a") == nil)
        #expect(ring.cost == 0)
    }

    @Test("Removing a tag removes the entries that have it")
    func tags() {
        var ring = ring(count: 100)
        ring.insert(Self.small, name: "a", tags: [.asset("1"), .album("1")], isUse: false)
        ring.insert(Self.small, name: "b", tags: [.asset("2"), .album("1")], isUse: false)
        ring.insert(Self.small, name: "c", tags: [], isUse: false)
        ring.remove(tag: .asset("1"))
        #expect(ring.content("a") == nil && ring.content("b") != nil)
        // Another entry uses the slot now, and it does not have these tags.
        ring.insert(Self.small, name: "d", tags: [], isUse: false)
        ring.remove(tag: .asset("1"))
        ring.remove(tag: .album("1"))
        #expect(["a", "b", "c", "d"].map { ring.content($0) != nil } == [false, false, true, true])
    }

    @Test("Each use is reported once, in the order of last uses, even after eviction")
    func uses() {
        var ring = ring(count: 3)
        for name in ["a", "b", "c"] { ring.insert(Self.small, name: name, tags: [], isUse: false) }
        #expect(ring.takeUses() == [])
        for name in ["c", "a", "c"] { _ = ring.content(name) }
        #expect(ring.takeUses() == ["a", "c"])
        #expect(ring.takeUses() == [])
        _ = ring.content("b")
        for name in ["d", "e", "f", "g", "h", "i"] { ring.insert(Self.small, name: name, tags: [], isUse: true) }
        #expect(ring.takeUses() == ["b", "d", "e", "f", "g", "h", "i"])
        _ = ring.content("i")
        ring.dropAll()
        #expect(ring.takeUses() == ["i"])
    }

    @Test("The hit ratio of a Zipf trace is within two points of the exact order of uses")
    func hitRatio() {
        for (seed, skew) in [(1, 0.8), (2, 1.0), (3, 1.2)] as [(UInt64, Double)] {
            var (ring, exact, hits, exactHits) = (ring(count: 500), ExactOrder(limit: 500), 0, 0)
            let trace = Trace.make(seed: seed, skew: skew, count: 100_000)
            for number in trace {
                let name = "\(number)"
                if ring.content(name) != nil {
                    hits += 1
                } else {
                    ring.insert(Data(), name: name, tags: [], isUse: false)
                }
                if exact.use(number) { exactHits += 1 }
            }
            let ratios = (100 * Double(hits) / Double(trace.count), 100 * Double(exactHits) / Double(trace.count))
            #expect(abs(ratios.0 - ratios.1) <= 2, "CLOCK \(ratios.0) %, exact \(ratios.1) % at skew \(skew)")
        }
    }
}

/// Requests for pictures. Most are for a few pictures, and occasionally a user scrolls past many.
enum Trace {
    static func make(seed: UInt64, skew: Double, count: Int, pictures: Int = 5_000) -> [Int] {
        var generator = SeededGenerator(seed: seed)
        var sums: [Double] = []
        var sum = 0.0
        for rank in 1...pictures {
            sum += 1 / pow(Double(rank), skew)
            sums.append(sum)
        }
        var trace: [Int] = []
        while trace.count < count {
            if Int.random(in: 0..<2_000, using: &generator) == 0 {
                let first = Int.random(in: 0..<pictures, using: &generator)
                trace += first..<min(first + 300, pictures)
            }
            let wanted = Double.random(in: 0..<sum, using: &generator)
            var (low, high) = (0, pictures - 1)
            while low < high {
                let middle = (low + high) / 2
                if sums[middle] < wanted { low = middle + 1 } else { high = middle }
            }
            trace.append(low)
        }
        return trace
    }
}

/// A cache with the exact order of uses. The least recently used entry is evicted.
private struct ExactOrder {
    let limit: Int
    var last: [Int: Int] = [:]
    var order: [(number: Int, time: Int)] = []
    var first = 0
    var now = 0

    /// Records a use. Returns true if the entry was in the cache.
    mutating func use(_ number: Int) -> Bool {
        now += 1
        let wasThere = last[number] != nil
        last[number] = now
        order.append((number, now))
        while last.count > limit {
            let oldest = order[first]
            first += 1
            if last[oldest.number] == oldest.time { last[oldest.number] = nil }
        }
        return wasThere
    }

    init(limit: Int) { self.limit = limit }
}
