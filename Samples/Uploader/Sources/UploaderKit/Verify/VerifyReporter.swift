import Foundation
import LFS
import Synchronization

/// The output of a verification, during the run and at its end.
final class VerifyReporter: Sendable {
    private struct State {
        var progress: VerifyProgress?
        /// The progress while objects are read back.
        var reading: ObjectReader.Progress?
        var hasLine = false
        /// Files without any right bytes left, so that their failed uploads are not counted again.
        var told: Set<FileData.ID> = []
    }

    private let style: OutputStyle
    var log: LogFile? { style.log }
    private let state = Mutex(State())
    private let start = ContinuousClock.now
    private let asksStorage: Bool

    /// - Parameter asksStorage: true if the verification examines the storage.
    /// - Throws: ``UploaderError`` if the log cannot be opened.
    init(_ options: OutputOptions, asksStorage: Bool) throws {
        style = try OutputStyle(options)
        self.asksStorage = asksStorage
    }

    // MARK: Findings

    /// - Parameter hasOriginal: true if it was pushed from a file of this path.
    func tell(_ finding: VerifyFinding, path: FilePath?, hasOriginal: Bool) {
        let isBack = finding.outcome == .underWay || finding.outcome == .repaired
        if finding.isLeft || finding.isKnown && !isBack {
            state.withLock { $0.told.formUnion(finding.fileID.map { [$0] } ?? []) }
        }
        let words = FindingWords(finding, hasOriginal: hasOriginal, asksStorage: asksStorage).text
        let file = "\(finding.fileID.map { " \($0)" } ?? "")\(path.map { " \($0)" } ?? "")"
        result("\(finding.kind)\(file): \(finding.message) \(words)", event: FindingEvent(finding, path: path))
    }

    /// Reports an object that the storage did not deliver.
    func unread(_ reading: ObjectReading, path: FilePath?) {
        let reason = reading.reason ?? "for an unknown reason"
        var event = JSONEvent("unread")
        event.id = reading.fileID
        event.path = path?.exact
        event.reason = reason
        let file = "\(reading.fileID)\(path.map { " \($0)" } ?? "")"
        result("unread \(file): the storage did not deliver it: \(reason)", event: event)
    }

    // MARK: Summary

    /// Prints the summary. Returns true if no problem is left.
    ///
    /// - Parameter mayHaveOriginals: true if the originals of lost files were not examined yet.
    func summary(
        _ report: VerifyReport, read: ObjectReader.Progress?, uploads: UploadSummary?, deletions: Int,
        waitingDeletions: Int, paths: [FileData.ID: FilePath], mayHaveOriginals: Bool
    ) -> Bool {
        endProgress()
        let told = state.withLock { $0.told }
        let failures = (uploads?.failures ?? []).filter { !told.contains($0.fileID) }
        for failure in failures {
            message("failed \(paths[failure.fileID]?.description ?? "\(failure.fileID)"): \(failure.reason)")
        }
        let summary = VerifySummary(
            report, read: read, failedUploads: failures.count, pendingDeletions: deletions,
            waitingDeletions: waitingDeletions, since: start)
        let words = summary.words(mayHaveOriginals: mayHaveOriginals)
        if style.isJSON || !style.isQuiet { result(words, event: summary) } else { style.log?.write(words) }
        return summary.left == 0
    }

    func gaveUp(_ reason: String) {
        message(reason)
        guard style.isJSON else { return }
        var event = JSONEvent("gaveUp")
        event.reason = reason
        let told = event
        line { Console.result(try told.jsonLine()) }
    }

    func error(_ error: any Error) {
        // The library's message names an option for programmers.
        let reason = ErrorMessages.of(error).replacing("VerifyOptions.acceptsEmpty", with: "--accept-empty")
        message(reason)
        guard style.isJSON else { return }
        var event = JSONEvent("error")
        event.reason = reason
        if let error = error as? LFSError { event.code = error.code.rawValue }
        let told = event
        line { Console.result(try told.jsonLine()) }
    }

    func message(_ text: String) {
        style.log?.write(text)
        line { Console.message("uploader: \(text)") }
    }

    /// Prints a line on standard output, as text or as JSON.
    private func result(_ words: String, event: some Encodable) {
        style.log?.write(words)
        line { Console.result(style.isJSON ? try event.jsonLine() : words) }
    }

    // MARK: Progress

    func advance(_ progress: VerifyProgress) { state.withLock { $0.progress = progress } }

    /// Sets the progress while objects are read back. Nil after the end.
    func reading(_ progress: ObjectReader.Progress?) { state.withLock { $0.reading = progress } }

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
        let (progress, reading) = state.withLock { ($0.progress, $0.reading) }
        if let reading { return show(Self.words(reading)) }
        guard let progress else { return }
        let report = progress.report
        var parts = [
            "verifying \(progress.stage)", "\(Format.count(report.files))/\(Format.count(progress.totalFiles)) files",
            "\(Format.count(report.objects)) objects",
        ]
        if report.bytesRead > 0 { parts.append("\(Format.bytes(report.bytesRead)) read") }
        let findings = report.findings.values.reduce(0, +)
        if findings > 0 { parts.append(Format.count(findings, noun: "finding")) }
        show(parts)
    }

    private static func words(_ reading: ObjectReader.Progress) -> [String] {
        let bytes = Format.bytes(reading.bytes, of: max(reading.totalBytes, reading.bytes))
        let unread = reading.unread > 0 ? ["\(Format.count(reading.unread)) could not be read"] : []
        return ["reading objects", Format.count(reading.objects, noun: "object"), bytes] + unread
    }

    private func show(_ parts: [String]) {
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

    /// Writes a line without mixing it with the redrawn progress line.
    private func line(_ write: () throws -> Void) {
        endProgress()
        do { try write() } catch { Console.message("uploader: \(ErrorMessages.of(error))") }
    }
}
