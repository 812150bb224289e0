import ArgumentParser
import Foundation
import GRDB
import LFS
import LFSBackup

/// A preview of a push, which shows the files that it would attach. It changes no rows or bytes and does not access the
/// storage.
struct DryRun {
    let database: DatabaseFile
    let transfer: TransferOptions
    let storage: StorageArgument
    let report: Report
    let output: OutputOptions
    let excluded: [String]
    let moves: Bool
    /// The time for which old versions would be kept. Nil for the current setting.
    let keepVersions: KeepVersions?

    func run(_ pushed: PushedPaths, filter: PathFilter) throws {
        try database.requireOurs()
        try StorageMemory.require(
            storage.location(), file: database, changes: transfer.changeStorage, makes: true,
            isGiven: transfer.to != nil)
        let connection = try database.isOurs ? DocumentDatabase.openForReading(database.path) : nil
        let known = try connection.map { try knownStamps($0.database, table: $0.table) } ?? [:]
        let missing = filter.missing(in: pushed.all)
        try filter.requireAny(without: missing)
        for path in missing { report.failed(FilePath(path), reason: PushCommand.isMissing) }
        let source = FolderSource(pushed.groups, at: pushed.names, excluding: excluded, where: filter)
        var walk = try source.makeWalk()
        var seen: Set<AssetName> = []
        var (count, bytes, unreadable): (Int, Int64, Int) = (0, 0, 0)
        while let item = walk.next() {
            switch item {
            case .asset(let asset) where !seen.insert(asset.id).inserted: break
            case .asset(let asset) where !(known[FilePath(asset.id)].map(asset.stamp.hasContent(of:)) ?? false):
                count += 1
                let (path, size) = (FilePath(asset.id), asset.stamp.byteCount ?? 0)
                bytes = bytes.addingSaturated(size)
                var event = JSONEvent("wouldAttach")
                event.path = path.exact
                event.bytes = size
                report.tell(event, verbose: nil)
                if !output.json { Console.result("\(path)  \(Format.bytes(size))") }
            case .unreadable(let path, let reason):
                unreadable += 1
                report.message("cannot read \(FilePath(path)): \(reason)")
            case .passedOver(let name, _) where SpecialFile.isOne(FilePath(name), isNamed: source.roots.contains(name)):
                if source.roots.contains(name) {
                    unreadable += 1
                    report.failed(FilePath(name), reason: SpecialFile.reason)
                } else {
                    report.special(FilePath(name), reason: SpecialFile.reason)
                }
            default: break
            }
        }
        let rest = moves ? "; once the storage has them, these and those of earlier runs would be removed here" : ""
        let words = "\(Format.count(count, noun: "file")) to attach, \(Format.bytes(bytes))\(rest)"
        if !output.json { Console.result(words) }
        var expired = VersionTable.Removed()
        // On a changed storage, no version is removed before a verification.
        if let database = connection?.database, !transfer.changeStorage, try database.read(StorageMemory.doubt) == nil {
            expired = try tellVersions(database)
        }
        if output.json {
            report.tell(
                JSONPreview(
                    files: count, bytes: bytes, versions: expired.versions, failed: unreadable + missing.count),
                words: words)
        }
        if unreadable > 0 || !missing.isEmpty { throw ExitCode(3) }
    }

    /// Reports the number of existing old versions that the push would remove.
    private func tellVersions(_ database: any DatabaseReader) throws -> VersionTable.Removed {
        let expired = try database.read { db in try VersionKeeper.preview(keepVersions, now: Date(), db) }
        guard expired.versions > 0 else { return expired }
        var event = JSONEvent("wouldExpire")
        event.versions = expired.versions
        event.bytes = expired.bytes
        report.tell(event, verbose: nil)
        if !output.json {
            Console.result(
                "\(Format.count(expired.versions, noun: "old version")) to remove, \(Format.bytes(expired.bytes))")
        }
        return expired
    }

    /// Returns the stamps of this device's files. Files of another device may have the same paths.
    private func knownStamps(_ database: any DatabaseReader, table: DocumentTable) throws -> [FilePath: String] {
        var known: [FilePath: String] = [:]
        try database.read { db in
            let keys = try DocumentTable.ownKeys(db)
            try table.forEach(db) { result in
                guard case .success(let attached) = result, attached.file.key.hasPrefix(keys) else { return }
                known[attached.document.path] = attached.document.stamp
            }
        }
        return known
    }
}
