import LFSSystem
import Synchronization

/// A walk from which batches are taken, one after the other.
///
/// Owner of the walk: who takes a batch; the mutex has it in between, and nothing waits in it. So there is one copy of
/// it, however many names it has before it.
final class BatchedWalk<Walk: IteratorProtocol<AssetItem> & Sendable>: Sendable {
    private let walk: Mutex<Walk?>

    init(_ walk: Walk) { self.walk = Mutex(walk) }

    /// The next batch; an empty one, the last, while another one is taken.
    func next(_ selection: BackupSelection?) -> AssetBatch {
        var taken = walk.withLock { $0.take() }
        let batch = AssetBatch(&taken, selection)
        walk.withLock { $0 = taken }
        return batch
    }
}

/// The originals that are looked up together, and what was met beside them.
struct AssetBatch: Sendable {
    private static let count = 1_024
    /// How many are attached in one transaction, and how many bytes are read for it.
    private static let portion = (count: 256, byteCount: Int64(64 * 1_024 * 1_024))
    /// All originals of a portion are open at once.
    private static var largestPortion: Int { min(portion.count, OpenFileLimit.quarter) }
    /// So that what is met is told, also where little of it is to be backed up.
    private static let otherCount = 4_096

    private(set) var assets: [Asset] = []
    private(set) var others: [AssetItem] = []
    /// Whether the walk has nothing more.
    private(set) var isLast = false

    var entries: [BackupEntry] {
        others.compactMap { if case .entry(let entry) = $0 { entry } else { nil } }
    }

    /// Takes the next ones of a walk.
    ///
    /// - Parameter selection: which of them; nil for all.
    init(_ walk: inout (some IteratorProtocol<AssetItem>)?, _ selection: BackupSelection?) {
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
            // One can be met twice, by itself and in its folder.
            guard ids.insert(asset.id).inserted else { continue }
            assets.append(asset)
        }
    }

    /// What is attached in one transaction each.
    static func portions(_ assets: [Asset], atMost largest: Int = largestPortion) -> [[Asset]] {
        var (portions, next, byteCount): ([[Asset]], [Asset], Int64) = ([], [], 0)
        for asset in assets {
            next.append(asset)
            // The sizes that a source tells may be anything.
            let sum = byteCount.addingReportingOverflow(max(asset.stamp.byteCount ?? 0, 0))
            byteCount = sum.overflow ? .max : sum.partialValue
            if next.count == largest || byteCount >= portion.byteCount {
                portions.append(next)
                (next, byteCount) = ([], 0)
            }
        }
        return next.isEmpty ? portions : portions + [next]
    }
}
