import LFSSystem

/// The database's id in the lock file of a store. It tells whose the folder is when the marker is damaged. It is
/// written only once, when the folder is made, so a power cut while the marker is written cannot damage both.
enum StoreReserve {
    /// The id in a lock file; nil when the file is empty, or has something else in it.
    static func databaseID(in file: Descriptor) throws(SystemError) -> String? {
        let text = try file.prefix(longest + 1)
        guard (1...longest).contains(text.count), !text.contains(0) else { return nil }
        return String(validating: text, as: UTF8.self)
    }

    /// Writes the id. On a disk that is full or read-only it is left out, which is no error.
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
