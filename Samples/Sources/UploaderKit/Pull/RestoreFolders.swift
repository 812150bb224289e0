package import LFSBackup
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
package final class RestoreFolders: Sendable {
    private struct Known {
        let place: RestorePlace
        /// Whether this run has made it.
        var isMade = false
        /// Whether it looked as it is recorded, as a pull before leaves it.
        var isRestored = false
    }

    /// By their places.
    private let recorded: [FilePath: FileAttributes]
    private let overwrites: Bool
    private let known = Mutex<[FilePath: Known]>([:])

    /// - Parameters:
    ///   - recorded: what folders had beside their content.
    ///   - overwrites: whether also folders get it that were there already.
    package init(recorded: [FilePath: FileAttributes], overwrites: Bool) {
        (self.recorded, self.overwrites) = (recorded, overwrites)
    }

    /// Opens the folder that a place is in, and makes it and those above it, as far as they are not there.
    ///
    /// - Throws: ``UploaderError`` when one cannot be made, or something else is there, a link as well.
    package func enter(_ place: RestorePlace) throws -> OpenFolder {
        var folder = try enterBase(place.base)
        for depth in place.names.indices.dropFirst() { folder = try enter(place.prefix(depth), in: folder) }
        return folder
    }

    /// Makes the folder itself that has a place.
    ///
    /// - Returns: whether it was not there before the run.
    func make(_ place: RestorePlace) throws -> Bool {
        // One that is there is left closed until something is written into it.
        if let folder = try Self.find(place) {
            try note(place, folder, opens: false)
            return isMade(place)
        }
        let parent = try enter(place)
        if !place.names.isEmpty { _ = try enter(place, in: parent) }
        return isMade(place)
    }

    /// Whether it was made here, be it for a file in it.
    private func isMade(_ place: RestorePlace) -> Bool { known.withLock { $0[place.path]?.isMade ?? false } }

    /// Opens the folder that has a place; nil when it is not there.
    ///
    /// - Throws: ``UploaderError`` when it, or one above it, is something else.
    static func find(_ place: RestorePlace) throws -> OpenFolder? {
        var folder = try OpenFolder.open(place.base)
        for name in place.names {
            guard let parent = folder else { return nil }
            folder = try parent.folder(name)
        }
        return folder
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

    /// The folder that is not looked into how it is reached.
    private func enterBase(_ base: FilePath) throws -> OpenFolder {
        let place = RestorePlace(base: base)
        if known.withLock({ $0[base] }) == nil {
            var isMade = base.withCString({ mkdir($0, mode(of: base)) }) == 0
            if !isMade, errno == ENOENT {
                try Self.makeFolder(FilePath(bytes: base.bytes.dropLast(base.lastComponent.bytes.count)))
                isMade = base.withCString({ mkdir($0, mode(of: base)) }) == 0
            }
            if isMade { known.withLock { $0[base] = Known(place: place, isMade: true) } }
        }
        guard let folder = try OpenFolder.open(base) else {
            errno = ENOENT
            throw RestoreFailure.of(base)
        }
        try note(place, folder, opens: true)
        return folder
    }

    private func enter(_ place: RestorePlace, in parent: OpenFolder) throws -> OpenFolder {
        if known.withLock({ $0[place.path] }) == nil, try parent.make(place.name, mode: mode(of: place.path)) {
            known.withLock { $0[place.path] = Known(place: place, isMade: true) }
        }
        guard let folder = try parent.folder(place.name) else {
            errno = ENOENT
            throw RestoreFailure.of(place.path)
        }
        try note(place, folder, opens: true)
        return folder
    }

    /// Nobody may look meanwhile into a folder that is made who may not later.
    private func mode(of folder: FilePath) -> mode_t {
        recorded[folder]?.permissions.map { mode_t($0.mode & 0o777) | 0o700 } ?? 0o777
    }

    /// Notes a folder that was there, and lets us write into one that a pull before has left as it is recorded.
    private func note(_ place: RestorePlace, _ folder: OpenFolder, opens: Bool) throws {
        guard let attributes = recorded[place.path] else { return }
        let before = known.withLock { $0[place.path] }
        if before?.isMade ?? false { return }
        let status = try folder.status()
        let isRestored = before?.isRestored ?? attributes.fit(status)
        if isRestored, opens, status.st_mode & 0o700 != 0o700, status.st_uid == geteuid() {
            folder.setMode(mode_t(status.st_mode & 0o7777) | 0o700)
        }
        known.withLock { known in
            if known[place.path] == nil { known[place.path] = Known(place: place, isRestored: isRestored) }
        }
    }

    /// Gives them what they had, the inner ones first.
    ///
    /// - Returns: those that could not get it, with the reason; and how many were there otherwise, and stay so.
    package func finish() -> (failures: [(FilePath, UploaderError)], other: Int) {
        let all = known.withLock { known in
            defer { known = [:] }
            return known
        }
        var (failures, other): ([(FilePath, UploaderError)], Int) = ([], 0)
        for (path, known) in all.sorted(by: { $0.key.bytes.count > $1.key.bytes.count }) {
            guard let attributes = recorded[path] else { continue }
            guard known.isMade || known.isRestored || overwrites else {
                other += 1
                continue
            }
            do {
                try Self.give(attributes, known.place)
            } catch let error as UploaderError {
                failures.append((path, error))
            } catch {
                failures.append((path, RestoreFailure.of(path)))
            }
        }
        return (failures, other)
    }

    private static func give(_ attributes: FileAttributes, _ place: RestorePlace) throws {
        guard let folder = try find(place) else {
            errno = ENOENT
            throw RestoreFailure.of(place.path)
        }
        guard try !attributes.fit(folder.status()) else { return }
        guard attributes.apply(to: folder.number) else { throw RestoreFailure.of(place.path) }
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
