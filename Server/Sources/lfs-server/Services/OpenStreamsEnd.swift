import LFSSyncServer
import ServiceLifecycle

/// Ends streams that stay open when the server is asked to end: it would wait for them.
struct OpenStreamsEnd: Service {
    let sync: SyncService

    func run() async throws {
        // A cancelled run ends them as well.
        try? await gracefulShutdown()
        sync.shutdown()
    }
}
