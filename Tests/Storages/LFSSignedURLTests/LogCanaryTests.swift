import Foundation
import LFSHTTP
import LFSStorage
import LFSTesting
import LFSWire
import Logging
import Synchronization
import TestSupport
import Testing

@testable import LFSSignedURL

@Suite("Secrecy of logs with signed URLs", .timeLimit(.minutes(10)))
struct LogCanaryTests {
    /// A script that fails every request in one of many ways. Each reply repeats what was sent.
    private final class Failing: Sendable {
        private let count = Mutex(0)

        func reply(_ request: HTTPRequest) -> HTTPResponse? {
            let number = count.withLock { count in
                count += 1
                return count
            }
            // After 60 failures the requests are answered normally.
            if number > 60 { return nil }
            let sent =
                "\(request.target) "
                + request.headers.fields.map { "\($0.name): \($0.value)" }.joined(separator: " ")
            switch number % 7 {
            case 0: return FakeSigner.reply(500, text: "<html>\(sent)</html>", headers: ["content-type": "text/html"])
            case 1: return FakeSigner.reply(403, text: "<Error>\(sent.split(separator: "?").last ?? "")</Error>")
            case 3: return FakeSigner.reply(503, text: sent, headers: ["retry-after": "1"])
            case 4: return FakeSigner.reply(400, text: String(sent.reversed().prefix(40).reversed()))
            case 6:
                return FakeSigner.reply(301, text: sent, headers: ["location": "https://elsewhere/\(request.target)"])
            default: return nil
            }
        }
    }

    @Test("Logs and errors never contain a token, a signature or a query")
    func canary() async throws {
        let clock = ManualClock()
        let failing = Failing()
        let fake = FakeSigner(clock: clock) { request, _ in failing.reply(request) }
        fake.cut(from: 2_000, partSize: 1_000)
        let lines = LogLines()
        let logger = Logger(label: "canary") { _ in lines }
        let storage = try fake.storage()
        let bytes = SampleBytes.make(2_010)
        let errors = Mutex<[String]>([])
        let isDone = try await runningFreely(clock) {
            var checkpoint: UploadCheckpoint?
            for name in ["small", "large"] {
                for _ in 0..<80 {
                    let saved = Mutex(checkpoint)
                    let session = UploadSession(
                        checkpoint: checkpoint, onSave: { new in saved.withLock { $0 = new } })
                    do {
                        let source = try UploadSource.temporary(name == "small" ? [1, 2, 3] : bytes)
                        _ = try await storage.upload(source, to: .sample(name), session: session)
                        break
                    } catch {
                        // The app or its manager logs the error in this way.
                        logger.error("no upload", metadata: ["error": "\(error)"])
                        errors.withLock { $0.append(Self.shown(error)) }
                    }
                    checkpoint = saved.withLock { $0 }
                }
                for _ in 0..<5 {
                    do {
                        _ = try await storage.head(.sample(name))
                        _ = try await storage.download(DownloadRequest(.sample(name)), into: DownloadSink { _ in })
                        _ = try await storage.list(ListRequest(prefix: "space/"))
                    } catch {
                        errors.withLock { $0.append(Self.shown(error)) }
                    }
                }
            }
            return fake.objects.count == 2
        }
        #expect(isDone, "the operation succeeds after enough failures")
        let shown = errors.withLock { $0 }
        #expect(shown.count > 5)
        let text = lines.text
        #expect(text.contains("no upload"))
        for secret in Canary.all + ["X-Amz-Signature", "Bearer", "?X"] {
            #expect(!text.contains(secret), "\(secret) is in the log")
            #expect(!shown.contains { $0.contains(secret) }, "\(secret) is in an error")
        }
    }

    /// Returns every text of an error that an app might print.
    private static func shown(_ error: any Error) -> String {
        var dumped = ""
        dump(error, to: &dumped)
        return [dumped, String(reflecting: error), "\(error)", error.localizedDescription].joined(separator: "\n")
    }
}

/// A recorder of log lines. The mutex owns its state.
private final class LogLines: LogHandler, Sendable {
    private let lines = Mutex<[String]>([])

    var text: String { lines.withLock { $0.joined(separator: "\n") } }
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
        let fields = (event.metadata ?? [:]).map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
        lines.withLock { $0.append("\(event.level) \(event.message) \(fields) \(event.error.map { "\($0)" } ?? "")") }
    }
}
