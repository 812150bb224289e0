import Foundation
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSTransfer

@Suite("Checkpoint envelopes", .timeLimit(.minutes(10)))
struct CheckpointEnvelopeTests {
    private static func envelope(_ location: String?, kind: String = "s3") -> CheckpointEnvelope {
        CheckpointEnvelope(StorageCapabilities(kind: kind, location: location, proof: .checksum))
    }

    private let here = Self.envelope("s3:localhost/bücket/\n")

    @Test(
        "A checkpoint opens for the storage location that it was sealed for", arguments: ["", "{}", "LFSC\0\0\0\u{1}x"])
    func roundTrip(_ content: String) {
        let checkpoint = UploadCheckpoint(rawValue: Data(content.utf8))
        #expect(here.open(here.seal(checkpoint)) == checkpoint)
        #expect(here.open(nil) == nil)
    }

    @Test(
        "A checkpoint does not open for another storage location",
        arguments: [
            envelope("s3:localhost/bücket/"), envelope("s3:localhost/bücket/\nmore"),
            envelope("S3:localhost/bücket/\n"),
            envelope(nil), envelope(""),
        ])
    func elsewhere(_ other: CheckpointEnvelope) {
        let checkpoint = UploadCheckpoint(rawValue: Data("{}".utf8))
        #expect(other.open(here.seal(checkpoint)) == nil)
        #expect(here.open(other.seal(checkpoint)) == nil)
    }

    @Test("A checkpoint of a storage without a location opens for every storage of its kind")
    func withoutPlace() {
        let checkpoint = UploadCheckpoint(rawValue: Data("{}".utf8))
        let kept = Self.envelope(nil, kind: "memory").seal(checkpoint)
        #expect(Self.envelope(nil, kind: "memory").open(kept) == checkpoint)
        #expect(Self.envelope(nil, kind: "other").open(kept) == nil)
    }

    @Test("A checkpoint from before envelopes existed opens unchanged")
    func older() {
        let checkpoint = UploadCheckpoint(rawValue: Data(#"{"uploadID":"7"}"#.utf8))
        #expect(here.open(checkpoint) == checkpoint)
    }

    @Test("A truncated checkpoint and one with too large a length do not open")
    func damaged() {
        let whole = here.seal(UploadCheckpoint(rawValue: Data())).rawValue
        for count in 4..<whole.count {
            #expect(here.open(UploadCheckpoint(rawValue: whole.prefix(count))) == nil, "\(count)")
        }
        let long = Data("LFSC".utf8) + Data([0xFF, 0xFF, 0xFF, 0xFF]) + whole.dropFirst(8)
        #expect(here.open(UploadCheckpoint(rawValue: long)) == nil)
    }

    @Test("A checkpoint returns only to the storage location that saved it")
    func inPool() async throws {
        let mine = UploadCheckpoint(rawValue: Data("mine".utf8))
        let journal = CheckpointJournal(source: try .temporary([1]))
        #expect(try await resumed(from: journal, at: "a", saving: mine) == nil)
        #expect(try await resumed(from: journal, at: "a", saving: mine) == mine)
        #expect(try await resumed(from: journal, at: "b", saving: mine) == nil)
        #expect(journal.kept != mine, "the checkpoint is saved with its location")
    }

    /// Runs an upload at a location that saves another checkpoint and succeeds. Returns the checkpoint that the upload
    /// received.
    private func resumed(
        from journal: CheckpointJournal, at location: String, saving checkpoint: UploadCheckpoint
    ) async throws -> UploadCheckpoint? {
        let storage = CheckpointStorage(location: location, saves: checkpoint)
        let executor = Executor(storage: storage, journal: journal, policy: RetryPolicy(), events: { _ in })
        let job = TransferJob(
            id: "a", key: try ObjectKey("test/a"), byteCount: 1, content: .ofNothing, attempts: 0,
            checkpoint: journal.kept)
        let outcome = await executor.run(job, upcoming: { _ in [] }, onAccepted: {})
        guard case .uploaded = outcome.result else {
            Issue.record("\(outcome.result)")
            return nil
        }
        return storage.given.events.last ?? nil
    }
}

/// A journal that keeps one checkpoint, as the database does.
private final class CheckpointJournal: TransferJournal {
    private let source: UploadSource
    private let state = Mutex<UploadCheckpoint?>(nil)

    init(source: UploadSource) { self.source = source }

    var kept: UploadCheckpoint? { state.withLock { $0 } }

    func page(_ lane: TransferLane, limit: Int, excluding held: Set<FileID>) async throws -> TransferPage {
        TransferPage(jobs: [], nextDue: nil)
    }
    func check(_ job: TransferJob) async throws -> UploadDecision { .upload(source) }
    func record(_ outcomes: [TransferOutcome]) async throws -> Set<FileID> { [] }
    func note(outage: StorageError?) async throws {}
    func save(_ checkpoint: UploadCheckpoint, for job: TransferJob) async throws {
        state.withLock { $0 = checkpoint }
    }
}

/// A storage at a location that saves a checkpoint in each upload.
private struct CheckpointStorage: StorageWrapper {
    let base: any RemoteStorage = InMemoryStorage()
    let location: String
    let saves: UploadCheckpoint
    let given = EventLog<UploadCheckpoint?>()

    var capabilities: StorageCapabilities {
        StorageCapabilities(kind: "test", location: location, proof: .checksum)
    }

    func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        given.add(session.checkpoint)
        try await session.save(saves)
        return try await base.upload(source, to: key, session: session)
    }
}
