import Foundation
import LFSSystem
import Synchronization

/// A storage that keeps its objects in memory, for tests and previews. Its contents end with the process.
public final class InMemoryStorage: RemoteStorage {
    private struct Entry {
        var bytes: [UInt8]
        var sha256: String
        var version: Int
    }

    private struct State {
        var entries: [ObjectKey: Entry] = [:]
        var lastVersion = 0
    }

    private let state = Mutex(State())

    /// Creates an empty storage.
    public init() {}

    /// The capabilities of this storage.
    public var capabilities: StorageCapabilities {
        StorageCapabilities(kind: "memory", proof: .checksum)
    }

    /// The keys of all objects, in no particular order.
    public var keys: [ObjectKey] { state.withLock { Array($0.entries.keys) } }

    /// Returns the bytes of an object, or nil if it does not exist.
    public func bytes(of key: ObjectKey) -> [UInt8]? { state.withLock { $0.entries[key]?.bytes } }

    /// Stores the bytes. See ``RemoteStorage/upload(_:to:session:)``.
    ///
    /// - Throws: the errors of ``RemoteStorage/upload(_:to:session:)``.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        let (bytes, sha256) = try await read(source, session: session, key: key)
        guard Int64(bytes.count) == source.byteCount, sha256 == source.sha256 else {
            throw StorageError(
                .sourceChanged,
                message: "The local bytes do not have the size and SHA-256 that were recorded for them.",
                key: key)
        }
        return state.withLock { state in
            state.lastVersion += 1
            let entry = Entry(bytes: bytes, sha256: sha256, version: state.lastVersion)
            state.entries[key] = entry
            return Self.describe(key, entry: entry)
        }
    }

    /// Passes the bytes to the sink. See ``RemoteStorage/download(_:into:)``.
    ///
    /// - Throws: the errors of ``RemoteStorage/download(_:into:)``.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        let entry = try entry(request.key)
        let object = Self.describe(request.key, entry: entry)
        if let wanted = request.entityTag, wanted != object.entityTag {
            throw StorageError(.changed, message: "The object was replaced while it was read.", key: request.key)
        }
        if let tag = object.entityTag { sink.begin(entityTag: tag) }
        let range = (request.range ?? 0..<object.byteCount).clamped(to: 0..<object.byteCount)
        try entry.bytes[Int(range.lowerBound)..<Int(range.upperBound)].withUnsafeBytes { try sink.write($0) }
        return object
    }

    /// Returns the description of an object. See ``RemoteStorage/head(_:)``.
    ///
    /// - Throws: the errors of ``RemoteStorage/head(_:)``.
    public func head(_ key: ObjectKey) async throws -> RemoteObject {
        Self.describe(key, entry: try entry(key))
    }

    /// Removes an object. See ``RemoteStorage/delete(_:abandoning:)``.
    ///
    /// - Throws: the errors of ``RemoteStorage/delete(_:abandoning:)``.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        state.withLock { $0.entries[key] = nil }
    }

    /// Returns a page of the objects. See ``RemoteStorage/list(_:)``.
    ///
    /// - Throws: the errors of ``RemoteStorage/list(_:)``.
    public func list(_ request: ListRequest) async throws -> ListPage {
        let after = request.continuation ?? ""
        let found = state.withLock { $0.entries }
            .filter {
                $0.key.rawValue.hasPrefix(request.prefix) && after.utf8.lexicographicallyPrecedes($0.key.rawValue.utf8)
            }
            .sorted { $0.key.rawValue.utf8.lexicographicallyPrecedes($1.key.rawValue.utf8) }
        let page = found.prefix(request.limit).map { Self.describe($0.key, entry: $0.value) }
        return ListPage(objects: page, next: found.count > page.count ? page.last?.key.rawValue : nil)
    }

    private func read(
        _ source: UploadSource, session: UploadSession, key: ObjectKey
    ) async throws(StorageError) -> (bytes: [UInt8], sha256: String) {
        do {
            return try await BlockingPool.shared.run { flag in
                var bytes: [UInt8] = []
                var hash = ContentHash()
                try source.forEachChunk(flag) { chunk in
                    bytes.append(contentsOf: chunk)
                    hash.update(chunk)
                    session.report(bytesTransferred: hash.byteCount)
                }
                return (bytes, hash.hex)
            }
        } catch {
            throw StorageError(wrapping: error, key: key)
        }
    }

    private func entry(_ key: ObjectKey) throws(StorageError) -> Entry {
        guard let entry = state.withLock({ $0.entries[key] }) else {
            throw StorageError(.missing, message: "There is no object '\(key)' in memory.", key: key)
        }
        return entry
    }

    private static func describe(_ key: ObjectKey, entry: Entry) -> RemoteObject {
        RemoteObject(
            key: key, byteCount: Int64(entry.bytes.count), sha256: entry.sha256, entityTag: "v\(entry.version)",
            url: URL(string: "memory:///\(key)") ?? URL(fileURLWithPath: "/"))
    }
}
