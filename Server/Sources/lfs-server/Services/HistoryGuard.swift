import ArgumentParser
import LFSSyncServer
import Logging
import ServiceLifecycle

/// A service that compares the database with the mark in a file outside of it, once a minute. If the database was
/// restored from a backup, the devices start over.
actor HistoryGuard: Service {
    private let sync: SyncService
    private let file: StateFile?
    private let logger: Logger
    private var mark: SyncHistoryMark?
    private var hasRead = false

    /// Compares the database with the file before the first request.
    ///
    /// - Parameters:
    ///   - file: the file, or nil if there is no place for it.
    ///   - isRequired: true if the server must not start without the file.
    /// - Throws: `ValidationError` if the file cannot be used, `SQLFailure`.
    init(_ sync: SyncService, file: StateFile?, isRequired: Bool, logger: Logger) async throws {
        self.sync = sync
        self.file = file
        self.logger = logger
        do {
            try await compare()
        } catch let error where !(error is SQLFailure) && !(error is ValidationError) && !isRequired {
            report(error)
        }
        if file == nil { logger.warning("The server has no file for its state. Give --state FILE.") }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown { [self] in
            while !Task.isCancelled {
                do { try await Task.sleep(for: .seconds(60)) } catch { return }
                do {
                    try await compare()
                } catch is CancellationError {
                    return
                } catch {
                    await report(error)
                }
            }
        }
        // A backup of the stopped server contains its last mark.
        do { try await compare() } catch { report(error) }
    }

    /// Stores the mark in the file after the database has it, so that the file is never ahead. A file that cannot be
    /// read now is not replaced, because its mark may show that the database was restored.
    private func compare() async throws {
        if !hasRead {
            mark = try file?.read()
            hasRead = true
        }
        let next = try await sync.compareHistory(with: mark).mark
        mark = next
        try file?.write(next)
    }

    private func report(_ error: any Error) {
        logger.error(
            "The mark of the database's history could not be stored. A restored backup may stay unnoticed.",
            metadata: ["file": "\(file?.path ?? "")", "error": "\(error)"])
    }
}
