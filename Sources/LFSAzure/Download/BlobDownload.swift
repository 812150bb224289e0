import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// Fetches a blob or a range of it ("Get Blob").
struct BlobDownload: Sendable {
    let client: AzureClient
    let request: DownloadRequest

    func run(_ sink: DownloadSink) async throws -> RemoteObject {
        // HTTP has no way to ask for no bytes.
        if let range = request.range, range.isEmpty { return try await describe() }
        var get = AzureRequest(.get, request.key)
        if let range = request.range { try get.headers.set("x-ms-range", range.asField) }
        if let tag = request.entityTag.flatMap(EntityTag.init) { try get.headers.set("if-match", tag.quoted) }
        let window = ReplyWindow(request, sink) { $0.isFromAzure }
        get.reply = window.reply
        let response: HTTPResponse
        do {
            response = try await client.send(get)
        } catch let failure as AzureFailure where failure.code == "InvalidRange" && request.range != nil {
            // It begins behind the end: no bytes, but the object is there.
            return try await describe()
        } catch {
            // A reply that was not taken may have been too long to be read at all; why it was not taken says more.
            throw window.refusal(request.key) ?? error
        }
        let total = try window.finish(request.key)
        return StoredBlob(response.head, byteCount: total).remoteObject(request.key, at: client.place)
    }

    private func describe() async throws -> RemoteObject {
        let object = try await client.described(request.key).remoteObject(request.key, at: client.place)
        guard let tag = request.entityTag.flatMap(EntityTag.init), object.entityTag != tag.text else { return object }
        throw StorageError.changed(request.key)
    }
}
