import Foundation
import LFS

/// The bytes of a picture, with the errors of the journal.
struct PictureChunks: AsyncSequence, Sendable {
    let contents: FileContents
    let name: String

    func makeAsyncIterator() -> Iterator { Iterator(chunks: contents.makeAsyncIterator(), name: name) }

    struct Iterator: AsyncIteratorProtocol {
        var chunks: FileContents.Iterator
        let name: String

        mutating func next() async throws -> Data? {
            do {
                return try await chunks.next()
            } catch let error as LFSError {
                if error.code == .cancelled { throw CancellationError() }
                throw FileStorageError.fileReadFailed(name: name, reason: .init(error))
            }
        }
    }
}
