import Foundation

/// A file that is written under a temporary name and moved to its final name when it is complete. An incomplete file is
/// removed.
///
/// The file is locked while it is written, which distinguishes it from the leftovers of a killed process.
final class TemporaryFile: Sendable {
    let name: String
    private let folder: Directory
    private let file: OpenFile

    /// - Parameter purpose: The prefix of the name.
    init(in folder: Directory, for purpose: String) throws {
        self.folder = folder
        while true {
            let name = "\(purpose)~\(UUID().text)"
            let file = try folder.makeFile(name)
            // Before the lock, another process may have removed the file as a leftover.
            do {
                guard try file.tryLock(), try file.status().st_nlink > 0 else { continue }
            } catch {
                try folder.remove(name)
                throw error
            }
            self.name = name
            self.file = file
            return
        }
    }

    func append(_ data: Data) throws { try file.append(data) }

    /// Makes the bytes durable, moves the file to its final name, and makes the name durable.
    func move(to target: Directory, as newName: String) throws {
        try file.sync()
        try folder.rename(name, to: target, as: newName)
        try target.sync()
    }

    /// Discards the file.
    func remove() throws { try folder.remove(name) }

    /// Returns the purpose from the name of a leftover.
    static func purpose(of name: String) -> String? {
        name.firstIndex(of: "~").map { String(name[..<$0]) }
    }
}
