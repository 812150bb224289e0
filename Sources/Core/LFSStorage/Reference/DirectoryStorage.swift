public import Foundation
package import LFSSystem
import Synchronization

/// A folder that acts as the remote storage: a mounted share, an external disk, or a quick start without a server.
///
/// Layout: `<folder>/<namespace>/<file id>`, folders 0700, files 0600. An upload is written to `.<file id>.part`,
/// verified against size and SHA-256, synced and renamed. So a reader sees only complete objects. The folder must exist
/// when the storage is used. If it disappears, for example because a share is unmounted, calls fail with
/// ``StorageError/Code/unreachable`` and nothing is written elsewhere.
public final class DirectoryStorage: RemoteStorage {
    /// The folder's URL, as passed to the initializer.
    public let url: URL
    let root: Directory
    private let identity: FileStatus
    /// The subfolders that were opened before. This mutex owns them and is never held across a system call.
    private let folders = Mutex<[String: Directory]>([:])
    private let listings = ListingWindows<ObjectKey>(size: 1 << 16) { $0 }
    /// A separate pool of threads, because a share that hangs must not block the threads for local files.
    private let threads = BlockingPool(width: 16)

    /// Opens the folder, and creates it if it is missing. Its parent must exist.
    ///
    /// - Throws: ``StorageError`` if it cannot be created, read or written.
    public init(at url: URL) throws(StorageError) {
        self.url = url
        do {
            root = try Directory.openOrMake(url.path)
            try root.requireWritable()
            identity = try root.status()
            try DirectoryUpload.requireLocks(in: root)
        } catch {
            throw DirectoryStorageErrors.opening(url.path, error: error)
        }
    }

    /// Opens an existing folder for reading. It may be read-only, such as a backup disk that is mounted read-only or a
    /// snapshot. Then uploads and deletions fail with ``StorageError/Code/forbidden``.
    ///
    /// - Throws: ``StorageError`` if it does not exist or cannot be read.
    public init(reading url: URL) throws(StorageError) {
        self.url = url
        do {
            root = try Directory.open(url.path)
            identity = try root.status()
        } catch {
            throw DirectoryStorageErrors.reading(url.path, error: error)
        }
    }

    /// The capabilities of this storage.
    public var capabilities: StorageCapabilities {
        StorageCapabilities(kind: "directory", location: "directory:\(root.path)", proof: .checksum)
    }

    /// Stores the bytes. See ``RemoteStorage/upload(_:to:session:)``.
    ///
    /// - Throws: the errors of ``RemoteStorage/upload(_:to:session:)``.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try await inFolder(of: key, makes: true) { folder, name, flag in
            if try !session.replacesObject && Self.holds(source, as: name, in: folder, flag: flag) {
                session.report(bytesTransferred: source.byteCount)
            } else {
                try DirectoryUpload(source: source, folder: folder, name: name, key: key, session: session).run(flag)
            }
            try folder.synchronize()
        }
        return RemoteObject(key: key, byteCount: source.byteCount, sha256: source.sha256, url: url(of: key))
    }

    /// Passes the bytes to the sink. See ``RemoteStorage/download(_:into:)``.
    ///
    /// - Throws: the errors of ``RemoteStorage/download(_:into:)``.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try await inFolder(of: request.key) { folder, name, flag in
            let file = try folder.openForReading(name)
            let object = try self.describe(request.key, status: file.status())
            if let wanted = request.entityTag, wanted != object.entityTag {
                throw StorageError(.changed, message: "The object was replaced while it was read.", key: request.key)
            }
            if let tag = object.entityTag { sink.begin(entityTag: tag) }
            try Self.copy(file, range: request.range ?? 0..<object.byteCount, to: sink, flag: flag)
            return object
        }
    }

    /// Returns the description of an object. See ``RemoteStorage/head(_:)``.
    ///
    /// - Throws: the errors of ``RemoteStorage/head(_:)``.
    public func head(_ key: ObjectKey) async throws -> RemoteObject {
        try await inFolder(of: key) { folder, name, _ in
            try self.describe(key, status: folder.openForReading(name).status())
        }
    }

    /// Removes an object. See ``RemoteStorage/delete(_:abandoning:)``.
    ///
    /// - Throws: the errors of ``RemoteStorage/delete(_:abandoning:)``.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        do {
            try await inFolder(of: key) { folder, name, _ in
                let unfinished = try DirectoryUpload.removeAbandoned(name, in: folder)
                if try folder.remove(name) || unfinished { try folder.synchronize() }
            }
        } catch let error as StorageError where error.isMissing {
            return  // the folder of the object does not exist either
        }
    }

    /// Returns a page of the objects. See ``RemoteStorage/list(_:)``.
    ///
    /// - Throws: the errors of ``RemoteStorage/list(_:)``.
    public func list(_ request: ListRequest) async throws -> ListPage {
        let page: ListingWindows<ObjectKey>.Page
        do {
            page = try await threads.run { flag in
                try self.requireRoot()
                return try self.listings.page(request) { try DirectoryListing.keys(of: $0, in: self.root, flag) }
            }
        } catch {
            throw DirectoryStorageErrors.using(url.path, error: error)
        }
        var objects: [RemoteObject] = []
        for key in page.items {
            do {
                objects.append(try await head(key))
            } catch let error as StorageError where error.isMissing {
                continue  // removed after its name was read, so it is not listed
            }
        }
        return ListPage(objects: objects, next: page.next)
    }

    // MARK: Objects

    private func url(of key: ObjectKey) -> URL {
        // Without the argument, Foundation examines the file.
        url.appendingPathComponent(key.rawValue, isDirectory: false)
    }

    /// Returns the entity tag of one version of a file's content.
    package static func entityTag(of status: FileStatus) -> String {
        "\(status.inode)-\(status.modified)-\(status.byteCount)"
    }

    private func describe(_ key: ObjectKey, status: FileStatus) throws(StorageError) -> RemoteObject {
        guard status.isRegularFile else {
            throw StorageError(.missing, message: "'\(key)' is not a file in the storage folder.", key: key)
        }
        return RemoteObject(
            key: key, byteCount: status.byteCount, entityTag: Self.entityTag(of: status), url: url(of: key))
    }

    /// Returns true if the object exists with the source's content. This happens after a crash between the upload and
    /// the update of its row.
    private static func holds(
        _ source: UploadSource, as name: String, in folder: Directory, flag: CancellationFlag
    ) throws -> Bool {
        guard try folder.status(of: name)?.byteCount == source.byteCount else { return false }
        let file = try folder.openForReading(name)
        let hash = try ContentHash(of: file, byteCount: source.byteCount, flag)
        return hash.hex == source.sha256
    }

    private static func copy(
        _ file: Descriptor, range: Range<Int64>, to sink: DownloadSink, flag: CancellationFlag
    ) throws {
        try FileCopy.forEachChunk(of: file, range, flag: flag) { bytes in
            do { try sink.write(bytes) } catch { throw SinkFailure(error: error) }
        }
    }

    /// A wrapper for an error of the caller's sink, so that it is not mistaken for an error of the folder.
    private struct SinkFailure: Error {
        let error: any Error
    }

    // MARK: Folders

    /// Runs a call in the folder of a key on a thread that may block. Creates the folder only if requested, and
    /// converts system errors to storage errors.
    ///
    /// If a cached folder was removed and created again, files in it appear to be missing. So the folder is opened
    /// again once.
    private func inFolder<Result: Sendable>(
        of key: ObjectKey, makes: Bool = false,
        _ body: @escaping @Sendable (Directory, String, CancellationFlag) throws -> Result
    ) async throws -> Result {
        do {
            return try await threads.run { flag in
                let segments = key.rawValue.split(separator: "/").map(String.init)
                let path = segments.dropLast().joined(separator: "/")
                let call = {
                    try self.requireRoot()
                    return try body(
                        self.folder(path, segments: segments.dropLast(), makes: makes), segments[segments.count - 1],
                        flag)
                }
                do {
                    return try call()
                } catch let error as SystemError where error.isMissing {
                    self.folders.withLock { $0[path] = nil }
                    return try call()
                }
            }
        } catch let error as SystemError where error.isMissing {
            throw StorageError(.missing, message: "There is no object '\(key)' in \(url.path).", key: key, cause: error)
        } catch let failure as SinkFailure {
            throw failure.error
        } catch {
            throw DirectoryStorageErrors.using(url.path, error: error, key: key)
        }
    }

    private func folder(_ path: String, segments: ArraySlice<String>, makes: Bool) throws -> Directory {
        if let known = folders.withLock({ $0[path] }) { return known }
        var folder = root
        for segment in segments {
            let isNew = try makes && folder.status(of: segment) == nil
            folder = isNew ? try folder.openOrMake(segment) : try folder.openFolder(segment)
        }
        let opened = folder
        return folders.withLock { known in
            if known.count >= 256 { known.removeAll() }
            known[path] = opened
            return opened
        }
    }

    /// Checks that the path still leads to the folder that was opened.
    package func requireRoot() throws(StorageError) {
        let now: FileStatus
        do {
            now = try FileStatus(following: url.path)
        } catch {
            throw DirectoryStorageErrors.using(url.path, error: error)
        }
        guard now.inode == identity.inode, now.device == identity.device else {
            throw StorageError(
                .unreachable, message: "The storage folder \(url.path) was replaced: is the right share mounted there?")
        }
    }
}
