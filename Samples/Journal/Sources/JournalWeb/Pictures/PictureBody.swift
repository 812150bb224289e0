import Foundation
import HTTPTypes
import Hummingbird

/// The body of a request as the bytes of a picture: no more than the limit, and of the kind that the request says.
///
/// Both are checked while the bytes go by. What fails ends the sequence with an error, and nothing is kept then.
struct PictureBody: AsyncSequence, Sendable {
    let body: RequestBody
    let type: PictureType
    let limit: Int64

    /// - Throws: ``WebError/Code/wrongType``, ``WebError/Code/tooLarge`` when the head of the request says so already.
    init(_ request: Request, limit: Int64) throws(WebError) {
        guard let type = request.headers[.contentType].flatMap(PictureType.init(contentType:)) else {
            throw Self.noPicture
        }
        if let length = request.headers[.contentLength].flatMap(Int64.init), length > limit {
            throw Self.tooLarge(limit)
        }
        (body, self.type, self.limit) = (request.body, type, limit)
    }

    private static let noPicture = WebError(
        .wrongType, "Only pictures are taken: JPEG, PNG, GIF, WebP, AVIF and HEIC.")

    private static func tooLarge(_ limit: Int64) -> WebError {
        WebError(.tooLarge, "The picture is larger than \(limit >> 20) MiB.")
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
            // The first bytes may come one by one.
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
