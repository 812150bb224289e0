import LFSSystem
import TestSupport
import Testing

@testable import LFS

@Suite("Download scheduler", .timeLimit(.minutes(10)))
struct DownloadSchedulerTests {
    @Test("A download whose bytes have arrived lets the next one use the network")
    func arrival() async throws {
        let scheduler = DownloadScheduler(maxDownloads: 1) { _ in }
        let (disk, network) = (Latch(), Latch())
        let told = EventLog<String>()
        async let first: Void = {
            try await scheduler.run(.file(FileID.make()), urgency: .prefetch) { onDownload in
                onDownload()
                await disk.waitThroughCancellation()
            }
            told.add("first")
        }()
        async let second: Void = {
            try await scheduler.run(.file(FileID.make()), urgency: .prefetch) { _ in network.open() }
            told.add("second")
        }()
        await network.wait()
        try await yield(while: told.events.isEmpty)
        #expect(told.events == ["second"])
        disk.open()
        _ = try await (first, second)
    }
}
