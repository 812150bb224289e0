import LFS
import Synchronization

/// The line that tells how far a run is.
extension Report {
    /// Shows progress until the task is cancelled.
    func showProgress() async {
        guard options.progress != .none else { return }
        // The rate counts from the start, not from the first line.
        state.withLock { state in
            state.meter.add(0, at: 0)
            state.readMeter.add(0, at: 0)
        }
        let interval = options.redraws ? Duration.milliseconds(200) : .seconds(options.interval)
        while true {
            await waitWhileResting()
            do { try await Task.sleep(for: interval) } catch { return }
            let tally = tally
            let isStopping = state.withLock { $0.pace == .stopping }
            if tally.totalFiles > 0 || tally.isWalking || tally.rows != nil || isStopping { showProgressNow() }
        }
    }

    /// Shows one line of progress now.
    func showProgressNow() {
        // A terminal writes ^C behind it, which must not begin another line.
        let columns = options.redraws ? Console.columns - 2 : 80
        let text = state.withLock { state in
            let time = (ContinuousClock.now - start) / .seconds(1)
            let tally = state.tally
            state.meter.add(tally.doneBytes, at: time)
            state.readMeter.add(tally.readBytes, at: time)
            state.hasLine = options.redraws
            let underWay = Array(state.underWay.values)
            if state.pace == .stopping { return ProgressLine.stopping(underWay, columns: columns) }
            if let rows = tally.rows, tally.doneFiles == tally.totalFiles {
                return ProgressLine.syncing(rows, columns: columns)
            }
            if tally.isWalking {
                return ProgressLine.reading(
                    tally, rate: state.readMeter.rate, timeLeft: state.timeLeft(at: time), columns: columns)
            }
            let timeLeft = state.meter.timeLeft(tally.doneBytes, of: tally.totalBytes, at: time)
            return ProgressLine.text(
                tally, rate: state.meter.rate,
                timeLeft: timeLeft ?? state.meter.roughTimeLeft(tally.doneBytes, of: tally.totalBytes, at: time),
                isRough: timeLeft == nil, slowest: UnderWay.slowest(underWay, at: time), columns: columns)
        }
        if options.redraws { Console.redraw(text) } else { Console.message(text) }
    }

    func endProgress() {
        let hasLine = state.withLock { state in
            defer { state.hasLine = false }
            return state.hasLine
        }
        if hasLine { Console.eraseLine() }
    }

    // MARK: Rest

    /// Whether there is something to show.
    enum Pace: Sendable { case running, resting, stopping }

    /// Something is done again after a rest.
    func stirs() {
        let rested = state.withLock { state in
            defer { if state.pace == .resting { state.pace = .running } }
            return state.pace == .resting
        }
        if rested { stirring.continuation.yield() }
    }

    /// The run was asked to end.
    func stops() {
        let rested = state.withLock { state in
            defer { state.pace = .stopping }
            return state.pace == .resting
        }
        if rested { stirring.continuation.yield() }
    }

    /// Nothing is to be shown until there is more to do, if all is done.
    ///
    /// - Returns: the figures.
    func restsIfThrough() -> Tally {
        state.withLock { state in
            let tally = state.tally
            if state.pace == .running, !tally.isWalking, tally.partial.isEmpty { state.pace = .resting }
            return tally
        }
    }

    private func waitWhileResting() async {
        guard state.withLock({ $0.pace == .resting }) else { return }
        endProgress()
        for await _ in stirring.stream where state.withLock({ $0.pace != .resting }) { return }
    }

    /// So many bytes of files are new.
    func expects(_ bytes: Int64) { changeTally { $0.expectedBytes = bytes } }

    // MARK: Files under way

    /// Whether the path of a file is not known that the line may name.
    func wantsPath(of id: FileData.ID) -> Bool {
        options.progress != .none && state.withLock { $0.underWay[id] == nil }
    }

    /// - Parameter path: nil where it is known, or nobody wants it.
    func noteUnderWay(_ id: FileData.ID, _ path: FilePath?, _ progress: TransferProgress) {
        let time = (ContinuousClock.now - start) / .seconds(1)
        state.withLock { state in
            state.tally.partial[id] = progress.bytesTransferred
            var file = state.underWay[id] ?? UnderWay(name: path?.lastComponent.description ?? "", since: time)
            (file.bytes, file.totalBytes) = (progress.bytesTransferred, progress.totalBytes)
            state.underWay[id] = file
        }
        stirs()
    }
}

extension Report.State {
    /// Until all is read and uploaded, which go on beside each other: the longer one counts. Nil until it is known how
    /// much that is.
    func timeLeft(at time: Double) -> Double? {
        guard let expected = tally.expectedBytes,
            let reading = readMeter.roughTimeLeft(tally.readBytes, of: max(expected, tally.readBytes), at: time)
        else { return nil }
        let total = tally.totalBytes.addingSaturated(max(expected - tally.readBytes, 0))
        return max(reading, meter.roughTimeLeft(tally.doneBytes, of: total, at: time) ?? 0)
    }

    /// A file is not under way any more.
    mutating func ends(_ id: FileData.ID) { (tally.partial[id], underWay[id]) = (nil, nil) }
}
