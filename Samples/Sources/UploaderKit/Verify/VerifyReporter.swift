import Foundation
import LFS
import Synchronization

/// What a verification tells while it goes on and at its end.
final class VerifyReporter: Sendable {
    private struct State {
        var progress: VerifyProgress?
        var hasLine = false
        /// Files of which no right bytes are left, so that a failed upload of them is not counted twice.
        var told: Set<FileData.ID> = []
    }

    private let style: OutputStyle
    private let state = Mutex(State())
    private let start = ContinuousClock.now

    init(_ options: OutputOptions) { style = OutputStyle(options) }

    // MARK: Findings

    func tell(_ finding: VerifyFinding, _ path: FilePath?) {
        if finding.isLeft || finding.isKnown { state.withLock { $0.told.formUnion(finding.fileID.map { [$0] } ?? []) } }
        if style.isJSON {
            return line { Console.result(try FindingEvent(finding, path).jsonLine()) }
        }
        let words = Self.words(finding)
        let file = "\(finding.fileID.map { " \($0)" } ?? "")\(path.map { " \($0)" } ?? "")"
        line { Console.result("\(finding.kind)\(file): \(finding.message) \(words)") }
    }

    /// What came of a finding, or what can be done about it.
    private static func words(_ finding: VerifyFinding) -> String {
        switch finding.outcome {
        case .repaired: return "Repaired."
        case .underWay where finding.repair == .upload || finding.repair == .fetch: return "Being uploaded."
        case .underWay: return "Being deleted."
        case .noted: return "Noted as lost: restore it from a backup, or remove it."
        case .failed(let reason): return "The repair failed: \(reason)"
        case .found where finding.isKnown: return "Known."
        case .found where isUnknown(finding) && finding.repair == nil:
            return "--repair leaves it; with --remove-unknown it deletes it for good."
        case .found: return advice(finding.repair)
        }
    }

    /// Whether no record knows it.
    private static func isUnknown(_ finding: VerifyFinding) -> Bool {
        [.orphanedLocally, .orphanedRemotely].contains(finding.kind)
            || finding.kind == .quarantined && finding.recorded == nil
    }

    private static func advice(_ repair: VerifyFinding.Repair?) -> String {
        switch repair {
        case .upload: "--repair uploads it."
        case .fetch: "--repair fetches it."
        case .quarantine: "--repair moves the damaged bytes aside."
        case .remove: "--repair deletes it."
        case .retry: "--repair tries it again."
        case .clear: "--repair removes the note."
        case nil: "It cannot be repaired."
        }
    }

    // MARK: The end

    /// Says the numbers. Returns whether nothing is left.
    func summary(
        _ report: VerifyReport, _ uploads: UploadSummary?, deletions: Int, paths: [FileData.ID: FilePath]
    ) -> Bool {
        endProgress()
        let told = state.withLock { $0.told }
        let failures = (uploads?.failures ?? []).filter { !told.contains($0.fileID) }
        for failure in failures {
            message("failed \(paths[failure.fileID]?.description ?? "\(failure.fileID)"): \(failure.reason)")
        }
        let summary = VerifySummary(report, failedUploads: failures.count, pendingDeletions: deletions, since: start)
        if style.isJSON {
            line { Console.result(try summary.jsonLine()) }
        } else if !style.isQuiet {
            Console.result(summary.words)
        }
        return summary.left == 0
    }

    func error(_ error: any Error) {
        // The library names what a programmer can set.
        let reason = Words.of(error).replacing("VerifyOptions.acceptsEmpty", with: "--accept-empty")
        message(reason)
        guard style.isJSON else { return }
        var event = JSONEvent("error")
        event.reason = reason
        if let error = error as? LFSError { event.code = error.code.rawValue }
        let told = event
        line { Console.result(try told.jsonLine()) }
    }

    func message(_ text: String) { line { Console.message("uploader: \(text)") } }

    // MARK: Progress

    func advance(_ progress: VerifyProgress) { state.withLock { $0.progress = progress } }

    /// Shows progress until the task is cancelled.
    func showProgress() async {
        guard style.progress != .none else { return }
        let interval = style.redraws ? Duration.milliseconds(200) : .seconds(style.interval)
        while true {
            do { try await Task.sleep(for: interval) } catch { return }
            showProgressNow()
        }
    }

    func showProgressNow() {
        guard let progress = state.withLock({ $0.progress }) else { return }
        let report = progress.report
        var parts = [
            "verifying \(progress.stage)", "\(Format.count(report.files))/\(Format.count(progress.totalFiles)) files",
            "\(Format.count(report.objects)) objects",
        ]
        if report.bytesRead > 0 { parts.append("\(Format.bytes(report.bytesRead)) read") }
        let findings = report.findings.values.reduce(0, +)
        if findings > 0 { parts.append(Format.count(findings, "finding")) }
        state.withLock { $0.hasLine = style.redraws }
        let text = parts.joined(separator: "  ")
        guard style.redraws else { return Console.message(text) }
        Console.redraw(String(text.prefix(max(Console.columns - 1, 1))))
    }

    func endProgress() {
        let hasLine = state.withLock { state in
            defer { state.hasLine = false }
            return state.hasLine
        }
        if hasLine { Console.eraseLine() }
    }

    /// Writes a line so that it does not mix with the one that is redrawn.
    private func line(_ write: () throws -> Void) {
        endProgress()
        do { try write() } catch { Console.message("uploader: \(Words.of(error))") }
    }
}
