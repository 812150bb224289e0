import Foundation
import Hummingbird

/// The body of a request as the bytes of a picture, limited in size and checked against the type in the request.
///
/// Both checks take place while the bytes are read. A failed check ends the sequence with an error, and nothing is
/// kept.
struct PictureBody: AsyncSequence, Sendable {
    let body: RequestBody
    let type: PictureType
    let limit: Int64

    /// - Throws: ``WebError/Code/wrongType``, ``WebError/Code/tooLarge`` if the head of the request already shows the
    ///   problem.
    init(_ request: Request, limit: Int64) throws(WebError) {
        guard let type = request.headers[.contentType].flatMap(PictureType.init(contentType:)) else {
            throw Self.noPicture
        }
        if let length = request.headers[.contentLength].flatMap(Int64.init), length > limit {
            throw Self.tooLarge(limit)
        }
        body = request.body
        self.type = type
        self.limit = limit
    }

    private static let noPicture = WebError(
        .wrongType, message: "Only pictures are accepted: JPEG, PNG, GIF, WebP, AVIF and HEIC.")

    private static func tooLarge(_ limit: Int64) -> WebError {
        WebError(.tooLarge, message: "The picture is larger than \(limit >> 20) MiB.")
    }

    func makeAsyncIterator() -> Iterator { Iterator(picture: self, chunks: body.makeAsyncIterator()) }

    struct Iterator: AsyncIteratorProtocol {
        let picture: PictureBody
        var chunks: RequestBody.AsyncIterator
        var count: Int64 = 0
        var isChecked = false

        @concurrent mutating func next() async throws -> Data? {
            guard var chunk = try await nextChunk() else {
                if isChecked { return nil }
                throw PictureBody.noPicture
            }
            if isChecked { return chunk }
            // The first bytes may arrive in several chunks.
            while chunk.count < PictureType.headByteCount, let more = try await nextChunk() { chunk += more }
            guard PictureType(head: chunk) == picture.type else { throw PictureBody.noPicture }
            isChecked = true
            return chunk
        }

        @concurrent private mutating func nextChunk() async throws -> Data? {
            guard let buffer = try await chunks.next() else { return nil }
            count += Int64(buffer.readableBytes)
            guard count <= picture.limit else { throw PictureBody.tooLarge(picture.limit) }
            return Data(buffer.readableBytesView)
        }
    }
}
