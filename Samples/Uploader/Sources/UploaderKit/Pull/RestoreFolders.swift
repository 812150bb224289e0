package import LFSBackup
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The folders that files and links are written into. Their times and permissions are set after all writes. A new name
/// changes the time of its folder, and some folders are not writable.
///
/// The mutex owns the recorded information. It is never held across blocking work.
package final class RestoreFolders: Sendable {
    private struct Known {
        let place: RestorePlace
        /// True if this run created the folder.
        var isMade = false
        /// True if the folder had the recorded attributes, as after an earlier pull.
        var isRestored = false
    }

    /// The recorded attributes by place.
    private let recorded: [FilePath: FileAttributes]
    private let overwrites: Bool
    private let known = Mutex<[FilePath: Known]>([:])
    /// The folders that were opened to write into them since the last sync.
    private let entered = Mutex<[FilePath: RestorePlace]>([:])

    /// - Parameters:
    ///   - recorded: the attributes of the folders.
    ///   - overwrites: true if existing folders also get the recorded attributes.
    package init(recorded: [FilePath: FileAttributes], overwrites: Bool) {
        self.recorded = recorded
        self.overwrites = overwrites
    }

    /// Opens the parent folder of a place, and creates it and the folders above it if they are missing.
    ///
    /// - Throws: ``UploaderError`` if a folder cannot be created, or if its name belongs to something else, even to a
    ///   link.
    package func enter(_ place: RestorePlace) throws -> OpenFolder {
        var folder = try enterBase(place.base)
        for depth in place.names.indices.dropFirst() { folder = try enter(place.prefix(depth), in: folder) }
        return folder
    }

    /// Creates the folder at a place.
    ///
    /// - Returns: true if it did not exist before the run.
    func make(_ place: RestorePlace) throws -> Bool {
        // An existing folder is not opened before something is written into it.
        if let folder = try Self.find(place) {
            try note(place, folder: folder, opens: false)
            return isMade(place)
        }
        let parent = try enter(place)
        if !place.names.isEmpty { _ = try enter(place, in: parent) }
        return isMade(place)
    }

    /// Returns true if this run created the folder, even if only for a file in it.
    private func isMade(_ place: RestorePlace) -> Bool { known.withLock { $0[place.path]?.isMade ?? false } }

    /// Opens the folder at a place. Returns nil if it is missing.
    ///
    /// - Throws: ``UploaderError`` if it, or a folder above it, is something else.
    static func find(_ place: RestorePlace) throws -> OpenFolder? {
        var folder = try OpenFolder.open(place.base)
        for name in place.names {
            guard let parent = folder else { return nil }
            folder = try parent.folder(name)
        }
        return folder
    }

    /// Creates the folder for the whole output, and the folders above it.
    static func makeFolder(_ path: FilePath) throws {
        var current = FilePath("/")
        for name in path.components {
            let parent = current
            current = current.appending(name)
            if current.withCString({ mkdir($0, 0o777) }) == 0 {
                _ = try OpenFolder.open(parent)?.sync()
                continue
            }
            let reason = errno
            var status = stat()
            // The existing entry may be a link to a folder, or a folder that may not be changed.
            if current.withCString({ stat($0, &status) }) == 0 {
                if status.st_mode & S_IFMT == S_IFDIR { continue }
                throw UploaderError("\(current) must be a folder, and is not one.")
            }
            throw UploaderError("The folder \(current) cannot be created: \(RestoreFailure.words(reason))")
        }
    }

    /// Opens the base folder. Links in its path are followed.
    private func enterBase(_ base: FilePath) throws -> OpenFolder {
        let place = RestorePlace(base: base)
        if known.withLock({ $0[base] }) == nil {
            var isMade = base.withCString({ mkdir($0, mode(of: base)) }) == 0
            if !isMade, errno == ENOENT {
                try Self.makeFolder(FilePath(bytes: base.bytes.dropLast(base.lastComponent.bytes.count)))
                isMade = base.withCString({ mkdir($0, mode(of: base)) }) == 0
            }
            if isMade {
                known.withLock { $0[base] = Known(place: place, isMade: true) }
                _ = try base.folder.flatMap { try OpenFolder.open($0) }?.sync()
            }
        }
        guard let folder = try OpenFolder.open(base) else {
            errno = ENOENT
            throw RestoreFailure.of(base)
        }
        try note(place, folder: folder, opens: true)
        entered.withLock { $0[base] = place }
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
        try note(place, folder: folder, opens: true)
        entered.withLock { $0[place.path] = place }
        return folder
    }

    /// Returns the mode for a new folder. Until its permissions are set, it must not allow more access than they do.
    private func mode(of folder: FilePath) -> mode_t {
        recorded[folder]?.permissions.map { mode_t($0.mode & 0o777) | 0o700 } ?? 0o777
    }

    /// Records an existing folder. Makes it writable for this user if an earlier pull has left it with its recorded
    /// attributes.
    private func note(_ place: RestorePlace, folder: OpenFolder, opens: Bool) throws {
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

    /// Makes the names that were written since the last call durable, in the inner folders first.
    ///
    /// - Returns: the folders that could not be synced, with the reasons.
    func sync() -> [(FilePath, UploaderError)] {
        let places = entered.withLock { entered in
            defer { entered = [:] }
            return entered.values.sorted { $0.path.bytes.count > $1.path.bytes.count }
        }
        return places.compactMap { place in
            do {
                guard let folder = try Self.find(place), !folder.sync() else { return nil }
                return (place.path, RestoreFailure.of(place.path))
            } catch let error as UploaderError {
                return (place.path, error)
            } catch {
                return (place.path, RestoreFailure.of(place.path))
            }
        }
    }

    /// Syncs the folders, and sets their attributes, in each case the inner ones first.
    ///
    /// - Returns: the folders that could not be synced or whose attributes could not be set, with the reasons, and the
    ///   number of existing folders that keep other attributes.
    package func finish() -> (failures: [(FilePath, UploaderError)], other: Int) {
        let all = known.withLock { known in
            defer { known = [:] }
            return known
        }
        var failures = sync()
        var other = 0
        let unsynced = Set(failures.map(\.0))
        for (path, known) in all.sorted(by: { $0.key.bytes.count > $1.key.bytes.count }) where !unsynced.contains(path)
        {
            guard let attributes = recorded[path] else { continue }
            guard known.isMade || known.isRestored || overwrites else {
                other += 1
                continue
            }
            do {
                try Self.give(attributes, place: known.place)
            } catch let error as UploaderError {
                failures.append((path, error))
            } catch {
                failures.append((path, RestoreFailure.of(path)))
            }
        }
        return (failures, other)
    }

    private static func give(_ attributes: FileAttributes, place: RestorePlace) throws {
        guard let folder = try find(place) else {
            errno = ENOENT
            throw RestoreFailure.of(place.path)
        }
        guard try !attributes.fit(folder.status()) else { return }
        guard attributes.apply(to: folder.number) else { throw RestoreFailure.of(place.path) }
    }
}

/// Converts a system error at a path into a message.
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
