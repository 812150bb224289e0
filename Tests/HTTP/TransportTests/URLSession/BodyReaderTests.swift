import Foundation
import LFSHTTP
import Testing

@testable import LFSURLSession

@Suite("Reader of a request's body") struct BodyReaderTests {
    private struct Broken: Error {}

    private func bytes(_ range: Range<Int64>, of all: [UInt8], step: Int) throws -> [UInt8] {
        var reader = BodyReader(range) { buffer, offset in
            let rest = all[Int(offset)...].prefix(buffer.count)
            buffer.copyBytes(from: rest)
            return rest.count
        }
        var result: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: step)
        while true {
            let count = try buffer.withUnsafeMutableBytes { try reader.next(into: $0) }
            guard count > 0 else { return result }
            result += buffer.prefix(count)
        }
    }

    @Test("A body reader reads exactly the requested range", arguments: [1, 7, 100, 1_000])
    func range(_ step: Int) throws {
        let all = (0..<100).map { UInt8($0) }
        #expect(try bytes(10..<90, of: all, step: step) == Array(all[10..<90]))
    }

    @Test("A body that ends too early is an error that names the missing bytes")
    func tooShort() throws {
        let error = #expect(throws: HTTPError.self) {
            try bytes(0..<150, of: [UInt8](repeating: 1, count: 100), step: 64)
        }
        #expect(error?.code == .bodyUnreadable)
        #expect(error?.message.contains("50 bytes too early") == true)
    }

    @Test("An error of the source is the cause")
    func broken() throws {
        var reader = BodyReader(0..<10) { _, _ in throw Broken() }
        var buffer = [UInt8](repeating: 0, count: 10)
        let error = #expect(throws: HTTPError.self) { try buffer.withUnsafeMutableBytes { try reader.next(into: $0) } }
        #expect(error?.code == .bodyUnreadable)
        #expect(error?.cause is Broken)
    }
}
