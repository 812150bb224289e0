import Foundation
import Glibc
import LFSBackup

/// The pictures of folders, recognized by their first bytes. Files outside of the roots are skipped.
struct PictureSource: AssetSource {
    private let folders: FolderSource
    private let roots: ResolvedRoots

    /// - Parameter groups: Folders with their real paths.
    init(_ groups: [BackupGroup], in roots: ResolvedRoots) {
        self.roots = roots
        folders = FolderSource(groups, excluding: roots.own)
    }

    struct Walk: IteratorProtocol, Sendable {
        fileprivate var walk: FolderWalk
        fileprivate let roots: ResolvedRoots

        mutating func next() -> AssetItem? {
            guard let item = walk.next() else { return nil }
            guard case .asset(let asset) = item else { return item }
            guard let path = asset.id.text else { return .unreadable(asset.id, "its name is not text") }
            guard roots.leads(path) else { return .passedOver(asset.id, PictureSource.outside) }
            guard let type = PictureSource.type(path) else { return .passedOver(asset.id, "it is not a picture") }
            return .asset(
                LFSBackup.Asset(
                    id: asset.id, title: asset.title, contentType: type.contentType, stamp: asset.stamp,
                    groups: asset.groups))
        }
    }

    func makeWalk() throws -> Walk { Walk(walk: try folders.makeWalk(), roots: roots) }

    func open(_ asset: LFSBackup.Asset) throws -> OpenedAsset {
        let opened = try folders.open(asset)
        // A folder of the path may have become a link since the walk.
        guard let path = asset.id.text, roots.leads(path) else {
            throw BackupError(.unreadable, message: Self.outside, asset: asset.id)
        }
        return opened
    }

    private static let outside = "it is outside of the folders of --backup-root, or belongs to the journal"

    /// Returns nil for a file that is not a picture or cannot be read. Opening an unreadable file reports its error.
    private static func type(_ path: String) -> PictureType? {
        let number = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard number >= 0 else { return nil }
        defer { close(number) }
        var bytes = [UInt8](repeating: 0, count: PictureType.headByteCount)
        let count = read(number, &bytes, bytes.count)
        return count > 0 ? PictureType(head: Data(bytes[..<count])) : nil
    }
}
