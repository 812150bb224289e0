import TestSupport
import Testing

@testable import LFS

/// Tests of the order of downloads, without a task or a clock.
@Suite("Order of downloads", .timeLimit(.minutes(10)))
struct DownloadQueueTests {
    private func started(_ queue: inout DownloadQueue<String>) -> [String] {
        var keys: [String] = []
        while let key = queue.begin() { keys.append(key) }
        return keys
    }

    @Test("Downloads start in the order of the requests, up to the maximum")
    func firstInFirstOut() {
        var queue = DownloadQueue<String>(maxDownloads: 2)
        for (asker, key) in ["a", "b", "a", "c"].enumerated() { queue.ask(key, asker: asker, urgency: .reader) }
        #expect(started(&queue) == ["a", "b"])
        #expect(queue.end("a")?.sorted() == [0, 2])
        #expect(started(&queue) == ["c"])
    }

    @Test("No prefetch starts while a reader waits, and readers never wait for a prefetch")
    func readersFirst() {
        var queue = DownloadQueue<String>(maxDownloads: 2)
        for asker in 0..<4 { queue.ask("p\(asker)", asker: asker, urgency: .prefetch) }
        #expect(started(&queue) == ["p0", "p1"])
        for asker in 10..<13 { queue.ask("r\(asker)", asker: asker, urgency: .reader) }
        #expect(started(&queue) == ["r10", "r11"], "two readers start although both places are in use")
        _ = queue.end("p0")
        _ = queue.end("r10")
        #expect(started(&queue) == ["r12"])
        _ = queue.end("r11")
        #expect(started(&queue) == [], "a reader still waits for a file")
        _ = queue.end("r12")
        #expect(started(&queue) == ["p2"])
        _ = queue.end("p1")
        #expect(started(&queue) == ["p3"])
    }

    @Test("A reader's request raises a prefetch, and it drops back when the reader leaves")
    func raised() {
        var queue = DownloadQueue<String>(maxDownloads: 1)
        for asker in 0..<3 { queue.ask("p\(asker)", asker: asker, urgency: .prefetch) }
        #expect(started(&queue) == ["p0"])
        queue.ask("p2", asker: 10, urgency: .reader)
        #expect(queue.hasReaders)
        #expect(started(&queue) == ["p2"])
        #expect(queue.end("p2")?.sorted() == [2, 10])
        queue.ask("p0", asker: 11, urgency: .reader)
        #expect(queue.hasReaders, "a running download counts as the reader's")
        #expect(queue.leave("p0", asker: 11) == .others)
        #expect(!queue.hasReaders)
        queue.ask("p1", asker: 12, urgency: .reader)
        #expect(queue.leave("p1", asker: 12) == .others)
        _ = queue.end("p0")
        #expect(started(&queue) == ["p1"])
    }

    @Test("A download that is requested again starts after the end of the abandoned one")
    func givenUp() {
        var queue = DownloadQueue<String>(maxDownloads: 1)
        queue.ask("a", asker: 1, urgency: .reader)
        queue.ask("b", asker: 2, urgency: .reader)
        #expect(started(&queue) == ["a"])
        #expect(queue.leave("b", asker: 2) == .nothing)
        #expect(queue.leave("a", asker: 1) == .running)
        queue.ask("a", asker: 3, urgency: .reader)
        #expect(started(&queue) == [], "the first attempt has not ended")
        #expect(queue.end("a") == nil)
        #expect(started(&queue) == ["a"])
        #expect(queue.end("a") == [3])
        #expect(queue.isEmpty)
    }

    @Test("A download starts when another's bytes have arrived, up to a limit")
    func arrived() {
        var queue = DownloadQueue<String>(maxDownloads: 1)
        let most = DownloadQueue<String>.maxArrived
        for asker in 0...(most + 1) { queue.ask("p\(asker)", asker: asker, urgency: .prefetch) }
        for number in 0..<most {
            #expect(started(&queue) == ["p\(number)"])
            queue.arrive("p\(number)")
        }
        #expect(queue.arrivedCount == most)
        #expect(queue.runningCount == 0)
        #expect(started(&queue) == [], "their bytes are still in memory")
        queue.ask("r", asker: 1_000, urgency: .reader)
        #expect(started(&queue) == [], "a reader's bytes would be in memory too")
        #expect(queue.end("p7") == [7])
        #expect(started(&queue) == ["r"])
        #expect(queue.end("r") == [1_000])
        #expect(started(&queue) == ["p\(most)"])
    }

    @Test("A reader counts until its bytes are on disk")
    func arrivedReader() {
        var queue = DownloadQueue<String>(maxDownloads: 1)
        queue.ask("a", asker: 1, urgency: .reader)
        queue.ask("b", asker: 2, urgency: .prefetch)
        #expect(started(&queue) == ["a"])
        queue.arrive("a")
        #expect(queue.hasReaders)
        #expect(started(&queue) == [])
        #expect(queue.leave("a", asker: 1) == .running)
        #expect(started(&queue) == [], "it counts as running until it has ended")
        queue.arrive("a")
        #expect(queue.runningCount == 1, "a download without callers no longer counts")
        #expect(queue.end("a") == [])
        #expect(started(&queue) == ["b"])
    }

    /// The seeds 0 to 99 and a random one. A failure names the seed.
    @Test(
        "The queue follows its rules in random steps and strands nothing",
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
                queue.ask(key, asker: step, urgency: urgency)
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
                    #expect(isReaders || !areReaders, "seed \(seed): a prefetch began while a reader was running")
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
        #expect(queue.isEmpty, "seed \(seed): an entry is left")
    }
}
