/// A file of the user that LFS reads in its place. LFS neither changes nor removes it.
///
/// The stamp shows whether the original still has the bytes that were read. It contains the change time, which no
/// program can set back, and no device number, because a disk may get another one when it is mounted again.
package struct OriginalFile: Hashable, Sendable {
    /// The absolute path, as exact bytes.
    package let path: [UInt8]
    /// The absolute path if the file was moved together with the database. Nil if it is ``path``.
    private let movedPath: [UInt8]?
    /// The number of the file system.
    package let device: UInt64
    /// `inode:size:modified:changed`, with times in nanoseconds since 1970.
    package let stamp: String

    package init(path: [UInt8], movedPath: [UInt8]? = nil, device: UInt64, stamp: String) {
        self.path = path
        self.movedPath = movedPath
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

    /// The paths at which the file may be.
    private var paths: [[UInt8]] { [path] + [movedPath].compactMap(\.self) }

    /// The result of a search at all paths.
    package enum Finding: Sendable {
        case accepted(Descriptor)
        /// Only other regular files are at the paths.
        case rejected
        /// No regular file is at a path.
        case absent
    }

    /// Opens the first accepted file that is at one of the paths now. A symbolic link is not followed. Blocks the
    /// thread.
    ///
    /// - Parameter accepts: receives an open file, and true if its stamp is unchanged.
    /// - Throws: the first error, if no file is accepted and one of them could not be read.
    package func find(accepting accepts: (_ file: Descriptor, _ isUnchanged: Bool) throws -> Bool) throws -> Finding {
        var finding = Finding.absent
        var failure: (any Error)?
        for path in paths {
            do {
                guard let file = try Self.open(path), let status = try Self.regularStatus(of: file) else { continue }
                if try accepts(file, Self.stamp(of: status) == stamp) { return .accepted(file) }
                finding = .rejected
            } catch let error as SystemError {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return finding
    }

    /// Returns true if the file at the path has an unchanged stamp. Blocks the thread.
    package func isUnchanged() throws(SystemError) -> Bool {
        guard !path.contains(0), let status = try FileStatus(ofLinkAt: path) else { return false }
        return status.isRegularFile && Self.stamp(of: status) == stamp
    }

    /// Opens the file that is at one of the paths now, if its stamp is unchanged. Blocks the thread.
    ///
    /// - Returns: nil if no regular file is at a path, or if its bytes may have changed.
    package func openUnchanged() throws -> Descriptor? {
        if case .accepted(let file) = try find(accepting: { _, isUnchanged in isUnchanged }) { return file }
        return nil
    }

    /// Returns true if the nearest folders that exist are on another file system than the original was. Then its disk
    /// is probably not mounted. Blocks the thread.
    package func isOnAbsentDisk() -> Bool { paths.allSatisfy(isOnAbsentDisk) }

    private func isOnAbsentDisk(_ path: [UInt8]) -> Bool {
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
