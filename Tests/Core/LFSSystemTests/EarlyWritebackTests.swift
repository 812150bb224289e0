import Foundation
import TestSupport
import Testing

@testable import LFSSystem

@Suite("Early writeback")
struct EarlyWritebackTests {
    private let step = EarlyWriteback.step

    @Test("Writeback begins once for each piece and leaves short files to the sync")
    func pieces() {
        var writeback = EarlyWriteback()
        var begun: [Range<Int64>] = []
        for count in stride(from: 0, through: 3 * step + 1, by: 256 << 10) {
            if let range = writeback.next(count) { begun.append(range) }
        }
        #expect(begun == [0..<step, step..<2 * step, 2 * step..<3 * step])
        #expect(writeback.next(3 * step + 1) == nil)
    }

    @Test("Writeback continues where an earlier attempt was interrupted")
    func later() {
        var writeback = EarlyWriteback(from: 100)
        #expect(writeback.next(step) == nil)
        #expect(writeback.next(step + 100) == 100..<step + 100)
    }

    @Test("Writeback does not change the content of a file")
    func content() async throws {
        try await withTemporaryFolder { folder in
            let url = folder.appendingPathComponent("long")
            let file = try Directory.open(folder.path).create("long")
            let piece = Data((0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 * 7) })
            var writeback = EarlyWriteback()
            for number in 1...20 {
                try piece.withUnsafeBytes { try file.write($0) }
                if let range = writeback.next(Int64(number) << 20) { file.beginWriteback(range) }
            }
            try file.synchronize()
            let read = try Data(contentsOf: url)
            #expect(read.count == 20 << 20)
            #expect(read.suffix(1 << 20).elementsEqual(piece))
        }
    }
}
