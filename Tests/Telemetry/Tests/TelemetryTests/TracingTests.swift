import Foundation
import GRDB
import InMemoryTracing
import LFS
import LFSStorage
import LFSTesting
import Testing
import Tracing

@Suite("Tracing", .timeLimit(.minutes(10)))
struct TracingTests {
    /// A storage with a span of its own, as an HTTP client has one.
    private struct TracedStorage: StorageWrapper {
        let base: any RemoteStorage

        func upload(
            _ source: UploadSource, to key: ObjectKey, session: UploadSession
        ) async throws -> RemoteObject {
            try await withSpan("PUT", ofKind: .client) { _ in
                try await base.upload(source, to: key, session: session)
            }
        }
    }

    private func withTracing(
        _ storage: any RemoteStorage, _ body: (InMemoryTracer, LFSManager, DatabasePool) async throws -> Void
    ) async throws {
        let tracer = InMemoryTracer()
        try await withTracer(tracer) {
            try await withManager(storage) { lfs, database in try await body(tracer, lfs, database) }
        }
        #expect(tracer.activeSpans.isEmpty)
    }

    private func spans(_ tracer: InMemoryTracer, name: String) -> [FinishedInMemorySpan] {
        tracer.finishedSpans.filter { $0.operationName == name }
    }

    @Test("Making a file is a span in the caller's trace with the outcome")
    func ingest() async throws {
        try await withTracing(InMemoryStorage()) { tracer, lfs, _ in
            let file = try await withSpan("request") { _ in
                try await lfs.makeFile(from: .bytes(Data(repeating: 1, count: 1_234)))
            }
            let request = try #require(spans(tracer, name: "request").first)
            let ingest = try #require(spans(tracer, name: "lfs.ingest").first)
            #expect(ingest.parentSpanID == request.spanID)
            #expect(ingest.kind == .internal)
            #expect(ingest.attributes.get("lfs.file.id") == .string(file.id.uuidString))
            #expect(ingest.attributes.get("lfs.byte_count") == .int64(1_234))
        }
    }

    @Test("Each attempt of an upload is a separate trace with the storage's calls")
    func upload() async throws {
        let storage = TracedStorage(
            base: FailingStorage(
                InMemoryStorage(), on: [.upload], with: StorageError(.serverError, message: "Not now.")))
        try await withTracing(storage) { tracer, lfs, database in
            let file = try await withSpan("request") { _ in
                try await lfs.attach(Data(repeating: 1, count: 1_234), in: database)
            }
            try await lfs.waitForUploads()
            let uploads = spans(tracer, name: "lfs.upload")
            #expect(uploads.map { $0.attributes.get("lfs.attempt") } == [.int64(1), .int64(2)])
            #expect(uploads.map { $0.attributes.get("error.type") } == [.string("serverError"), nil])
            #expect(uploads.map { $0.status?.code } == [.error, nil])
            #expect(uploads.map(\.errors.count) == [1, 0])
            #expect(spans(tracer, name: "PUT").map(\.parentSpanID) == uploads.map(\.spanID))
            for upload in uploads {
                #expect(upload.kind == .client)
                #expect(upload.parentSpanID == nil)
                #expect(upload.attributes.get("lfs.storage") == .string("memory"))
                #expect(upload.attributes.get("lfs.file.id") == .string(file.id.uuidString))
                #expect(upload.attributes.get("lfs.byte_count") == .int64(1_234))
            }
        }
    }

    @Test("Uploads belong to no trace, even if the manager was started within one")
    func startedWithinTrace() async throws {
        let tracer = InMemoryTracer()
        try await withTracer(tracer) {
            try await withSpan("launch") { _ in
                try await withManager(InMemoryStorage()) { lfs, database in
                    _ = try await lfs.attach(Data(repeating: 1, count: 10), in: database)
                    try await lfs.waitForUploads()
                }
            }
        }
        #expect(spans(tracer, name: "lfs.upload").map(\.parentSpanID) == [nil])
    }

    @Test("A download is a single span in the reader's trace, even after retries")
    func download() async throws {
        let storage = FailingStorage(
            InMemoryStorage(), on: [.download], times: 2, with: StorageError(.timeout, message: "Not now."))
        try await withTracing(storage) { tracer, lfs, database in
            let file = try await lfs.attach(Data(repeating: 1, count: 1_234), in: database)
            try await lfs.waitForUploads()
            try await lfs.evict(file.id)
            try await withSpan("request") { _ in _ = try await lfs.data(of: file.id) }
            let request = try #require(spans(tracer, name: "request").first)
            let downloads = spans(tracer, name: "lfs.download")
            #expect(downloads.map(\.parentSpanID) == [request.spanID])
            #expect(downloads.first?.kind == .client)
            #expect(downloads.first?.attributes.get("lfs.byte_count") == .int64(1_234))
            #expect(downloads.first?.attributes.get("lfs.file.id") == .string(file.id.uuidString))
        }
    }

    @Test("No span has a file's name, a key, or the message of an error")
    func discreet() async throws {
        let error = StorageError(
            .invalidRequest, message: "GET /secret?X-Signature=secret", cause: CocoaError(.fileNoSuchFile))
        let storage = FailingStorage(InMemoryStorage(), on: [.upload], times: .max, with: error)
        try await withTracing(storage) { tracer, lfs, database in
            let file = try await lfs.attach(Data(repeating: 1, count: 10), name: "secret.jpg", in: database)
            try await lfs.waitForUploads()
            await #expect(throws: LFSError.self) {
                try await lfs.makeFile(from: .file(URL(fileURLWithPath: "/nowhere/secret.jpg")))
            }
            var said: [String] = []
            for span in tracer.finishedSpans {
                span.attributes.forEach { said.append("\($0)=\($1)") }
                said += span.errors.map { "\($0.error) \(($0.error as NSError).localizedDescription)" }
                said += [span.status?.message ?? "", "\(span.events)"]
            }
            #expect(said.contains { $0.contains("invalidRequest") })
            #expect(said.contains { $0.contains("missing") })
            let key = try #require(file.key.split(separator: "/").first)
            for text in said { #expect(!text.contains("secret") && !text.contains(key)) }
        }
    }
}
