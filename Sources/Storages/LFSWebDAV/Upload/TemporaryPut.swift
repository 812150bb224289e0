import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import Synchronization

/// An upload of a file: `PUT` to a temporary file in the same folder, verification, and `MOVE` to its final place.
///
/// Many servers keep the beginning of an interrupted request. So the upload never writes to a place that readers use.
struct TemporaryPut: Sendable {
    let client: WebDAVClient
    let key: ObjectKey
    let readsBack: Bool

    /// The maximum number of further attempts to move the file.
    private static let moves = 5

    func run(_ source: UploadSource, session: UploadSession) async throws -> RemoteObject {
        if let former = session.checkpoint.flatMap(UnfinishedFile.init) {
            try await client.remove(client.place.path(of: key, unfinished: former.token), of: key)
        }
        let unfinished = UnfinishedFile()
        let path = client.place.path(of: key, unfinished: unfinished.token)
        if source.byteCount >= UnfinishedFile.notedByteCount { try await session.save(unfinished.encoded()) }
        do {
            try await put(source, session: session, path: path)
            let proof = try await proof(of: source, at: path)
            try await name(path)
            return RemoteObject(
                key: key, byteCount: source.byteCount, sha256: proof, url: client.place.url(of: key))
        } catch {
            await removeUnfinished(path)
            throw retryable(error)
        }
    }

    /// Returns the error of an attempt. A missing file is an error of the server, because this attempt has just sent
    /// it. The server may also have carried out a MOVE and answered otherwise. The next attempt then replaces the file.
    private func retryable(_ error: any Error) -> any Error {
        let translated = (error as? WebDAVFailure)?.storageError ?? (error as? StorageError)
        guard let failure = translated, failure.isMissing else { return error }
        return StorageError(
            .serverError,
            message: "The server no longer has the file that was just sent, or its folder. The upload starts over.",
            key: key, cause: failure)
    }

    private func put(_ source: UploadSource, session: UploadSession, path: String) async throws {
        // The folders are created first, because some servers read a whole file before they report a missing folder.
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
            try await putOnce(source, path: path, progress)
        } catch let failure as WebDAVFailure where [403, 404, 409, 410, 500].contains(failure.status) {
            // Another client has removed the folder since. Servers report this with different statuses.
            try await client.makeFolders(of: key, again: true)
            try await putOnce(source, path: path, progress)
        }
    }

    private func putOnce(
        _ source: UploadSource, path: String, _ progress: @escaping @Sendable (Int64) -> Void
    ) async throws {
        let check = SendingCheck(source)
        var put = client.request(.put, path: path)
        if let type = source.contentType { try put.headers.set("content-type", value: MediaType.field(type)) }
        put.body = check.body
        put.expectsContinue = source.byteCount >= 1 << 20
        put.onProgress = progress
        _ = try await client.send(put, about: key)
        try await check.requireRecorded()
    }

    /// Moves the file to its final place. An existing object is replaced, but not before the file has arrived.
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
                // Two clients that replace the same object can block each other. The move is retried while the file
                // exists.
                _ = try await client.describe(key, at: path)
                rest -= 1
            }
        }
    }

    /// Verifies the size. Returns the SHA-256 if the upload is read back, or nil.
    ///
    /// - Throws: ``StorageError/Code/integrity`` when the server has other bytes, or fewer.
    private func proof(of source: UploadSource, at path: String) async throws -> String? {
        let found = try await client.describe(key, at: path)
        guard found.byteCount == source.byteCount else {
            throw StorageError(
                .integrity,
                message: "The server has \(found.byteCount.map(String.init) ?? "no") of \(source.byteCount) bytes.",
                key: key)
        }
        guard readsBack else { return nil }
        let hash = Mutex(ContentHash())
        var get = client.request(.get, path: path)
        get.reply = .sink({ bytes in hash.withLock { $0.update(bytes) } }, accept: { $0.status == 200 })
        _ = try await client.send(get, about: key)
        let sha256 = hash.withLock { $0 }.hex
        guard sha256 == source.sha256 else { throw StorageError.notProven(key) }
        return sha256
    }

    /// Deletes the temporary file after a failure, even if the task was cancelled. Listings do not show a remaining
    /// file, and it is deleted later because of its age.
    private func removeUnfinished(_ path: String) async {
        let (client, key) = (client, key)
        await Task.detached {
            do {
                try await client.remove(path, of: key)
            } catch {
                // The upload's own error is more precise.
            }
        }.value
    }
}
