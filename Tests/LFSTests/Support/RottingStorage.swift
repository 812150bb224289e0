import LFSStorage
import LFSTesting
import Synchronization

/// A storage in memory whose objects can rot: the bytes change, and what it says of them stays as it was when they
/// came.
///
/// Owner of its state: the mutex.
final class RottingStorage: StorageWrapper {
    enum Rot: CaseIterable, Sendable {
        /// One bit is another one.
        case flipped
        /// The bytes are not given any more, while the listing still names them: a quarantine.
        case hidden
        /// The storage fails over it, time after time.
        case failing
    }

    private struct State {
        var rotten: [ObjectKey: Rot] = [:]
        var uploads = 0
        var downloads = 0
    }

    let memory = InMemoryStorage()
    var base: any RemoteStorage { memory }
    /// Whether it vouches for the bytes, or only for their number.
    let vouches: Bool
    private let state = Mutex(State())

    init(vouches: Bool = true) { self.vouches = vouches }

    var uploads: Int { state.withLock { $0.uploads } }
    var downloads: Int { state.withLock { $0.downloads } }

    func rot(_ key: String, _ rot: Rot = .flipped) throws {
        let key = try ObjectKey(key)
        state.withLock { $0.rotten[key] = rot }
    }

    func recover() { state.withLock { $0.rotten = [:] } }

    var capabilities: StorageCapabilities {
        StorageCapabilities(kind: "rotting", proof: vouches ? .checksum : .byteCount)
    }

    func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        // As a server that compares the checksum of what is there with that of what comes.
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
        case .hidden: throw StorageError(.missing, "It is in quarantine.", key: request.key)
        case .failing: throw StorageError(.serverError, "It cannot be read.", key: request.key)
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
            throw StorageError(.missing, "It is in quarantine.", key: key)
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
