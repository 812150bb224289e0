import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSWire
import Synchronization

/// A folder as the store behind a server, in the layout of `DirectoryStorage`.
///
/// Incomplete uploads are stored in `.uploads`, which listings skip: a file for an upload with one request, a folder
/// for an upload in parts. A single rename turns an upload into an object, once its length and SHA-256 match the signed
/// ones.
final class FolderStore: Sendable {
    let directory: DirectoryStorage
    let links: FolderLinks
    let root: Directory
    let digests: FolderDigests
    /// A separate pool of threads, for the case that a disk hangs.
    let threads = BlockingPool(width: 16)
    /// The threads that join parts. Joining reads and writes whole objects, and must not delay requests.
    let joinThreads = BlockingPool(width: 2)
    /// The bytes of the disk that bodies leave free.
    let reserve: Int64
    private let freeByteCount: @Sendable (Directory) throws -> Int64
    /// The bytes of the bodies that are being received, and of the parts that are being joined.
    let unwritten = UnwrittenBytes()
    let partOptions: FolderPartOptions
    /// The uploads that are currently being joined or cancelled.
    let joining = Mutex<Set<String>>([])

    private static let uploadsName = ".uploads"

    init(
        at url: URL, _ links: FolderLinks, parts: FolderPartOptions = FolderPartOptions(), reserve: Int64 = 0,
        freeByteCount: @escaping @Sendable (Directory) throws -> Int64 = { try $0.availableByteCount() }
    ) throws(StorageError) {
        self.reserve = reserve
        self.freeByteCount = freeByteCount
        directory = try DirectoryStorage(at: url)
        self.links = links
        partOptions = parts
        do {
            root = try Directory.open(url.path)
            digests = FolderDigests(root: root)
        } catch {
            throw StorageError(.invalidRequest, message: "The storage folder cannot be opened: \(error)", cause: error)
        }
    }

    /// Returns the folder of incomplete uploads, and creates it if it is missing.
    ///
    /// - Throws: ``StorageError/Code/unreachable`` if the folder's path leads to another folder now, because a disk was
    ///   mounted over it or removed.
    func uploads() throws -> Directory {
        try directory.requireRoot()
        return try root.openOrMake(Self.uploadsName)
    }

    /// Returns the folder of an object, and the object's name in it.
    ///
    /// - Parameter makes: true to create missing folders.
    func place(of key: ObjectKey, makes: Bool) throws -> (folder: Directory, name: String) {
        let segments = key.rawValue.split(separator: "/").map(String.init)
        var folder = root
        for segment in segments.dropLast() {
            if makes, try folder.status(of: segment) == nil {
                folder = try folder.openOrMake(segment)
            } else {
                folder = try folder.openFolder(segment)
            }
        }
        return (folder, segments[segments.count - 1])
    }

    /// Returns the status of an object, or nil if it does not exist.
    func status(of key: ObjectKey) throws -> FileStatus? {
        do {
            let place = try place(of: key, makes: false)
            return try place.folder.status(of: place.name)
        } catch let error as SystemError where error.isMissing {
            return nil
        }
    }

    /// Returns the record of the current object, or nil if either does not exist.
    func record(of key: ObjectKey) throws -> FolderDigests.Record? {
        guard let status = try status(of: key), status.isRegularFile, let record = try digests.record(of: key),
            record.entityTag == DirectoryStorage.entityTag(of: status)
        else { return nil }
        // The process that created the object may have stopped before this. An acknowledged object must be durable.
        try place(of: key, makes: false).folder.synchronize()
        return record
    }

    /// Turns a file into the object in one step.
    ///
    /// - Returns: false if an object exists and must not be replaced.
    func publish(_ name: String, in uploads: Directory, as key: ObjectKey, replaces: Bool) throws -> Bool {
        let place = try place(of: key, makes: true)
        try directory.requireRoot()
        if replaces {
            try uploads.rename(name, to: place.folder, as: place.name)
        } else {
            do {
                try uploads.renameExclusively(name, to: place.folder, as: place.name)
            } catch let error where error.isExisting {
                try uploads.remove(name)
                return false
            }
        }
        try place.folder.synchronize()
        return true
    }

    /// Checks the free space of the disk.
    ///
    /// - Parameter byteCount: the bytes that are still to be written, with those of other bodies and joins.
    /// - Throws: ``StorageError/Code/noSpace`` if the disk would have less than the reserve after receiving the bytes.
    func requireRoom(for byteCount: Int64, _ key: ObjectKey) throws {
        guard reserve > 0, try freeByteCount(root) < reserve.addingSaturated(byteCount) else { return }
        throw StorageError(.noSpace, message: "The server's disk is almost full.", key: key)
    }

    /// Removes the remains of uploads that no device continues.
    ///
    /// - Parameter age: the minimum age of the remains. Younger ones stay.
    func removeAbandoned(olderThan age: Duration) async throws {
        let limit = links.now().nanosecondsSince1970 - age.nanoseconds
        try await threads.run { flag in
            let uploads = try self.uploads()
            var names: [String] = []
            try uploads.forEachFile { name in
                try flag.check()
                if let status = try uploads.status(of: name), status.changed < limit { names.append(name) }
                return true
            }
            var failure: (any Error)?
            for name in names {
                // A failed removal is reported and does not affect the others.
                do { try Self.removeAbandoned(name, in: uploads) } catch { failure = error }
            }
            try self.digests.sweep(before: limit, flag) { record in
                guard let key = ObjectKey(listed: record.key), let status = try self.status(of: key) else {
                    return false
                }
                return DirectoryStorage.entityTag(of: status) == record.entityTag
            }
            if let failure { throw failure }
        }
    }

    private static func removeAbandoned(_ name: String, in uploads: Directory) throws {
        if try uploads.status(of: name)?.isDirectory == true {
            try FolderParts.removeFolder(name, in: uploads)
        } else {
            try uploads.remove(name)
        }
    }

    /// Converts an error of the system into one of the storage, without a path.
    static func translated(_ error: any Error, key: ObjectKey) -> any Error {
        guard let error = error as? SystemError else { return error }
        if error.isMissing {
            return StorageError(.missing, message: "There is no such object.", key: key, cause: error)
        }
        if error.isNoSpace {
            return StorageError(.noSpace, message: "The server's folder is full.", key: key, cause: error)
        }
        return StorageError(.serverError, message: "The server's folder failed: \(error)", key: key, cause: error)
    }

    func run<Result: Sendable>(
        _ key: ObjectKey, on pool: BlockingPool? = nil,
        _ body: @escaping @Sendable (CancellationFlag) throws -> Result
    ) async throws -> Result {
        do {
            return try await (pool ?? threads).run(body)
        } catch {
            throw Self.translated(error, key: key)
        }
    }
}

extension FolderStore: ObjectStore {
    var storage: any RemoteStorage { directory }

    func compare(_ key: ObjectKey, with bytes: DeclaredContent) async throws -> ObjectComparison {
        var object = try await directory.head(key)
        guard object.byteCount == bytes.byteCount else { return .other }
        guard let record = try await run(key, { _ in try self.record(of: key) }), record.entityTag == object.entityTag
        else { return .unknown(object) }
        guard record.sha256 == bytes.sha256 else { return .other }
        object.sha256 = record.sha256
        return .same(object)
    }

    func sha256(of object: RemoteObject) async throws -> String {
        let key = object.key
        return try await run(key) { flag in
            let place = try self.place(of: key, makes: false)
            let file = try place.folder.openForReading(place.name)
            let tag = DirectoryStorage.entityTag(of: try file.status())
            guard tag == object.entityTag else {
                throw StorageError(.changed, message: "The object has changed.", key: key)
            }
            let hash = try ContentHash(of: file, byteCount: object.byteCount, flag)
            // The process that created the object may have stopped before this. An acknowledged object must be durable.
            try file.synchronize()
            try place.folder.synchronize()
            if object.byteCount >= self.partOptions.threshold {
                let record = FolderDigests.Record(key: key.rawValue, entityTag: tag, sha256: hash.hex, upload: nil)
                try self.digests.keep(record, of: key)
            }
            return hash.hex
        }
    }

    func remove(_ object: RemoteObject) async throws {
        guard try await directory.head(object.key).entityTag == object.entityTag else { return }
        try await delete(object.key)
    }

    func delete(_ key: ObjectKey) async throws {
        try await directory.delete(key, abandoning: nil)
        try await run(key) { _ in try self.digests.remove(key) }
    }

    func create(_ key: ObjectKey, bytes: [UInt8]) async throws -> Bool {
        try await run(key) { _ in
            let uploads = try self.uploads()
            let name = UUID().uuidString.lowercased()
            let file = try uploads.create(name)
            try file.write(bytes)
            try file.synchronize()
            return try self.publish(name, in: uploads, as: key, replaces: false)
        }
    }
}
