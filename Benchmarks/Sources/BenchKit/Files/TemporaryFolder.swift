import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A folder that only this user can read, in TMPDIR or in the system's temporary folder.
package struct TemporaryFolder: Sendable {
    package let path: String

    package init() throws {
        let parent = FileManager.default.temporaryDirectory.path
        var template = Array("\(parent)/lfs-bench-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw BenchError("No folder can be made in \(parent): \(String(cString: strerror(errno))).")
        }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Creates a folder in it and returns its path.
    package func makeFolder(_ name: String) throws -> String {
        try FileManager.default.createDirectory(atPath: "\(path)/\(name)", withIntermediateDirectories: true)
        return "\(path)/\(name)"
    }

    /// Empties one of its folders, so that large databases do not accumulate.
    func empty(_ folder: String) throws {
        try FileManager.default.removeItem(atPath: folder)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    package func remove() throws { try FileManager.default.removeItem(atPath: path) }
}
