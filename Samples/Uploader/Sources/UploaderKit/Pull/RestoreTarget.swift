import Crypto
package import Foundation
package import LFS
package import LFSBackup

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The file that a document is written to.
package struct RestoreTarget: Sendable {
    let place: RestorePlace
    var path: FilePath { place.path }
    /// The name in the same folder while the file is incomplete.
    private let part: [UInt8]
    /// The attributes of the original. Nil if they are unknown.
    private let attributes: FileAttributes?

    /// - Throws: ``UploaderError`` for a path that leads elsewhere.
    init(_ attached: AttachedDocument, layout: RestoreLayout) throws {
        let (path, id) = (attached.document.path, attached.file.id)
        try layout.requirePlace(attached.file)
        let place = try layout.place(of: path, prefix: layout.prefix(of: path, id))
        guard !place.name.isEmpty else { throw UploaderError("its path in the database is empty") }
        self.init(place, id: id, attributes: attached.document.attributes)
    }

    package init(_ place: RestorePlace, id: FileID, attributes: FileAttributes?) {
        self.place = place
        self.attributes = attributes
        // Two documents with the same bytes in one folder have different names for their incomplete files.
        part = Array(PartName.of(place.name, id: id).utf8)
    }

    /// The entry at the place.
    package enum Existing: Equatable {
        case nothing
        /// The recorded content. If `isOther` is true, its time or permissions differ.
        case same(isOther: Bool)
        case other
    }

    /// Examines the existing entry. Reads it if its size is right.
    ///
    /// - Parameter folder: the parent folder. Nil if it is missing.
    /// - Throws: ``UploaderError`` if the entry is not a file, or is unreadable.
    package func look(in folder: OpenFolder?, for file: FileData, onBytes: (Int) -> Void) throws -> Existing {
        guard let folder, let (existing, status) = try openExisting(in: folder) else { return .nothing }
        guard status.st_size == file.byteCount else { return .other }
        var hash = SHA256()
        while let chunk = try existing.read(upToCount: 1 << 18), !chunk.isEmpty {
            hash.update(data: chunk)
            onBytes(chunk.count)
        }
        guard try existing.offset() == UInt64(clamping: file.byteCount), hash.finalize().hex == file.sha256 else {
            return .other
        }
        return .same(isOther: attributes.map { !$0.fit(status) } ?? false)
    }

    /// The error for a file with other content, which stays.
    var conflict: UploaderError {
        UploaderError("\(path) exists with other content and is not overwritten: give --overwrite")
    }

    /// Writes the file into its folder. The file gets its name once its bytes are verified.
    ///
    /// - Parameters:
    ///   - overwrites: true if an existing file of this name may be replaced.
    ///   - naming: runs the closure that renames the file.
    /// - Throws: ``CorruptCopy`` if the bytes differ. ``ConcurrentlyPushed`` if another process has taken the name.
    package func write<Contents: AsyncSequence>(
        _ contents: Contents, of recorded: FileData, in folder: OpenFolder, overwrites: Bool,
        naming: (() throws -> Bool) throws -> Bool = { try $0() }, onBytes: (Int) -> Void
    ) async throws where Contents.Element == Data {
        let file = try beginPart(in: folder)
        do {
            var hash = SHA256()
            for try await chunk in contents {
                hash.update(data: chunk)
                try write(chunk, to: file)
                onBytes(chunk.count)
            }
            guard try file.offset() == UInt64(clamping: recorded.byteCount), hash.finalize().hex == recorded.sha256
            else {
                throw CorruptCopy()
            }
            // A hole at the end only exists after this call.
            guard ftruncate(file.fileDescriptor, off_t(recorded.byteCount)) == 0 else { throw failure() }
            try setAttributes(of: file)
            guard fsync(file.fileDescriptor) == 0 else { throw failure() }
            let isNamed = try naming {
                try overwrites
                    ? replace(in: folder)
                    : FreeName.take(FilePath(bytes: place.name), for: FilePath(bytes: part), in: folder.number)
            }
            guard isNamed else { throw errno == EEXIST ? ConcurrentlyPushed.name(path) : failure() }
        } catch {
            folder.discard(part)
            throw error
        }
    }

    /// Sets the attributes of an existing file with the right content.
    func setAttributes(in folder: OpenFolder) throws {
        guard let (existing, _) = try openExisting(in: folder) else { return }
        try setAttributes(of: existing)
    }

    private func setAttributes(of file: FileHandle) throws {
        guard attributes?.apply(to: file.fileDescriptor) ?? true else { throw failure() }
    }

    private func replace(in folder: OpenFolder) throws -> Bool {
        // A folder or a link that was created in the meantime must not be replaced.
        _ = try openExisting(in: folder)
        return folder.rename(part, to: place.name)
    }

    /// Creates the file for the unverified bytes. It is locked, so that no other pull mistakes it for a leftover.
    private func beginPart(in folder: OpenFolder) throws -> FileHandle {
        try clearPart(in: folder)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
        guard let file = try openIfFree(part, in: folder, flags: flags) else {
            // Another pull has created it first, unless it is an entry that this user cannot write or remove.
            let status = try folder.status(of: part)
            guard status.map({ Self.mayBeOurs($0, in: folder) }) ?? true else {
                throw UploaderError("\(folder.path.appending(part)) is in the way: remove it")
            }
            throw ConcurrentlyPushed.part(path)
        }
        guard Self.lock(file.fileDescriptor) else { throw ConcurrentlyPushed.part(path) }
        // Before the lock was taken, another pull may have removed the file as a leftover.
        var opened = stat()
        guard fstat(file.fileDescriptor, &opened) == 0, try folder.status(of: part)?.st_ino == opened.st_ino else {
            throw ConcurrentlyPushed.part(path)
        }
        return file
    }

    /// Removes the file that a killed pull has left, even if it was killed right before its last step.
    ///
    /// - Throws: ``ConcurrentlyPushed`` while another pull writes the file.
    func clearPart(in folder: OpenFolder) throws {
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let part = FilePath(bytes: self.part)
        var number = part.withCString { openat(folder.number, $0, flags) }
        if number < 0, errno == EACCES {
            // The file may already have the mode of the original.
            guard let status = try folder.status(of: self.part), status.st_mode & S_IFMT == S_IFREG else { return }
            number = part.withCString {
                fchmodat(folder.number, $0, 0o600, AT_SYMLINK_NOFOLLOW) == 0
                    ? openat(folder.number, $0, flags) : -1
            }
        }
        // Any other entry does not belong to a pull. Creating the file reports it.
        guard number >= 0 else { return }
        defer { close(number) }
        var status = stat()
        guard fstat(number, &status) == 0, Self.mayBeOurs(status, in: folder) else { return }
        guard Self.lock(number) else { throw ConcurrentlyPushed.part(path) }
        folder.discard(self.part)
    }

    /// Returns true if a pull of this user may have created the file.
    private static func mayBeOurs(_ status: stat, in folder: OpenFolder) -> Bool {
        status.st_mode & S_IFMT == S_IFREG && (status.st_uid == geteuid() || folder.isWithoutModes())
    }

    /// Returns false while another pull has the lock. Some network shares have no locks, and are written without them.
    private static func lock(_ number: Int32) -> Bool {
        flock(number, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
    }

    private func write(_ chunk: Data, to file: FileHandle) throws {
        guard chunk.withUnsafeBytes({ systemWriteSparsely(file.fileDescriptor, bytes: $0) }) else { throw failure() }
    }

    private func openExisting(in folder: OpenFolder) throws -> (FileHandle, stat)? {
        guard let status = try folder.status(of: place.name) else { return nil }
        guard status.st_mode & S_IFMT == S_IFREG else { throw UploaderError("\(path) is in the way: it is not a file") }
        return (try open(place.name, in: folder, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK), status)
    }

    private func open(_ name: [UInt8], in folder: OpenFolder, flags: Int32) throws -> FileHandle {
        guard let file = try openIfFree(name, in: folder, flags: flags) else { throw failure() }
        return file
    }

    /// - Returns: nil if a file has to be created but the name exists.
    private func openIfFree(_ name: [UInt8], in folder: OpenFolder, flags: Int32) throws -> FileHandle? {
        // Until its permissions are set, the file must not allow more access than they do.
        let mode: mode_t = attributes?.permissions == nil ? 0o666 : 0o600
        let number = FilePath(bytes: name).withCString { openat(folder.number, $0, flags | O_CLOEXEC, mode) }
        if number < 0, errno == EEXIST { return nil }
        guard number >= 0 else { throw failure() }
        return FileHandle(fileDescriptor: number, closeOnDealloc: true)
    }

    private func failure() -> UploaderError { RestoreFailure.of(path) }
}
