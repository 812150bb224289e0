import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// Fetches an object or a range of it ("GetObject" of the Amazon S3 API reference).
struct ObjectDownload: Sendable {
    private let client: S3Client
    private let request: DownloadRequest

    init(client: S3Client, _ request: DownloadRequest) {
        self.client = client
        self.request = request
    }

    func run(_ sink: DownloadSink) async throws -> RemoteObject {
        // HTTP has no way to ask for no bytes.
        if let range = request.range, range.isEmpty { return try await describe() }
        var get = S3Request(.get, request.key)
        if let range = request.range { try get.headers.set("range", range.asField) }
        if let tag = request.entityTag.flatMap(EntityTag.init) { try get.headers.set("if-match", tag.quoted) }
        try get.headers.set("x-amz-checksum-mode", "ENABLED")
        let window = ReplyWindow(request, sink) { $0.isFromS3 }
        get.reply = window.reply
        let response: HTTPResponse
        do {
            response = try await client.send(get)
        } catch let failure as S3Failure where failure.status == 416 && request.range != nil {
            // It begins behind the end: no bytes, but the object is there.
            return try await describe()
        } catch {
            // A reply that was not taken may have been too long to be read at all; why it was not taken says more.
            throw window.refusal(request.key) ?? error
        }
        let total = try window.finish(request.key)
        return StoredObject(response.head, byteCount: total).remoteObject(request.key, at: client.place)
    }

    private func describe() async throws -> RemoteObject {
        let object = try await client.described(request.key).remoteObject(request.key, at: client.place)
        guard let tag = request.entityTag.flatMap(EntityTag.init), object.entityTag != tag.text else { return object }
        throw StorageError.changed(request.key)
    }
}
