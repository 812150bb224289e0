import LFSSystem

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A reader of the kernel's virtual files below a root folder. Blocks the thread.
struct SystemRoot: Sendable {
    let path: String

    /// The maximum number of bytes that are read from a file. The kernel's files are shorter. A longer file is
    /// truncated.
    private static let longest = 1 << 20

    private func full(_ name: String) -> String { path.hasSuffix("/") ? path + name : path + "/" + name }

    /// Returns the text of a file, or nil if it does not exist.
    func text(_ name: String) throws -> String? {
        do {
            return String(decoding: try Descriptor.openForReading(full(name)).prefix(Self.longest), as: UTF8.self)
        } catch {
            if error.isMissing { return nil }
            throw error
        }
    }

    /// Returns the first line of a file, or nil if it does not exist.
    func line(_ name: String) throws -> String? {
        try text(name)?.split(whereSeparator: \.isNewline).first.map { $0.trimmingCharacters() } ?? nil
    }

    /// Returns the names in a folder. Empty if the folder does not exist.
    func names(_ name: String) throws -> [String] {
        let folder: Directory
        do {
            folder = try Directory.open(full(name))
        } catch {
            if error.isMissing { return [] }
            throw error
        }
        var names: [String] = []
        try folder.forEachFile { name in
            names.append(name)
            return true
        }
        return names.sorted()
    }

    func exists(_ name: String) -> Bool {
        var status = stat()
        return stat(full(name), &status) == 0
    }

    /// Returns the last component of a link's target, or nil if it is not a link.
    func linkTarget(_ name: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let count = readlink(full(name), &buffer, buffer.count)
        guard count > 0 else { return nil }
        let target = buffer.prefix(count).map { UInt8(bitPattern: $0) }
        return String(decoding: target, as: UTF8.self).split(separator: "/").last.map(String.init)
    }
}

extension Substring {
    fileprivate func trimmingCharacters() -> String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
