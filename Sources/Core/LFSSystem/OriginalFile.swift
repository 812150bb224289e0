/// A file of the user that LFS reads in its place. LFS neither changes nor removes it.
///
/// The stamp shows whether the original still has the bytes that were read. It contains the change time, which no
/// program can set back, and no device number, because a disk may get another one when it is mounted again.
package struct OriginalFile: Hashable, Sendable {
    /// The absolute path, as exact bytes.
    package let path: [UInt8]
    /// The number of the file system.
    package let device: UInt64
    /// `inode:size:modified:changed`, with times in nanoseconds since 1970.
    package let stamp: String

    package init(path: [UInt8], device: UInt64, stamp: String) {
        self.path = path
        self.device = device
        self.stamp = stamp
    }

    package init(path: [UInt8], status: FileStatus) {
        self.init(path: path, device: status.device, stamp: Self.stamp(of: status))
    }

    private static func stamp(of status: FileStatus) -> String {
        "\(status.inode):\(status.byteCount):\(status.modified):\(status.changed)"
    }

    /// The path for messages.
    package var shownPath: String { String(decoding: path, as: UTF8.self) }

    /// Opens the file that is at the path now. A symbolic link is not followed. Blocks the thread.
    ///
    /// - Returns: nil if no regular file is at the path.
    package func open() throws(SystemError) -> (file: Descriptor, isUnchanged: Bool)? {
        guard let file = try Self.open(path), let status = try Self.regularStatus(of: file) else { return nil }
        return (file, Self.stamp(of: status) == stamp)
    }

    /// Opens the file that is at the path now, if its stamp is unchanged. Blocks the thread.
    ///
    /// - Returns: nil if no regular file is at the path, or if its bytes may have changed.
    package func openUnchanged() throws(SystemError) -> Descriptor? {
        guard let (file, isUnchanged) = try open(), isUnchanged else { return nil }
        return file
    }

    /// Returns true if the nearest folder that exists is on another file system than the original was. Then its disk is
    /// probably not mounted. Blocks the thread.
    package func isOnAbsentDisk() -> Bool {
        var folder = path
        while let slash = folder.lastIndex(of: UInt8(ascii: "/")) {
            folder.removeSubrange(slash...)
            let name = folder.isEmpty ? "/" : String(decoding: folder, as: UTF8.self)
            if let status = try? FileStatus(following: name) { return status.device != device }
        }
        return false
    }

    /// Opens the file at a path. Returns nil if the path leads to nothing or to a symbolic link. A path with a NUL
    /// leads to nothing.
    package static func open(_ path: [UInt8]) throws(SystemError) -> Descriptor? {
        if path.contains(0) { return nil }
        do {
            return try Descriptor.openForReading(bytes: path)
        } catch let error where error.isMissing || error.isSymbolicLink {
            return nil
        }
    }

    private static func regularStatus(of file: Descriptor) throws(SystemError) -> FileStatus? {
        let status = try file.status()
        return status.isRegularFile ? status : nil
    }
}
