import LFSHTTPStorage
import LFSStorage

/// Limits: "Amazon S3 multipart upload limits" (parts of 5 MiB to 5 GiB, 10,000 of them), and the provider's own.
extension PartPlan {
    /// - Throws: ``StorageError/Code/tooLarge`` when no size of parts fits.
    init(byteCount: Int64, partSize: Int64?, _ provider: S3Provider) throws(StorageError) {
        let limits = PartLimits(
            maximumCount: provider.maximumPartCount, minimumSize: provider.minimumPartSize, maximumSize: 5 << 30)
        try self.init(byteCount: byteCount, partSize: partSize, limits)
    }

    /// The plan of an upload that has begun; nil for numbers that cannot be one.
    init?(byteCount: Int64, partSize: Int64) {
        self.init(byteCount: byteCount, partSize: partSize, maximumCount: 10_000)
    }
}

extension S3Options {
    /// The size of the parts that this package would cut a file into.
    func likelyPartSize(of source: UploadSource, _ provider: S3Provider) -> Int64 {
        // A file that fits into no parts was not stored in parts.
        (try? PartPlan(byteCount: source.byteCount, partSize: partSize, provider).partSize) ?? source.byteCount
    }
}
