package import LFSSystem

/// Some bytes that are kept so that there is a way out of a full disk: evicting takes a transaction, and that takes
/// a few pages first.
extension LocalStore {
    package static let spareName = "spare"
    /// Room for some hundred pages of the database.
    static let spareByteCount: Int64 = 512 * 1_024

    /// Sets the spare room aside, unless it is there or the disk has not much more. Blocks the thread.
    package func makeSpareRoom() throws(SystemError) {
        if try directory.status(of: Self.spareName) != nil { return }
        guard try directory.availableByteCount() > 8 * Self.spareByteCount else { return }
        let name = "\(Self.spareName).\(FileID.make().text)"
        let file = try incoming.create(name)
        do throws(SystemError) {
            // Written and not only allocated: a file system may give a hole, or compress zeros.
            let start = UInt64.random(in: 0...(.max))
            // Multiples of a large odd number look random enough for that; the system is asked only once.
            let words = (0..<8_192).map { (start &+ $0) &* 0x9E37_79B9_7F4A_7C15 }
            let bytes = words.withUnsafeBytes { Array($0) }
            for _ in 0..<Int(Self.spareByteCount) / bytes.count { try file.write(bytes) }
            try incoming.rename(name, to: directory, as: Self.spareName)
        } catch {
            try incoming.remove(name)
            // Others need the room now.
            if error.isNoSpace { return }
            throw error
        }
    }

    /// How many bytes the disk of the store has left for this user.
    package func availableByteCount() throws(SystemError) -> Int64 { try directory.availableByteCount() }

    /// Gives the spare room up. Returns whether there was one.
    package func giveUpSpareRoom() throws(SystemError) -> Bool { try directory.remove(Self.spareName) }
}
