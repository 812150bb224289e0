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
            do { try await Task.sleep(for: interval) } catch { return }
            let tally = tally
            if tally.totalFiles > 0 || tally.isWalking || tally.rows != nil { showProgressNow() }
        }
    }

    /// Shows one line of progress now.
    func showProgressNow() {
        let columns = options.redraws ? Console.columns : 80
        let text = state.withLock { state in
            let time = (ContinuousClock.now - start) / .seconds(1)
            let tally = state.tally
            state.meter.add(tally.doneBytes, at: time)
            state.readMeter.add(tally.readBytes, at: time)
            state.hasLine = options.redraws
            if let rows = tally.rows, tally.doneFiles == tally.totalFiles {
                return ProgressLine.syncing(rows, columns: columns)
            }
            if tally.isWalking { return ProgressLine.reading(tally, rate: state.readMeter.rate, columns: columns) }
            let timeLeft = state.meter.timeLeft(tally.doneBytes, of: tally.totalBytes, at: time)
            return ProgressLine.text(tally, rate: state.meter.rate, timeLeft: timeLeft, columns: columns)
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
}
