import LFSStorage
import LFSTesting
import Logging
import Synchronization
import TestSupport
import Testing

@Suite("A storage that logs", .timeLimit(.minutes(10)))
struct LoggingStorageTests {
    @Test("tells calls as trace and failures as debug, with the key and without the name")
    func levels() async throws {
        let lines = LogLines()
        var logger = Logger(label: "test") { _ in lines }
        logger.logLevel = .trace
        let storage = LoggingStorage(InMemoryStorage(), logger: logger)
        let key = try ObjectKey("space/content")
        _ = try await storage.upload(.temporary([1, 2, 3]), to: key, session: UploadSession())
        await #expect(throws: StorageError.self) { try await storage.head(ObjectKey("space/missing")) }
        #expect(
            lines.all == [
                "trace storage upload lfs.key=space/content lfs.storage=memory",
                "debug storage head error.code=missing lfs.key=space/missing lfs.storage=memory",
            ])
    }
}

/// Keeps log lines. Owner: the mutex.
private final class LogLines: LogHandler, Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }

    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        let metadata = (event.metadata ?? [:]).map { "\($0)=\($1)" }.sorted().joined(separator: " ")
        lines.withLock { $0.append("\(event.level) \(event.message) \(metadata)") }
    }
}
