import LFSSystem
import TestSupport
import Testing

@testable import LFS

@Suite("Downloads under way", .timeLimit(.minutes(10)))
struct DownloadSchedulerTests {
    @Test("leave the network to the next one when their bytes are here, and their askers wait for the disk")
    func arrival() async throws {
        let scheduler = DownloadScheduler(maxDownloads: 1) { _ in }
        let (disk, network) = (Latch(), Latch())
        let told = EventLog<String>()
        async let first: Void = {
            try await scheduler.run(.file(FileID.make()), .prefetch) { onArrival in
                onArrival()
                await disk.waitThroughCancellation()
            }
            told.add("first")
        }()
        async let second: Void = {
            try await scheduler.run(.file(FileID.make()), .prefetch) { _ in network.open() }
            told.add("second")
        }()
        await network.wait()
        try await yield(while: told.events.isEmpty)
        #expect(told.events == ["second"])
        disk.open()
        _ = try await (first, second)
    }
}
