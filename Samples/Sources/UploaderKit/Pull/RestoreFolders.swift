import LFSBackup
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The folders that files and links are written into. They get their times and permissions when all is written: a new
/// name changes the time of its folder, and some may not be written into.
///
/// Owner of what is known of them: the mutex, in which nothing waits.
final class RestoreFolders: Sendable {
    private struct Known {
        /// Whether this run has made it.
        var isMade = false
        /// Whether it looked as it is recorded, as a pull before leaves it.
        var isRestored = false
        /// Whether it may be reached by a link.
        var isBase = false
    }

    /// By their places.
    private let recorded: [FilePath: FileAttributes]
    private let overwrites: Bool
    private let known = Mutex<[FilePath: Known]>([:])

    /// - Parameters:
    ///   - recorded: what folders had beside their content.
    ///   - overwrites: whether also folders get it that were there already.
    init(recorded: [FilePath: FileAttributes], overwrites: Bool) {
        (self.recorded, self.overwrites) = (recorded, overwrites)
    }

    /// Makes the folders of a place, as far as they are not there.
    ///
    /// - Throws: ``UploaderError`` when one cannot be made, or something else is there, a link as well.
    func enter(_ place: RestorePlace) throws {
        for folder in [place.base] + place.folders { try enter(folder, isBase: folder == place.base) }
    }

    /// Makes the folder itself that has a place.
    ///
    /// - Returns: whether it was not there.
    func make(_ place: RestorePlace) throws -> Bool {
        try Self.check(place)
        // One that is there is left closed until something is written into it.
        if try Self.isThere(place.path) {
            try enter(place.path, isBase: place.name.isEmpty, opens: false)
            return false
        }
        try enter(place)
        if !place.name.isEmpty { try enter(place.path, isBase: false) }
        return known.withLock { $0[place.path]?.isMade ?? false }
    }

    /// Looks whether the folders of a place are folders, as far as they are there.
    ///
    /// - Throws: ``UploaderError`` when one is something else.
    static func check(_ place: RestorePlace) throws {
        for folder in place.folders {
            var status = stat()
            guard folder.withCString({ lstat($0, &status) }) == 0 else {
                if errno == ENOENT { return }
                throw RestoreFailure.of(folder)
            }
            try requireFolder(folder, status)
        }
    }

    /// Makes the folder that everything is written into, with those above it.
    static func makeFolder(_ path: FilePath) throws {
        var current = FilePath("/")
        for name in path.components {
            current = current.appending(name)
            if current.withCString({ mkdir($0, 0o777) }) == 0 { continue }
            let reason = errno
            var status = stat()
            // What is there already may be a link to a folder, or one that may not be changed.
            if current.withCString({ stat($0, &status) }) == 0 {
                if status.st_mode & S_IFMT == S_IFDIR { continue }
                throw UploaderError("--output has to be a folder, and \(current) is none.")
            }
            throw UploaderError("The folder \(current) for the output cannot be made: \(RestoreFailure.words(reason))")
        }
    }

    /// Whether a folder is there already.
    ///
    /// - Throws: ``UploaderError`` when something else is.
    static func isThere(_ folder: FilePath) throws -> Bool {
        var status = stat()
        guard folder.withCString({ lstat($0, &status) }) == 0 else {
            if errno == ENOENT { return false }
            throw RestoreFailure.of(folder)
        }
        try requireFolder(folder, status)
        return true
    }

    private func enter(_ folder: FilePath, isBase: Bool, opens: Bool = true) throws {
        let attributes = recorded[folder]
        // Nobody may look into it meanwhile who may not later.
        let mode = attributes?.permissions.map { mode_t($0.mode & 0o777) | 0o700 } ?? 0o777
        if known.withLock({ $0[folder] }) == nil {
            var isMade = folder.withCString({ mkdir($0, mode) }) == 0
            if !isMade, isBase, errno == ENOENT {
                try Self.makeFolder(FilePath(bytes: folder.bytes.dropLast(folder.lastComponent.bytes.count)))
                isMade = folder.withCString({ mkdir($0, mode) }) == 0
            }
            if isMade { return known.withLock { $0[folder, default: Known()].isMade = true } }
        }
        var status = stat()
        guard folder.withCString({ isBase ? stat($0, &status) : lstat($0, &status) }) == 0 else {
            throw RestoreFailure.of(folder)
        }
        try Self.requireFolder(folder, status)
        guard let attributes else { return }
        let isRestored = known.withLock({ $0[folder]?.isRestored }) ?? attributes.fit(status)
        if isRestored, opens { open(folder, status) }
        known.withLock { known in
            if known[folder] == nil { known[folder] = Known(isRestored: isRestored, isBase: isBase) }
        }
    }

    private static func requireFolder(_ folder: FilePath, _ status: stat) throws {
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw UploaderError("\(folder) is in the way: it is not a folder")
        }
    }

    /// Lets us write into a folder that a pull before has left as one that may not be written.
    private func open(_ folder: FilePath, _ status: stat) {
        guard status.st_mode & 0o700 != 0o700, status.st_uid == geteuid() else { return }
        _ = folder.withCString { chmod($0, (status.st_mode & 0o7777) | 0o700) }
    }

    /// Gives them what they had, the inner ones first.
    ///
    /// - Returns: those that could not get it, with the reason; and how many were there otherwise, and stay so.
    func finish() -> (failures: [(FilePath, UploaderError)], other: Int) {
        let all = known.withLock { known in
            defer { known = [:] }
            return known
        }
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
        var (failures, other): ([(FilePath, UploaderError)], Int) = ([], 0)
        for (folder, known) in all.sorted(by: { $0.key.bytes.count > $1.key.bytes.count }) {
            guard let attributes = recorded[folder] else { continue }
            guard known.isMade || known.isRestored || overwrites else {
                other += 1
                continue
            }
            let number = folder.withCString { openat(AT_FDCWD, $0, flags | (known.isBase ? 0 : O_NOFOLLOW)) }
            guard number >= 0 else {
                failures.append((folder, RestoreFailure.of(folder)))
                continue
            }
            if !attributes.apply(to: number) { failures.append((folder, RestoreFailure.of(folder))) }
            close(number)
        }
        return (failures, other)
    }
}

/// What the system says of a place.
enum RestoreFailure {
    static func of(_ path: FilePath) -> UploaderError { UploaderError("\(path): \(words(errno))") }

    static func words(_ number: Int32) -> String {
        switch number {
        case ENOSPC, EDQUOT: "the disk is full; free some space and pull again"
        case EFBIG: "the file is too large for this file system"
        default: String(cString: strerror(number))
        }
    }
}
