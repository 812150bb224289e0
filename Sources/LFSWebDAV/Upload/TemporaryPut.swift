import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import Synchronization

/// Uploads a file: `PUT` beside its place, a look at what is there then, `MOVE` into its place.
///
/// Many servers keep the beginning of a request that is cut. So nothing is ever written to a place where a reader looks.
struct TemporaryPut: Sendable {
    let client: WebDAVClient
    let key: ObjectKey
    let readsBack: Bool

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
            // What is under the key already has to give way, and is not gone before this is there.
            if try await !client.move(path, to: key, replaces: false) {
                _ = try await client.move(path, to: key, replaces: true)
            }
            return RemoteObject(
                key: key, byteCount: source.byteCount, sha256: proof, url: client.place.url(of: key))
        } catch {
            await removeUnfinished(path)
            throw error
        }
    }

    private func put(_ source: UploadSource, _ session: UploadSession, _ path: String) async throws {
        do {
            try await putOnce(source, session, path)
        } catch let failure as WebDAVFailure where failure.isMissing || failure.status == 409 || failure.status == 403 {
            // The first file of a database has no folder yet. Servers say it in different ways.
            try await client.makeFolders(of: key)
            try await putOnce(source, session, path)
        }
    }

    private func putOnce(_ source: UploadSource, _ session: UploadSession, _ path: String) async throws {
        let check = SendingCheck(source)
        var put = client.request(.put, path)
        if let type = source.contentType { try put.headers.set("content-type", type) }
        put.body = check.body
        put.expectsContinue = source.byteCount >= 1 << 20
        put.onProgress = { session.report(bytesTransferred: $0) }
        _ = try await client.send(put, about: key)
        try await check.requireRecorded()
    }

    /// The SHA-256 of what is there, if it is read back.
    ///
    /// - Throws: ``StorageError/Code/integrity`` when the server has other bytes, or fewer.
    private func proof(of source: UploadSource, at path: String) async throws -> String? {
        let found = try await client.describe(key, at: path)
        guard found.byteCount == source.byteCount else {
            throw StorageError(
                .integrity,
                "The server has \(found.byteCount.map(String.init) ?? "an unknown number") of \(source.byteCount) bytes.",
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
            do { try await client.remove(path, of: key) } catch { /* the upload's own error says more */  }
        }.value
    }
}
