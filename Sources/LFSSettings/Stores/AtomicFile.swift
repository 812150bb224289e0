import Foundation
import LFSFiles
import LFSSystem

/// A small file that is replaced as a whole: written under another name, synced, renamed, and the folder synced.
///
/// Blocks the thread. Who replaces or removes it holds the folder's lock.
struct AtomicFile {
    let folder: Directory
    let name: String

    /// What the names of unfinished files end in.
    static let unfinished = ".unfinished"

    /// - Parameter longest: more bytes are damage.
    /// - Returns: nil when nothing has the name.
    /// - Throws: ``SettingsError/Code/corrupted`` for what is no file of this user alone, or too long.
    func read(longest: Int) throws -> Data? {
        let file: Descriptor
        do {
            file = try folder.openForReading(name)
        } catch {
            if error.isMissing { return nil }
            throw error.isSymbolicLink || error.isNoFile ? foreign : error as any Error
        }
        let status = try file.status()
        // No name is left of one that was replaced since it was opened; it is whole all the same.
        guard status.isRegularFile, status.owner == FileStatus.currentUser, status.linkCount <= 1 else { throw foreign }
        guard status.byteCount <= longest else { throw StoredValue.damaged }
        return Data(try file.prefix(Int(status.byteCount)))
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
            // Why it failed is what counts: who sweeps the folder removes what stays.
            _ = Result { try folder.remove(temporary) }
            throw error
        }
        try folder.synchronize()
    }

    func remove() throws {
        // Again when it was not there: a removal before this one may have ended without the sync.
        try folder.remove(name)
        try folder.synchronize()
    }

    /// What the names of unfinished files of a name begin with: not all of it, since names have 255 bytes at most.
    static func beginning(of name: String) -> String { ".\(name.prefix(100))." }

    /// Removes what a crash has left, for who holds the lock of the folder.
    static func sweep(_ folder: Directory) throws {
        try folder.removeFiles { $0.hasPrefix(".") && $0.hasSuffix(unfinished) }
    }

    /// As the one for a folder, of one file, and of no other one whose name begins with its own.
    static func sweep(_ folder: Directory, _ name: String) throws {
        try folder.removeFiles { Path.isMade($0, beginning(of: name), ending: unfinished) }
    }

    private var foreign: SettingsError {
        SettingsError(
            .corrupted,
            """
            \(folder.child(name)) is no file of this user alone, and is not read. It stays as it is: check who has put \
            it there, and remove it.
            """)
    }
}
