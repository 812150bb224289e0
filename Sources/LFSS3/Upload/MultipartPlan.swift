import LFSStorage

/// How a file is cut into parts: all of one size but the last, fixed for the whole upload.
///
/// Limits: "Amazon S3 multipart upload limits" (parts of 5 MiB to 5 GiB, 10,000 of them), and the provider's own.
struct MultipartPlan: Hashable, Sendable {
    /// One part.
    struct Part: Hashable, Sendable {
        /// From 1 on.
        let number: Int
        let range: Range<Int64>
    }

    let byteCount: Int64
    let partSize: Int64

    private static let mebibyte: Int64 = 1 << 20
    private static let smallest = 16 * mebibyte
    /// Above this a lost part costs more than the requests that smaller ones would need.
    private static let preferredLargest = 512 * mebibyte
    private static let largest = 5_120 * mebibyte
    private static let preferredCount: Int64 = 1_000

    /// - Throws: ``StorageError/Code/tooLarge`` when no size of parts fits.
    init(byteCount: Int64, partSize wanted: Int64?, _ provider: S3Provider) throws(StorageError) {
        let maximumCount = Int64(max(provider.maximumPartCount, 1))
        let preferred = min(max(byteCount.divided(by: Self.preferredCount), Self.smallest), Self.preferredLargest)
        let needed = byteCount.divided(by: maximumCount)
        var size = min(max(wanted ?? preferred, needed, provider.minimumPartSize), Self.largest + 1)
        size = size.divided(by: Self.mebibyte) * Self.mebibyte
        guard size <= Self.largest else {
            throw StorageError(
                .tooLarge,
                "\(byteCount) bytes do not fit into \(maximumCount) parts of 5 GiB: the storage cannot take it.")
        }
        self.byteCount = byteCount
        partSize = size
    }

    /// The plan of an upload that has begun.
    init?(byteCount: Int64, partSize: Int64) {
        guard byteCount >= 0, partSize > 0, byteCount.divided(by: partSize) <= 10_000 else { return nil }
        self.byteCount = byteCount
        self.partSize = partSize
    }

    var count: Int { Int(max(byteCount.divided(by: partSize), 1)) }

    func part(_ number: Int) -> Part {
        let start = Int64(number - 1) * partSize
        return Part(number: number, range: start..<(byteCount - start > partSize ? start + partSize : byteCount))
    }
}

extension S3Options {
    /// The size of the parts that this package would cut a file into.
    func likelyPartSize(of source: UploadSource, _ provider: S3Provider) -> Int64 {
        // A file that fits into no parts was not stored in parts.
        (try? MultipartPlan(byteCount: source.byteCount, partSize: partSize, provider).partSize) ?? source.byteCount
    }
}

extension Int64 {
    /// Divided and rounded up.
    fileprivate func divided(by other: Int64) -> Int64 { self / other + (self % other > 0 ? 1 : 0) }
}
