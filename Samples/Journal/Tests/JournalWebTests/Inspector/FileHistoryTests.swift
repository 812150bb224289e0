import Foundation
import LFS
import LFSStorage
import Testing

@testable import JournalWeb

@Suite("The history of files", .timeLimit(.minutes(10)))
struct FileHistoryTests {
    private func history(_ events: [LFSEvent]) async throws -> FileHistory {
        let (stream, continuation) = AsyncStream.makeStream(of: LFSEvent.self)
        for event in events { continuation.yield(event) }
        continuation.finish()
        let history = FileHistory(stream, times: LocalTime(.gmt))
        try await history.run()
        return history
    }

    private func progress(_ bytes: Int64) -> TransferProgress {
        TransferProgress(bytesTransferred: bytes, totalBytes: 100)
    }

    @Test("All events of a file are kept in their order, with one line for progress")
    func order() async throws {
        let id = try FileID.sample()
        let url = try #require(URL(string: "memory:/a"))
        let history = try await history([
            .queued(id), .progress(id, progress(10)), .progress(id, progress(60)),
            .uploaded(id, url: url, byteCount: 100), .queued(try .sample()), .downloading(id, progress(5)),
            .downloaded(id, byteCount: 100),
        ])
        let lines = history.lines(of: id)
        #expect(lines.map(\.event) == ["queued", "progress", "uploaded", "downloading", "downloaded"])
        #expect(lines[1].text == "60 % are uploaded." && lines[1].badge?.text == "uploading 60 %")
        #expect(history.totals().uploaded.byteCount == 100 && history.totals().fetched.files == 1)
        #expect(history.transfers().isEmpty)
    }

    @Test("The progress of two transfers takes one line for each")
    func interleaved() async throws {
        let first = try FileID.sample()
        let second = try FileID.sample()
        let events = (1...20).flatMap { number -> [LFSEvent] in
            [.progress(first, progress(number)), .progress(second, progress(number))]
        }
        let history = try await history(events)
        #expect(history.recent(100).map(\.file) == [second, first])
        #expect(history.lines(of: first).map(\.text) == ["20 % are uploaded."])
        #expect(history.transfers().count == 2)
    }

    @Test("A failed attempt gives the time of the next one")
    func failure() async throws {
        let id = try FileID.sample()
        let failure = UploadFailure(fileID: id, code: .serverError, reason: "It failed.")
        let history = try await history([.failed(id, failure, nextAttempt: .seconds(12))])
        let line = try #require(history.lines(of: id).first)
        #expect(line.badge?.state == "retrying" && line.text.contains("LFS tries again at"))
    }

    @Test("An event of the whole storage belongs to no file")
    func outage() async throws {
        let outage = StorageOutage(code: .unreachable, reason: "No route.", since: Date())
        let history = try await history([.outage(outage), .outage(nil)])
        #expect(history.recent(10).map(\.file) == [nil, nil])
        #expect(history.recent(10).last?.text.contains("No route.") == true)
    }

    @Test("The history has a bounded number of files and lines")
    func bounds() async throws {
        let id = try FileID.sample()
        let others = try (0..<FileHistory.maxFiles).map { _ in LFSEvent.queued(try .sample()) }
        let history = try await history(
            (0..<200).map { _ in .queued(id) } + [.queued(id)] + others.dropLast())
        #expect(history.lines(of: id).count == FileHistory.maxLinesOfFile)
        #expect(history.recent(1_000).count == FileHistory.maxRecent)
        history.add(HistoryLine("retried", file: try .sample(), at: "10:00:00", text: ""))
        #expect(history.lines(of: id).isEmpty)
    }
}
