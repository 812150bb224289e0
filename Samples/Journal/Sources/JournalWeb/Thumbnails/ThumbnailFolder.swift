import Foundation

/// The small pictures that were made, by the SHA-256 of the large ones, as files in a folder of their own.
///
/// The files are its state; whoever makes one renames it into place, so that none is ever half there.
struct ThumbnailFolder: Sendable {
    let url: URL
    let maxByteCount: Int64

    /// Makes the folder, and removes what an earlier process has left unfinished.
    ///
    /// - Throws: ``WebError/Code/unusableFile``.
    init(_ url: URL, maxByteCount: Int64) throws(WebError) {
        self.url = url
        self.maxByteCount = maxByteCount
        do {
            try FileManager.default.createDirectory(
                at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            for name in try FileManager.default.contentsOfDirectory(atPath: url.path) where name.hasPrefix("new-") {
                try FileManager.default.removeItem(at: url.appending(path: name))
            }
        } catch {
            throw WebError(.unusableFile, "The folder \(url.path) of the small pictures cannot be used: \(error)")
        }
    }

    /// A name for one that is being made.
    func newName() -> String { "new-\(UUID().uuidString).jpg" }

    /// The bytes of a small picture, which are few; nil when there is none.
    ///
    /// - Parameter sha256: 64 lowercase hexadecimal digits, as LFS checks them.
    func data(_ sha256: String) -> Data? {
        let file = url.appending(path: "\(sha256).jpg")
        guard let data = try? Data(contentsOf: file) else { return nil }
        // The time of the last use, by which the oldest are removed.
        try? FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: file.path)
        return data
    }

    func keep(_ name: String, as sha256: String) throws {
        let target = url.appending(path: "\(sha256).jpg")
        guard rename(url.appending(path: name).path, target.path) == 0 else { throw ThumbnailError.unreadable }
    }

    func remove(_ name: String) { try? FileManager.default.removeItem(at: url.appending(path: name)) }

    /// Removes those that were not used for the longest time, until all take three quarters of what they may.
    func trim() throws {
        let keys: Set<URLResourceKey> = [.fileSizeKey, .contentModificationDateKey]
        let files = try FileManager.default.contentsOfDirectory(at: url, includingPropertiesForKeys: Array(keys))
            .map { file in
                let values = try? file.resourceValues(forKeys: keys)
                return (
                    file: file, size: Int64(values?.fileSize ?? 0),
                    used: values?.contentModificationDate ?? .distantPast
                )
            }
        var total = files.map(\.size).reduce(0, +)
        guard total > maxByteCount else { return }
        for file in files.sorted(by: { $0.used < $1.used }) where total > maxByteCount / 4 * 3 {
            try? FileManager.default.removeItem(at: file.file)
            total -= file.size
        }
    }
}
