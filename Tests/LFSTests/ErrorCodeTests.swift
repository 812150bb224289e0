import Foundation
import LFSDatabase
import LFSFiles
import Testing

@Suite("Codes of errors")
struct ErrorCodeTests {
    @Test("of the modules below come out with the same text, and stand in Troubleshooting with what to do")
    func codes() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
        let page = try String(
            contentsOf: root.appendingPathComponent("Sources/LFS/LFS.docc/Troubleshooting.md"), encoding: .utf8)
        let codes = FileError.Code.allCases.map(\.rawValue) + TableError.Code.allCases.map(\.rawValue)
        #expect(codes.filter { !page.contains("| `\($0)` |") }.isEmpty)
    }
}
