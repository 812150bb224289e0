import ArgumentParser
import GRDB
import LFS

/// Tells what 'free' frees and what stays.
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
        /// Files that were named and have no copy here.
        var notHere: Int?
        /// By the first reason that holds for a copy.
        var stays: [String: EvictionReport.Amount]?
        var shortfall: Int64?
        var dryRun: Bool
    }

    func evicted(_ copy: EvictedCopy, _ path: FilePath?) throws {
        let (event, words) = isPreview ? ("wouldFree", "would free") : ("freed", "freed")
        try show(event, copy.id, path, words, copy.byteCount)
    }

    /// - Parameter hasAim: whether so much should have gone, or was to be kept free.
    func end(_ report: EvictionReport, hasAim: Bool) throws {
        if json {
            let stays = Dictionary(uniqueKeysWithValues: report.stays.map { ($0.rawValue, $1) })
            let summary = Summary(
                freed: report.evicted.files, bytes: report.evicted.byteCount, stays: stays,
                shortfall: hasAim ? report.shortfall : nil, dryRun: isPreview)
            return Console.result(try summary.jsonLine())
        }
        let verb = isPreview ? "would be freed" : "freed"
        var parts = ["\(Format.count(report.evicted.files, "file")), \(Format.bytes(report.evicted.byteCount)) \(verb)"]
        for reason in StayReason.all {
            guard let amount = report.stays[reason] else { continue }
            parts.append("\(Format.count(amount.files)) \(Self.words(reason)) (\(Format.bytes(amount.byteCount)))")
        }
        if !isQuiet { Console.result(parts.joined(separator: ", ")) }
        if hasAim, report.shortfall > 0 {
            Console.message("uploader: \(Format.bytes(report.shortfall)) more should go, and nothing else may.")
        }
    }

    /// Frees files that were named. Each that stays is told with its reason.
    func free(
        _ files: [NamedFile], _ refusals: [FileNaming.Refusal], _ lfs: LFSManager, _ database: any DatabaseReader
    ) async throws {
        var summary = Summary(failed: refusals.count, notHere: 0, dryRun: false)
        for refusal in refusals { tell(refusal, json: json) }
        // Of two documents with one file the copy is one.
        var seen: Set<String> = []
        for file in files where seen.insert(file.fileID).inserted {
            do {
                let id = try FileID.named(file.fileID)
                let row = try await database.read { db in try FileData.fetchOne(db, key: id) }
                guard try await lfs.hasLocalCopy(of: id) else {
                    // Nothing is on the storage either: where its bytes ought to be here, that is an error.
                    if let row, row.status == .local { _ = try await lfs.contents(of: row) }
                    summary.notHere? += 1
                    try show("notHere", id, file.path, "not here")
                    continue
                }
                try await lfs.evict(id)
                summary.freed += 1
                summary.bytes = summary.bytes.addingSaturated(row?.byteCount ?? 0)
                try show("freed", id, file.path, "freed", row?.byteCount)
            } catch let error as LFSError {
                summary.failed += 1
                Console.message("uploader: \(file.path): \(error.message)")
            }
        }
        if json { Console.result(try summary.jsonLine()) }
        if summary.failed > 0 { throw ExitCode(3) }
    }

    private func show(
        _ name: String, _ id: FileID, _ path: FilePath?, _ words: String, _ byteCount: Int64? = nil
    ) throws {
        if json {
            var event = JSONEvent(name)
            (event.id, event.path, event.bytes) = (id, path?.exact, byteCount)
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
        case .recentlyUsed: "used or made lately"
        case .inUse: "in use"
        case .fits: "may stay"
        default: "kept (\(reason))"
        }
    }
}
