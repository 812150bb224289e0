import Foundation
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

/// Tests of uploads over a line that `Tests/Network/slow-lines` makes slow. Its far end counts the received bytes.
@Suite("Slow lines", .enabled(if: SlowLine.current != nil), .timeLimit(.minutes(60)))
struct SlowLineTests {
    @Test("Every file arrives over a slow line") func upload() async throws {
        let line = try #require(SlowLine.current)
        var options = S3Options()
        options.allowsPlainHTTP = true
        options.provider = .seaweedFS
        options.partSize = line.partSize
        options.multipartThreshold = line.partSize
        let storage = try S3Storage(
            bucket: line.bucket, region: "us-east-1", endpoint: line.endpoint, addressing: .path,
            credentials: .static(S3Credentials(accessKeyID: line.accessKey, secretAccessKey: line.secretKey)),
            options: options)
        // A saturated line also loses connections, and the bytes sent in vain count.
        let patient = RetryingStorage(storage)
        try await withThrowingDiscardingTaskGroup { group in
            for index in 0..<line.fileCount {
                group.addTask {
                    let key = try ObjectKey("slow/\(UUID().uuidString.lowercased())")
                    let bytes = SampleBytes.make(line.byteCount, seed: UInt64(index) + 1)
                    let source = try UploadSource.temporary(bytes)
                    let object = try await patient.upload(source, to: key, session: SavedCheckpoint().session)
                    #expect(object.byteCount == Int64(line.byteCount))
                }
            }
        }
        await storage.shutdown()
    }
}

/// The settings of the script.
private struct SlowLine: Codable, Sendable {
    var endpoint: URL
    var bucket: String
    var accessKey: String
    var secretKey: String
    var fileCount: Int
    var byteCount: Int
    var partSize: Int64

    /// Nil when the tests run without the script.
    static let current: SlowLine? = ProcessInfo.processInfo.environment["LFS_SLOW_LINE"].map { text in
        do {
            return try JSONDecoder().decode(SlowLine.self, from: Data(text.utf8))
        } catch {
            fatalError("LFS_SLOW_LINE cannot be read: \(error)")
        }
    }
}
