import Foundation
import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSSignedURL

/// Secrets that must not appear anywhere.
enum Canary {
    static let token = "canarytoken"
    static let signature = "canarysignature"
    static let field = "canaryfield"
    static let all = [token, signature, field]
}

/// Returns the storage error of a call, or nil after success. Checks that the error contains no secret.
func storageError(_ body: () async throws -> some Sendable) async throws -> StorageError? {
    do {
        _ = try await body()
        return nil
    } catch let error as StorageError {
        var dumped = ""
        dump(error, to: &dumped)
        let shown = [dumped, String(reflecting: error), "\(error)", error.localizedDescription]
        for secret in Canary.all { #expect(!shown.contains { $0.contains(secret) }, "\(secret)") }
        return error
    }
}

extension ObjectKey {
    static func sample(_ name: String = "file") throws -> ObjectKey { try ObjectKey("space/\(name)") }
}

extension SignedURLStorage {
    @discardableResult
    func put(_ bytes: [UInt8], name: String = "file", session: UploadSession = UploadSession()) async throws
        -> RemoteObject
    {
        try await upload(.temporary(bytes), to: .sample(name), session: session)
    }

    /// Returns the bytes of an object or of a range of it.
    func contents(_ name: String = "file", range: Range<Int64>? = nil, entityTag: String? = nil) async throws -> [UInt8]
    {
        let bytes = Mutex<[UInt8]>([])
        let request = DownloadRequest(try .sample(name), range: range, entityTag: entityTag)
        _ = try await download(request, into: DownloadSink { piece in bytes.withLock { $0 += piece } })
        return bytes.withLock { $0 }
    }
}

/// A store of the checkpoints of an upload, like the queue's row. The mutex owns its state.
final class SavedCheckpoint: Sendable {
    private let state = Mutex<[UploadCheckpoint]>([])

    var all: [UploadCheckpoint] { state.withLock { $0 } }
    var value: PartsCheckpoint? { all.last.flatMap(PartsCheckpoint.init) }

    init(_ first: PartsCheckpoint? = nil) throws {
        if let first { state.withLock { [saved = try? first.encoded()] in $0 = saved.map { [$0] } ?? [] } }
    }

    var session: UploadSession {
        UploadSession(checkpoint: all.last, onSave: { checkpoint in self.state.withLock { $0.append(checkpoint) } })
    }
}

/// Runs a body while the manual clock advances automatically.
func runningFreely<Result: Sendable>(
    _ clock: ManualClock, _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await clock.runFreely() }
        let result = try await body()
        group.cancelAll()
        return result
    }
}
