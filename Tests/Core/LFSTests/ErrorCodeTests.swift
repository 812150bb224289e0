import Foundation
import LFSDatabase
import LFSFiles
import Testing

@Suite("Error codes")
struct ErrorCodeTests {
    @Test("The Troubleshooting page lists every error code of the lower modules")
    func codes() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../..")
        let page = try String(
            contentsOf: root.appendingPathComponent("Sources/Core/LFS/LFS.docc/Troubleshooting.md"), encoding: .utf8)
        let codes = FileError.Code.allCases.map(\.rawValue) + TableError.Code.allCases.map(\.rawValue)
        #expect(codes.filter { !page.contains("| `\($0)` |") }.isEmpty)
    }
}
