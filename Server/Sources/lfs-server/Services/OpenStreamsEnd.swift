import LFSSyncServer
import ServiceLifecycle

/// A service that ends open streams at shutdown, because the server would otherwise wait for them.
struct OpenStreamsEnd: Service {
    let sync: SyncService

    func run() async throws {
        // A cancelled run ends the streams too.
        try? await gracefulShutdown()
        sync.shutdown()
    }
}
