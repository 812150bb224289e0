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

/// The file that one document is written to.
package struct RestoreTarget: Sendable {
    let place: RestorePlace
    var path: FilePath { place.path }
    /// The name in the same folder while its bytes are not all there.
    private let part: [UInt8]
    /// What the original had beside its content; nil when nobody knows.
    private let attributes: FileAttributes?

    /// - Throws: ``UploaderError`` for a path that leads elsewhere.
    init(_ attached: AttachedDocument, _ layout: RestoreLayout) throws {
        let (path, id) = (attached.document.path, attached.file.id)
        try layout.requirePlace(attached.file)
        let place = try layout.place(of: path, prefix: layout.prefix(of: path, id))
        guard !place.name.isEmpty else { throw UploaderError("its path in the database is empty") }
        self.init(place, id, attached.document.attributes)
    }

    package init(_ place: RestorePlace, _ id: FileID, _ attributes: FileAttributes?) {
        (self.place, self.attributes) = (place, attributes)
        // Of two documents with the same bytes in one folder each has its own.
        part = Array(PartName.of(place.name, id).utf8)
    }

    /// What is at the place.
    package enum Found: Equatable {
        case nothing
        /// The recorded content; with other times or permissions where `isOther` says so.
        case same(isOther: Bool)
        case other
    }

    /// Looks what is there, by reading it where its size is right.
    ///
    /// - Parameter folder: the one that it is in; nil when that is not there.
    /// - Throws: ``UploaderError`` when it is no file, or cannot be read.
    package func look(in folder: OpenFolder?, for file: FileData, onBytes: (Int) -> Void) throws -> Found {
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

    /// The reason why other content stays.
    var conflict: UploaderError { UploaderError("\(path) is there with other content and is not overwritten") }

    /// Writes the file into its folder. It gets its name when its bytes are found to be the recorded ones.
    ///
    /// - Parameters:
    ///   - overwrites: whether another file of this name goes.
    ///   - naming: runs the closure that gives the file its name.
    /// - Throws: ``DamagedCopy`` when they are not; ``TakenMeanwhile`` when somebody else has come first.
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
                throw DamagedCopy()
            }
            // A hole at the end is none before.
            guard ftruncate(file.fileDescriptor, off_t(recorded.byteCount)) == 0 else { throw failure() }
            try setAttributes(of: file)
            guard fsync(file.fileDescriptor) == 0 else { throw failure() }
            let isNamed = try naming {
                try overwrites
                    ? replace(in: folder)
                    : FreeName.take(FilePath(bytes: place.name), for: FilePath(bytes: part), in: folder.number)
            }
            guard isNamed else { throw errno == EEXIST ? TakenMeanwhile.name(path) : failure() }
        } catch {
            folder.discard(part)
            throw error
        }
    }

    /// Gives a file that is there with the right content what the original had beside it.
    func setAttributes(in folder: OpenFolder) throws {
        guard let (existing, _) = try openExisting(in: folder) else { return }
        try setAttributes(of: existing)
    }

    private func setAttributes(of file: FileHandle) throws {
        guard attributes?.apply(to: file.fileDescriptor) ?? true else { throw failure() }
    }

    private func replace(in folder: OpenFolder) throws -> Bool {
        // A folder or a link that came meanwhile is none of what may go.
        _ = try openExisting(in: folder)
        return folder.rename(part, to: place.name)
    }

    /// The file that the bytes go into until they are known to be right, locked, so that no other pull takes it for one
    /// that was left behind.
    private func beginPart(in folder: OpenFolder) throws -> FileHandle {
        try clearPart(in: folder)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
        guard let file = try openIfFree(part, in: folder, flags) else {
            // Another pull was quicker, unless it is what nobody here can write or remove.
            let status = try folder.status(of: part)
            guard status.map({ $0.st_mode & S_IFMT == S_IFREG && $0.st_uid == geteuid() }) ?? true else {
                throw UploaderError("\(folder.path.appending(part)) is in the way: remove it")
            }
            throw TakenMeanwhile.part(path)
        }
        guard Self.lock(file.fileDescriptor) else { throw TakenMeanwhile.part(path) }
        // Until the lock was there, another pull may have taken the file for one that was left behind.
        var opened = stat()
        guard fstat(file.fileDescriptor, &opened) == 0, try folder.status(of: part)?.st_ino == opened.st_ino else {
            throw TakenMeanwhile.part(path)
        }
        return file
    }

    /// Removes what a pull has left that was killed, also right before its last step, when the file has its name
    /// already.
    ///
    /// - Throws: ``TakenMeanwhile`` while another pull writes it.
    func clearPart(in folder: OpenFolder) throws {
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let part = FilePath(bytes: self.part)
        var number = part.withCString { openat(folder.number, $0, flags) }
        if number < 0, errno == EACCES {
            // It may have the mode of the original already.
            guard let status = try folder.status(of: self.part), status.st_mode & S_IFMT == S_IFREG else { return }
            number = part.withCString {
                fchmodat(folder.number, $0, 0o600, AT_SYMLINK_NOFOLLOW) == 0 ? openat(folder.number, $0, flags) : -1
            }
        }
        // Whatever else stands there is not ours, and making the file will say so.
        guard number >= 0 else { return }
        defer { close(number) }
        var status = stat()
        guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            return
        }
        guard Self.lock(number) else { throw TakenMeanwhile.part(path) }
        folder.discard(self.part)
    }

    /// False while another pull has the lock. Some network shares have no locks, and are written without.
    private static func lock(_ number: Int32) -> Bool {
        flock(number, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
    }

    private func write(_ chunk: Data, to file: FileHandle) throws {
        guard chunk.withUnsafeBytes({ systemWriteSparsely(file.fileDescriptor, $0) }) else { throw failure() }
    }

    private func openExisting(in folder: OpenFolder) throws -> (FileHandle, stat)? {
        guard let status = try folder.status(of: place.name) else { return nil }
        guard status.st_mode & S_IFMT == S_IFREG else { throw UploaderError("\(path) is in the way: it is not a file") }
        return (try open(place.name, in: folder, O_RDONLY | O_NOFOLLOW | O_NONBLOCK), status)
    }

    private func open(_ name: [UInt8], in folder: OpenFolder, _ flags: Int32) throws -> FileHandle {
        guard let file = try openIfFree(name, in: folder, flags) else { throw failure() }
        return file
    }

    /// - Returns: nil where one is to be made and the name is taken.
    private func openIfFree(_ name: [UInt8], in folder: OpenFolder, _ flags: Int32) throws -> FileHandle? {
        // Nobody may read it meanwhile who may not later.
        let mode: mode_t = attributes?.permissions == nil ? 0o666 : 0o600
        let number = FilePath(bytes: name).withCString { openat(folder.number, $0, flags | O_CLOEXEC, mode) }
        if number < 0, errno == EEXIST { return nil }
        guard number >= 0 else { throw failure() }
        return FileHandle(fileDescriptor: number, closeOnDealloc: true)
    }

    private func failure() -> UploaderError { RestoreFailure.of(path) }
}
