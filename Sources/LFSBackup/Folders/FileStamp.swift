#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// What the stamp of a file says: `size:modified:changed:mode:user:group`. The times are seconds and nanoseconds with a
/// full stop between, the second one that of the last change of anything, which no program can set back. The mode is
/// octal. Earlier versions wrote the first three.
struct FileStamp: Hashable, Sendable {
    let byteCount: Int64
    let attributes: FileAttributes
    private let changed: Substring

    init(_ status: stat) {
        #if canImport(Darwin)
        let changed = status.st_ctimespec
        #else
        let changed = status.st_ctim
        #endif
        byteCount = Int64(status.st_size)
        attributes = FileAttributes(status)
        self.changed = "\(changed.tv_sec).\(changed.tv_nsec)"
    }

    /// Nil for a text that says something else: notes are input.
    init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3 || parts.count == 6, let byteCount = Int64(parts[0]) else { return nil }
        let time = parts[1].split(separator: ".", omittingEmptySubsequences: false)
        guard time.count == 2, let seconds = Int(time[0]), let nanoseconds = Int(time[1]),
            (0..<1_000_000_000).contains(nanoseconds)
        else { return nil }
        var permissions: FileAttributes.Permissions?
        if parts.count == 6 {
            guard let mode = UInt32(parts[3], radix: 8), mode <= 0o7777, let user = UInt32(parts[4]),
                let group = UInt32(parts[5])
            else { return nil }
            permissions = .init(mode: mode, user: user, group: group)
        }
        self.byteCount = byteCount
        attributes = FileAttributes(seconds: seconds, nanoseconds: nanoseconds, permissions: permissions)
        changed = parts[2]
    }

    var text: String {
        let times = "\(byteCount):\(attributes.seconds).\(attributes.nanoseconds):\(changed)"
        guard let permissions = attributes.permissions else { return times }
        return "\(times):\(String(permissions.mode, radix: 8)):\(permissions.user):\(permissions.group)"
    }

    /// Whether a file that looked like another stamp then has the same content still. Earlier versions noted less.
    ///
    /// Where the time of the last change of anything is another one, nobody can tell that only permissions changed.
    func hasContent(of earlier: FileStamp) -> Bool {
        byteCount == earlier.byteCount && changed == earlier.changed
            && attributes.seconds == earlier.attributes.seconds
            && attributes.nanoseconds == earlier.attributes.nanoseconds
    }
}

extension AssetStamp {
    init(_ status: stat) {
        let stamp = FileStamp(status)
        self.init(byteCount: stamp.byteCount, text: stamp.text)
    }

    /// Whether an original that looks like this has the content that it had when it looked like a text: nothing has
    /// changed since, whichever version has noted it.
    public func hasContent(of earlier: String) -> Bool {
        if text == earlier { return true }
        guard let now = FileStamp(text), let then = FileStamp(earlier) else { return false }
        return now.hasContent(of: then)
    }
}

/// What a file or folder is, whatever path leads to it.
struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64

    init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(status.st_ino)
    }

    /// Nil when there is nothing at the path.
    init?(at path: AssetName) {
        var status = stat()
        guard path.withCString({ stat($0, &status) }) == 0 else { return nil }
        self.init(status)
    }
}
