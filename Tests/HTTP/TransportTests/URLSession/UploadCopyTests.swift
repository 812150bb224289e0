#if os(Linux)
import Foundation
import LFSHTTP
import Testing

@testable import LFSURLSession

@Suite("Temporary copies of request bodies on Linux") struct UploadCopyTests {
    @Test("A copy holds the range, and is removed with its request")
    func removed() async throws {
        let body = try await UploadBody(
            .reading(5..<10) { buffer, offset in
                buffer.copyBytes(from: (Int(offset)..<10).map { UInt8($0) })
                return 10 - Int(offset)
            })
        let copy = try #require(body.copy)
        #expect(try Array(Data(contentsOf: copy)) == [5, 6, 7, 8, 9])
        body.remove()
        #expect(!FileManager.default.fileExists(atPath: copy.path))
    }
}
#endif
