import LFSStorage
import LFSTesting
import Synchronization

/// An in-memory storage whose objects can rot. Their bytes change, but their metadata stays as it was at the upload.
///
/// The mutex owns the state.
final class RottingStorage: StorageWrapper {
    enum Rot: CaseIterable, Sendable {
        /// A bit is flipped.
        case flipped
        /// The object is listed but cannot be downloaded, as in a quarantine.
        case hidden
        /// Every download fails with a server error.
        case failing
    }

    private struct State {
        var rotten: [ObjectKey: Rot] = [:]
        var uploads = 0
        var downloads = 0
    }

    let memory = InMemoryStorage()
    var base: any RemoteStorage { memory }
    /// True if the storage confirms checksums, false if it confirms only byte counts.
    let vouches: Bool
    private let state = Mutex(State())

    init(vouches: Bool = true) { self.vouches = vouches }

    var uploads: Int { state.withLock { $0.uploads } }
    var downloads: Int { state.withLock { $0.downloads } }

    func rot(_ key: String, rot: Rot = .flipped) throws {
        let key = try ObjectKey(key)
        state.withLock { $0.rotten[key] = rot }
    }

    func recover() { state.withLock { $0.rotten = [:] } }

    var capabilities: StorageCapabilities {
        StorageCapabilities(kind: "rotting", proof: vouches ? .checksum : .byteCount)
    }

    func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        // Behaves like a server that compares the checksums of the stored and the new object.
        if vouches, !session.replacesObject, let there = try? await memory.head(key), there.sha256 == source.sha256 {
            return there
        }
        let object = try await memory.upload(source, to: key, session: session)
        state.withLock { state in
            state.uploads += 1
            state.rotten[key] = nil
        }
        return told(object)
    }

    func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        let rot = state.withLock { state in
            state.downloads += 1
            return state.rotten[request.key]
        }
        switch rot {
        case nil: return try await memory.download(request, into: sink)
        case .hidden: throw StorageError(.missing, message: "It is in quarantine.", key: request.key)
        case .failing: throw StorageError(.serverError, message: "It cannot be read.", key: request.key)
        case .flipped:
            let isFirst = Mutex(true)
            let flipping = DownloadSink(onBegin: sink.begin(entityTag:)) { bytes in
                let isDue = isFirst.withLock { first in
                    defer { first = false }
                    return first
                }
                guard isDue else { return try sink.write(bytes) }
                var bytes = Array(bytes)
                bytes[0] ^= 1
                try bytes.withUnsafeBytes { try sink.write($0) }
            }
            return told(try await memory.download(request, into: flipping))
        }
    }

    func head(_ key: ObjectKey) async throws -> RemoteObject {
        if state.withLock({ $0.rotten[key] }) == .hidden {
            throw StorageError(.missing, message: "It is in quarantine.", key: key)
        }
        return told(try await memory.head(key))
    }

    func list(_ request: ListRequest) async throws -> ListPage {
        var page = try await memory.list(request)
        page.objects = page.objects.map(told)
        return page
    }

    private func told(_ object: RemoteObject) -> RemoteObject {
        var object = object
        if !vouches { object.sha256 = nil }
        return object
    }
}
