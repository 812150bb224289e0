import Foundation
import LFSSystem
import TestSupport
import Testing

@testable import LFSStorage

@Suite("Verification of source bytes")
struct SourceCheckTests {
    private let bytes = SampleBytes.make(300_000)

    private func check(_ read: [UInt8], content: [UInt8], crc64: String?) throws {
        try withTemporaryFile(content) { file in
            let source = try UploadSource(
                descriptor: Descriptor.openForReading(file.path), byteCount: Int64(content.count),
                sha256: SampleBytes.sha256(bytes), crc64: crc64, contentType: nil, name: nil)
            var check = SourceCheck(source)
            for start in stride(from: 0, to: read.count, by: 70_001) {
                read[start..<min(start + 70_001, read.count)].withUnsafeBytes { check.update($0) }
            }
            try check.requireRecorded()
        }
    }

    private func withTemporaryFile(_ content: [UInt8], _ body: (URL) throws -> Void) throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("lfs-test-\(UUID().uuidString)")
        try Data(content).write(to: file)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: file) } }
        try body(file)
    }

    private var crc64: String {
        var check = CyclicRedundancyCheck(.crc64NVME)
        bytes.withUnsafeBytes { check.update($0) }
        return check.hex
    }

    @Test("Matching bytes are accepted by their CRC-64, or else by their SHA-256", arguments: [false, true])
    func same(hasCRC: Bool) throws {
        try check(bytes, content: bytes, crc64: hasCRC ? crc64 : nil)
    }

    @Test(
        "Matching bytes are accepted by their SHA-256 if the row has a wrong CRC-64",
        arguments: ["", "0", "00000000ffffffff"])
    func wrongRow(_ crc64: String) throws {
        try check(bytes, content: bytes, crc64: crc64)
    }

    @Test("A flipped bit or missing bytes of an upload source are detected", arguments: [false, true])
    func other(hasCRC: Bool) throws {
        var other = bytes
        other[123_456] ^= 1
        for read in [other, Array(bytes.dropLast()), []] {
            let error = #expect(throws: StorageError.self) {
                try check(read, content: other, crc64: hasCRC ? crc64 : nil)
            }
            #expect(error?.code == .sourceChanged)
        }
    }
}
