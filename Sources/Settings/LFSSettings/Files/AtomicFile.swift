import Foundation
import LFSFiles
import LFSSystem

/// A small file that is replaced as a whole. The new content is written under a temporary name, synced and renamed, and
/// the folder is synced.
///
/// The methods block the thread. Callers that replace or remove the file hold the folder's lock.
struct AtomicFile {
    let folder: Directory
    let name: String

    static let unfinished = ".unfinished"

    /// - Parameter longest: the size limit. A longer file is damaged.
    /// - Returns: nil if the file does not exist.
    /// - Throws: ``SettingsError/Code/corrupted`` if it is not a regular file of this user, or is too long.
    func read(longest: Int) throws -> Data? {
        let file: Descriptor
        do {
            file = try folder.openForReading(name)
        } catch {
            if error.isMissing { return nil }
            throw error.isSymbolicLink || error.isNoFile ? foreign : error as any Error
        }
        let status = try file.status()
        // The file may have a second name, for example in a backup that consists of hard links.
        guard status.isRegularFile, status.isOurs else { throw foreign }
        guard status.byteCount <= longest else { throw StoredValue.damaged }
        return Data(try file.prefix(Int(status.byteCount)))
    }

    /// Returns a text that differs after each replacement of the file. Empty if the file does not exist.
    func stamp() throws -> String {
        try folder.status(of: name).map { "\($0.inode) \($0.changed) \($0.byteCount)" } ?? ""
    }

    func replace(with bytes: Data) throws {
        let temporary = "\(Self.beginning(of: name))\(FileID.make().text)\(Self.unfinished)"
        let file = try folder.create(temporary)
        do {
            try bytes.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) throws -> Void in try file.write(bytes) }
            try file.synchronize()
            guard try file.status().byteCount == bytes.count else { throw SystemError.shortWrite(file.path) }
            try folder.rename(temporary, to: folder, as: name)
        } catch {
            // The original error is the one to report. The next sweep of the folder removes a leftover file.
            _ = Result { try folder.remove(temporary) }
            throw error
        }
        try folder.synchronize()
    }

    /// Creates the file unless it exists. The lock is on the folder itself, so that no lock file is left in it.
    func create(with bytes: Data) throws {
        let lock = FileLock(try Descriptor.openForReading(folder.path))
        try lock.lock(.exclusive)
        defer { withExtendedLifetime(lock) {} }
        try Self.sweep(folder, name: name)
        if try folder.status(of: name) == nil { try replace(with: bytes) }
    }

    func remove() throws {
        // The sync is repeated if the file did not exist, because an earlier removal may have ended before its sync.
        try folder.remove(name)
        try folder.synchronize()
    }

    /// Returns the prefix of the temporary names of a file. It is shortened, because names have at most 255 bytes.
    static func beginning(of name: String) -> String { ".\(name.prefix(100))." }

    /// Removes temporary files that a crash left. The caller holds the folder's lock.
    static func sweep(_ folder: Directory) throws {
        try sweep(folder) { $0.hasPrefix(".") && $0.hasSuffix(unfinished) }
    }

    /// Removes temporary files of one file, but not of other files whose names begin the same way.
    static func sweep(_ folder: Directory, name: String) throws {
        try sweep(folder) { Path.isMade($0, beginning: beginning(of: name), ending: unfinished) }
    }

    private static func sweep(_ folder: Directory, where isLeft: (String) -> Bool) throws {
        var names: [String] = []
        try folder.forEachFile { name in
            if isLeft(name) { names.append(name) }
            return true
        }
        for name in names { try folder.remove(name) }
    }

    private var foreign: SettingsError {
        SettingsError(
            .corrupted,
            message: """
                \(folder.child(name)) is not a file of this user, so it is not read. It is left unchanged. Check \
                who has put it there, and remove it.
                """)
    }
}
