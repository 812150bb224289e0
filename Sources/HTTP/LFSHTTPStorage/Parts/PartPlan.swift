package import LFSStorage

/// The division of a file into parts. All parts except the last have the same size, which is fixed for the whole
/// upload.
package struct PartPlan: Hashable, Sendable {
    package struct Part: Hashable, Sendable {
        /// The number of the part, starting at 1.
        package let number: Int
        package let range: Range<Int64>

        package init(number: Int, range: Range<Int64>) {
            self.number = number
            self.range = range
        }
    }

    package let byteCount: Int64
    package let partSize: Int64

    private static let mebibyte: Int64 = 1 << 20
    private static let smallest = 16 * mebibyte
    /// Above this size, a lost part costs more than the additional requests of smaller parts.
    private static let preferredLargest = 512 * mebibyte
    private static let preferredCount: Int64 = 1_000

    /// - Parameter wanted: the size of a part in bytes. It is increased if there would be too many parts. nil derives
    ///   the size from the file's size.
    /// - Throws: ``StorageError/Code/tooLarge`` when no part size fits.
    package init(byteCount: Int64, partSize wanted: Int64?, _ limits: PartLimits) throws(StorageError) {
        let maximumCount = Int64(max(limits.maximumCount, 1))
        let preferred = min(max(byteCount.divided(by: Self.preferredCount), Self.smallest), Self.preferredLargest)
        let needed = byteCount.divided(by: maximumCount)
        var size = min(max(wanted ?? preferred, needed, limits.minimumSize), limits.maximumSize + 1)
        size = size.divided(by: Self.mebibyte) * Self.mebibyte
        guard size <= limits.maximumSize else {
            throw StorageError(
                .tooLarge,
                message:
                    "\(byteCount) bytes do not fit into \(maximumCount) parts of \(Self.text(limits.maximumSize)): "
                    + "the storage cannot store the file.")
        }
        self.byteCount = byteCount
        partSize = size
    }

    /// Restores the plan of an upload that has started. Returns nil for numbers that cannot form a plan.
    package init?(byteCount: Int64, partSize: Int64, maximumCount: Int) {
        guard byteCount >= 0, partSize > 0, byteCount.divided(by: partSize) <= maximumCount else { return nil }
        self.byteCount = byteCount
        self.partSize = partSize
    }

    package var count: Int { Int(max(byteCount.divided(by: partSize), 1)) }

    package func part(_ number: Int) -> Part {
        let start = Int64(number - 1) * partSize
        return Part(number: number, range: start..<(byteCount - start > partSize ? start + partSize : byteCount))
    }

    private static func text(_ byteCount: Int64) -> String {
        byteCount % (1 << 30) == 0 ? "\(byteCount >> 30) GiB" : "\(byteCount / mebibyte) MiB"
    }
}

extension Int64 {
    /// Divides and rounds up.
    fileprivate func divided(by other: Int64) -> Int64 { self / other + (self % other > 0 ? 1 : 0) }
}
