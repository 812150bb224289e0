import Foundation
import LFS
import LFSStorage
import Synchronization

/// What a run tells while it goes on and at its end.
final class Report: Sendable {
    struct State {
        var tally = Tally()
        var meter = RateMeter()
        var readMeter = RateMeter()
        var hasLine = false
        var hasSynced = false
        /// Why files wait that were tried, and why the storage as a whole cannot be used.
        var reasons: [FileData.ID: UploadFailure] = [:]
        var outage: String?
        /// The files that are under way.
        var underWay: [FileData.ID: UnderWay] = [:]
        var pace = Pace.running
        var isWatching = false
        /// Whether the last walk ended before it was through.
        var isCut = false
        /// The local copies that went while files were attached.
        var freed: (files: Int, bytes: Int64) = (0, 0)
        /// Whether the summary says that the database is nowhere else.
        var namesLoneDatabase = false
        /// How many deletions waited before the run; nil where it is not to tell what becomes of them.
        var waitingDeletions: Int?
    }

    /// What a run has done so far, for who waits for it.
    let advance = Advance()
    let options: OutputStyle
    /// For the extensions of this type alone.
    let state = Mutex(State())
    let start = ContinuousClock.now
    /// Wakes the progress line of a run that rests.
    let stirring = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    let purpose: Purpose

    /// - Throws: ``UploaderError`` when the log cannot be opened.
    init(_ options: OutputOptions, about purpose: Purpose = .uploading) throws {
        self.purpose = purpose
        self.options = try OutputStyle(options)
    }

    /// The files that it writes to itself.
    var ownPaths: [String] { [options.log?.path].compactMap(\.self) }

    var tally: Tally { state.withLock { $0.tally } }
    func changeTally(_ body: (inout Tally) -> Void) { state.withLock { body(&$0.tally) } }

    /// What sync has brought is told.
    ///
    /// - Returns: whether something of it was told before.
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

    /// - Parameter isWhole: whether it has come to its end.
    func walkEnded(isWhole: Bool = false) {
        let time = (ContinuousClock.now - start) / .seconds(1)
        state.withLock { state in
            guard state.tally.isWalking else { return }
            state.isCut = !isWhole
            (state.tally.isWalking, state.tally.expectedBytes) = (false, nil)
            // Until now the disk was busy with reading: that rate says nothing about the time that is left.
            state.meter = RateMeter()
            state.meter.add(state.tally.doneBytes, at: time)
        }
    }

    /// A file that is new or has changed was found, and will be read.
    func found(_ bytes: Int64) { changeTally { $0.foundBytes = $0.foundBytes.addingSaturated(bytes) } }
    /// Work on this device, such as the reading of a large file, goes on.
    func worked() { advance.note() }
    func read(_ bytes: Int64) {
        if bytes > 0 { worked() }
        changeTally { $0.readBytes = $0.readBytes.addingSaturated(bytes) }
    }

    /// What waited before this run.
    func pending(files: Int, bytes: Int64) {
        changeTally { tally in
            tally.totalFiles += files
            tally.totalBytes = tally.totalBytes.addingSaturated(bytes)
        }
    }

    /// - Parameter isUploaded: false for one that shares the file of another document.
    func attached(_ file: FileData, _ path: FilePath, isUploaded: Bool) {
        guard !isUploaded else { return willUpload(file, path, "attached", \.attached) }
        worked()
        changeTally { tally in
            tally.attached += 1
            tally.shared += 1
        }
        tellAttached(file, path, "attached")
    }

    func unchanged(_ path: FilePath) {
        worked()
        changeTally { tally in
            tally.skipped += 1
            tally.unchanged += 1
        }
        // Nearly all, most of the time: a log of each night would be a list of all files.
        if options.isJSON || options.isVerbose { skipped(path, "unchanged", isProblem: false) }
    }

    /// A file whose bytes were lost or damaged got them back from the original, and is sent again.
    func restored(_ file: FileData, _ path: FilePath) { willUpload(file, path, "restored", \.restored) }

    private func willUpload(
        _ file: FileData, _ path: FilePath, _ name: String, _ count: WritableKeyPath<Tally, Int>
    ) {
        state.withLock { state in
            state.tally[keyPath: count] += 1
            state.tally.totalFiles += 1
            state.tally.totalBytes = state.tally.totalBytes.addingSaturated(file.byteCount)
        }
        tellAttached(file, path, name)
    }

    private func tellAttached(_ file: FileData, _ path: FilePath, _ name: String) {
        var event = JSONEvent(name)
        (event.id, event.path, event.bytes) = (file.id, path.exact, file.byteCount)
        tell(event, verbose: "\(name) \(file.id) \(path)")
    }

    func passedOver(_ path: FilePath, _ reason: String) {
        changeTally { $0.skipped += 1 }
        skipped(path, reason, isProblem: false)
    }

    /// A pipe, a socket or a device that is in a folder.
    func special(_ path: FilePath, _ reason: String) {
        passedOver(path, reason)
        // With -v the line before says it.
        if !options.isVerbose, !options.isQuiet { message("skipped \(path): \(reason)") }
    }

    func unreadable(_ path: FilePath, _ reason: String) {
        changeTally { tally in
            tally.skipped += 1
            tally.unreadable += 1
        }
        skipped(path, reason, isProblem: true)
    }

    private func skipped(_ path: FilePath, _ reason: String, isProblem: Bool) {
        guard isProblem || namesFiles else { return }
        var event = JSONEvent("skipped")
        (event.path, event.reason) = (path.exact, reason)
        tell(event, verbose: isProblem ? nil : "skipped \(path): \(reason)")
        if isProblem { message("skipped \(path): \(reason)") }
    }

    func failed(_ path: FilePath, _ reason: String) {
        changeTally { $0.refused += 1 }
        var event = JSONEvent("failed")
        (event.path, event.reason) = (path.exact, reason)
        tell(event, verbose: nil)
        message("failed \(path): \(reason)")
    }

    // MARK: Uploading

    /// Whether the path of each file that is through is told.
    var namesFiles: Bool { options.isJSON || options.isVerbose || options.log != nil }

    /// The files that were tried and wait, the first thousand.
    var waiting: [FileData.ID] { state.withLock { Array($0.reasons.keys.sorted().prefix(1_000)) } }

    /// - Parameter path: the path of the file that it is about; nil when it is not known.
    func handle(_ event: LFSEvent, _ path: FilePath?) {
        advance.handle(event)
        switch event {
        // What waited for its upload before is no work of a run that is about something else.
        case .progress, .uploaded, .failed: guard purpose == .uploading else { return }
        default: break
        }
        switch event {
        case .queued, .cancelled, .removed: break
        // What became of it is told once it is written out, or why it was not.
        case .downloaded(let id, _), .downloadFailed(let id, _): state.withLock { $0.ends(id) }
        case .downloading(let id, let progress), .progress(let id, let progress): advanced(id, path, progress)
        case .uploaded(let id, let url, let byteCount): uploaded(id, path, url, byteCount)
        case .failed(let id, let failure, let nextAttempt): uploadFailed(id, path, failure, nextAttempt)
        case .outage(let outage):
            state.withLock { $0.outage = outage?.reason }
            message(outage.map { "\(Words.sentence($0.reason)) Trying again…" } ?? "The storage is there again.")
        case .databaseFailed(let error): message("\(Words.sentence(error)) Trying again…")
        @unknown default: break
        }
    }

    private func advanced(_ id: FileData.ID, _ path: FilePath?, _ progress: TransferProgress) {
        noteUnderWay(id, path, progress)
        var line = JSONEvent("progress")
        (line.id, line.bytes, line.totalBytes) = (id, progress.bytesTransferred, progress.totalBytes)
        tell(line, verbose: nil)
    }

    private func uploaded(_ id: FileData.ID, _ path: FilePath?, _ url: URL, _ byteCount: Int64) {
        state.withLock { state in
            state.ends(id)
            state.reasons[id] = nil
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
        (event.id, event.path, event.url, event.bytes) = (id, path?.exact, url.absoluteString, byteCount)
        tell(event, verbose: "uploaded \(id) \(path.map { "\($0) " } ?? "")to \(url.absoluteString)")
    }

    private func uploadFailed(
        _ id: FileData.ID, _ path: FilePath?, _ failure: UploadFailure, _ nextAttempt: Duration?
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
        (event.id, event.path, event.reason) = (id, path?.exact, failure.reason)
        (event.code, event.nextAttempt) = (failure.code.rawValue, nextAttempt.map { $0 / .seconds(1) })
        let name = path?.description ?? id.uuidString
        tell(event, verbose: nextAttempt == nil ? nil : "retrying \(name): \(failure.reason)")
        if nextAttempt == nil { message("failed \(name): \(failure.reason)") }
    }

    /// What the rows say after the wait, where no event told it: another process may have done the uploading.
    func settle(_ summary: UploadSummary, _ paths: [FileData.ID: FilePath]) {
        let told = state.withLock { $0.tally.givenUp }
        // One that was given up may have been replaced or removed since.
        if summary.failed == summary.failures.count {
            let failed = Set(summary.failures.map(\.fileID))
            state.withLock { $0.tally.givenUp.formIntersection(failed) }
        }
        for failure in summary.failures where !told.contains(failure.fileID) {
            uploadFailed(failure.fileID, paths[failure.fileID], failure, nil)
        }
        state.withLock { state in
            let through = state.tally.through
            guard purpose == .uploading, state.tally.uploaded < through else { return }
            state.tally.uploaded = through
            if state.tally.givenUp.isEmpty { state.tally.bytes = state.tally.totalBytes }
        }
    }

    /// Says why a run ends before its work: the reasons of the first thousand files, and how many wait.
    ///
    /// - Parameter hold: the condition that was not met; nil when all were.
    func gaveUp(_ error: GaveUp, paths: [FileData.ID: FilePath], waiting: Int, hold: String?) {
        let (reasons, outage, isCut) = state.withLock { ($0.reasons, $0.outage, $0.isCut) }
        for (id, failure) in reasons.sorted(by: { $0.key < $1.key }).prefix(1_000) {
            var event = JSONEvent("failed")
            (event.id, event.path, event.reason) = (id, paths[id]?.exact, failure.reason)
            event.code = failure.code.rawValue
            tell(event, verbose: nil)
            message("not uploaded \(paths[id]?.description ?? id.uuidString): \(failure.reason)")
        }
        let isUploading = purpose == .uploading
        changeTally { tally in
            if isUploading { tally.notUploaded = waiting }
            if tally.notUploaded + tally.notPulled == 0 { tally.refused += 1 }
        }
        // Most are sentences with a full stop; one follows anyway.
        let words =
            error.words + (hold.map { ", it \($0)" } ?? "")
            + (outage.map { ". \($0.hasSuffix(".") ? String($0.dropLast()) : $0)" } ?? "")
        // What was not looked at yet is nothing that 'resume' knows of.
        let command = isUploading && !isCut ? "'resume'" : "the same command"
        let left =
            switch purpose {
            case .uploading: "\(Format.count(waiting, "file")) not uploaded"
            case .pulling: "\(Format.count(tally.notPulled, "file")) not pulled"
            case .removing: "not all is removed"
            }
        message("\(words). \(left); \(command) goes on with what is left.")
        var event = JSONEvent("gaveUp")
        event.reason = words
        tell(event, verbose: nil)
    }

    // MARK: Results

    /// What was left undone besides files that failed.
    func refused(_ count: Int) { changeTally { $0.refused += count } }

    /// One event on the standard output: as JSON, or as a line unless less is wanted.
    func tell(_ event: some Encodable, _ words: String) {
        options.log?.write(words)
        if options.isJSON {
            printJSON(event)
        } else if !options.isQuiet {
            line { Console.result(words) }
        }
    }

    /// A line on the standard output for people, unless less is wanted.
    func result(_ words: String) {
        options.log?.write(words)
        if !options.isJSON, !options.isQuiet { line { Console.result(words) } }
    }

    /// One event on the standard output: as JSON, or as a line when more is wanted.
    func tell(_ event: JSONEvent, verbose: String?) {
        if let verbose { options.log?.write(verbose) }
        if options.isJSON {
            printJSON(event)
        } else if options.isVerbose, let verbose {
            line { Console.result(verbose) }
        }
    }

    func printJSON(_ event: some Encodable) {
        do { Console.result(try event.jsonLine()) } catch { message(Words.of(error)) }
    }

    /// Why the command cannot do its job.
    func error(_ error: any Error) {
        message(Words.of(error))
        var event = JSONEvent("error")
        event.reason = Words.of(error)
        tell(event, verbose: nil)
    }

    /// A line on the standard error that is always shown.
    func message(_ text: String) {
        options.log?.write(text)
        line { Console.message("uploader: \(text)") }
    }

    /// Writes a line so that it does not mix with the one that is redrawn.
    private func line(_ write: () -> Void) {
        endProgress()
        write()
    }
}
