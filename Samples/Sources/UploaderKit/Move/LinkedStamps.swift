package import LFSBackup

/// Stamps of files with several names of which some were removed: that changes the stamp, and no byte.
package struct LinkedStamps {
    /// What they looked like when they were read, by what they look like now.
    private var stamps: [String: String] = [:]

    package init() {}

    /// What a file looked like when it was read; the same for one that nothing was done to.
    package func asRead(_ stamp: String) -> String { stamps[stamp] ?? stamp }

    /// Notes a file that has lost a name.
    ///
    /// - Parameters:
    ///   - before: its stamp right before that.
    ///   - now: the one since then. One that tells of more than that is not taken for the same.
    package mutating func note(_ before: AssetStamp, since now: AssetStamp?) {
        let read = stamps.removeValue(forKey: before.text) ?? before.text
        guard let now, now.byteCount == before.byteCount, let attributes = FileAttributes(stamp: now.text),
            attributes == FileAttributes(stamp: before.text)
        else { return }
        stamps[now.text] = read
    }
}
