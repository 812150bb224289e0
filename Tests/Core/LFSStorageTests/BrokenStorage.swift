import Foundation
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization

/// A storage with one broken rule, so that the conformance checks can be seen failing.
struct BrokenStorage: StorageWrapper {
    typealias Upload =
        @Sendable (any RemoteStorage, UploadSource, ObjectKey, UploadSession) async throws -> RemoteObject
    typealias Download = @Sendable (any RemoteStorage, DownloadRequest, DownloadSink) async throws -> RemoteObject

    let base: any RemoteStorage = InMemoryStorage()
    var onUpload: Upload = { try await $0.upload($1, to: $2, session: $3) }
    var onDownload: Download = { try await $0.download($1, into: $2) }
    var onHead: @Sendable (any RemoteStorage, ObjectKey) async throws -> RemoteObject = { try await $0.head($1) }
    var onDelete: @Sendable (any RemoteStorage, ObjectKey) async throws -> Void = {
        try await $0.delete($1, abandoning: nil)
    }
    var onList: @Sendable (any RemoteStorage, ListRequest) async throws -> ListPage = { try await $0.list($1) }

    func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try await onUpload(base, source, key, session)
    }

    func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try await onDownload(base, request, sink)
    }

    func head(_ key: ObjectKey) async throws -> RemoteObject { try await onHead(base, key) }
    func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try await onDelete(base, key)
    }
    func list(_ request: ListRequest) async throws -> ListPage { try await onList(base, request) }
}

struct ServerIsUnhappy: Error {}

extension BrokenStorage {
    // MARK: Uploads

    static let trustsTheSource = BrokenStorage(onUpload: { base, source, key, session in
        let content = try content(of: source)
        return try await base.upload(.temporary(content), to: key, session: session)
    })
    static let blamesItself = BrokenStorage(onUpload: { base, source, key, session in
        do {
            return try await base.upload(source, to: key, session: session)
        } catch let error as StorageError where error.code == .sourceUnreadable {
            throw StorageError(.serverError, message: "The server has ended the upload.")
        }
    })
    static let fillsBuffers = BrokenStorage(onUpload: { base, source, key, session in
        var content = [UInt8](repeating: 0, count: Int(source.byteCount))
        _ = try content.withUnsafeMutableBytes { try source.read(into: $0, at: 0) }
        return try await base.upload(.temporary(content), to: key, session: session)
    })
    static let refusesWhatIsThere = BrokenStorage(onUpload: { base, source, key, session in
        let found = try await base.list(ListRequest(prefix: key.rawValue)).objects
        guard found.isEmpty else { throw StorageError(.invalidRequest, message: "There is an object already.") }
        return try await base.upload(source, to: key, session: session)
    })
    static let keepsTheFirst = BrokenStorage(onUpload: { base, source, key, session in
        let found = try await base.list(ListRequest(prefix: key.rawValue)).objects
        guard found.isEmpty else {
            return RemoteObject(key: key, byteCount: source.byteCount, sha256: source.sha256, url: found[0].url)
        }
        return try await base.upload(source, to: key, session: session)
    })
    static let removesBeforeItReplaces = BrokenStorage(onUpload: { base, source, key, session in
        try await base.delete(key, abandoning: nil)
        await Task.yield()
        return try await base.upload(source, to: key, session: session)
    })
    static let stopsHalfWay = BrokenStorage(onUpload: { base, source, key, session in
        do {
            return try await base.upload(source, to: key, session: session)
        } catch {
            let half = Array(try content(of: source).prefix(Int(source.byteCount) / 2))
            _ = try await Task.detached { try await base.upload(.temporary(half), to: key, session: UploadSession()) }
                .value
            throw error
        }
    })
    static let ignoresCancellation = BrokenStorage(onUpload: { base, source, key, session in
        try await Task.detached { try await base.upload(source, to: key, session: session) }.value
    })
    static let tellsNoChecksum = BrokenStorage(onUpload: { base, source, key, session in
        var object = try await base.upload(source, to: key, session: session)
        object.sha256 = nil
        return object
    })
    static let countsBackwards = BrokenStorage(onUpload: { base, source, key, session in
        session.report(bytesTransferred: source.byteCount)
        session.report(bytesTransferred: 0)
        return try await base.upload(source, to: key, session: UploadSession())
    })
    /// Completes a cancelled upload only when its object is downloaded, as a server does that had received all bytes.
    static func finishesLate() -> BrokenStorage {
        let unfinished = Mutex<(key: ObjectKey, content: [UInt8])?>(nil)
        return BrokenStorage(
            onUpload: { base, source, key, session in
                do {
                    return try await base.upload(source, to: key, session: session)
                } catch {
                    let content = try content(of: source)
                    unfinished.withLock { $0 = (key, content) }
                    throw error
                }
            },
            onDownload: { base, request, sink in
                let late = unfinished.withLock { unfinished in
                    defer { unfinished = nil }
                    return unfinished
                }
                guard let late else { return try await base.download(request, into: sink) }
                _ = try await base.upload(.temporary(late.content), to: late.key, session: UploadSession())
                throw StorageError(.missing, message: "It was not there when it was asked for.")
            })
    }
    /// Lists the object of a cancelled upload and does not return it.
    static func listsUnfinished() -> BrokenStorage {
        let unfinished = Mutex<RemoteObject?>(nil)
        return BrokenStorage(
            onUpload: { base, source, key, session in
                do {
                    return try await base.upload(source, to: key, session: session)
                } catch {
                    let url = URL(filePath: "/unfinished")
                    unfinished.withLock { $0 = RemoteObject(key: key, byteCount: source.byteCount, url: url) }
                    throw error
                }
            },
            onList: { base, request in
                var page = try await base.list(request)
                page.objects += unfinished.withLock { $0 }.map { [$0] } ?? []
                return page
            })
    }
    /// Accepts one upload at a time and rejects some of them, by their number, with an integrity error.
    static func refuses(_ isRefused: @escaping @Sendable (Int) -> Bool) -> BrokenStorage {
        let turn = AsyncSemaphore(1)
        let count = Mutex(0)
        return BrokenStorage(onUpload: { base, source, key, session in
            try await turn.withPermit {
                let object = try await base.upload(source, to: key, session: session)
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                if isRefused(number) { throw StorageError(.integrity, message: "The storage has other bytes.") }
                return object
            }
        })
    }
    static func takesOneAtATime() -> BrokenStorage {
        let isBusy = Flag()
        return BrokenStorage(onUpload: { base, source, key, session in
            guard isBusy.raise() else { throw StorageError(.throttled, message: "Another upload is under way.") }
            defer { isBusy.lower() }
            await Task.yield()
            return try await base.upload(source, to: key, session: session)
        })
    }

    // MARK: Reads

    static let throwsItsOwnErrors = BrokenStorage(
        onDownload: { base, request, sink in
            do { return try await base.download(request, into: sink) } catch { throw ServerIsUnhappy() }
        },
        onHead: { base, key in
            do { return try await base.head(key) } catch { throw ServerIsUnhappy() }
        })
    static let wrapsSinkErrors = BrokenStorage(onDownload: { base, request, sink in
        do { return try await base.download(request, into: sink) } catch { throw StorageError(wrapping: error) }
    })
    static let sendsAgainAfterSinkErrors = BrokenStorage(onDownload: { base, request, sink in
        do { return try await base.download(request, into: sink) } catch {
            return try await base.download(request, into: sink)
        }
    })
    static let tellsNoTag = BrokenStorage(onDownload: { base, request, sink in
        try await base.download(request, into: DownloadSink { try sink.write($0) })
    })
    static let tellsTheTagTooLate = BrokenStorage(onDownload: { base, request, sink in
        let object = try await base.download(request, into: DownloadSink { try sink.write($0) })
        if let tag = object.entityTag { sink.begin(entityTag: tag) }
        return object
    })
    static let ignoresRanges = BrokenStorage(onDownload: { base, request, sink in
        try await base.download(DownloadRequest(request.key, entityTag: request.entityTag), into: sink)
    })
    static let refusesOddRanges = BrokenStorage(onDownload: { base, request, sink in
        let size = try await base.head(request.key).byteCount
        if let range = request.range, range.isEmpty || range.upperBound > size {
            throw StorageError(.invalidRequest, message: "There is no such range.")
        }
        return try await base.download(request, into: sink)
    })
    static let ignoresEntityTags = BrokenStorage(onDownload: { base, request, sink in
        try await base.download(DownloadRequest(request.key, range: request.range), into: sink)
    })
    static let sendsAgainWhenCancelled = BrokenStorage(onDownload: { base, request, sink in
        let first = DownloadSink(onBegin: sink.begin(entityTag:)) { bytes in
            try sink.write(UnsafeRawBufferPointer(rebasing: bytes.prefix(10)))
            if Task.isCancelled || bytes.count > 1_000 { try sink.write(bytes) }
        }
        return try await base.download(request, into: first)
    })
    static let signsItsURLs = BrokenStorage(onHead: { base, key in
        var object = try await base.head(key)
        object.url = URL(string: "https://user:word@example.org/\(key)?signature=secret") ?? object.url
        return object
    })

    // MARK: Deletes and listings

    static let failsToRemoveNothing = BrokenStorage(onDelete: { base, key in
        _ = try await base.head(key)
        try await base.delete(key, abandoning: nil)
    })
    static let removesNothing = BrokenStorage(onDelete: { _, _ in })
    static func neverTakesARemovedKeyAgain() -> BrokenStorage {
        let box = KeyBox()
        return BrokenStorage(
            onUpload: { base, source, key, session in
                if box.holds(key) { throw StorageError(.forbidden, message: "The key was removed.") }
                return try await base.upload(source, to: key, session: session)
            },
            onDelete: { base, key in
                box.add(key)
                try await base.delete(key, abandoning: nil)
            })
    }
    static let ignoresPrefixes = BrokenStorage(onList: { base, request in
        try await base.list(ListRequest(prefix: "", continuation: request.continuation, limit: request.limit))
    })
    static let listsBackwards = BrokenStorage(onList: { base, request in
        var page = try await base.list(request)
        page.objects.reverse()
        return page
    })
    static let ignoresLimits = BrokenStorage(onList: { base, request in
        try await base.list(ListRequest(prefix: request.prefix, continuation: request.continuation))
    })
    static let endsAfterOnePage = BrokenStorage(onList: { base, request in
        ListPage(objects: try await base.list(request).objects)
    })
    static let failsOnEmptyListings = BrokenStorage(onList: { base, request in
        let page = try await base.list(request)
        if page.objects.isEmpty { throw StorageError(.missing, message: "There is no such folder.") }
        return page
    })

    static func content(of source: UploadSource) throws -> [UInt8] {
        var content: [UInt8] = []
        try withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 16) { buffer in
            while true {
                let count = try source.read(into: buffer, at: Int64(content.count))
                if count == 0 { return }
                content.append(contentsOf: buffer[..<count])
            }
        }
        return content
    }
}

final class Flag: Sendable {
    private let isUp = Mutex(false)

    /// Returns false if the flag was raised already.
    func raise() -> Bool {
        isUp.withLock { isUp in
            defer { isUp = true }
            return !isUp
        }
    }

    func lower() { isUp.withLock { $0 = false } }
}

final class KeyBox: Sendable {
    private let keys = Mutex<Set<ObjectKey>>([])

    func add(_ key: ObjectKey) { keys.withLock { _ = $0.insert(key) } }
    func holds(_ key: ObjectKey) -> Bool { keys.withLock { $0.contains(key) } }
}
