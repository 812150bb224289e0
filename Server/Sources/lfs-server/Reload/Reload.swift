import LFSServer
import ServiceLifecycle
import UnixSignals

/// A service that reads files again after a signal, and some of them also when they have changed.
struct Reload: Service {
    /// The files that are read again only after a signal.
    let files: [ReloadedFiles]
    /// The files that are also examined in intervals.
    let watched: [ReloadedFiles]
    /// The signals. They are trapped before the service runs, so that none is lost after the server is ready.
    let signals: UnixSignalsSequence
    let notifier: ServiceManagerNotifier
    var interval: Duration = .seconds(5)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await _ in signals {
                        notifier.reloading {
                            for files in files + watched { files.reload(isAsked: true) }
                        }
                    }
                }
                group.addTask {
                    // The sleep throws when the server ends.
                    while (try? await Task.sleep(for: interval)) != nil {
                        for files in watched { files.reload(isAsked: false) }
                    }
                }
            }
        }
    }
}
