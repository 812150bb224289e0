package import LFSSystem

/// Where bytes wait between `makeFile` and the commit: one file per id, named by it. The persistence location.
///
/// Every database has a folder of its own, also in a location that several share.
package final class StagingArea: Sendable {
    package let directory: Directory
    let device: UInt64

    /// Opens the folder and makes it if it is missing; its parent has to exist.
    package init(at path: String) throws(FileError) {
        do {
            directory = try Directory.openOrMake(path)
            let status = try directory.status()
            device = status.device
            try OwnFolder.require(status, path)
            try directory.requireWritable()
        } catch let error as FileError {
            throw error
        } catch {
            throw FileError.keeping(error, at: path)
        }
    }

    /// Opens an area that an earlier start or another process made; nil when it cannot be used now.
    package init?(existing path: String) {
        do {
            directory = try Directory.open(path)
            let status = try directory.status()
            device = status.device
            try OwnFolder.require(status, path)
        } catch {
            return nil
        }
    }

    package var path: String { directory.path }

    /// Makes the bytes of a source durable under a new id.
    ///
    /// - Parameters:
    ///   - flag: ends it early, as the cancellation of the task does. A source of chunks is ended by its task alone.
    ///   - onProgress: takes the number of bytes that are in so far.
    /// - Throws: ``FileError``; nothing is left in the area then.
    package func ingest(
        _ source: IngestSource, as id: FileID, watching flag: CancellationFlag = CancellationFlag(),
        onProgress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws -> IngestedFile {
        do {
            return try await Ingest(area: self, id: id, flag: flag, onProgress: onProgress).run(source)
        } catch {
            throw FileError.keeping(error, at: path)
        }
    }

    package func contains(_ id: FileID) throws(SystemError) -> Bool {
        try directory.status(of: id.text) != nil
    }

    /// Opens a file for reading; nil when the area does not have it.
    package func open(_ id: FileID) throws(SystemError) -> Descriptor? {
        do {
            return try directory.openForReading(id.text)
        } catch  where error.isMissing {
            return nil
        }
    }

    /// The files in it, page by page.
    package func files() throws(SystemError) -> FileCursor { try FileCursor(directory) }

    @discardableResult
    package func remove(_ id: FileID) throws(SystemError) -> Bool { try directory.remove(id.text) }

    /// As ``remove(_:)``, but leaves a folder of that name, which is none of ours and is never taken for a file.
    package func clear(_ id: FileID) throws(SystemError) {
        if try directory.status(of: id.text)?.isDirectory == true { return }
        try remove(id)
    }

    func writer(for id: FileID, _ onProgress: @escaping @Sendable (Int64) -> Void) async throws -> IngestWriter {
        try await BlockingPool.shared.run { _ in
            try IngestWriter(id.text, in: self.directory, onProgress: onProgress)
        }
    }

    func adopt(_ source: String, as id: FileID) throws(SystemError) {
        try PathCalls.rename(source, to: directory.child(id.text))
    }

    func giveBack(_ id: FileID, to source: String) throws(SystemError) {
        try PathCalls.rename(directory.child(id.text), to: source)
    }

    func removeSource(_ source: String) throws(SystemError) { try PathCalls.remove(source) }
}

/// What a folder has to be before we keep files in it.
enum OwnFolder {
    /// - Throws: ``FileError/Code/permissionDenied`` when others could replace our files.
    static func require(_ status: FileStatus, _ path: String) throws(FileError) {
        guard status.permissions & 0o022 == 0 else {
            throw FileError(
                .permissionDenied,
                "\(path) can be written by other users (mode \(String(status.permissions, radix: 8))). Run: chmod 700 '\(path)'",
                path: path)
        }
    }
}
