package import Foundation

/// Runs a test in a folder of its own, which is gone afterwards.
package func withTemporaryFolder<Result>(
    in parent: URL = FileManager.default.temporaryDirectory, _ body: (URL) async throws -> Result
) async throws -> Result {
    let folder = parent.appendingPathComponent("lfs-test-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    do {
        let result = try await body(folder)
        try FileManager.default.removeItem(at: folder)
        return result
    } catch {
        try FileManager.default.removeItem(at: folder)
        throw error
    }
}

/// The names in a folder, hidden ones included, in order.
package func names(in folder: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
}

/// The permission bits of a file or a folder.
package func permissions(of url: URL) throws -> Int {
    let value = try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? NSNumber
    return value?.intValue ?? -1
}

/// The number that tells a file on its file system.
package func inode(of url: URL) throws -> UInt64 {
    let value = try FileManager.default.attributesOfItem(atPath: url.path)[.systemFileNumber] as? NSNumber
    return value?.uint64Value ?? 0
}

extension URL {
    /// A file or folder in this folder.
    package func child(_ name: String) -> URL { appendingPathComponent(name) }
}
