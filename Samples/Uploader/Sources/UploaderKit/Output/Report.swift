import Foundation
import LFS
import LFSStorage
import LFSSync
import Synchronization

/// The output of a run, during the run and at its end.
final class Report: Sendable {
    struct State {
        var tally = Tally()
        var meter = RateMeter()
        var readMeter = RateMeter()
        var hasLine = false
        var hasSynced = false
        /// The limits of the account that changes exceeded after the last sync.
        var exceeded: [SyncQuotaError] = []
        /// The reasons why attempted files are still pending, and the reason why the storage as a whole is unavailable.
        var reasons: [FileData.ID: UploadFailure] = [:]
        /// The sizes of files whose upload is not reported yet, up to ``Report/outstandingLimit``.
        var outstanding: [FileData.ID: Int64] = [:]
        var outage: String?
        /// The files in transfer.
        var underWay: [FileData.ID: ActiveTransfer] = [:]
        var pace = Pace.running
        var isWatching = false
        /// True if the last walk was interrupted.
        var isCut = false
        /// The local copies that were freed while files were attached.
        var freed: (files: Int, bytes: Int64) = (0, 0)
        /// True if the summary warns that the database has no copy.
        var namesLoneDatabase = false
        /// The number of deletions that were pending before the run. Nil if their result is not reported.
        var waitingDeletions: Int?
    }

    /// The progress so far, for tasks that wait for the run.
    let advance = ProgressMeter()
    let options: OutputStyle
    /// The state of the report. Only the extensions of this type use it.
    let state = Mutex(State())
    let start = ContinuousClock.now
    /// Wakes the progress display after a pause.
    let stirring = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    let purpose: Purpose

    /// - Throws: ``UploaderError`` if the log cannot be opened.
    init(_ options: OutputOptions, about purpose: Purpose = .uploading) throws {
        self.purpose = purpose
        self.options = try OutputStyle(options)
    }

    /// The files that the report writes to.
    var ownPaths: [String] { [options.log?.path].compactMap(\.self) }

    var tally: Tally { state.withLock { $0.tally } }
    func changeTally(_ body: (inout Tally) -> Void) { state.withLock { body(&$0.tally) } }

    /// Records that the result of a sync is reported.
    ///
    /// - Returns: true if an earlier one was reported.
    func noteSynced() -> Bool {
        state.withLock { state in
            defer { state.hasSynced = true }
            return state.hasSynced
        }
    }

    // MARK: Attaching

    func walkBegins() {
        changeTally { $0.isWalking = true }
        stirs()
    }

    /// - Parameter isWhole: true if the walk was complete.
    func walkEnded(isWhole: Bool = false) {
        let time = (ContinuousClock.now - start) / .seconds(1)
        state.withLock { state in
            guard state.tally.isWalking else { return }
            state.isCut = !isWhole
            state.tally.isWalking = false
            state.tally.expectedBytes = nil
            // So far the disk was busy with reading, so the rate does not predict the remaining time.
            state.meter = RateMeter()
            state.meter.add(state.tally.doneBytes, at: time)
        }
    }

    /// Counts a new or changed file that will be read.
    func found(_ bytes: Int64) { changeTally { $0.foundBytes = $0.foundBytes.addingSaturated(bytes) } }
    /// Records progress of local work, such as the read of a large file.
    func worked() { advance.note() }
    func read(_ bytes: Int64) {
        if bytes > 0 { worked() }
        changeTally { $0.readBytes = $0.readBytes.addingSaturated(bytes) }
    }

    /// Adds the files that were pending before this run.
    ///
    /// - Parameter first: the sizes of the first of them, up to ``outstandingLimit``.
    func pending(files: Int, bytes: Int64, first: [FileData.ID: Int64] = [:]) {
        state.withLock { state in
            state.tally.totalFiles += files
            state.tally.totalBytes = state.tally.totalBytes.addingSaturated(bytes)
            for (id, byteCount) in first { state.expect(id, byteCount: byteCount) }
        }
    }

    /// - Parameter isUploaded: false for a file that another document shares.
    func attached(_ file: FileData, path: FilePath, isUploaded: Bool) {
        guard !isUploaded else { return willUpload(file, path: path, name: "attached", count: \.attached) }
        worked()
        changeTally { tally in
            tally.attached += 1
            tally.shared += 1
        }
        tellAttached(file, path: path, name: "attached")
    }

    func unchanged(_ path: FilePath) {
        worked()
        changeTally { tally in
            tally.skipped += 1
            tally.unchanged += 1
        }
        // Usually almost all files are unchanged. The log of a nightly job would list every file.
        if options.isJSON || options.isVerbose { skipped(path, reason: "unchanged", isProblem: false) }
    }

    /// Reports a file whose lost or damaged bytes were restored from the original, and are uploaded again.
    func restored(_ file: FileData, path: FilePath) {
        willUpload(file, path: path, name: "restored", count: \.restored)
    }

    private func willUpload(
        _ file: FileData, path: FilePath, name: String, count: WritableKeyPath<Tally, Int>
    ) {
        state.withLock { state in
            state.tally[keyPath: count] += 1
            state.tally.totalFiles += 1
            state.tally.totalBytes = state.tally.totalBytes.addingSaturated(file.byteCount)
            state.expect(file.id, byteCount: file.byteCount)
        }
        tellAttached(file, path: path, name: name)
    }

    private func tellAttached(_ file: FileData, path: FilePath, name: String) {
        var event = JSONEvent(name)
        event.id = file.id
        event.path = path.exact
        event.bytes = file.byteCount
        tell(event, verbose: "\(name) \(file.id) \(path)")
    }

    func passedOver(_ path: FilePath, reason: String) {
        changeTally { $0.skipped += 1 }
        skipped(path, reason: reason, isProblem: false)
    }

    /// Reports a pipe, a socket or a device in a folder.
    func special(_ path: FilePath, reason: String) {
        passedOver(path, reason: reason)
        // With -v, the previous line contains this message.
        if !options.isVerbose, !options.isQuiet { message("skipped \(path): \(reason)") }
    }

    func unreadable(_ path: FilePath, reason: String) {
        changeTally { tally in
            tally.skipped += 1
            tally.unreadable += 1
        }
        skipped(path, reason: reason, isProblem: true)
    }

    private func skipped(_ path: FilePath, reason: String, isProblem: Bool) {
        guard isProblem || namesFiles else { return }
        var event = JSONEvent("skipped")
        event.path = path.exact
        event.reason = reason
        tell(event, verbose: isProblem ? nil : "skipped \(path): \(reason)")
        if isProblem { message("skipped \(path): \(reason)") }
    }

    func failed(_ path: FilePath, reason: String) {
        changeTally { $0.refused += 1 }
        var event = JSONEvent("failed")
        event.path = path.exact
        event.reason = reason
        tell(event, verbose: nil)
        message("failed \(path): \(reason)")
    }

    // MARK: Uploading

    /// True if the path of each completed file is reported.
    var namesFiles: Bool { options.isJSON || options.isVerbose || options.log != nil }

    /// The first thousand files that are pending after an attempt.
    var waiting: [FileData.ID] { state.withLock { Array($0.reasons.keys.sorted().prefix(1_000)) } }

    /// - Parameters:
    ///   - path: the path of the file that the event concerns. Nil if it is unknown.
    ///   - advice: what to do about a failed old version. Nil for any other file.
    func handle(_ event: LFSEvent, path: FilePath?, advice: String? = nil) {
        advance.handle(event)
        switch event {
        // Uploads that were pending before are not part of a run with another purpose.
        case .progress, .uploaded, .failed: guard purpose == .uploading else { return }
        default: break
        }
        switch event {
        case .queued, .cancelled, .removed: break
        // The result is reported once the file is written, or when it cannot be written.
        case .downloaded(let id, _), .downloadFailed(let id, _): state.withLock { $0.ends(id) }
        case .downloading(let id, let progress), .progress(let id, let progress):
            advanced(id, path: path, progress: progress)
        case .uploaded(let id, let url, let byteCount): uploaded(id, path: path, url: url, byteCount: byteCount)
        case .failed(let id, let failure, let nextAttempt):
            uploadFailed(id, path: path, failure: failure, nextAttempt: nextAttempt, advice: advice)
        case .outage(let outage):
            state.withLock { $0.outage = outage?.reason }
            message(
                outage.map { "\(ErrorMessages.sentence($0.reason)) Trying again…" } ?? "The storage is back.")
        case .databaseFailed(let error): message("\(ErrorMessages.sentence(error)) Trying again…")
        @unknown default: break
        }
    }

    private func advanced(_ id: FileData.ID, path: FilePath?, progress: TransferProgress) {
        noteUnderWay(id, path: path, progress: progress)
        var line = JSONEvent("progress")
        line.id = id
        line.bytes = progress.bytesTransferred
        line.totalBytes = progress.totalBytes
        tell(line, verbose: nil)
    }

    private func uploaded(_ id: FileData.ID, path: FilePath?, url: URL, byteCount: Int64) {
        state.withLock { state in
            state.ends(id)
            state.reasons[id] = nil
            state.outstanding[id] = nil
            state.tally.retrying.remove(id)
            state.tally.givenUp.remove(id)
            state.tally.uploaded += 1
            state.tally.bytes = state.tally.bytes.addingSaturated(byteCount)
            // Another process has attached it.
            guard state.tally.uploaded > state.tally.totalFiles else { return }
            state.tally.totalFiles = state.tally.uploaded
            state.tally.totalBytes = max(state.tally.totalBytes, state.tally.bytes)
        }
        var event = JSONEvent("uploaded")
        event.id = id
        event.path = path?.exact
        event.url = url.absoluteString
        event.bytes = byteCount
        tell(event, verbose: "uploaded \(id) \(path.map { "\($0) " } ?? "")to \(url.absoluteString)")
    }

    private func uploadFailed(
        _ id: FileData.ID, path: FilePath?, failure: UploadFailure, nextAttempt: Duration?, advice: String?
    ) {
        state.withLock { state in
            state.ends(id)
            state.reasons[id] = nextAttempt == nil ? nil : failure
            if nextAttempt == nil {
                state.tally.retrying.remove(id)
                state.tally.givenUp.insert(id)
            } else {
                state.tally.retrying.insert(id)
            }
        }
        var event = JSONEvent(nextAttempt == nil ? "failed" : "retrying")
        event.id = id
        event.path = path?.exact
        event.reason = failure.reason
        event.code = failure.code.rawValue
        event.nextAttempt = nextAttempt.map { $0 / .seconds(1) }
        event.isVersion = advice == nil ? nil : true
        let name = path?.description ?? id.uuidString
        tell(event, verbose: nextAttempt == nil ? nil : "retrying \(name): \(failure.reason)")
        guard nextAttempt == nil else { return }
        let reason = advice.map { "\(ErrorMessages.sentence(failure.reason)) \($0)" } ?? failure.reason
        message("failed \(name): \(reason)")
    }

    /// Adds results that the rows show after the wait but no event has reported. Another process may have done the
    /// uploads.
    ///
    /// - Parameter advice: what to do about failed old versions.
    func settle(_ summary: UploadSummary, paths: [FileData.ID: FilePath], advice: [FileData.ID: String]) {
        let told = state.withLock { $0.tally.givenUp }
        // A file that was given up may have been replaced or removed since.
        if summary.failed == summary.failures.count {
            let failed = Set(summary.failures.map(\.fileID))
            state.withLock { $0.tally.givenUp.formIntersection(failed) }
        }
        for failure in summary.failures where !told.contains(failure.fileID) {
            let id = failure.fileID
            uploadFailed(id, path: paths[id], failure: failure, nextAttempt: nil, advice: advice[id])
        }
        state.withLock { state in
            let through = state.tally.through
            guard purpose == .uploading, state.tally.uploaded < through else { return }
            state.tally.uploaded = through
            if state.tally.givenUp.isEmpty { state.tally.bytes = state.tally.totalBytes }
        }
    }

    /// Reports why a run ends before its work is complete: the reasons of the first thousand files, and the number of
    /// pending ones.
    ///
    /// - Parameter hold: the condition that was not met. Nil if all were met.
    func gaveUp(_ error: GaveUp, paths: [FileData.ID: FilePath], waiting: Int, hold: String?) {
        let (reasons, outage, isCut) = state.withLock { ($0.reasons, $0.outage, $0.isCut) }
        for (id, failure) in reasons.sorted(by: { $0.key < $1.key }).prefix(1_000) {
            var event = JSONEvent("failed")
            event.id = id
            event.path = paths[id]?.exact
            event.reason = failure.reason
            event.code = failure.code.rawValue
            tell(event, verbose: nil)
            message("not uploaded \(paths[id]?.description ?? id.uuidString): \(failure.reason)")
        }
        let isUploading = purpose == .uploading
        changeTally { tally in
            if isUploading { tally.notUploaded = waiting }
            if tally.notUploaded + tally.notPulled == 0 { tally.refused += 1 }
        }
        // Most reasons end with a full stop, and another one follows.
        let words =
            error.words + (hold.map { ", it \($0)" } ?? "")
            + (outage.map { ". \($0.hasSuffix(".") ? String($0.dropLast()) : $0)" } ?? "")
        // 'resume' does not know files that were not walked yet.
        let command = isUploading && !isCut ? "'resume'" : "the same command"
        let left =
            switch purpose {
            case .uploading: "\(Format.count(waiting, noun: "file")) not uploaded"
            case .pulling: "\(Format.count(tally.notPulled, noun: "file")) not pulled"
            case .removing: "not everything is removed"
            }
        message("\(words). \(left); \(command) continues with the rest.")
        var event = JSONEvent("gaveUp")
        event.reason = words
        tell(event, verbose: nil)
    }

    // MARK: Results

    /// Counts incomplete work in addition to failed files.
    func refused(_ count: Int) { changeTally { $0.refused += count } }

    /// Prints an event on standard output: as JSON, or as a line unless the run is quiet.
    func tell(_ event: some Encodable, words: String) {
        options.log?.write(words)
        if options.isJSON {
            printJSON(event)
        } else if !options.isQuiet {
            line { Console.result(words) }
        }
    }

    /// Prints a line for people on standard output, unless the run is quiet.
    func result(_ words: String) {
        options.log?.write(words)
        if !options.isJSON, !options.isQuiet { line { Console.result(words) } }
    }

    /// Prints an event on standard output: as JSON, or as a line if the run is verbose.
    func tell(_ event: JSONEvent, verbose: String?) {
        if let verbose { options.log?.write(verbose) }
        if options.isJSON {
            printJSON(event)
        } else if options.isVerbose, let verbose {
            line { Console.result(verbose) }
        }
    }

    func printJSON(_ event: some Encodable) {
        do { Console.result(try event.jsonLine()) } catch { message(ErrorMessages.of(error)) }
    }

    /// Reports the error that ends the command.
    func error(_ error: any Error) {
        message(ErrorMessages.of(error))
        var event = JSONEvent("error")
        event.reason = ErrorMessages.of(error)
        tell(event, verbose: nil)
    }

    /// Prints a line on standard error, which is always shown.
    func message(_ text: String) {
        options.log?.write(text)
        line { Console.message("uploader: \(text)") }
    }

    /// Writes a line without mixing it with the redrawn progress line.
    private func line(_ write: () -> Void) {
        endProgress()
        write()
    }
}
