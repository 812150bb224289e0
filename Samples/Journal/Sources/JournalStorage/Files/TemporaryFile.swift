import Foundation

/// A file that is written beside all others and takes its place when it is complete. It goes if it does not.
///
/// It is locked as long as somebody writes it, so that what a killed process has left can be told from it.
final class TemporaryFile: Sendable {
    let name: String
    private let folder: Directory
    private let file: OpenFile

    /// - Parameter purpose: what the name begins with.
    init(in folder: Directory, for purpose: String) throws {
        self.folder = folder
        while true {
            let name = "\(purpose)~\(UUID().text)"
            let file = try folder.makeFile(name)
            // Before the lock, somebody may have taken it for a leftover.
            if file.tryLock(), try file.hasName() {
                (self.name, self.file) = (name, file)
                return
            }
        }
    }

    func append(_ data: Data) throws { try file.append(data) }

    /// Makes the bytes durable, and the name that they are put under.
    func move(to target: Directory, as newName: String) throws {
        try file.sync()
        try folder.rename(name, to: target, as: newName)
        try target.sync()
    }

    /// Gives it up. Nothing is left of it.
    func remove() throws { try folder.remove(name) }

    /// The purpose in the name of a leftover.
    static func purpose(of name: String) -> String? {
        name.firstIndex(of: "~").map { String(name[..<$0]) }
    }
}

/// The bytes of an open file, read where nobody waits for a thread.
struct FileChunks: AsyncSequence, Sendable {
    let file: OpenFile
    /// What it is called in an error.
    let name: String

    func makeAsyncIterator() -> Iterator { Iterator(file: file, name: name) }

    struct Iterator: AsyncIteratorProtocol {
        let file: OpenFile
        let name: String
        var offset: Int64 = 0

        mutating func next() async throws -> Data? {
            try Task.checkCancellation()
            let (file, offset, name) = (file, offset, name)
            let chunk = try await FileQueue.readers.run {
                do {
                    return try file.chunk(at: offset)
                } catch {
                    throw FileStorageError.fileReadFailed(name: name, reason: error.sentence)
                }
            }
            self.offset += Int64(chunk.count)
            return chunk.isEmpty ? nil : chunk
        }
    }
}
