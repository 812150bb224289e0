import Foundation
import LFSDatabase
import LFSFiles
import LFSSystem

/// A store with one file per value, in a folder that only this database uses.
///
/// A change holds the folder's lock (`flock`), which ends with the call or the process. Reading takes no lock, because
/// a file is replaced as a whole.
struct FileStore: SettingsStore {
    let runner: BackgroundRunner
    /// The parent folder of this database's folder.
    let location: String
    /// The location as the database records it: its path, or a text for a path that moves with the database.
    let note: String
    let installID: FileID

    var resetPlace: ResetPlace? { .files }

    static let lockName = ".lock"
    static let longest = StorageLimits.file + Envelope.overhead + StoredValue.longestFrame

    var path: String { location + "/" + folderName }
    private var folderName: String { "settings-\(installID.text)" }

    /// Creates and records the folder if it is new, and removes incomplete files that a crash left.
    func prepare() async throws {
        if try await isNoted() { return try await sweep() }
        let (location, folderName) = (location, folderName)
        try await BlockingPool.shared.run { _ in
            let parent = try Directory.openOrMake(location)
            let folder = try OwnFolder.open(folderName, in: parent)
            try folder.synchronize()
            try parent.synchronize()
            // The location itself may be new, or its creator may have ended before the sync.
            try Directory.open((location as NSString).deletingLastPathComponent).synchronize()
        }
        try await runner.writeDurably { [note] db in try FolderTable.add(note, db) }
        try await sweep()
    }

    private func isNoted() async throws -> Bool {
        try await runner.read { [note] db in try FolderTable.contains(note, db) }
    }

    /// Returns false for a folder that was never used, and that does not exist.
    func isUsed() async throws -> Bool {
        if try await isNoted() { return true }
        return try await isThere()
    }

    /// Deletes the record that the folder was used before.
    func forget() async throws {
        try await runner.writeDurably { [note] db in try FolderTable.remove(note, db) }
    }

    private func sweep() async throws {
        try await withFolder { folder in
            let lock = FileLock(try OwnFolder.openLockFile(Self.lockName, in: folder))
            // The lock's owner is still running, so its temporary file may be in use.
            if try lock.tryLock(.exclusive) { try AtomicFile.sweep(folder) }
        }
    }

    func read(_ name: String) async throws -> StoredValue? {
        do {
            return try await withFolder { folder in try self.read(name, in: folder) }
        } catch let error as SettingsError where error.code == .folderAbsent {
            // A folder that was never used has no values. It is the source of a migration.
            guard try await isNoted() else { return nil }
            throw error
        }
    }

    func update(
        _ name: String, ring: KeyRing?, _ body: @escaping @Sendable (ValueReader, KeySet) throws -> StoredChange
    ) async throws {
        // The folder may not be recorded yet, if that failed when the router opened. A removal of all values and a
        // rotation of keys only find recorded folders.
        if try await !isNoted() { try await prepare() }
        // All steps run on threads that may block, so that no other thread is woken in between.
        try await withTaskExecutorPreference(BlockingPool.shared) {
            try await withLock { folder in
                // Within the lock, because retired keys are deleted while it is held.
                let set = try await ring?.durableKeys() ?? .none
                try await BlockingPool.shared.run { _ in
                    let file = AtomicFile(folder: folder, name: FileName.of(name))
                    switch try body({ try self.read(name, in: folder) }, set) {
                    case .keep: return
                    case .put(let value): try file.replace(with: value.encoded(for: self.place(name)))
                    case .remove: try file.remove()
                    }
                }
            }
        }
    }

    /// Runs the body while no other task or process changes a value in this folder.
    func withLock<Result>(_ body: (Directory) async throws -> Result) async throws -> Result {
        try await LockedFile.with(
            {
                let folder = try self.open()
                return (try OwnFolder.openLockFile(Self.lockName, in: folder), folder)
            }, body)
    }

    /// Returns the identity of the folder, independent of its path.
    func identity() async throws -> LockedFile.Identity {
        try await withFolder { folder in LockedFile.Identity(try folder.status()) }
    }

    func isThere() async throws -> Bool {
        do {
            _ = try await identity()
            return true
        } catch let error as SettingsError where error.code == .folderAbsent {
            return false
        }
    }

    func names() async throws -> [String] {
        try await withFolder { folder in try Self.names(in: folder) }
    }

    func stamp(of name: String) async throws -> String? {
        try await withFolder { folder in try AtomicFile(folder: folder, name: FileName.of(name)).stamp() }
    }

    func removeAll() async throws {
        try await withLock { folder in
            try await BlockingPool.shared.run { _ in
                for name in try Self.names(in: folder) { try folder.remove(FileName.of(name)) }
                try AtomicFile.sweep(folder)
                try folder.synchronize()
            }
        }
    }

    // MARK: Files

    private func place(_ name: String) -> String { "\(installID.text)/\(name)" }

    /// Passes the folder of this database to a body, on a thread that may block.
    private func withFolder<Result: Sendable>(
        _ body: @escaping @Sendable (Directory) throws -> Result
    ) async throws -> Result {
        try await BlockingPool.shared.run { _ in try body(try self.open()) }
    }

    /// Opens the folder of this database, which `prepare` has created.
    private func open() throws -> Directory {
        do {
            let folder = try Directory.open(path)
            try OwnFolder.requireOwn(folder, path: path)
            return folder
        } catch let error as SystemError where error.isMissing {
            throw SettingsError(
                .folderAbsent,
                message: """
                    \(path) existed before and is missing now. If its disk is not mounted, mount it at \(location) or \
                    above. If its files are lost for good, call adoptFolders().
                    """)
        }
    }

    private func read(_ name: String, in folder: Directory) throws -> StoredValue? {
        let file = AtomicFile(folder: folder, name: FileName.of(name))
        return try file.read(longest: Self.longest).map { try StoredValue(encoded: $0, for: place(name)) }
    }

    private static func names(in folder: Directory) throws -> [String] {
        var names: [String] = []
        try folder.forEachFile { file in
            if let name = FileName.key(of: file) { names.append(name) }
            return true
        }
        return names.sorted()
    }
}

/// The encoding of key names in file names that differ on case-insensitive file systems too. The name `accessToken`
/// becomes `access_token.setting`.
enum FileName {
    private static let suffix = ".setting"

    static func of(_ key: String) -> String {
        var name = ""
        for character in key.unicodeScalars {
            if ("A"..."Z").contains(character) {
                name += "_" + String(character).lowercased()
            } else {
                name.unicodeScalars.append(character)
            }
        }
        return name + suffix
    }

    /// Returns nil for a file name that belongs to no key.
    static func key(of file: String) -> String? {
        guard file.hasSuffix(suffix) else { return nil }
        var (name, isUpper) = ("", false)
        for character in file.dropLast(suffix.count) {
            if character == "_", !isUpper {
                isUpper = true
            } else {
                name += isUpper ? character.uppercased() : String(character)
                isUpper = false
            }
        }
        return !isUpper && of(name) == file && StorageLimits.isName(name) ? name : nil
    }
}
