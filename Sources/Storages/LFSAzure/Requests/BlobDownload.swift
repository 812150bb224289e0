import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// The download of a blob or a range of it ("Get Blob").
struct BlobDownload: Sendable {
    let client: AzureClient
    let request: DownloadRequest

    func run(_ sink: DownloadSink) async throws -> RemoteObject {
        let download = HTTPDownload(request)
        return try await download.run(
            describe: { try await client.described(request.key).remoteObject(request.key, at: client.place) },
            isBeyondEnd: { ($0 as? AzureFailure)?.code == "InvalidRange" },
            fetch: {
                let found = try await download.fetch(
                    into: sink, rangeField: "x-ms-range", isOwn: { $0.isFromAzure }
                ) { fields, reply in
                    var get = AzureRequest(.get, key: request.key)
                    get.headers = fields
                    get.reply = reply
                    return try await client.send(get)
                }
                return StoredBlob(found.head, byteCount: found.byteCount).remoteObject(request.key, at: client.place)
            })
    }
}
