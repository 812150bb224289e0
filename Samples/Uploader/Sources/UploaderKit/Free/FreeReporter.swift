import ArgumentParser
import GRDB
import LFS

/// A reporter for the results of 'free'.
struct FreeReporter: Sendable {
    let json: Bool
    let isQuiet: Bool
    let isPreview: Bool

    /// The last line of `--json`.
    private struct Summary: Encodable {
        var event = "summary"
        var freed = 0
        var bytes: Int64 = 0
        var failed = 0
        /// The number of named files without a local copy.
        var notHere: Int?
        /// The copies that stay, by the first reason that applies to each.
        var stays: [String: EvictionReport.Amount]?
        var shortfall: Int64?
        var dryRun: Bool
    }

    func evicted(_ copy: EvictedCopy, path: FilePath?) throws {
        let (event, words) = isPreview ? ("wouldFree", "would free") : ("freed", "freed")
        try show(event, id: copy.id, path: path, words: words, byteCount: copy.byteCount)
    }

    /// - Parameter hasAim: true if a limit on copies or on free space was given.
    func end(_ report: EvictionReport, hasAim: Bool) throws {
        if json {
            let stays = Dictionary(uniqueKeysWithValues: report.stays.map { ($0.rawValue, $1) })
            let summary = Summary(
                freed: report.evicted.files, bytes: report.evicted.byteCount, stays: stays,
                shortfall: hasAim ? report.shortfall : nil, dryRun: isPreview)
            return Console.result(try summary.jsonLine())
        }
        let verb = isPreview ? "would be freed" : "freed"
        var parts = [
            "\(Format.count(report.evicted.files, noun: "file")), \(Format.bytes(report.evicted.byteCount)) \(verb)"
        ]
        for reason in StayReason.allCases {
            guard let amount = report.stays[reason] else { continue }
            parts.append("\(Format.count(amount.files)) \(Self.words(reason)) (\(Format.bytes(amount.byteCount)))")
        }
        if !isQuiet { Console.result(parts.joined(separator: ", ")) }
        if hasAim, report.shortfall > 0 {
            let shortfall = Format.bytes(report.shortfall)
            Console.message("uploader: The limit is missed by \(shortfall): no other local copy may be freed.")
        }
    }

    /// Frees the named files. Each file that stays is reported with its reason.
    ///
    /// - Parameter path: the path of the database.
    func free(
        _ files: [NamedFile], refusals: [FileNaming.Refusal], lfs: LFSManager, database: any DatabaseReader,
        at path: String
    ) async throws {
        var summary = Summary(failed: refusals.count, notHere: 0, dryRun: false)
        // Without access to the store, no copy can be freed.
        let copies = try FileList.idsHere(database: path) ?? []
        for refusal in refusals { tell(refusal, json: json) }
        // Two documents with the same file share one copy.
        var seen: Set<String> = []
        for file in files where seen.insert(file.fileID).inserted {
            do {
                let id = try FileID.named(file.fileID)
                let (row, isInPlace) = try await database.read { db in
                    (try FileData.fetchOne(db, key: id), try !DocumentTable.filesInPlace([id], db).isEmpty)
                }
                // LFS keeps an intact original. Only a copy of it can be freed.
                let isHere =
                    if isInPlace { copies.contains(id.uuidString) } else { try await lfs.hasLocalCopy(of: id) }
                guard isHere else {
                    // If the file was not uploaded, its bytes must be local. This call then throws an error.
                    if let row, row.status == .local { _ = try await lfs.contents(of: row) }
                    summary.notHere? += 1
                    try show("notHere", id: id, path: file.path, words: "no local copy")
                    continue
                }
                try await lfs.evict(id)
                summary.freed += 1
                summary.bytes = summary.bytes.addingSaturated(row?.byteCount ?? 0)
                try show("freed", id: id, path: file.path, words: "freed", byteCount: row?.byteCount)
            } catch let error as LFSError {
                summary.failed += 1
                let words =
                    error.code == .pinned
                    ? "\(file.path) is pinned. Run 'uploader unpin' first." : "\(file.path): \(error.message)"
                Console.message("uploader: \(words)")
            }
        }
        if json { Console.result(try summary.jsonLine()) }
        if summary.failed > 0 { throw ExitCode(3) }
    }

    private func show(
        _ name: String, id: FileID, path: FilePath?, words: String, byteCount: Int64? = nil
    ) throws {
        if json {
            var event = JSONEvent(name)
            event.id = id
            event.path = path?.exact
            event.bytes = byteCount
            return Console.result(try event.jsonLine())
        }
        if isQuiet { return }
        let file = "\(id)\(path.map { " \($0)" } ?? "")"
        Console.result("\(words) \(file)\(byteCount.map { "  \(Format.bytes($0))" } ?? "")")
    }

    private static func words(_ reason: StayReason) -> String {
        switch reason {
        case .notUploaded: "not uploaded"
        case .orphaned: "without a record"
        case .pinned: "pinned"
        case .named, .contentType: "kept by a rule"
        case .recentlyUsed: "used or made recently"
        case .inUse: "in use"
        case .fits: "may stay"
        case .unproven: "not confirmed by the storage"
        }
    }
}
