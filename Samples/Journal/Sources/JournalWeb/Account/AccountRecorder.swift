import LFSSettings
import LFSSync
import Logging
import ServiceLifecycle

/// A service that stores the account that the sync server has sent, so that it is known without the server.
struct AccountRecorder: Service {
    let sync: DeviceSync
    let settings: StorageRouter
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown { [self] in
            let changes = sync.state.changes()
            await record()
            for await _ in changes { await record() }
        }
    }

    private func record() async {
        do {
            guard let user = try await sync.client.ownAccount(), try await settings.getIfPresent(.accountUser) != user
            else {
                return
            }
            try await settings.set(user, for: .accountUser)
        } catch {
            // The next exchange of rows tries again.
            logger.debug("The account could not be stored.", metadata: ["error": "\(error)"])
        }
    }
}
