package import Foundation

/// Runs a test in a new folder that is removed afterwards.
package func withTemporaryFolder<Result>(
    in parent: URL = FileManager.default.temporaryDirectory, _ body: (URL) async throws -> Result
) async throws -> Result {
    let folder = parent.appendingPathComponent("lfs-test-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    do {
        let result = try await body(folder)
        try removeFolder(folder)
        return result
    } catch {
        try removeFolder(folder)
        throw error
    }
}

/// Removes a folder with its contents. A database that is being closed may remove its log at the same time.
package func removeFolder(_ folder: URL) throws {
    var attempts = 0
    while true {
        do {
            return try FileManager.default.removeItem(at: folder)
        } catch let error as CocoaError where error.code == .fileNoSuchFile && attempts < 100 {
            guard FileManager.default.fileExists(atPath: folder.path) else { return }
            attempts += 1
        }
    }
}

/// Returns the sorted names in a folder, hidden ones included.
package func names(in folder: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
}

/// Returns the permission bits of a file or a folder.
package func permissions(of url: URL) throws -> Int {
    let value = try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? NSNumber
    return value?.intValue ?? -1
}

/// Returns the number that identifies a file on its file system.
package func inode(of url: URL) throws -> UInt64 {
    let value = try FileManager.default.attributesOfItem(atPath: url.path)[.systemFileNumber] as? NSNumber
    return value?.uint64Value ?? 0
}

extension URL {
    /// Returns the URL of a file or folder in this folder.
    package func child(_ name: String) -> URL { appendingPathComponent(name) }
}
