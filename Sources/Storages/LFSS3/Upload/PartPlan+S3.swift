import LFSHTTPStorage
import LFSStorage

/// Plans within the "Amazon S3 multipart upload limits" (10,000 parts of 5 MiB to 5 GiB) and the provider's own limits.
extension PartPlan {
    /// - Throws: ``StorageError/Code/tooLarge`` when no part size fits.
    init(byteCount: Int64, partSize: Int64?, _ provider: S3Provider) throws(StorageError) {
        let limits = PartLimits(
            maximumCount: provider.maximumPartCount, minimumSize: provider.minimumPartSize, maximumSize: 5 << 30)
        try self.init(byteCount: byteCount, partSize: partSize, limits)
    }

    /// Restores the plan of an upload that has started. Returns nil for numbers that cannot form a plan.
    init?(byteCount: Int64, partSize: Int64) {
        self.init(byteCount: byteCount, partSize: partSize, maximumCount: 10_000)
    }
}

extension S3Options {
    /// Returns the size of the parts that this package would use for a file.
    func likelyPartSize(of source: UploadSource, _ provider: S3Provider) -> Int64 {
        // A file that does not fit into parts was not uploaded in parts.
        (try? PartPlan(byteCount: source.byteCount, partSize: partSize, provider).partSize) ?? source.byteCount
    }
}
