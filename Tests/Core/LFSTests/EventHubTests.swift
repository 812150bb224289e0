import LFSSystem
import Testing

@testable import LFS

@Suite("Listeners of the event hub", .timeLimit(.minutes(10)))
struct EventHubTests {
    @Test("The hub forgets that downloads are followed when the last stream is released")
    func lastListener() {
        let hub = EventHub()
        var first: AsyncThrowingStream<TransferProgress, any Error>? = hub.listenToDownload(of: FileID.make())
        var second: AsyncThrowingStream<TransferProgress, any Error>? = hub.listenToDownload(of: FileID.make())
        #expect(hub.hasDownloadListener)
        withExtendedLifetime(first) {}
        first = nil
        #expect(hub.hasDownloadListener)
        withExtendedLifetime(second) {}
        second = nil
        #expect(!hub.hasDownloadListener)
    }

    @Test("The hub forgets that downloads are followed when it is closed")
    func close() {
        let hub = EventHub()
        let stream = hub.listenToDownload(of: FileID.make())
        hub.close()
        #expect(!hub.hasDownloadListener)
        withExtendedLifetime(stream) {}
    }
}
