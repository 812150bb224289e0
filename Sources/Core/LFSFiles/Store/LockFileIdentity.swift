import LFSSystem

/// A second record of the database's id, in the lock file of a store. It names the owner of the folder if the marker is
/// damaged. It is written only once, when the folder is created. So a power failure while the marker is written cannot
/// damage both.
enum LockFileIdentity {
    /// Reads the id from a lock file. Returns nil if the file is empty or contains something else.
    static func databaseID(in file: Descriptor) throws(SystemError) -> String? {
        let text = try file.prefix(longest + 1)
        guard (1...longest).contains(text.count), !text.contains(0) else { return nil }
        return String(validating: text, as: UTF8.self)
    }

    /// Writes the id. Does nothing on a disk that is full or read-only.
    static func write(_ databaseID: String, to file: Descriptor) throws(FileError) {
        let bytes = Array(databaseID.utf8)
        guard bytes.count <= longest else { return }
        do throws(SystemError) {
            try file.truncate(to: 0)
            try file.seek(to: 0)
            try file.write(bytes)
            try file.synchronize()
        } catch {
            if error.isNoSpace || error.isReadOnly { return }
            throw FileError.keeping(error, at: file.path)
        }
    }

    private static let longest = 200
}
