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

    /// The text of a file's stamp. A walk makes one of every file: it is written in one go.
    static func text(of status: stat) -> String {
        #if canImport(Darwin)
        let (modified, changed) = (status.st_mtimespec, status.st_ctimespec)
        #else
        let (modified, changed) = (status.st_mtim, status.st_ctim)
        #endif
        // Eight numbers with a sign and a separator each.
        return String(unsafeUninitializedCapacity: 8 * 22) { buffer in
            var writer = NumberWriter(buffer: buffer)
            writer.add(Int64(status.st_size), then: ":")
            writer.add(Int64(modified.tv_sec), then: ".")
            writer.add(Int64(modified.tv_nsec), then: ":")
            writer.add(Int64(changed.tv_sec), then: ".")
            writer.add(Int64(changed.tv_nsec), then: ":")
            writer.add(Int64(status.st_mode) & 0o7777, radix: 8, then: ":")
            writer.add(Int64(status.st_uid), then: ":")
            writer.add(Int64(status.st_gid), then: nil)
            return writer.count
        }
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

/// Writes numbers in ASCII, one behind the other.
private struct NumberWriter {
    let buffer: UnsafeMutableBufferPointer<UInt8>
    private(set) var count = 0

    init(buffer: UnsafeMutableBufferPointer<UInt8>) { self.buffer = buffer }

    mutating func add(_ value: Int64, radix: UInt64 = 10, then separator: Unicode.Scalar?) {
        if value < 0 { add(UInt8(ascii: "-")) }
        let start = count
        var rest = value.magnitude
        repeat {
            add(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % radix))
            rest /= radix
        } while rest > 0
        // The last digit came first.
        buffer[start..<count].reverse()
        if let separator { add(UInt8(ascii: separator)) }
    }

    private mutating func add(_ byte: UInt8) {
        buffer[count] = byte
        count += 1
    }
}

extension AssetStamp {
    init(_ status: stat) { self.init(byteCount: Int64(status.st_size), text: FileStamp.text(of: status)) }

    /// Whether an original that looks like this has the content that it had when it looked like a text: nothing has
    /// changed since, whichever version has noted it.
    public func hasContent(of earlier: String) -> Bool {
        if text == earlier { return true }
        guard let now = FileStamp(text), let then = FileStamp(earlier) else { return false }
        return now.hasContent(of: then)
    }
}
