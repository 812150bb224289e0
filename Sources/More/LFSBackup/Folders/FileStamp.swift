#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The parsed stamp of a file: `size:modified:changed:mode:user:group`.
///
/// The times are seconds and nanoseconds, separated by a full stop. `changed` is the time of the last change of content
/// or metadata, which no program can set back. The mode is octal. Earlier versions wrote only the first three fields.
struct FileStamp: Hashable, Sendable {
    let byteCount: Int64
    let attributes: FileAttributes
    private let changed: Substring

    /// Parses a stamp. Nil for another format. Stored stamps are untrusted input.
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

    /// Returns the text of a file's stamp. A walk creates one for every file, so it is written into one buffer.
    static func text(of status: stat) -> String {
        #if canImport(Darwin)
        let (modified, changed) = (status.st_mtimespec, status.st_ctimespec)
        #else
        let (modified, changed) = (status.st_mtim, status.st_ctim)
        #endif
        // Eight numbers, each with a sign and a separator.
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

    /// Returns true if a file still has the content that it had at an earlier stamp. Stamps of earlier versions have
    /// fewer fields.
    ///
    /// If the time of the last change differs, it is not certain that only permissions changed.
    func hasContent(of earlier: FileStamp) -> Bool {
        byteCount == earlier.byteCount && changed == earlier.changed
            && attributes.seconds == earlier.attributes.seconds
            && attributes.nanoseconds == earlier.attributes.nanoseconds
    }
}

/// A writer of consecutive ASCII numbers.
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
        // The digits were written in reverse order.
        buffer[start..<count].reverse()
        if let separator { add(UInt8(ascii: separator)) }
    }

    private mutating func add(_ byte: UInt8) {
        buffer[count] = byte
        count += 1
    }
}

extension AssetVersion {
    init(_ status: stat) { self.init(byteCount: Int64(status.st_size), text: FileStamp.text(of: status)) }

    /// Returns true if an original with this stamp has the same content as with an earlier stamp, which any version may
    /// have written.
    public func hasContent(of earlier: String) -> Bool {
        if text == earlier { return true }
        guard let now = FileStamp(text), let then = FileStamp(earlier) else { return false }
        return now.hasContent(of: then)
    }
}
