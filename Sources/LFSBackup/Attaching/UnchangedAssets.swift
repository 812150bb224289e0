import GRDB
import LFS
import LFSDatabase

/// Originals that look as they did when they were read, and of whose files there is nothing to be said: nearly all,
/// most of the time. Their rows are looked up and not read, so that a walk costs little more than the names it meets.
struct UnchangedAssets: Sendable {
    private let names: Set<AssetName>

    /// - Parameter lost: files whose bytes are lost, whatever the database says of them.
    init(among assets: [Asset], _ host: BackupHost, lost: Set<FileData.ID>, _ db: Database) throws {
        let settled = try SourceTable.settled(assets.map(\.id.source), db)
        let known = assets.filter { asset in
            guard let settled = settled[asset.id.source] else { return false }
            return settled.stamp == asset.stamp.text && !lost.contains(settled.fileID)
        }
        guard let files = try host.files(of: known, db) else {
            names = Set(known.map(\.id))
            return
        }
        names = Set(known.lazy.map(\.id).filter { files[$0] == settled[$0.source]?.fileID })
    }

    func contains(_ asset: Asset) -> Bool { names.contains(asset.id) }
}
