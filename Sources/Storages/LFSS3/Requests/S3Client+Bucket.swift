import Crypto
import LFSHTTP
import LFSHTTPStorage
import LFSStorage

extension S3Client {
    /// Creates the bucket if it does not exist. Returns true if it was created.
    func createBucketIfMissing() async throws -> Bool {
        do {
            // "ListObjectsV2" of the Amazon S3 API reference is the request that the storage needs anyway.
            _ = try await send(S3Request(.get, query: [("list-type", "2"), ("max-keys", "1")]))
            return false
        } catch let failure as S3Failure where failure.code == "NoSuchBucket" {
            return try await createBucket()
        }
    }

    /// Sends "CreateBucket" of the Amazon S3 API reference.
    private func createBucket() async throws -> Bool {
        var request = S3Request(.put)
        // Some servers require a length even of an empty body.
        request.body = .bytes([])
        let region = region
        // The first is Amazon's default, which it refuses as a constraint. The second names no place.
        if region != "us-east-1", region != "auto" {
            let body = Array(
                """
                <CreateBucketConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><LocationConstraint>\
                \(region)</LocationConstraint></CreateBucketConfiguration>
                """.utf8)
            request.body = .bytes(body)
            request.payloadHash = Hex.text(SHA256.hash(data: body))
        }
        do {
            _ = try await send(request)
            return true
        } catch let failure as S3Failure where failure.code == "BucketAlreadyOwnedByYou" {
            // Another process has created it since the first request.
            return false
        } catch let failure as S3Failure where failure.code == "BucketAlreadyExists" {
            throw StorageError(
                .misconfigured,
                message: "The bucket '\(location.bucket)' belongs to another account. Choose another name.",
                cause: failure)
        }
    }
}
