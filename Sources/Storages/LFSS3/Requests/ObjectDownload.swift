import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// The download of an object or a range of it ("GetObject" of the Amazon S3 API reference).
struct ObjectDownload: Sendable {
    private let client: S3Client
    private let request: DownloadRequest

    init(client: S3Client, _ request: DownloadRequest) {
        self.client = client
        self.request = request
    }

    func run(_ sink: DownloadSink) async throws -> RemoteObject {
        let download = HTTPDownload(request)
        return try await download.run(
            describe: { try await client.described(request.key).remoteObject(request.key, at: client.place) },
            isBeyondEnd: { ($0 as? S3Failure)?.status == 416 },
            fetch: {
                let found = try await download.fetch(into: sink, isOwn: { $0.isFromS3 }) { fields, reply in
                    var get = S3Request(.get, key: request.key)
                    get.headers = fields
                    try get.headers.set("x-amz-checksum-mode", value: "ENABLED")
                    get.reply = reply
                    return try await client.send(get)
                }
                return StoredObject(found.head, byteCount: found.byteCount).remoteObject(request.key, at: client.place)
            })
    }
}
