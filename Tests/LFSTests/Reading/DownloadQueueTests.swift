import TestSupport
import Testing

@testable import LFS

/// What may be fetched when, without a task or a clock.
@Suite("The order of downloads", .timeLimit(.minutes(10)))
struct DownloadQueueTests {
    private func started(_ queue: inout DownloadQueue<String>) -> [String] {
        var keys: [String] = []
        while let key = queue.begin() { keys.append(key) }
        return keys
    }

    @Test("is that in which they were asked for, up to the maximum")
    func firstInFirstOut() {
        var queue = DownloadQueue<String>(maxDownloads: 2)
        for (asker, key) in ["a", "b", "a", "c"].enumerated() { queue.ask(key, asker: asker, .reader) }
        #expect(started(&queue) == ["a", "b"])
        #expect(queue.end("a")?.sorted() == [0, 2])
        #expect(started(&queue) == ["c"])
    }

    @Test("lets no prefetch begin while a reader waits, and readers begin whatever is prefetched")
    func readersFirst() {
        var queue = DownloadQueue<String>(maxDownloads: 2)
        for asker in 0..<4 { queue.ask("p\(asker)", asker: asker, .prefetch) }
        #expect(started(&queue) == ["p0", "p1"])
        for asker in 10..<13 { queue.ask("r\(asker)", asker: asker, .reader) }
        #expect(started(&queue) == ["r10", "r11"], "two readers, although both places are taken")
        _ = queue.end("p0")
        _ = queue.end("r10")
        #expect(started(&queue) == ["r12"])
        _ = queue.end("r11")
        #expect(started(&queue) == [], "a reader still waits for his")
        _ = queue.end("r12")
        #expect(started(&queue) == ["p2"])
        _ = queue.end("p1")
        #expect(started(&queue) == ["p3"])
    }

    @Test("moves a prefetch up when a reader asks for it, and down again when he goes")
    func raised() {
        var queue = DownloadQueue<String>(maxDownloads: 1)
        for asker in 0..<3 { queue.ask("p\(asker)", asker: asker, .prefetch) }
        #expect(started(&queue) == ["p0"])
        queue.ask("p2", asker: 10, .reader)
        #expect(queue.hasReaders)
        #expect(started(&queue) == ["p2"])
        #expect(queue.end("p2")?.sorted() == [2, 10])
        queue.ask("p0", asker: 11, .reader)
        #expect(queue.hasReaders, "one that runs already counts as his too")
        #expect(queue.leave("p0", asker: 11) == .others)
        #expect(!queue.hasReaders)
        queue.ask("p1", asker: 12, .reader)
        #expect(queue.leave("p1", asker: 12) == .others)
        _ = queue.end("p0")
        #expect(started(&queue) == ["p1"])
    }

    @Test("begins what was given up and is asked for again after the end of the first try")
    func givenUp() {
        var queue = DownloadQueue<String>(maxDownloads: 1)
        queue.ask("a", asker: 1, .reader)
        queue.ask("b", asker: 2, .reader)
        #expect(started(&queue) == ["a"])
        #expect(queue.leave("b", asker: 2) == .nothing)
        #expect(queue.leave("a", asker: 1) == .running)
        queue.ask("a", asker: 3, .reader)
        #expect(started(&queue) == [], "the first try has not ended")
        #expect(queue.end("a") == nil)
        #expect(started(&queue) == ["a"])
        #expect(queue.end("a") == [3])
        #expect(queue.isEmpty)
    }

    @Test("makes room for the next one when the bytes of one are here, until too many wait for the disk")
    func arrived() {
        var queue = DownloadQueue<String>(maxDownloads: 1)
        let most = DownloadQueue<String>.maxArrived
        for asker in 0...(most + 1) { queue.ask("p\(asker)", asker: asker, .prefetch) }
        for number in 0..<most {
            #expect(started(&queue) == ["p\(number)"])
            queue.arrive("p\(number)")
        }
        #expect(queue.arrivedCount == most)
        #expect(queue.runningCount == 0)
        #expect(started(&queue) == [], "their bytes are in memory")
        queue.ask("r", asker: 1_000, .reader)
        #expect(started(&queue) == [], "a reader's would be there too")
        #expect(queue.end("p7") == [7])
        #expect(started(&queue) == ["r"])
        #expect(queue.end("r") == [1_000])
        #expect(started(&queue) == ["p\(most)"])
    }

    @Test("counts a reader until his bytes are on the disk")
    func arrivedReader() {
        var queue = DownloadQueue<String>(maxDownloads: 1)
        queue.ask("a", asker: 1, .reader)
        queue.ask("b", asker: 2, .prefetch)
        #expect(started(&queue) == ["a"])
        queue.arrive("a")
        #expect(queue.hasReaders)
        #expect(started(&queue) == [])
        #expect(queue.leave("a", asker: 1) == .running)
        #expect(started(&queue) == [], "until it has ended it counts as running again")
        queue.arrive("a")
        #expect(queue.runningCount == 1, "what nobody asks for has no bytes to come")
        #expect(queue.end("a") == [])
        #expect(started(&queue) == ["b"])
    }

    /// The numbers 0 to 99 and one more that nobody has tried; a failure names it.
    @Test(
        "holds for random steps, and in the end nothing is stranded",
        arguments: Array(0..<100) + [UInt64.random(in: .min ... .max)])
    func randomSteps(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var queue = DownloadQueue<Int>(maxDownloads: Int.random(in: 1...3, using: &generator))
        var askers: [Int: (key: Int, urgency: DownloadUrgency)] = [:]
        var (running, arrived): (Set<Int>, Set<Int>) = ([], [])
        for step in 0..<600 {
            switch Int.random(in: 0..<5, using: &generator) {
            case 0:
                let key = Int.random(in: 0..<8, using: &generator)
                let urgency: DownloadUrgency = Bool.random(using: &generator) ? .reader : .prefetch
                queue.ask(key, asker: step, urgency)
                askers[step] = (key, urgency)
            case 1:
                guard let (asker, entry) = askers.randomElement(using: &generator) else { continue }
                askers[asker] = nil
                let isLast = !askers.values.contains { $0.key == entry.key }
                let leaving = queue.leave(entry.key, asker: asker)
                if isLast { arrived.remove(entry.key) }
                #expect(
                    leaving == (isLast ? running.contains(entry.key) ? .running : .nothing : .others), "seed \(seed)")
            case 2:
                guard let key = running.randomElement(using: &generator) else { continue }
                running.remove(key)
                arrived.remove(key)
                if let told = queue.end(key) {
                    #expect(Set(told) == Set(askers.filter { $0.value.key == key }.keys), "seed \(seed)")
                    for asker in told { askers[asker] = nil }
                }
            case 3:
                guard let key = running.randomElement(using: &generator) else { continue }
                queue.arrive(key)
                if queue.arrivedCount > arrived.count { arrived.insert(key) }
            default:
                let areReaders = askers.values.contains { $0.urgency == .reader }
                while let key = queue.begin() {
                    #expect(running.insert(key).inserted, "seed \(seed): one download for each key")
                    let isReaders = askers.values.contains { $0.key == key && $0.urgency == .reader }
                    #expect(isReaders || !areReaders, "seed \(seed): a prefetch began beside a reader")
                }
            }
            #expect(queue.hasReaders == askers.values.contains { $0.urgency == .reader }, "seed \(seed)")
            #expect(queue.runningCount == running.count - arrived.count, "seed \(seed)")
            #expect(queue.arrivedCount == arrived.count, "seed \(seed)")
        }
        for _ in 0..<100 {
            while let key = queue.begin() { running.insert(key) }
            for key in running { _ = queue.end(key) }
            running = []
        }
        #expect(queue.isEmpty, "seed \(seed): something is stranded")
    }
}
