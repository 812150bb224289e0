import LFSSystem

/// The database's id in the lock file of a store: by it the folder is known when its marker is damaged. It is written
/// once, when the folder is made, so that no power cut can take both.
enum StoreReserve {
    /// Nil when it says nothing, or nothing that is an id.
    static func databaseID(in file: Descriptor) throws(SystemError) -> String? {
        let text = try file.prefix(longest + 1)
        guard (1...longest).contains(text.count), !text.contains(0) else { return nil }
        return String(validating: text, as: UTF8.self)
    }

    /// Where there is no room for it the folder does without.
    static func write(_ databaseID: String, to file: Descriptor) throws(FileError) {
        let bytes = Array(databaseID.utf8)
        guard bytes.count <= longest else { return }
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(SystemError) in
                try file.truncate(to: 0)
                try file.write(buffer, at: 0)
                try file.synchronize()
            }
        }
        if case .failure(let error) = result, !error.isNoSpace, !error.isReadOnly {
            throw FileError.keeping(error, at: file.path)
        }
    }

    private static let longest = 200
}
