import LFSStorage
import Synchronization

/// The environment of one check: the storage, unique keys, and functions that verify rules.
final class CheckRoom: Sendable {
    let storage: any RemoteStorage
    private let check: String
    private let namespace = "lfs-check-" + String(UInt64.random(in: .min ... .max), radix: 36)
    private let keys = Mutex<Set<ObjectKey>>([])

    init(_ storage: any RemoteStorage, check: String) {
        self.storage = storage
        self.check = check
    }

    /// The prefix of every key of this run.
    var prefix: String { namespace + "/" }

    /// Returns a key of this run. Its object is removed at the end.
    func key(_ name: String) throws -> ObjectKey {
        let key = try ObjectKey(prefix + name)
        keys.withLock { _ = $0.insert(key) }
        return key
    }

    /// Removes what the check stored.
    func clear() async throws {
        for key in keys.withLock({ $0 }) { try await storage.delete(key, abandoning: nil) }
    }

    // MARK: Calls

    @discardableResult
    func upload(
        _ content: [UInt8], to key: ObjectKey, session: UploadSession = UploadSession()
    ) async throws -> RemoteObject {
        try await storage.upload(.temporary(content), to: key, session: session)
    }

    func download(_ request: DownloadRequest) async throws -> (object: RemoteObject, bytes: [UInt8]) {
        let received = Mutex<[UInt8]>([])
        let sink = DownloadSink { bytes in received.withLock { $0.append(contentsOf: bytes) } }
        let object = try await storage.download(request, into: sink)
        return (object, received.withLock { $0 })
    }

    /// Returns the bytes under a key, or nil if there is no object.
    func content(of key: ObjectKey) async throws -> [UInt8]? {
        do {
            return try await download(DownloadRequest(key)).bytes
        } catch let error as StorageError where error.isMissing {
            return nil
        }
    }

    /// Returns all objects under a prefix, by page.
    func objects(below prefix: String, limit: Int = 1_000) async throws -> [[RemoteObject]] {
        var pages: [[RemoteObject]] = []
        var request = ListRequest(prefix: prefix, limit: limit)
        repeat {
            let page = try await storage.list(request)
            pages.append(page.objects)
            request.continuation = page.next
            try require(pages.count < 1_000, rule: "a listing ends")
        } while request.continuation != nil
        return pages
    }

    // MARK: Rules

    func require(_ holds: Bool, rule: String) throws(ConformanceFailure) {
        guard holds else { throw ConformanceFailure(check: check, rule: rule) }
    }

    /// Runs a call that must succeed.
    @discardableResult
    func succeeding<Result>(_ rule: String, _ call: () async throws -> Result) async throws(ConformanceFailure)
        -> Result
    {
        do {
            return try await call()
        } catch {
            throw failure(rule, error: error)
        }
    }

    /// Runs a call that must fail with a storage error, with the given code if there is one.
    func failing<Result>(
        _ rule: String, with code: StorageError.Code? = nil, _ call: () async throws -> Result
    ) async throws(ConformanceFailure) {
        do {
            _ = try await call()
        } catch let error as StorageError where code == nil || error.code == code {
            return
        } catch {
            throw failure(rule, error: error)
        }
        throw ConformanceFailure(check: check, rule: rule)
    }

    /// Converts an error into a failure of a rule. An error that already is such a failure stays unchanged.
    func failure(_ rule: String, error: any Error) -> ConformanceFailure {
        (error as? ConformanceFailure) ?? ConformanceFailure(check: check, rule: rule, cause: error)
    }
}
