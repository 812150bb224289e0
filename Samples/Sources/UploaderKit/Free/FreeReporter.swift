import ArgumentParser
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
        /// By the first reason that holds for a copy.
        var stays: [String: EvictionReport.Amount]?
        var shortfall: Int64?
        var dryRun: Bool
    }

    func evicted(_ copy: EvictedCopy, _ path: FilePath?) throws {
        if json {
            var event = JSONEvent(isPreview ? "wouldFree" : "freed")
            (event.id, event.path, event.bytes) = (copy.id, path?.exact, copy.byteCount)
            return Console.result(try event.jsonLine())
        }
        if isQuiet { return }
        let file = "\(copy.id)\(path.map { " \($0)" } ?? "")"
        Console.result("\(isPreview ? "would free" : "freed") \(file)  \(Format.bytes(copy.byteCount))")
    }

    /// - Parameter hasAim: whether so much should have gone, or was to be kept free.
    func end(_ report: EvictionReport, hasAim: Bool) throws {
        if json {
            let stays = Dictionary(uniqueKeysWithValues: report.stays.map { ($0.rawValue, $1) })
            let summary = Summary(
                freed: report.evicted.files, bytes: report.evicted.byteCount, stays: stays, shortfall: report.shortfall,
                dryRun: isPreview)
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
    func free(_ files: [NamedFile], _ refusals: [FileNaming.Refusal], _ lfs: LFSManager) async throws {
        var summary = Summary(failed: refusals.count, dryRun: false)
        for refusal in refusals { tell(refusal, json: json) }
        // Of two documents with one file the copy is one.
        var seen: Set<String> = []
        for file in files where seen.insert(file.fileID).inserted {
            do {
                let id = try FileID.named(file.fileID)
                try await lfs.evict(id)
                summary.freed += 1
                var event = JSONEvent("freed")
                (event.id, event.path) = (id, file.path.exact)
                if json || !isQuiet { Console.result(json ? try event.jsonLine() : "freed \(id) \(file.path)") }
            } catch let error as LFSError {
                summary.failed += 1
                Console.message("uploader: \(file.path): \(error.message)")
            }
        }
        if json { Console.result(try summary.jsonLine()) }
        if summary.failed > 0 { throw ExitCode(3) }
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
