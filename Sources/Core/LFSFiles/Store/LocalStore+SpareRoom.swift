package import LFSSystem

/// A file that reserves some disk space for the way out of a full disk. An eviction needs a transaction, which first
/// needs a few pages.
extension LocalStore {
    package static let spareName = "spare"
    /// The space for about a hundred pages of the database.
    static let spareByteCount: Int64 = 512 * 1_024

    /// Creates the reserve, unless it exists or the disk is almost full. Blocks the thread.
    package func makeSpareRoom() throws(SystemError) {
        if try directory.status(of: Self.spareName) != nil { return }
        guard try directory.availableByteCount() > 8 * Self.spareByteCount else { return }
        let name = "\(Self.spareName).\(FileID.make().text)"
        let file = try incoming.create(name)
        do throws(SystemError) {
            // The bytes are written rather than allocated, because a file system may create a hole, or compress zeros.
            let start = UInt64.random(in: 0...(.max))
            // Multiples of a large odd number are random enough to resist compression, with a single call of the
            // system's generator.
            let words = (0..<8_192).map { (start &+ $0) &* 0x9E37_79B9_7F4A_7C15 }
            let bytes = words.withUnsafeBytes { Array($0) }
            for _ in 0..<Int(Self.spareByteCount) / bytes.count { try file.write(bytes) }
            try incoming.rename(name, to: directory, as: Self.spareName)
        } catch {
            try incoming.remove(name)
            // Other files need the space now.
            if error.isNoSpace { return }
            throw error
        }
    }

    /// Returns the number of bytes that the store's disk has available for this user.
    package func availableByteCount() throws(SystemError) -> Int64 { try directory.availableByteCount() }

    /// Removes the reserve. Returns true if it existed.
    package func giveUpSpareRoom() throws(SystemError) -> Bool { try directory.remove(Self.spareName) }
}
