import LFSFiles
import LFSSystem
import Testing

@testable import LFS

@Suite("Ledger of local copies", .timeLimit(.minutes(10)))
struct LocalCopyIndexTests {
    @Test("The ledger returns exactly the least recently used copies", arguments: 0..<20)
    func model(_ round: Int) {
        let ledger = LocalCopyIndex()
        ledger.beginScan()
        ledger.endScan()
        let ids = (0..<12).map { _ in FileID.make() }
        // The ids in the order of their uses, and the ids that may be evicted.
        var (order, candidates): ([FileID], Set<FileID>) = ([], [])
        for step in 0..<2_000 {
            guard let id = ids.randomElement() else { return }
            let now = Int64(step / 50)
            switch Int.random(in: 0..<6) {
            case 0, 1:
                ledger.noteUse(of: id, now: now)
                if order.contains(id) { order = order.filter { $0 != id } + [id] }
            case 2:
                ledger.reserve(10)
                ledger.settle(id, byteCount: 10, arrived: 0, now: now)
                order = order.filter { $0 != id } + [id]
                candidates.insert(id)
            case 3:
                ledger.remove(id)
                order.removeAll { $0 == id }
                candidates.remove(id)
            case 4:
                ledger.allow(id)
                if order.contains(id) { candidates.insert(id) }
            default:
                let taken = Set(ledger.takeOldest(15, limit: 5).keys)
                let expected = order.filter(candidates.contains).prefix(2)
                #expect(taken == Set(expected))
                candidates.subtract(expected)
            }
            #expect(ledger.byteCounts == (Int64(10 * order.count), 0, 0))
        }
    }

    @Test("The ledger prefers changes during a scan to the results of the scan")
    func scan() {
        let ledger = LocalCopyIndex()
        ledger.beginScan()
        let ids = (0..<4).map { _ in FileID.make() }
        for id in ids.prefix(3) {
            ledger.add(scanned: LocalCopy(bits: id.bits, byteCount: 10, lastUse: 5), isCandidate: true)
        }
        ledger.remove(ids[0])
        ledger.add(ids[3], byteCount: 7)
        ledger.endScan()
        #expect(ledger.byteCounts == (27, 0, 0))
        #expect(Set(ledger.takeOldest(100, limit: 10).keys) == [ids[1], ids[2]])
    }

    @Test("An id is the same after conversion to a number", arguments: 0..<100)
    func bits(_ round: Int) {
        let id = FileID.make()
        #expect(FileID(id.bits) == id)
    }
}
