import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import Synchronization

/// Uploads a file: `PUT` beside its place, a look at what is there then, `MOVE` into its place.
///
/// Many servers keep the beginning of a request that is cut. So nothing is ever written where a reader looks.
struct TemporaryPut: Sendable {
    let client: WebDAVClient
    let key: ObjectKey
    let readsBack: Bool

    /// How often a place is asked for again.
    private static let moves = 5

    func run(_ source: UploadSource, _ session: UploadSession) async throws -> RemoteObject {
        if let former = session.checkpoint.flatMap(UnfinishedFile.init) {
            try await client.remove(client.place.path(of: key, unfinished: former.token), of: key)
        }
        let unfinished = UnfinishedFile()
        let path = client.place.path(of: key, unfinished: unfinished.token)
        if source.byteCount >= UnfinishedFile.notedByteCount { try await session.save(unfinished.encoded()) }
        do {
            try await put(source, session, path)
            let proof = try await proof(of: source, at: path)
            try await name(path)
            return RemoteObject(
                key: key, byteCount: source.byteCount, sha256: proof, url: client.place.url(of: key))
        } catch {
            await removeUnfinished(path)
            throw error
        }
    }

    private func put(_ source: UploadSource, _ session: UploadSession, _ path: String) async throws {
        // Before, since some servers take all of a file whose folder is missing, and then say so.
        try await client.makeFolders(of: key)
        let most = Mutex<Int64>(0)
        let progress: @Sendable (Int64) -> Void = { count in
            let isMore = most.withLock { most in
                defer { most = max(most, count) }
                return count >= most
            }
            if isMore { session.report(bytesTransferred: count) }
        }
        do {
            try await putOnce(source, path, progress)
        } catch let failure as WebDAVFailure where [403, 404, 409, 410, 500].contains(failure.status) {
            // Somebody has removed the folder since. Each server has another word for it.
            try await client.makeFolders(of: key, again: true)
            try await putOnce(source, path, progress)
        }
    }

    private func putOnce(
        _ source: UploadSource, _ path: String, _ progress: @escaping @Sendable (Int64) -> Void
    ) async throws {
        let check = SendingCheck(source)
        var put = client.request(.put, path)
        if let type = source.contentType { try put.headers.set("content-type", type) }
        put.body = check.body
        put.expectsContinue = source.byteCount >= 1 << 20
        put.onProgress = progress
        _ = try await client.send(put, about: key)
        try await check.requireRecorded()
    }

    /// What is under the key already has to give way, and not before this is there.
    private func name(_ path: String) async throws {
        if try await client.move(path, to: key, replaces: false) { return }
        try await client.requireNoFolder(key)
        var rest = Self.moves
        while true {
            do {
                _ = try await client.move(path, to: key, replaces: true)
                return
            } catch let failure as WebDAVFailure
                where (failure.status == 400 || (403...500).contains(failure.status)) && rest > 0
            {
                // Two that replace the same object get into each other's way. As long as ours is there, it can go on.
                _ = try await client.describe(key, at: path)
                rest -= 1
            }
        }
    }

    /// The SHA-256 of what is there, if it is read back.
    ///
    /// - Throws: ``StorageError/Code/integrity`` when the server has other bytes, or fewer.
    private func proof(of source: UploadSource, at path: String) async throws -> String? {
        let found = try await client.describe(key, at: path)
        guard found.byteCount == source.byteCount else {
            throw StorageError(
                .integrity,
                "The server has \(found.byteCount.map(String.init) ?? "no") of \(source.byteCount) bytes.",
                key: key)
        }
        guard readsBack else { return nil }
        let hash = Mutex(ContentHash())
        var get = client.request(.get, path)
        get.reply = .sink({ bytes in hash.withLock { $0.update(bytes) } }, accept: { $0.status == 200 })
        _ = try await client.send(get, about: key)
        let sha256 = hash.withLock { $0 }.hex
        guard sha256 == source.sha256 else { throw StorageError.notProven(key) }
        return sha256
    }

    /// After a failure, also when the task was cancelled. What cannot be removed has a name that no listing shows, and
    /// is swept by its age.
    private func removeUnfinished(_ path: String) async {
        let (client, key) = (client, key)
        await Task.detached {
            do {
                try await client.remove(path, of: key)
            } catch {
                // The upload's own error says more.
            }
        }.value
    }
}
