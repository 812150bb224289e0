package import LFSBackup

/// The stamps of files with several hard links, some of which were removed. The removal of a link changes the stamp but
/// not the content.
package struct LinkedStamps {
    /// The stamps at the time of the read, by current stamp.
    private var stamps: [String: String] = [:]

    package init() {}

    /// Returns the stamp at the time of the read. A file without removed links keeps its stamp.
    package func asRead(_ stamp: String) -> String { stamps[stamp] ?? stamp }

    /// Records that a file has lost a link.
    ///
    /// - Parameters:
    ///   - before: the stamp right before that.
    ///   - now: the stamp since then. If it shows other changes as well, the file no longer counts as unchanged.
    package mutating func note(_ before: AssetVersion, since now: AssetVersion?) {
        let read = stamps.removeValue(forKey: before.text) ?? before.text
        guard let now, now.byteCount == before.byteCount, let attributes = FileAttributes(stamp: now.text),
            attributes == FileAttributes(stamp: before.text)
        else { return }
        stamps[now.text] = read
    }
}
