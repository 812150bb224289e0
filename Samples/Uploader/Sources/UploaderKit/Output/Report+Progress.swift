import LFS
import Synchronization

/// The progress display.
extension Report {
    /// Shows progress until the task is cancelled.
    func showProgress() async {
        guard options.progress != .none else { return }
        // The rate is measured from the start, not from the first line.
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

    /// Prints a progress line now.
    func showProgressNow() {
        // A terminal prints ^C after the line, which must not wrap to another line.
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
                isRough: timeLeft == nil, slowest: ActiveTransfer.slowest(underWay, at: time), columns: columns)
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

    // MARK: Pauses

    /// The state of the display.
    enum Pace: Sendable { case running, resting, stopping }

    /// Resumes the display when there is work after a pause.
    func stirs() {
        let rested = state.withLock { state in
            defer { if state.pace == .resting { state.pace = .running } }
            return state.pace == .resting
        }
        if rested { stirring.continuation.yield() }
    }

    /// Switches the display to a run that was asked to end.
    func stops() {
        let rested = state.withLock { state in
            defer { state.pace = .stopping }
            return state.pace == .resting
        }
        if rested { stirring.continuation.yield() }
    }

    /// Pauses the display until there is more work, if everything is done.
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

    /// Sets the number of bytes in new files.
    func expects(_ bytes: Int64) { changeTally { $0.expectedBytes = bytes } }

    // MARK: Files in transfer

    /// Returns true if the line may show the file but does not know its path yet.
    func wantsPath(of id: FileData.ID) -> Bool {
        options.progress != .none && state.withLock { $0.underWay[id] == nil }
    }

    /// - Parameter path: the path. Nil if it is known already, or not needed.
    func noteUnderWay(_ id: FileData.ID, path: FilePath?, progress: TransferProgress) {
        let time = (ContinuousClock.now - start) / .seconds(1)
        state.withLock { state in
            state.tally.partial[id] = progress.bytesTransferred
            var file = state.underWay[id] ?? ActiveTransfer(name: path?.lastComponent.description ?? "", since: time)
            file.bytes = progress.bytesTransferred
            file.totalBytes = progress.totalBytes
            state.underWay[id] = file
        }
        stirs()
    }
}

extension Report.State {
    /// Returns the time until everything is read and uploaded. Both run concurrently, so the longer time is used. Nil
    /// until the amount is known.
    func timeLeft(at time: Double) -> Double? {
        guard let expected = tally.expectedBytes,
            let reading = readMeter.roughTimeLeft(tally.readBytes, of: max(expected, tally.readBytes), at: time)
        else { return nil }
        let total = tally.totalBytes.addingSaturated(max(expected - tally.readBytes, 0))
        return max(reading, meter.roughTimeLeft(tally.doneBytes, of: total, at: time) ?? 0)
    }

    /// Records that the transfer of a file has ended.
    mutating func ends(_ id: FileData.ID) { (tally.partial[id], underWay[id]) = (nil, nil) }
}
