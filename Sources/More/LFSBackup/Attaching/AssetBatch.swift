import LFSSystem
import Synchronization

/// A walk that is consumed in consecutive batches.
///
/// The task that takes a batch owns the walk. The mutex owns it in between and is never held across blocking work. This
/// way there is only one copy of the walk, even if many names are queued in it.
final class BatchedWalk<Walk: IteratorProtocol<AssetItem> & Sendable>: Sendable {
    private let walk: Mutex<Walk?>

    init(_ walk: Walk) { self.walk = Mutex(walk) }

    /// Returns the next batch. If another batch is being taken, returns an empty batch that is marked as the last.
    func next(_ selection: BackupSelection?) -> AssetBatch {
        var taken = walk.withLock { $0.take() }
        let batch = AssetBatch(&taken, selection: selection)
        walk.withLock { $0 = taken }
        return batch
    }
}

/// The originals that are looked up together, and the other items that the walk returned among them.
struct AssetBatch: Sendable {
    private static let count = 1_024
    /// The maximum number of originals that are attached in one transaction, and of bytes that are read for it.
    private static let portion = (count: 256, byteCount: Int64(64 * 1_024 * 1_024))
    /// The size in a portion of an original of unknown size. It is about that of a photo.
    private static let unknownByteCount: Int64 = 4 * 1_024 * 1_024
    /// The maximum number of originals in a portion. All of them are open at the same time.
    private static var largestPortion: Int { min(portion.count, OpenFileLimit.share) }
    /// The maximum number of other items, so that they are reported even if few originals are selected.
    private static let otherCount = 4_096

    private(set) var assets: [Asset] = []
    private(set) var others: [AssetItem] = []
    /// True if the walk has no more items.
    private(set) var isLast = false

    var entries: [BackupEntry] {
        others.compactMap { if case .entry(let entry) = $0 { entry } else { nil } }
    }

    /// Takes the next items of a walk.
    ///
    /// - Parameter selection: the originals to include. Nil includes all.
    init(_ walk: inout (some IteratorProtocol<AssetItem>)?, selection: BackupSelection?) {
        var ids: Set<AssetName> = []
        while assets.count < Self.count, others.count < Self.otherCount {
            guard let item = walk?.next() else {
                isLast = true
                return
            }
            guard case .asset(let asset) = item else {
                others.append(item)
                continue
            }
            if let selection, !selection.includes(asset.groups) { continue }
            // A file can be found twice: as a selected file, and in its folder.
            guard ids.insert(asset.id).inserted else { continue }
            assets.append(asset)
        }
    }

    /// Returns the originals in portions of one transaction each.
    static func portions(_ assets: [Asset], atMost largest: Int = largestPortion) -> [[Asset]] {
        var (portions, next, byteCount): ([[Asset]], [Asset], Int64) = ([], [], 0)
        for asset in assets {
            next.append(asset)
            // A source can return any size.
            let sum = byteCount.addingReportingOverflow(max(asset.stamp.byteCount ?? unknownByteCount, 0))
            byteCount = sum.overflow ? .max : sum.partialValue
            if next.count == largest || byteCount >= portion.byteCount {
                portions.append(next)
                next = []
                byteCount = 0
            }
        }
        return next.isEmpty ? portions : portions + [next]
    }
}
