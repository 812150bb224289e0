import Foundation
import LFSSystem
import TestSupport
import Testing

@testable import LFSStorage

@Suite("The bytes of a source")
struct SourceCheckTests {
    private let bytes = SampleBytes.make(300_000)

    private func check(_ read: [UInt8], _ content: [UInt8], crc64: String?) throws {
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

    @Test("are the recorded ones by their CRC-64, or by their SHA-256 where there is none", arguments: [false, true])
    func same(hasCRC: Bool) throws {
        try check(bytes, bytes, crc64: hasCRC ? crc64 : nil)
    }

    @Test(
        "are the recorded ones by their SHA-256 when the row has another CRC-64",
        arguments: ["", "0", "00000000ffffffff"])
    func wrongRow(_ crc64: String) throws {
        try check(bytes, bytes, crc64: crc64)
    }

    @Test("are found out when one bit of them differs, or some are missing", arguments: [false, true])
    func other(hasCRC: Bool) throws {
        var other = bytes
        other[123_456] ^= 1
        for read in [other, Array(bytes.dropLast()), []] {
            let error = #expect(throws: StorageError.self) {
                try check(read, other, crc64: hasCRC ? crc64 : nil)
            }
            #expect(error?.code == .sourceChanged)
        }
    }
}
